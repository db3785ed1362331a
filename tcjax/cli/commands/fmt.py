"""``tcjax fmt``: the canonical form."""

import difflib

import click

from .. import options
from ..failures import Failure


@click.command(short_help="The canonical form of a file.")
@options.files
@options.notation
@click.option("--write", "mode", flag_value="write", help="Rewrite the files in place.")
@click.option(
    "--check", "mode", flag_value="check", help="Only list the files that would change; exit code 1 if there are any."
)
@click.option("--diff", "mode", flag_value="diff", help="Show what would change; exit code 1 if anything would.")
def fmt(files: tuple[str, ...], notation: str | None, mode: str | None) -> None:
    """Prints the files with one statement a line, two spaces of indentation and no parenthesis too many.

    Comments and single blank lines stay; a comment inside of a statement moves in front of it. Where a comment could
    not be kept, or the meaning would change, the command says so and changes nothing. Of a Python file only the texts
    in tcjax.kernel("...") change; the rest is for Python's own formatters.

    \b
    Example:
      tcjax fmt kernels.tc --diff
      tcjax fmt kernels.tc --write
    """
    from ..formatting import formatted
    from ..texts import read_text, write_text

    if mode == "write" and "-" in files:
        raise click.UsageError("standard input cannot be rewritten; leave --write out to print the result")
    changed = 0
    failures: list[Failure] = []
    for path in dict.fromkeys(files):
        try:
            text = read_text(path, notation)  # type: ignore[arg-type]
            result = formatted(text)
        except Failure as failure:
            failures.append(failure)
            continue
        differs = result != text.content
        changed += differs
        if mode is None:
            click.echo(result, nl=False)
        elif differs and mode == "write":
            write_text(path, result)
            click.echo(f"formatted {text.name}", err=True)
        elif differs and mode == "check":
            click.echo(f"would format {text.name}")
        elif differs:
            _show_difference(text.content, result, text.name)
    for failure in failures:
        failure.show()
    if failures:
        raise click.exceptions.Exit(2)
    if changed and mode in ("check", "diff"):
        raise click.exceptions.Exit(1)


def _show_difference(before: str, after: str, path: str) -> None:
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm=""):
        click.echo(click.style(line, fg=colours[line[0]]) if line[:1] in colours else line)
