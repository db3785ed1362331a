"""How the loops of a nest run in XLA operations."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from math import isqrt, prod
from typing import Final

from ... import ir
from ...symbolic import Box, IndexVar
from ..data.machine import CHEAP
from ..data.nests import LoopSchedule, Nest
from .domains import pieces, spans
from .products import as_matrices, guarded_axis
from .ranks import ROOM, sieve_size

Ranges = Box

# What follows was measured on two cores with 512 KiB of cache each; ratios of up to 1.2 around these are noise.
# Elements of a block: enough work for all cores in a trip, and an accumulator that stays in the cache.
BLOCK: Final = 1 << 17
LEAST_BLOCK: Final = 1 << 15
# Places in fewer rows have trips so short that their beginnings show: of 8192 results, 4 rows took 1.13 times as long.
FEWEST_ROWS: Final = 8
# Bytes of accumulators and of the vectors that every block reads: more would leave the cache between two blocks.
CACHE: Final = 3 << 17
# Elements of a block that a matrix product reduces.
PRODUCT_BLOCK: Final = 1 << 19
# Beyond so many operations in one fused loop XLA compiles for seconds, and duplicates or stores what it shares.
MOST_OPERATIONS: Final = 128
# Terms of one trip: sixteen took 1.9 to 2.5 times as long for points that have one lane each, as long for others.
MOST_UNROLL: Final = 8
# A trip reads so many bytes of vectors, half of the nearest cache: 1024^2 distances in 32 dimensions took 1.06 ms of
# processor time with four steps in a trip, 1.34 with eight, 3.4 with sixteen, where four steps read 16 KiB.
NEAR: Final = 1 << 14
# Beyond so many bytes the accumulators go to memory and back in each trip, which has so many steps instead: 2048^2
# distances in 64 dimensions took 17 ms with sixteen steps in a trip, 28 with eight.
FAR: Final = 1 << 23
FAR_UNROLL: Final = 16
# Without functions there may be more, in so many steps: each reads the same vectors, which are then loaded once. The
# minimum of 2048 distances in 32 dimensions took 21 ms step by step, 5.3 ms with four steps in a trip, 2.0 with eight.
MOST_ARITHMETIC: Final = 1040
# An inner reduction over at most so many points is written out in the loop around it.
MOST_TERMS: Final = 64
FEW_GATHERS: Final = 4
# Sums of products of at least so many terms are matrix products.
LEAST_PRODUCT: Final = 16
MOST_CANDIDATES: Final = 12
# Tile size the autotuner tries on long axes. None is planned: for 65536 results, tiles of 2048 to 16384
# took 0.84 to 0.95 of the processor time of a Gaussian sum, 0.89 to 1.19 of a minimum's, 1.03 to 1.09 of a logsumexp's.
TILE: Final = 1 << 13
# Of what XLA stores step by step, so many elements are computed at a time.
TILE_ELEMENTS: Final = 1 << 17
# Functions are polynomials of about so many operations.
CALL: Final = 4
# Tiles of an axis that a guard ties to the loop: so many, if that leaves so many values each,
TILES: Final = (8, 16, 32, 64)
LEAST_TILE: Final = 64
# and the guard leaves less than this part of all points. A trip has so many points, and begins in the time of so many.
SAVED: Final = 0.9
LEAST_TRIP: Final = 1 << 14
TRIP: Final = 1 << 12
# A value is compared with the one before it in order, as an integer.
RANKED: Final = 16


def choose(nest: Nest) -> LoopSchedule:
    """The form that a nest runs in unless someone chose another."""
    nest = nest.computed
    ranges = nest.ranges
    loop = max(nest.reduce.indices, key=lambda index: _extent(index, ranges))
    form = _windowed(nest, loop) or _product(nest, loop) or _of_rows(nest, loop)
    form = form or _guarded(_lanes(nest, loop), nest)
    return replace(form, sieve=sieve_size(nest))


def within(form: LoopSchedule, nest: Nest, memory: int | None) -> LoopSchedule:
    """The form with so few rows that the nest needs no more than `memory` bytes, as far as rows decide it."""
    if memory is None:
        return form
    # Accumulators before and after a block, a pair each, and as much again inside of it.
    row = 8 * prod(nest.shape) * ir.types.width(nest.reduce.accumulate)
    sieve = form.sieve if memory >= 2 * ROOM else 0
    return replace(form, rows=max(1, min(form.rows, memory // max(1, row))), sieve=sieve)


def in_tiles(form: LoopSchedule, nest: Nest) -> LoopSchedule:
    """The form with so much of the first axis at a time that a step's values lie in a cache."""
    size = max(1, TILE_ELEMENTS // max(1, prod(nest.shape[1:])))
    tile = (nest.axes[0], size) if nest.shape and size < nest.shape[0] else None
    return replace(form, unroll=1, whole=False, tile=tile)


def is_costly(nest: Nest) -> bool:
    """Whether XLA rather stores what the body computes than to compute it twice."""
    return are_costly([expr for expr in (nest.reduce.body, nest.reduce.guard) if expr is not None])


def are_costly(exprs: Iterable[ir.Expr], apart: Collection[str] = ()) -> bool:
    """Whether XLA rather stores what is computed there than to compute it twice, `apart` from reads of some tensors."""
    nodes = [node for expr in exprs for node in ir.walk(expr)]
    calls = any(map(is_dear, nodes))
    read = [node for node in nodes if isinstance(node, ir.Access) and node.tensor.name not in apart]
    # A gather too.
    return calls or any(index.is_data for access in read for index in access.indices)


def reused_bytes(nest: Nest) -> int:
    """What XLA stores of one fused loop over the result of a nest: dear values that several results use."""
    indices = frozenset(index for index in nest.reduce.indices)
    every = frozenset(nest.axes)
    found: dict[ir.Expr, int] = {}
    for node in ir.walk(nest.reduce.body):
        free = ir.free_indices(node) & (every | indices)
        if is_dear(node) and free & indices and any(_extent(axis, nest.ranges) > 1 for axis in every - free):
            found[node] = prod(_extent(index, nest.ranges) for index in free) * ir.types.width(node.dtype)
    return sum(found.values())


def is_dear(node: ir.Expr) -> bool:
    """Whether XLA computes a value once, wherever it is used."""
    return isinstance(node, ir.Foreign) or (isinstance(node, ir.Call) and node.function not in CHEAP)


def like(form: LoopSchedule, nest: Nest, part: Nest) -> LoopSchedule:
    """The form of a nest for a part of it: blocks of as many elements."""
    ranges = part.ranges
    rows = form.rows * prod(nest.shape) // max(1, prod(part.shape))
    tile = form.tile if form.tile is not None and form.tile[1] < _extent(form.tile[0], ranges) else None
    return replace(form, rows=dividing(rows, max(1, _extent(form.loop, ranges))), tile=tile)


def parts(
    nest: Nest, form: LoopSchedule, memory: int | None
) -> tuple[IndexVar | None, tuple[tuple[Nest, LoopSchedule], ...]]:
    """The pieces of a nest, each with the form that it runs in.

    What the planner would decide for the nest, it decides for each piece anew; another form, which someone measured,
    is kept: blocks of as many elements, unrolled as often.
    """
    axis, found = pieces(nest, form)
    if found == (nest,):
        return axis, ((nest, form),)
    # XLA may hold what all parts need at once.
    room = None if memory is None else memory // len(found)
    usual = form == within(choose(nest), nest, memory)
    forms = [choose(part) if usual else like(form, nest, part) for part in found]
    return axis, tuple((part, within(own, part, room)) for part, own in zip(found, forms, strict=True))


def candidates(nest: Nest) -> tuple[LoopSchedule, ...]:
    """Forms worth trying, the best guess first."""
    ranges = nest.ranges
    best = choose(nest)
    found = [best]
    for loop in sorted(nest.reduce.indices, key=lambda index: -_extent(index, ranges)):
        lanes = _lanes(nest, loop)
        extent = _extent(loop, ranges)
        found.append(lanes)
        found += _tiles(lanes, nest)
        for factor in (1, 4):
            found.append(replace(lanes, rows=max(1, lanes.rows // 4), unroll=max(1, lanes.unroll // factor)))
            found.append(replace(lanes, rows=dividing(lanes.rows * 4, extent), unroll=max(1, lanes.unroll // factor)))
        found.append(replace(lanes, unroll=max(1, lanes.unroll // 2)))
        others = prod(_extent(index, ranges) for index in nest.reduce.indices if index != loop)
        inside = max(1, PRODUCT_BLOCK // max(1, prod(nest.shape) * others))
        if nest.reduce.reducer.operator is not None:
            # What combines the lanes of a block must give values, not positions.
            found.append(LoopSchedule(loop, dividing(inside, extent), 1, inside=True))
    return tuple(dict.fromkeys(found))[:MOST_CANDIDATES]


def _tiles(lanes: LoopSchedule, nest: Nest) -> list[LoopSchedule]:
    """For results that leave few lanes to a block: so much of the longest axis at a time that there are more."""
    ranked = frozenset[IndexVar]() if nest.reduce.rank is None else ir.free_indices(nest.reduce.rank)
    axes = [axis for axis in nest.axes if axis not in ranked and _extent(axis, nest.ranges) > 2 * TILE]
    if lanes.inside or not axes:
        return []
    axis = max(axes, key=lambda axis: _extent(axis, nest.ranges))
    rows = dividing(lanes.rows * _extent(axis, nest.ranges) // TILE, _extent(lanes.loop, nest.ranges))
    return [replace(lanes, rows=rows, tile=(axis, TILE))]


def _lanes(nest: Nest, loop: IndexVar) -> LoopSchedule:
    """Each lane has accumulators of its own."""
    ranges, reduce = nest.ranges, nest.reduce
    extent = _extent(loop, ranges)
    others = prod(_extent(index, ranges) for index in reduce.indices if index != loop)
    free = ir.free_indices(replace(reduce, rank=None))
    outputs = max(1, prod(_extent(axis, ranges) for axis in nest.axes if axis in free) * others)
    if any(isinstance(node, ir.Reduce) and is_contraction(node, ranges) for node in ir.walk(reduce.body)):
        axis = guarded_axis(nest, loop) if reduce.reducer.operator is not None else None
        if axis is not None:
            return _by_tiles(nest, loop, axis, outputs // _extent(axis, ranges))
        return LoopSchedule(loop, dividing(PRODUCT_BLOCK // outputs, extent), 1)
    # Half of the lanes run on each core, over the same vectors.
    room = 2 * (CACHE - _vectors(nest, loop)) // _state_bytes(reduce)
    least = max(LEAST_BLOCK, min(BLOCK // 2, FEWEST_ROWS * outputs)) if reduce.reducer.gives_position else LEAST_BLOCK
    rows = dividing(max(least, min(BLOCK, room)) // (outputs * stored_points(reduce.body, ranges)), extent)
    if others > MOST_TERMS:
        # What the other indices sum is an operation of its own, and stores what it is given.
        return LoopSchedule(loop, rows, 1)
    # The other indices of the reduction are written out as well.
    operations = point_operations(nest) * others
    steps, most = MOST_OPERATIONS // operations, _most_steps(nest, loop, rows)
    if not is_costly(nest):
        # With a single trip there is no loop, which would run on all cores.
        steps = max(steps, min(most, MOST_ARITHMETIC // operations, extent // rows // 2))
    unroll = min(most, max(1, steps), max(1, extent // rows))
    if unroll == 1 and operations <= MOST_OPERATIONS:
        # A part that the guard leaves empty has no trips.
        unroll = max(1, min(2, extent // rows))
    # Powers of two divide most extents: blocks before the first trip are compiled for themselves.
    return LoopSchedule(loop, rows, 1 << (unroll.bit_length() - 1))


def _most_steps(nest: Nest, loop: IndexVar, rows: int) -> int:
    """The steps of a trip: as many as read vectors that stay in the nearest cache; more where results do not."""
    ranges, reduce = nest.ranges, nest.reduce
    free = ir.free_indices(replace(reduce, rank=None))
    axes = [axis for axis in nest.axes if axis in free]
    if prod(_extent(axis, ranges) for axis in axes) * _state_bytes(reduce) > FAR:
        return FAR_UNROLL
    minor = max(axes, key=lambda axis: _extent(axis, ranges), default=loop)
    step = 0
    for access in dict.fromkeys(ir.accesses(reduce)):
        walked = ir.free_indices(access)
        if minor in walked and loop in walked and minor != loop:
            inner = prod(_extent(index, ranges) for index in walked & {*reduce.indices} - {loop})
            step += rows * inner * _extent(minor, ranges) * _bytes(access.dtype)
    return min(MOST_UNROLL, max(1, NEAR // step)) if step else MOST_UNROLL


def _state_bytes(reduce: ir.Reduce) -> int:
    """The bytes of the state of a lane; a value and its place lie in one array before a trip, in another behind it."""
    if reduce.reducer.gives_position:
        return 2 * (_bytes(reduce.body.dtype) + _bytes("int32"))
    return _bytes(reduce.accumulate)


def _vectors(nest: Nest, loop: IndexVar) -> int:
    """Bytes of what every block reads anew."""
    found = {access.tensor.name: access for access in ir.accesses(nest.reduce) if loop not in ir.free_indices(access)}
    return sum(prod(o.shape) * _bytes(o.dtype) for o in nest.operands if o.name in found)


def _bytes(dtype: str) -> int:
    return max(1, ir.types.BITS[dtype] // 8)


def _product(nest: Nest, loop: IndexVar) -> LoopSchedule | None:
    """Blocks that a matrix product reduces; under a guard, and where an axis is long, for a tile of the axis each."""
    found = as_matrices(nest, loop)
    if found is None:
        return None
    ranges = nest.ranges
    extent = _extent(loop, ranges)
    room = PRODUCT_BLOCK // max(1, found.points)
    axis = guarded_axis(nest, loop)
    if axis is not None:
        return _by_tiles(nest, loop, axis, found.points // (_extent(axis, ranges) if axis in found.axes else 1))
    if room >= LEAST_PRODUCT or not found.axes:
        return LoopSchedule(loop, dividing(room, extent), 1, inside=True)
    # Equal extents go by name: plans are the same in every run.
    axis = max(sorted(found.axes, key=str), key=lambda axis: _extent(axis, ranges))
    return _by_tiles(nest, loop, axis, found.points // _extent(axis, ranges))


def _guarded(form: LoopSchedule, nest: Nest) -> LoopSchedule:
    """The form in tiles of the axis that an affine guard ties to the loop, each of which runs over its part of it."""
    axis = guarded_axis(nest, form.loop)
    if axis is None or form.tile is not None:
        return form
    ranges = nest.ranges
    extent, whole = _extent(axis, ranges), _extent(form.loop, ranges)
    others = max(1, prod(nest.shape) // max(1, extent))
    best, least = form, SAVED * whole * extent * others
    for count in TILES:
        size = extent // count
        if size < LEAST_TILE:
            break
        parts = spans(nest, replace(form, tile=(axis, size)))
        step = max(1, *(end - first for first, end in parts))
        while step * size * others >= LEAST_TRIP:
            trips = sum(-(-end // step) - first // step for first, end in parts if first < end)
            cost = trips * (step * size * others + TRIP)
            if cost < least:
                unroll = min(form.unroll, step)
                best, least = replace(form, tile=(axis, size), rows=step // unroll, unroll=unroll), cost
            step //= 2
    return best


def _windowed(nest: Nest, loop: IndexVar) -> LoopSchedule | None:
    """The values of an axis one after the other, where it slides along what is reduced: rows that overlap need room.

    ``d_w(i) +=! x(h + i) * d_O(h)``.
    """
    reduce, ranges = nest.reduce, nest.ranges
    shapes = {o.name: o.shape for o in nest.operands}
    if reduce.reducer.operator is None:
        return None
    reduced = frozenset(reduce.indices)
    rows: dict[IndexVar, int] = {}
    for access in ir.accesses(reduce):
        for subscript in access.indices:
            sliding = [axis for axis in nest.axes if axis in subscript.variables and subscript.variables & reduced]
            for axis in sliding if subscript.is_linear else ():
                # Rows that overlap are the tensor once for each value.
                rows[axis] = max(rows.get(axis, 0), prod(shapes[access.tensor.name]) * _extent(axis, ranges))
    axis = max(sorted(rows, key=str), key=lambda axis: rows[axis], default=None)
    if axis is None or rows[axis] < PRODUCT_BLOCK or prod(nest.shape) >= LEAST_BLOCK:
        return None
    spaces = [ir.free_indices(access) for access in ir.accesses(reduce)]
    others = max(prod(_extent(index, ranges) for index in space - {loop, axis}) for space in spaces)
    return LoopSchedule(loop, dividing(BLOCK // max(1, others), _extent(loop, ranges)), 1, (axis, 1), inside=True)


def _of_rows(nest: Nest, loop: IndexVar) -> LoopSchedule | None:
    """Blocks of rows that data choose for each result, which are summed whole: ``O(j) +=! X(i + S(j), k) * y(i, k)``.

    A gather stores a block in whichever order is asked for, and one sum of products reduces it. In lanes, each step
    would add a few rows up, and combine what they leave at the end.
    """
    reduce, ranges = nest.reduce, nest.ranges
    factors = ir.factors(reduce.body)
    if reduce.reducer is not ir.Reducer.SUM or reduce.guard is not None or not ir.types.is_float(reduce.accumulate):
        return None
    if len(factors) != 2 or not all(isinstance(factor, ir.Access) for factor in factors):
        return None
    long = {index for index in reduce.indices if index != loop and _extent(index, ranges) >= LEAST_PRODUCT}
    own = frozenset(nest.axes)
    rows = [
        access
        for access in ir.accesses(reduce)
        if any(index.is_data and loop in index.variables and own & index.variables for index in access.indices[:-1])
        and access.indices[-1].bare in long
    ]
    points = prod(_extent(index, ranges) for index in (*nest.axes, *reduce.indices) if index != loop)
    if not rows or points > PRODUCT_BLOCK:
        return None
    return LoopSchedule(loop, dividing(PRODUCT_BLOCK // points, _extent(loop, ranges)), 1, inside=True)


def _by_tiles(nest: Nest, loop: IndexVar, axis: IndexVar, others: int) -> LoopSchedule:
    """Square blocks of the loop and an axis, for so many values of all else."""
    side = isqrt(PRODUCT_BLOCK // max(1, others))
    extent = _extent(axis, nest.ranges)
    size = dividing(side, extent)
    rows = dividing(side, _extent(loop, nest.ranges))
    return LoopSchedule(loop, rows, 1, (axis, size) if size < extent else None, inside=True)


def dividing(rows: int, extent: int) -> int:
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
    if reduce.guard is not None or reduce.reducer.operator is None or is_contraction(reduce, ranges):
        return False
    # XLA computes a gather anew for every term that uses it.
    return 0 < terms(reduce, ranges) <= (FEW_GATHERS if ir.looks_up(reduce) else MOST_TERMS)


def is_contraction(reduce: ir.Reduce, ranges: Ranges) -> bool:
    """Whether it is the sum of products of two operands that a matrix product does faster than a loop."""
    if reduce.reducer is not ir.Reducer.SUM or terms(reduce, ranges) < LEAST_PRODUCT:
        return False
    spaces = [ir.free_indices(factor) for factor in ir.factors(reduce.body)]
    return any(a - b and b - a for a in spaces for b in spaces)


def point_operations(nest: Nest) -> int:
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


def stored_points(expr: ir.Expr, ranges: Ranges) -> int:
    """The points of the longest reduction inside that is an operation of its own; 1 without any."""
    inner = [node for node in ir.walk(expr) if isinstance(node, ir.Reduce)]
    long = [node for node in inner if not is_short(node, ranges) and not is_contraction(node, ranges)]
    return max((terms(node, ranges) for node in long), default=1)
