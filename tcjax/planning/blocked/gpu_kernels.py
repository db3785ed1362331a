"""Which nests run as kernels of their own on a GPU when nobody chose: those that read the same elements often.

XLA:GPU fuses the body of a nest into its reduction: no array of the iteration space is stored, but every point loads
what it reads. A tile of a kernel loads an element once for a whole row or column of points. Where each read depends on
one dimension of the tile only, that is some thirty times less; where a read depends on both there is nothing to reuse,
and XLA's fusion is as good. A matrix product inside of the body (attention's scores) XLA does not fuse at all: it
stores it, and a kernel computes it tile by tile.

The figures behind this are sizes of buffers and counts of loads, which are known without a GPU. docs/gpu.md has them,
and the times of one kernel: a third of XLA's fusion.
"""

from collections.abc import Iterator
from math import prod
from typing import Final

from ... import ir
from ...symbolic import IndexVar
from ..data.groups import Group
from ..data.nests import Nest

# A tile is 64 x 64 where the ranges allow: see `lowering.pallas_triton.Blocks`.
_TILE: Final = 64
# Loads that a tile must save, as a factor, and points below which a launch costs more than the loads.
_SAVED: Final = 8.0
_POINTS: Final = 1 << 22
# A program of a group has some rows, and all of the loop: with fewer rows most of a device would wait.
_ROWS: Final = 1 << 10
# A matrix product inside of a body is stored by XLA. Below so many bytes it stays in the second cache of a device.
_STORED: Final = 16 << 20


def prefers_pallas(group: Group) -> tuple[bool, str]:
    """Whether a kernel is expected to win on a GPU, and why or why not, in words."""
    if isinstance(group, Nest):
        return _prefers(group.computed)
    rows = min(prod(nest.shape) for nest in group.results)
    if rows < _ROWS:
        return False, f"{rows:,} rows are too few: each result by itself shares its loop between programs"
    # What is worth a kernel for one result is worth it for all that come with it.
    found = [_prefers(nest.computed) for nest in group.results]
    return next((one for one in found if one[0]), found[0])


def _prefers(nest: Nest) -> tuple[bool, str]:
    reduce = nest.reduce
    if not isinstance(reduce.reducer, ir.Reducer) or reduce.reducer.is_ranked:
        return False, f"{reduce.reducer.value} runs in XLA operations"
    points = prod(nest.shape) * _points(reduce.indices, nest)
    if points < _POINTS:
        return False, f"{points:,} points are too few for a kernel of their own"
    stored = max((size for size in _stored(nest)), default=0)
    if stored > _STORED:
        return True, f"XLA would store {stored >> 20} MiB of matrix products that the body reads"
    saved = max(_savings(nest), default=1.0)
    if saved < _SAVED:
        return False, "its points read elements of their own: XLA's fusion loads them as often"
    return True, f"a tile loads each element once for many points: {saved:.0f} times fewer loads than XLA's fusion"


def _points(indices: tuple[IndexVar, ...], nest: Nest) -> int:
    ranges = nest.ranges
    return prod(max(0, ranges[index][1] - ranges[index][0]) for index in indices)


def _stored(nest: Nest) -> Iterator[int]:
    """The bytes of each inner sum of products that depends on an axis and on an index of the reduction."""
    reduced = frozenset(nest.reduce.indices)
    for node in ir.walk(nest.reduce.body):
        if not isinstance(node, ir.Reduce) or node.reducer is not ir.Reducer.SUM:
            continue
        free = ir.free_indices(node)
        depends = [ir.free_indices(factor) & free for factor in ir.factors(node.body)]
        apart = any(some and some <= reduced for some in depends) and any(
            some and not some & reduced for some in depends
        )
        if apart and all(some <= reduced or not some & reduced for some in depends):
            yield _points(tuple(free), nest) * max(1, ir.types.BITS[node.accumulate] // 8)


def _savings(nest: Nest) -> Iterator[float]:
    """How many times fewer loads a tile needs, for every two indices that it may span."""
    candidates = [
        (one, other)
        for number, one in enumerate(nest.axes)
        for other in (*nest.axes[number + 1 :], *nest.reduce.indices)
    ]
    for one, other in candidates:
        tile = tuple(min(_TILE, _points((index,), nest)) for index in (one, other))
        plain, tiled = _loads(nest.reduce, (one, other), tile, nest)
        if tiled:
            yield plain / tiled


def _loads(
    expr: ir.Expr, dims: tuple[IndexVar, IndexVar], tile: tuple[int, ...], nest: Nest, times: int = 1
) -> tuple[float, float]:
    """The loads of a point: one after the other, and shared in a tile."""
    plain = tiled = 0.0
    if isinstance(expr, ir.Access):
        free = ir.free_indices(expr)
        plain += times
        tiled += times / prod(extent for index, extent in zip(dims, tile, strict=True) if index not in free)
    if isinstance(expr, ir.Reduce) and expr is not nest.reduce:
        times *= max(1, _points(expr.indices, nest))
    for child in ir.children(expr):
        found = _loads(child, dims, tile, nest, times)
        plain, tiled = plain + found[0], tiled + found[1]
    return plain, tiled
