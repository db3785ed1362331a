"""Which nests run as separate kernels on a GPU by default: those that read the same elements often.

XLA:GPU fuses the body of a nest into its reduction: no array of the iteration space is stored, but every point loads
what it reads. A tile of a kernel loads an element once for a whole row or column of points. If each read depends on
only one dimension of the tile, that is about thirty times fewer loads; if a read depends on both there is nothing to
reuse, and XLA's fusion is as good. XLA does not fuse a matrix product inside the body (attention's scores): it stores
it, whereas a kernel computes it tile by tile.

The decision uses buffer sizes and load counts, which are known without a GPU. docs/gpu.md has the figures, and the
times of one kernel: a third of XLA's fusion.
"""

from collections.abc import Iterator
from math import prod
from typing import Final

from ... import ir
from ...symbolic import IndexVar
from ..data.groups import Group
from ..data.nests import Nest
from ..data.preferences import Backend

# A tile is 64 x 64 where the ranges allow: see `lowering.pallas_triton.Blocks`.
_TILE: Final = 64
# The factor of loads that a tile must save, and the number of points below which launching costs more than loading.
_SAVED: Final = 8.0
_POINTS: Final = 1 << 22
# A program of a group has some rows and the whole loop: with fewer rows most of a device would be idle.
_ROWS: Final = 1 << 10
# XLA stores a matrix product inside a body. Below this size it stays in the device's second-level cache.
_STORED: Final = 16 << 20

# JAX's lowering lacks a rule for these functions or their parts, in 0.10.2 and in 0.12 (checked by
# tests/lowering/pallas).
_NOT_LOWERED = "cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx lgamma normcdf normcdfinv round sinpi tgamma"
NOT_LOWERED: Final = frozenset(_NOT_LOWERED.split())

# An offset is a 32-bit integer.
_LARGEST: Final = 2**31 - 1


def on_cuda(group: Group, backend: Backend) -> tuple[bool, str]:
    """Whether the results of a group are a Triton kernel on a CUDA device, and why or why not, in words."""
    if backend.name == "xla":
        return False, 'as `backend="xla"` asks'
    if not group.operands:
        return False, "it reads no array: XLA computes it wherever it is used"
    refused = next((reason for nest in group.results for reason in refusals(nest.computed)), None)
    if refused is not None:
        return False, refused
    return (True, 'as `backend="pallas"` asks') if backend.name == "pallas" else prefers_pallas(group)


def prefers_pallas(group: Group) -> tuple[bool, str]:
    """Whether a kernel is expected to win on a GPU, and why or why not, in words."""
    if isinstance(group, Nest):
        return _prefers(group.computed)
    rows = min(prod(nest.shape) for nest in group.results)
    if rows < _ROWS:
        return False, f"{rows:,} rows are too few: each result by itself shares its loop between programs"
    # If a kernel pays off for one result, it pays off for all results with it.
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
        return False, "each point reads its own elements: XLA's fusion loads no more"
    return True, f"a tile loads each element once for many points: {saved:.0f} times fewer loads than XLA's fusion"


def _points(indices: tuple[IndexVar, ...], nest: Nest) -> int:
    ranges = nest.ranges
    return prod(max(0, ranges[index][1] - ranges[index][0]) for index in indices)


def _stored(nest: Nest) -> Iterator[int]:
    """The sizes in bytes of inner sums of products that depend on an axis and on an index of the reduction."""
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
    """The factor of loads saved by a tile, for every two indices that it may span."""
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
    """The loads per point: without a tile, and shared in a tile."""
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


def refusals(nest: Nest) -> Iterator[str]:
    """Reasons why Triton has no kernel for a nest."""
    for operand in nest.operands:
        if ir.types.is_complex(operand.dtype):
            yield f"{operand.name} is complex: Triton has no complex numbers"
        if not prod(operand.shape):
            yield f"{operand.name} has no elements"
        if prod(operand.shape) > _LARGEST:
            yield f"{operand.name} has more elements than 32-bit offsets count"
    if prod(nest.shape) > _LARGEST:
        yield "the result has more elements than 32-bit offsets count"
    for node in ir.walk(nest.reduce):
        match node:
            case ir.Reduce(reducer) if reducer.is_ranked:
                yield f"{reducer.value} keeps more than one value: XLA sorts instead"
            case ir.Reduce(reducer) if not isinstance(reducer, ir.Reducer):
                yield "a user's own reduction: XLA operations run it"
            case ir.Reduce(ranges=ranges) if ranges:
                yield "a range that is no guard yet"
            case ir.Foreign(function):
                yield f"{function} is a Python function"
            case ir.Call(function) if function in NOT_LOWERED:
                yield f"Triton has no {function}"
            case _ if ir.types.is_complex(node.dtype):
                yield "Triton has no complex numbers"
            case _:
                continue
