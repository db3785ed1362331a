"""Limits of arrays and loops: larger ones are rejected before NumPy or XLA count them in 64 bits."""

from collections.abc import Iterable, Iterator
from math import prod
from typing import Final

from .. import ir
from ..diagnostics import Code, CompileError, Span
from ..symbolic import Box, IndexVar
from .survey import Comprehension

# The limit of NumPy arrays.
MOST_DIMENSIONS: Final = 64
_MOST: Final = 2**63 - 1


def check_array(tensor: ir.Tensor, shape: tuple[int, ...], span: Span) -> None:
    """Raises `CompileError` (TC0604) for a shape that is too large for an array."""
    if len(shape) > MOST_DIMENSIONS:
        raise CompileError(
            Code.TOO_LARGE,
            f"`{tensor.name}` has {len(shape)} dimensions, and an array has at most {MOST_DIMENSIONS}",
            span,
            help="put several dimensions into one, or leave out those of one element",
        )
    # Neither NumPy nor XLA checks whether another dimension is empty.
    size = prod(max(1, extent) for extent in shape) * ir.types.width(tensor.dtype)
    if size > _MOST:
        raise CompileError(
            Code.TOO_LARGE,
            f"`{tensor.name}` would have the shape {_shown(shape)}, and its bytes do not fit in 64 bits",
            span,
            help="use smaller sizes, or reduce where the elements are made instead of storing them",
        )


def check_points(statement: Comprehension, box: Box) -> None:
    """Raises `CompileError` (TC0604) for a statement with too many indices or points."""
    if len(box) <= MOST_DIMENSIONS and _points(box, box) <= _MOST:
        return
    domain = statement.domain
    parts = (statement.value, *(() if domain.guard is None else (domain.guard,)), *domain.exists)
    inner = {index for part in parts for node in ir.walk(part) for index in _bound(node)}
    outer = tuple(index for index in box if index not in inner)
    for path in (path for part in parts for path in _paths(part, outer)):
        if len(path) > MOST_DIMENSIONS:
            raise CompileError(
                Code.TOO_LARGE,
                f"`{statement.target.name}` is computed over {len(path)} indices at once, and an array has at most "
                f"{MOST_DIMENSIONS} dimensions",
                statement.span,
                help="write fewer indices, or several statements",
            )
    for path in (outer, *(_own(reduce) for part in parts for reduce in ir.walk(part) if isinstance(reduce, ir.Reduce))):
        if _points(path, box) > _MOST:
            extents = tuple(box[index][1] - box[index][0] for index in path)
            raise CompileError(
                Code.TOO_LARGE,
                f"`{statement.target.name}` would be computed at {_shown(extents)} points, which do not fit in 64 bits",
                statement.span,
                help="use smaller ranges",
            )


def _paths(expr: ir.Expr, outer: tuple[IndexVar, ...]) -> Iterator[tuple[IndexVar, ...]]:
    """Nested indices: those of the statement, followed by each chain of inline reductions."""
    outer = (*outer, *_bound(expr))
    yield outer
    for child in ir.children(expr):
        yield from _paths(child, outer)


def _own(reduce: ir.Reduce) -> tuple[IndexVar, ...]:
    """The indices over which a reduction runs, and those by which its value changes: others do not repeat it."""
    return (*sorted(ir.free_indices(reduce), key=str), *reduce.indices)


def _bound(expr: ir.Expr) -> tuple[IndexVar, ...]:
    return expr.indices if isinstance(expr, ir.Reduce) else ()


def _points(indices: Iterable[IndexVar], box: Box) -> int:
    return prod(max(1, box[index][1] - box[index][0]) for index in indices)


def _shown(shape: tuple[int, ...]) -> str:
    shown = " x ".join(map(str, shape[:6]))
    return shown if len(shape) <= 6 else f"{shown} x ..."
