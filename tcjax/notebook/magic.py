"""``%%tc``: a cell that holds programs in TC or SaC instead of Python."""

from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from .. import ir, planning
from ..diagnostics import CompileError
from ..runtime.entry import library
from ..runtime.options import DIALECTS, check_options

# The notations that a cell can hold; Python has its own cells.
_NOTATIONS = tuple(name for name in DIALECTS if name != "python")


class CellError(CompileError):
    """A mistake in a cell, which IPython shows without the compiler's stack frames."""

    def __init__(self, error: CompileError) -> None:
        super().__init__(error.diagnosis, error.message, error.span, help=error.help)

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


@magics_class
class Programs(Magics):
    """The cell magic."""

    @magic_arguments()
    @argument("--name", help="a name for all definitions of the cell together, as `tcjax.load` gives them")
    @argument("--dialect", choices=_NOTATIONS, help="the notation, where the text could be in several")
    @argument("--quiet", action="store_true", help="show no formulas")
    @cell_magic
    def tc(self, line: str, cell: str) -> None:
        """Compiles the cell: each definition becomes a kernel under its name, a text without `def` `kernel`."""
        given = parse_argstring(self.tc, line)
        assert self.shell is not None, "a magic belongs to a shell"
        try:
            # The magic itself is the first line of the cell.
            kernels = library(f"\n{cell}", "cell", check_options({"dialect": given.dialect}))
        except CompileError as error:
            raise CellError(error) from None
        self.shell.push({name: kernels[name] for name in kernels})
        if given.name:
            self.shell.push({given.name: kernels})
        if not given.quiet:
            for name in kernels:
                display(kernels[name])


def register(shell: InteractiveShell) -> None:
    """Adds the magic to a shell, and shows plans and typed programs as `print` does."""
    shell.register_magics(Programs)
    formatter = shell.display_formatter
    assert isinstance(formatter, DisplayFormatter), "a shell displays"
    plain = formatter.formatters["text/plain"]
    for printed in (ir.Function, planning.Plan):
        plain.for_type(printed, lambda value, page, cycle: page.text(str(value)))
