"""Messages about programs that cannot be sharded, and how layouts are shown."""

from collections.abc import Collection, Sequence

from ...diagnostics import Code, CompileError, Span
from ...symbolic import IndexVar
from .blocks import Axes, Layout


def refused(message: str, span: Span, help: str) -> CompileError:
    """TC0811: the program cannot be sharded in this way."""
    return CompileError(Code.NOT_SHARDABLE, message, span, help=help)


def check_order(indices: Sequence[IndexVar], cut: Collection[IndexVar], what: str, span: Span) -> None:
    """Raises `CompileError` (TC0811) if the order of devices is not the row-major order of the points."""
    later = [index for index in indices[1:] if index in cut]
    if later:
        raise refused(
            f"{what} in the order of `{indices[0]}` first, and `{later[-1]}` is cut",
            span,
            f"reduce over `{later[-1]}` first, or over it alone",
        )


def show_layout(layout: Layout) -> str:
    """``cut in dimension 0 along 'data'``."""
    cut = [f"dimension {number} along {show_axes(along)}" for number, along in enumerate(layout) if along]
    return f"cut in {' and '.join(cut)}" if cut else "whole"


def show_axes(along: Axes) -> str:
    """``'data', 'model'``."""
    return ", ".join(map(repr, along))
