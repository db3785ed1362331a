"""How the loops of a nest run in XLA operations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from .. import ir
from ..symbolic import IndexVar
from .nests import Nest

Ranges = Mapping[IndexVar, tuple[int, int]]

# What follows was measured on two cores with 512 KiB of cache each; ratios of up to 1.2 around these are noise.
# Elements of a block: enough work for all cores in a trip, and an accumulator that stays in the cache.
BLOCK: Final = 1 << 17
LEAST_BLOCK: Final = 1 << 15
# Bytes of accumulators and of the vectors that every block reads: more would leave the cache between two blocks.
CACHE: Final = 3 << 17
# Elements of a block that a matrix product reduces.
PRODUCT_BLOCK: Final = 1 << 19
# Beyond so many operations in one fused loop XLA compiles for seconds, and duplicates or stores what it shares.
MOST_OPERATIONS: Final = 256
MOST_UNROLL: Final = 16
# Registers of the CPU: in 64 bits half as many values fit.
WIDE_UNROLL: Final = 8
# An inner reduction over at most so many points is written out in the loop around it.
MOST_TERMS: Final = 64
FEW_GATHERS: Final = 4
# Sums of products of at least so many terms are matrix products.
LEAST_PRODUCT: Final = 16
MOST_CANDIDATES: Final = 12
# Functions are polynomials of about so many operations.
CALL: Final = 4
# A value is compared with the one before it in order, as an integer.
RANKED: Final = 16


@dataclass(frozen=True, slots=True)
class Form:
    """``loop = (t*unroll + u)*rows + r``: `t` runs one after the other, `u` is unrolled, `r` lies side by side.

    The accumulators have `rows` values for each element of the result, which are combined at the end; `inside` says
    that those of a block are combined within it, by an operation of its own. With a `tile`, ``(axis, extent)``, the
    result is computed so many values of one of its axes at a time. `whole`: as one operation, of which
    XLA stores nothing.
    """

    loop: IndexVar
    rows: int
    unroll: int
    tile: tuple[IndexVar, int] | None = None
    inside: bool = False
    whole: bool = False


def choose(nest: Nest) -> Form:
    """The form that a nest runs in unless someone chose another."""
    ranges = nest.ranges
    loop = max(nest.reduce.indices, key=lambda index: _extent(index, ranges))
    return _product(nest, loop) or _lanes(nest, loop)


def within(form: Form, nest: Nest, memory: int | None) -> Form:
    """The form with so few rows that the nest needs no more than `memory` bytes, as far as rows decide it."""
    if memory is None:
        return form
    # Accumulators before and after a block, a pair each, and as much again inside of it.
    row = 8 * prod(nest.shape) * ir.types.width(nest.reduce.accumulate)
    return replace(form, rows=max(1, min(form.rows, memory // max(1, row))))


def candidates(nest: Nest) -> tuple[Form, ...]:
    """Forms worth trying, the best guess first."""
    ranges = nest.ranges
    best = choose(nest)
    found = [best]
    for loop in sorted(nest.reduce.indices, key=lambda index: -_extent(index, ranges)):
        lanes = _lanes(nest, loop)
        extent = _extent(loop, ranges)
        found.append(lanes)
        for factor in (1, 4):
            found.append(replace(lanes, rows=max(1, lanes.rows // 4), unroll=max(1, lanes.unroll // factor)))
            found.append(replace(lanes, rows=_within(lanes.rows * 4, extent), unroll=max(1, lanes.unroll // factor)))
        found.append(replace(lanes, unroll=max(1, lanes.unroll // 2)))
        inside = max(1, PRODUCT_BLOCK // max(1, prod(nest.shape)))
        if nest.reduce.reducer in ir.JOINS:
            # What combines the lanes of a block must give values, not positions.
            found.append(Form(loop, _within(inside, extent), 1, inside=True))
    return tuple(dict.fromkeys(found))[:MOST_CANDIDATES]


def _lanes(nest: Nest, loop: IndexVar) -> Form:
    """Each lane has accumulators of its own."""
    ranges, reduce = nest.ranges, nest.reduce
    extent = _extent(loop, ranges)
    others = prod(_extent(index, ranges) for index in reduce.indices if index != loop)
    free = ir.free_indices(replace(reduce, rank=None))
    outputs = max(1, prod(_extent(axis, ranges) for axis in nest.axes if axis in free) * others)
    if any(isinstance(node, ir.Reduce) and _is_contraction(node, ranges) for node in ir.walk(reduce.body)):
        return Form(loop, _within(PRODUCT_BLOCK // outputs, extent), 1)
    # Half of the lanes run on each core, over the same vectors.
    room = 2 * (CACHE - _vectors(nest, loop)) // _bytes(reduce.accumulate)
    rows = _within(max(LEAST_BLOCK, min(BLOCK, room)) // (outputs * _stored(reduce.body, ranges)), extent)
    most = WIDE_UNROLL if _bytes(reduce.accumulate) >= 8 else MOST_UNROLL
    if others > MOST_TERMS:
        # What the other indices sum is an operation of its own, and stores what it is given.
        return Form(loop, rows, 1)
    # The other indices of the reduction are written out as well.
    operations = _operations(nest) * others
    unroll = min(most, max(1, MOST_OPERATIONS // operations), max(1, extent // rows))
    if unroll == 1 and operations <= MOST_OPERATIONS:
        unroll = min(2, extent // rows)
    # Powers of two divide most extents: blocks before the first trip are compiled for themselves.
    return Form(loop, rows, 1 << (unroll.bit_length() - 1))


def _vectors(nest: Nest, loop: IndexVar) -> int:
    """Bytes of what every block reads anew."""
    found = {access.tensor.name: access for access in ir.accesses(nest.reduce) if loop not in ir.free_indices(access)}
    return sum(prod(o.shape) * _bytes(o.dtype) for o in nest.operands if o.name in found)


def _bytes(dtype: str) -> int:
    return max(1, ir.types.BITS[dtype] // 8)


def _product(nest: Nest, loop: IndexVar) -> Form | None:
    """Blocks that a matrix product reduces: of a sum whose factors have an axis each that the other has not."""
    reduce, ranges = nest.reduce, nest.ranges
    if reduce.reducer is not ir.Reducer.SUM or reduce.guard is not None or not ir.types.is_float(reduce.accumulate):
        return None
    spaces = [ir.free_indices(factor) for factor in _factors(reduce.body)]
    spaces = [space for space in spaces if loop in space]
    own = frozenset(nest.axes)
    mixed = any((a & own) - b and (b & own) - a for a in spaces for b in spaces)
    if not mixed:
        return None
    largest = max(prod(_extent(index, ranges) for index in space if index != loop) for space in spaces)
    return Form(loop, _within(PRODUCT_BLOCK // max(1, largest), _extent(loop, ranges)), 1, inside=True)


def _factors(expr: ir.Expr) -> list[ir.Expr]:
    match expr:
        case ir.Binary("*", left, right):
            return [*_factors(left), *_factors(right)]
        case ir.Cast(operand):
            return _factors(operand)
        case _:
            return [expr]


def _within(rows: int, extent: int) -> int:
    """About so many rows: the largest divisor of the extent that is not much less, else so many and a tail."""
    rows = max(1, min(rows, extent))
    return next((near for near in range(rows, rows * 2 // 3, -1) if extent % near == 0), rows)


def _extent(index: IndexVar, ranges: Ranges) -> int:
    lo, hi = ranges[index]
    return max(0, hi - lo)


def terms(reduce: ir.Reduce, ranges: Ranges) -> int:
    """The number of points of a reduction."""
    return prod(_extent(index, ranges) for index in reduce.indices)


def is_short(reduce: ir.Reduce, ranges: Ranges) -> bool:
    """Whether a reduction in the body of another is written out term by term."""
    if reduce.guard is not None or reduce.reducer not in ir.JOINS or _is_contraction(reduce, ranges):
        return False
    # XLA computes a gather anew for every term that uses it.
    looked_up = any(index.is_data for access in ir.accesses(reduce) for index in access.indices)
    return 0 < terms(reduce, ranges) <= (FEW_GATHERS if looked_up else MOST_TERMS)


def _is_contraction(reduce: ir.Reduce, ranges: Ranges) -> bool:
    """Whether it is the sum of products of two operands that a matrix product does faster than a loop."""
    if reduce.reducer is not ir.Reducer.SUM or terms(reduce, ranges) < LEAST_PRODUCT:
        return False
    spaces = [ir.free_indices(factor) for factor in _factors(reduce.body)]
    return any(a - b and b - a for a in spaces for b in spaces)


def _operations(nest: Nest) -> int:
    """About how many operations the fused loop has for a point."""
    guard = 0 if nest.reduce.guard is None else _counted(nest.reduce.guard, nest.ranges)
    return _counted(nest.reduce.body, nest.ranges) + guard + (1 if nest.reduce.rank is None else RANKED)


def _counted(expr: ir.Expr, ranges: Ranges) -> int:
    match expr:
        case ir.Reduce(body=body):
            return terms(expr, ranges) * (_counted(body, ranges) + 1) if is_short(expr, ranges) else 1
        case ir.Call() | ir.Foreign():
            own = CALL
        case ir.Const() | ir.Extent() | ir.Access() | ir.Index() | ir.Cast():
            own = 0
        case _:
            own = 1
    return own + sum(_counted(part, ranges) for part in ir.children(expr))


def _stored(expr: ir.Expr, ranges: Ranges) -> int:
    """The points of the longest reduction inside that is an operation of its own; 1 without any."""
    inner = [node for node in ir.walk(expr) if isinstance(node, ir.Reduce)]
    long = [node for node in inner if not is_short(node, ranges) and not _is_contraction(node, ranges)]
    return max((terms(node, ranges) for node in long), default=1)
