"""Reports a stack too short for a program, deep inside other calls, as an ordinary error."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..diagnostics import Code, CompileError, Span


@contextmanager
def within_depth(name: str, span: Span) -> Iterator[None]:
    """Turns a `RecursionError` into a `CompileError` (TC0103) about the program `name`."""
    try:
        yield
    except RecursionError:
        raise CompileError(
            Code.TOO_DEEP,
            f"`{name}` nests too deeply for the stack that is left here",
            span,
            help="compute parts of its expressions in separate statements",
        ) from None
