"""What is said of a program that a mesh cannot run, and how layouts are shown."""

from ...diagnostics import Code, CompileError, Span
from .blocks import Axes, Layout


def refused(message: str, span: Span, help: str) -> CompileError:
    """TC0811: it takes elements of other devices."""
    return CompileError(Code.NOT_SHARDABLE, message, span, help=help)


def show_layout(layout: Layout) -> str:
    """``cut in dimension 0 along 'data'``."""
    cut = [f"dimension {number} along {show_axes(along)}" for number, along in enumerate(layout) if along]
    return f"cut in {' and '.join(cut)}" if cut else "whole"


def show_axes(along: Axes) -> str:
    """``'data', 'model'``."""
    return ", ".join(map(repr, along))
