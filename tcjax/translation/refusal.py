"""The error for what a notation cannot express."""

from ..diagnostics import NOWHERE, Code, CompileError, Span


def refuse(notation: str, what: str, span: Span = NOWHERE, *, help: str) -> CompileError:
    """TC0109: `notation` cannot express `what`."""
    return CompileError(Code.NOT_TRANSLATABLE, f"{notation} cannot say {what}", span, help=help)


def too_deep(name: str, span: Span) -> CompileError:
    """TC0103, for expressions that are nested too deeply to walk."""
    return CompileError(
        Code.TOO_DEEP,
        f"`{name}` nests too deeply to be written in another notation",
        span,
        help="compute parts of its expressions in separate statements",
    )
