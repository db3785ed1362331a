"""How the loops of a nest run as XLA operations."""

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

# These were measured on two cores with 512 KiB of cache each; differences of up to 1.2x are noise.
# Elements of a block: enough work per iteration for all cores, with accumulators that stay in the cache.
BLOCK: Final = 1 << 17
LEAST_BLOCK: Final = 1 << 15
# Positions in fewer rows make iterations so short that overhead shows: with 8192 results, 4 rows took 1.13x as long.
FEWEST_ROWS: Final = 8
# Bytes of accumulators and of the vectors that every block reads: beyond this they leave the cache between blocks.
CACHE: Final = 3 << 17
# Elements of a block that a matrix product reduces.
PRODUCT_BLOCK: Final = 1 << 19
# With more operations in one fused loop, XLA compiles for seconds and recomputes or stores shared values.
MOST_OPERATIONS: Final = 128
# Terms of one iteration: sixteen took 1.9x to 2.5x as long with one lane per point, and the same time otherwise.
MOST_UNROLL: Final = 8
# Bytes of vectors that one iteration reads, half of the L1 cache: 1024^2 distances in 32 dimensions took 1.06 ms of
# processor time with four steps per iteration, 1.34 with eight, 3.4 with sixteen, where four steps read 16 KiB.
NEAR: Final = 1 << 14
# Larger accumulators are read from and written to memory in each iteration, which then has this many steps: 2048^2
# distances in 64 dimensions took 17 ms with sixteen steps per iteration, 28 with eight.
FAR: Final = 1 << 23
FAR_UNROLL: Final = 16
# Without function calls there may be more operations, in this many steps: all read the same vectors, which are loaded
# once. The minimum of 2048 distances in 32 dimensions took 21 ms with one step per iteration, 5.3 ms with four, 2.0
# with eight.
MOST_ARITHMETIC: Final = 1040
# An inner reduction over at most this many points is unrolled in the loop around it.
MOST_TERMS: Final = 64
FEW_GATHERS: Final = 4
# Sums of products of at least this many terms are matrix products.
LEAST_PRODUCT: Final = 16
MOST_CANDIDATES: Final = 12
# Tile size the autotuner tries on long axes. None is planned: for 65536 results, tiles of 2048 to 16384
# took 0.84 to 0.95 of the processor time of a Gaussian sum, 0.89 to 1.19 of a minimum's, 1.03 to 1.09 of a logsumexp's.
TILE: Final = 1 << 13
# Elements computed at a time where XLA stores each step.
TILE_ELEMENTS: Final = 1 << 17
# Functions are polynomials of about this many operations.
CALL: Final = 4
# Numbers of tiles of an axis that a guard ties to the loop, if each has at least this many values,
TILES: Final = (8, 16, 32, 64)
LEAST_TILE: Final = 64
# and the guard keeps less than this share of the points. An iteration has at least this many points, and its overhead
# is the time of this many.
SAVED: Final = 0.9
LEAST_TRIP: Final = 1 << 14
TRIP: Final = 1 << 12
# Operations of comparing a value with the previous one in order, as an integer.
RANKED: Final = 16


def choose(nest: Nest) -> LoopSchedule:
    """The form in which a nest runs unless another is chosen."""
    nest = nest.computed
    ranges = nest.ranges
    loop = max(nest.reduce.indices, key=lambda index: _extent(index, ranges))
    form = _windowed(nest, loop) or _product(nest, loop) or _of_rows(nest, loop)
    form = form or _guarded(_lanes(nest, loop), nest)
    return replace(form, sieve=sieve_size(nest))


