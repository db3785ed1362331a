"""``tcjax check``: every mistake of every definition."""

import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from .. import options
from ..failures import Failure, show_error

if TYPE_CHECKING:
    from ..checking import Numbers

# Seconds between two looks at the files.
_PAUSE: Final = 0.2


@click.command(cls=options.Several, short_help="Every mistake in every definition.")
@options.files
@options.notation
@options.shapes
@options.sizes
@options.constants
@click.option("--json", "as_json", is_flag=True, help="A list of findings for editors and scripts, on stdout.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes, until Ctrl-C.")
def check(
    files: tuple[str, ...],
    notation: str | None,
    shapes: tuple[str, ...],
    sizes: tuple[str, ...],
    constants: tuple[str, ...],
    as_json: bool,
    watch: bool,
) -> None:
    """Reports the mistakes in all definitions of all files.

    Python files are read, not run: kernels are the functions under @tcjax.kernel and the texts in tcjax.kernel("...").
    With --shapes, definitions that have these parameters are also checked at these sizes.

    \b
    Exit code: 0 without a mistake, 1 with one, 2 for misuse and for a file that cannot be read.

    \b
    Example:
      tcjax check kernels.tc model.py
      tcjax check stencil.tc --shapes A=64x64
      tcjax check model.py --watch
    """
    from ..checking import Numbers
    from ..shapes import read_constants, read_shapes, read_sizes

    numbers = Numbers(read_shapes(shapes), read_sizes(sizes), read_constants(constants))
    if not watch:
        code = _checked(files, notation, numbers, as_json)
        if code:
            raise click.exceptions.Exit(code)
        return
    if as_json or "-" in files:
        raise click.UsageError("--watch prints findings for a person to read: leave out --json and -")
    while True:
        seen = _times(files)
        click.clear()
        try:
            _checked(files, notation, numbers, as_json)
        except Failure as failure:
            failure.show()
        while _times(files) == seen:
            time.sleep(_PAUSE)


def _times(files: Sequence[str]) -> list[tuple[int, int] | None]:
    """Modification time and length of each file; None for a missing one."""

    def of(path: str) -> tuple[int, int] | None:
        try:
            found = os.stat(path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    return [of(path) for path in files]


def _checked(files: Sequence[str], notation: str | None, numbers: "Numbers", as_json: bool) -> int:
    """Shows the findings of all files and returns the exit code."""
    from ...diagnostics import CompileError
    from ..checking import check_text
    from ..texts import read_text

    found: list[dict] = []
    unreadable: list[Failure] = []
    errors = warned = 0
    unknown, unused = set(numbers.shapes), set(numbers.constants)
    for path in dict.fromkeys(files):
        try:
            text = read_text(path, notation)  # type: ignore[arg-type]
            words = set(re.findall(r"\w+", text.content))
            unknown, unused = unknown - words, unused - words
            own = {name: value for name, value in numbers.constants.items() if name in words}
            findings = check_text(text, replace(numbers, constants=own))
        except Failure as failure:
            unreadable.append(failure)
            continue
        for finding in findings:
            errors += finding.is_error
            warned += not finding.is_error
            found.append(finding.to_dict(path))
            if as_json:
                continue
            if isinstance(finding.error, CompileError):
                show_error(finding.error, err=False)
            else:
                click.echo(click.style("warning: ", fg="yellow") + str(finding.error))
            click.echo()
    if unknown and not unreadable:
        listed = ", ".join(f"`{name}`" for name in sorted(unknown))
        raise Failure(f"--shapes: nothing is called {listed} in these files")
    if unused and not unreadable:
        listed = ", ".join(f"`{name}`" for name in sorted(unused))
        raise Failure(f"--const: nothing is called {listed} in these files")
    readable = len(dict.fromkeys(files)) - len(unreadable)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif readable:
        click.echo(f"{_counted(readable, 'file')}: {_counted(errors, 'mistake')}, {_counted(warned, 'warning')}")
    for failure in unreadable:
        failure.show()
    return 2 if unreadable else int(errors > 0)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
