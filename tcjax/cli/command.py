"""The command and its subcommands."""

import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from ..diagnostics import CompileWarning
from .commands import bench, check, completion, errors, explain, fmt, gallery, grad, lsp, run, translate, tune
from .failures import explained


class _Group(click.Group):
    """Lists the subcommands in the order of the documentation; errors and interruptions end with one line and an exit
    code.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:  # type: ignore[override]
        given = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        _write_everything()

        def action() -> None:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                warnings.simplefilter("always", CompileWarning)
                code = click.Group.main(self, given, *rest, **extra)
            if isinstance(code, int) and code:
                raise click.exceptions.Exit(code)

        explained(action, lambda: "--traceback" in given)


def _write_everything() -> None:
    """Characters missing from the terminal's encoding are shown as escapes: file names may contain any character."""
    for stream in (sys.stdout, sys.stderr):
        # None where the shell closed it.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    headline, *lines = str(message).splitlines() or [""]
    if category is CompileWarning or not issubclass(category, DeprecationWarning | PendingDeprecationWarning):
        click.echo(click.style(f"warning: {headline}", fg="yellow"), err=True)
        for line in lines:
            click.echo(line, err=True)


def _version(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from .. import __version__

        click.echo(f"tcjax {__version__}")
        ctx.exit()


@click.group(
    "tcjax",
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`tcjax COMMAND --help` shows an example of each. A file is TC (.tc), SaC (.sac) or Python (.py); - is TC "
    "or SaC on standard input.",
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="The version.")
@click.option("--traceback", is_flag=True, expose_value=False, help="Show where an unexpected failure comes from.")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Write the formula, get a fast, differentiable JAX function."""
    # https://no-color.org: any value counts, unless it is empty.
    if os.environ.get("NO_COLOR"):
        ctx.color = False


for _each in (check, run, explain, bench, tune, grad, fmt, translate, gallery, errors, lsp, completion):
    command.add_command(_each)