def within(form: LoopSchedule, nest: Nest, memory: int | None) -> LoopSchedule:
    """The form, with fewer rows if the nest needs more than `memory` bytes, as far as rows decide it."""
    if memory is None:
        return form
    # Accumulators before and after a block, two each, and as much again inside it.
    row = 8 * prod(nest.shape) * ir.types.width(nest.reduce.accumulate)
    sieve = form.sieve if memory >= 2 * ROOM else 0
    return replace(form, rows=max(1, min(form.rows, memory // max(1, row))), sieve=sieve)


def in_tiles(form: LoopSchedule, nest: Nest) -> LoopSchedule:
    """The form in tiles of the first axis, so that a step's values fit in a cache."""
    size = max(1, TILE_ELEMENTS // max(1, prod(nest.shape[1:])))
    tile = (nest.axes[0], size) if nest.shape and size < nest.shape[0] else None
    return replace(form, unroll=1, whole=False, tile=tile)


def is_costly(nest: Nest) -> bool:
    """Whether XLA stores what the body computes rather than compute it twice."""
    return are_costly([expr for expr in (nest.reduce.body, nest.reduce.guard) if expr is not None])


def are_costly(exprs: Iterable[ir.Expr], apart: Collection[str] = ()) -> bool:
    """Whether XLA stores these values rather than compute them twice, `apart` from reads of some tensors."""
    nodes = [node for expr in exprs for node in ir.walk(expr)]
    calls = any(map(is_dear, nodes))
    read = [node for node in nodes if isinstance(node, ir.Access) and node.tensor.name not in apart]
    # So are gathers.
    return calls or any(index.is_data for access in read for index in access.indices)


def reused_bytes(nest: Nest) -> int:
    """Bytes that XLA stores of one fused loop over the result of a nest: expensive values that several results use."""
    indices = frozenset(index for index in nest.reduce.indices)
    every = frozenset(nest.axes)
    found: dict[ir.Expr, int] = {}
    for node in ir.walk(nest.reduce.body):
        free = ir.free_indices(node) & (every | indices)
        if is_dear(node) and free & indices and any(_extent(axis, nest.ranges) > 1 for axis in every - free):
            found[node] = prod(_extent(index, nest.ranges) for index in free) * ir.types.width(node.dtype)
    return sum(found.values())


def is_dear(node: ir.Expr) -> bool:
    """Whether a value is so expensive that XLA computes it only once."""
    return isinstance(node, ir.Foreign) or (isinstance(node, ir.Call) and node.function not in CHEAP)


def like(form: LoopSchedule, nest: Nest, part: Nest) -> LoopSchedule:
    """The form of a nest for a part of it, with blocks of the same number of elements."""
    ranges = part.ranges
    rows = form.rows * prod(nest.shape) // max(1, prod(part.shape))
    tile = form.tile if form.tile is not None and form.tile[1] < _extent(form.tile[0], ranges) else None
    return replace(form, rows=dividing(rows, max(1, _extent(form.loop, ranges))), tile=tile)


def parts(
    nest: Nest, form: LoopSchedule, memory: int | None
) -> tuple[IndexVar | None, tuple[tuple[Nest, LoopSchedule], ...]]:
    """The pieces of a nest, each with its form.

    If the form is the planner's own choice, the planner chooses again for each piece. A tuned form is kept: blocks of
    the same number of elements, unrolled as often.
    """
    axis, found = pieces(nest, form)
    if found == (nest,):
        return axis, ((nest, form),)
    # XLA may hold the memory of all parts at the same time.
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
            # Combining the lanes of a block must give values, not positions.
            found.append(LoopSchedule(loop, dividing(inside, extent), 1, inside=True))
    return tuple(dict.fromkeys(found))[:MOST_CANDIDATES]


def _tiles(lanes: LoopSchedule, nest: Nest) -> list[LoopSchedule]:
    """If results are so many that a block has few lanes: tiles of the longest axis, so that it has more."""
    ranked = frozenset[IndexVar]() if nest.reduce.rank is None else ir.free_indices(nest.reduce.rank)
    axes = [axis for axis in nest.axes if axis not in ranked and _extent(axis, nest.ranges) > 2 * TILE]
    if lanes.inside or not axes:
        return []
    axis = max(axes, key=lambda axis: _extent(axis, nest.ranges))
    rows = dividing(lanes.rows * _extent(axis, nest.ranges) // TILE, _extent(lanes.loop, nest.ranges))
    return [replace(lanes, rows=rows, tile=(axis, TILE))]


def _lanes(nest: Nest, loop: IndexVar) -> LoopSchedule:
    """A block of lanes, each with its own accumulators."""
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
    # Each of two cores runs half of the lanes, over the same vectors.
    room = 2 * (CACHE - _vectors(nest, loop)) // _state_bytes(reduce)
    least = max(LEAST_BLOCK, min(BLOCK // 2, FEWEST_ROWS * outputs)) if reduce.reducer.gives_position else LEAST_BLOCK
    rows = dividing(max(least, min(BLOCK, room)) // (outputs * stored_points(reduce.body, ranges)), extent)
    if others > MOST_TERMS:
        # The sum over the other indices is an operation of its own, and stores its input.
        return LoopSchedule(loop, rows, 1)
    # The other indices of the reduction are unrolled as well.
    operations = point_operations(nest) * others
    steps, most = MOST_OPERATIONS // operations, _most_steps(nest, loop, rows)
    if not is_costly(nest):
        # With a single iteration XLA drops the loop, and with it its parallel execution.
        steps = max(steps, min(most, MOST_ARITHMETIC // operations, extent // rows // 2))
    unroll = min(most, max(1, steps), max(1, extent // rows))
    if unroll == 1 and operations <= MOST_OPERATIONS:
        # A part that the guard leaves empty has no iterations.
        unroll = max(1, min(2, extent // rows))
    # Powers of two divide most extents: blocks before the first iteration are compiled separately.
    return LoopSchedule(loop, rows, 1 << (unroll.bit_length() - 1))


def _most_steps(nest: Nest, loop: IndexVar, rows: int) -> int:
    """The steps of an iteration: as long as the vectors that they read stay in L1; more if the results do not."""
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
    """Bytes of a lane's state: a value and a position are in one array before an iteration, in another after it."""
    if reduce.reducer.gives_position:
        return 2 * (_bytes(reduce.body.dtype) + _bytes("int32"))
    return _bytes(reduce.accumulate)


def _vectors(nest: Nest, loop: IndexVar) -> int:
    """The bytes that every block reads again."""
    found = {access.tensor.name: access for access in ir.accesses(nest.reduce) if loop not in ir.free_indices(access)}
    return sum(prod(o.shape) * _bytes(o.dtype) for o in nest.operands if o.name in found)


def _bytes(dtype: str) -> int:
    return max(1, ir.types.BITS[dtype] // 8)


def _product(nest: Nest, loop: IndexVar) -> LoopSchedule | None:
    """Blocks that a matrix product reduces; in tiles of an axis if it is guarded or long."""
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
    # Equal extents are ordered by name, so that plans are reproducible.
    axis = max(sorted(found.axes, key=str), key=lambda axis: _extent(axis, ranges))
    return _by_tiles(nest, loop, axis, found.points // _extent(axis, ranges))


def _guarded(form: LoopSchedule, nest: Nest) -> LoopSchedule:
    """The form in tiles of the axis that an affine guard ties to the loop; each tile runs over its part of the loop."""
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
    """One value at a time of an axis that slides along a reduced index, because overlapping rows need memory.

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
                # Overlapping rows are one copy of the tensor for each value.
                rows[axis] = max(rows.get(axis, 0), prod(shapes[access.tensor.name]) * _extent(axis, ranges))
    axis = max(sorted(rows, key=str), key=lambda axis: rows[axis], default=None)
    if axis is None or rows[axis] < PRODUCT_BLOCK or prod(nest.shape) >= LEAST_BLOCK:
        return None
    spaces = [ir.free_indices(access) for access in ir.accesses(reduce)]
    others = max(prod(_extent(index, ranges) for index in space - {loop, axis}) for space in spaces)
    return LoopSchedule(loop, dividing(BLOCK // max(1, others), _extent(loop, ranges)), 1, (axis, 1), inside=True)


def _of_rows(nest: Nest, loop: IndexVar) -> LoopSchedule | None:
    """Blocks of rows that data chooses for each result, summed by one product: ``O(j) +=! X(i + S(j), k) * y(i, k)``.

    A gather stores a block in any order, and one sum of products reduces it. In lanes, each step would sum a few rows,
    and the lanes would have to be combined at the end.
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
    """Square blocks of the loop and an axis, with this many values of the other indices."""
    side = isqrt(PRODUCT_BLOCK // max(1, others))
    extent = _extent(axis, nest.ranges)
    size = dividing(side, extent)
    rows = dividing(side, _extent(loop, nest.ranges))
    return LoopSchedule(loop, rows, 1, (axis, size) if size < extent else None, inside=True)


def dividing(rows: int, extent: int) -> int:
    """About this many rows: the largest divisor of the extent that is not much smaller, else `rows` and a remainder."""
    rows = max(1, min(rows, extent))
    return next((near for near in range(rows, rows * 2 // 3, -1) if extent % near == 0), rows)


def _extent(index: IndexVar, ranges: Ranges) -> int:
    lo, hi = ranges[index]
    return max(0, hi - lo)


def terms(reduce: ir.Reduce, ranges: Ranges) -> int:
    """The number of points of a reduction."""
    return prod(_extent(index, ranges) for index in reduce.indices)


def is_short(reduce: ir.Reduce, ranges: Ranges) -> bool:
    """Whether a reduction in the body of another is unrolled."""
    if reduce.guard is not None or reduce.reducer.operator is None or is_contraction(reduce, ranges):
        return False
    # XLA recomputes a gather for every term that uses it.
    return 0 < terms(reduce, ranges) <= (FEW_GATHERS if ir.looks_up(reduce) else MOST_TERMS)


def is_contraction(reduce: ir.Reduce, ranges: Ranges) -> bool:
    """Whether it is a sum of products that a matrix product computes faster than a loop."""
    if reduce.reducer is not ir.Reducer.SUM or terms(reduce, ranges) < LEAST_PRODUCT:
        return False
    spaces = [ir.free_indices(factor) for factor in ir.factors(reduce.body)]
    return any(a - b and b - a for a in spaces for b in spaces)


def point_operations(nest: Nest) -> int:
    """The approximate number of operations per point in the fused loop."""
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
    """The points of the longest inner reduction that is an operation of its own; 1 if there is none."""
    inner = [node for node in ir.walk(expr) if isinstance(node, ir.Reduce)]
    long = [node for node in inner if not is_short(node, ranges) and not is_contraction(node, ranges)]
    return max((terms(node, ranges) for node in long), default=1)
