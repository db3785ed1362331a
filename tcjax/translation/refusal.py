"""What a notation cannot say."""

from ..diagnostics import NOWHERE, Code, CompileError, Span


def refuse(notation: str, what: str, span: Span = NOWHERE, *, help: str) -> CompileError:
    """TC0109: `notation` has no word for `what`."""
    return CompileError(Code.NOT_TRANSLATABLE, f"{notation} cannot say {what}", span, help=help)


def too_deep(name: str, span: Span) -> CompileError:
    """TC0103, for expressions that cannot be walked through."""
    return CompileError(
        Code.TOO_DEEP,
        f"`{name}` nests too deeply to be written in another notation",
        span,
        help="compute parts of its expressions in statements of their own",
    )
