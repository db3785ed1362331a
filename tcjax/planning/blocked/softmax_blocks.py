"""How a softmax is cut into blocks of scores, and why."""

from collections.abc import Mapping
from math import prod
from typing import Final

from ... import ir
from ...symbolic import Affine, IndexVar
from ...transforms.factors import distributed, non_negative, summands
from ..data.groups import Blocks, Softmax, parts
from ..data.nests import Nest
from .loop_schedules import dividing, is_contraction, stored_points

# Elements of a block of scores and values of the loop in it, as measured on two cores: of matrix products,
PRODUCT: Final = (1 << 19, 4096)
# of what XLA computes in one loop,
ELEMENTWISE: Final = (1 << 18, 256)
# and of those that a guard may skip: small ones follow its edge.
GUARDED: Final = (1 << 17, 512)
# Arrays of a block that exist at a time: scores, exponentials, and one more on the way.
ARRAYS: Final = 4


def choose(softmax: Softmax, memory: int | None) -> Blocks:
    """The blocks that a softmax runs in, within `memory` bytes as far as blocks decide it."""
    ranges = softmax.ranges
    extents = {index: max(0, hi - lo) for index, (lo, hi) in ranges.items()}
    loops = softmax.sums[0].reduce.indices
    loop = max(loops, key=lambda index: extents[index])
    others = max(1, prod(extents[index] for index in loops if index != loop))
    rows = max(1, prod(extents[axis] for axis in softmax.rows))
    guarded = bool(conditions(softmax))
    elements, width = GUARDED if guarded else PRODUCT if is_product(softmax) else ELEMENTWISE
    spread = max(_spread(softmax, nest, extents) for nest in softmax.sums)
    room = elements // stored_points(softmax.scores, ranges) // spread
    if memory is not None:
        room = min(room, memory // (ARRAYS * ir.types.width(softmax.scores.dtype)))
    # What the loop and each row have beside scores: weights, and running sums.
    columns = max(prod(extents[axis] for axis in nest.axes if axis not in softmax.rows) for nest in softmax.sums)
    most = max(1, PRODUCT[0] // max(1, columns))
    width = max(width, room // rows)
    width = dividing(max(1, min(width, room, most) // others), extents[loop])
    left = max(1, min(room // max(1, width * others), most))
    tile: list[tuple[IndexVar, int]] = []
    for axis in sorted(softmax.rows, key=lambda axis: -extents[axis]):
        size = dividing(left, extents[axis])
        left = max(1, left // max(1, size))
        if size < extents[axis]:
            tile.append((axis, size))
    return Blocks(loop, width, tuple(tile))


def is_product(softmax: Softmax) -> bool:
    """Whether the scores are matrix products, more or less."""
    ranges = softmax.ranges
    return any(isinstance(node, ir.Reduce) and is_contraction(node, ranges) for node in ir.walk(softmax.scores))


def _spread(softmax: Softmax, nest: Nest, extents: Mapping[IndexVar, int]) -> int:
    """How many products there are for a score: those of a weight that changes with the rows are computed one by one."""
    _, weight = parts(nest)
    free = frozenset[IndexVar]() if weight is None else ir.free_indices(weight)
    if not softmax.rows or not frozenset(softmax.rows) <= free:
        return 1
    return prod(extents[axis] for axis in free if axis in nest.axes and axis not in softmax.rows)


def is_divided(nest: Nest) -> bool:
    """Whether a sum of products could be taken apart into several."""
    found = [part for product in summands(nest.reduce.body) for part in distributed(product, frozenset())]
    return len(found) > 1


def describe(softmax: Softmax, blocks: Blocks, *, first: bool) -> str:
    """Why it is one pass, in words."""
    if not first:
        return "a result of the pass that computes the scores"
    ranges = softmax.ranges
    axes = (*softmax.rows, *softmax.sums[0].reduce.indices)
    count = prod(max(0, ranges[axis][1] - ranges[axis][0]) for axis in axes)
    sums = "a sum" if len(softmax.sums) == 1 else f"{len(softmax.sums)} sums"
    reducers = [nest.reduce.reducer for nest in softmax.statistics if nest.reduce.reducer.is_upper_bound]
    statistics = ", ".join("the largest" if reducer.is_extremum else reducer.value for reducer in reducers)
    rows = rows_of(softmax, blocks)
    skipped = ", none that the guard leaves empty" if conditions(softmax) else ""
    size = f"{rows} x {blocks.width}"
    return f"{count} scores, never stored, computed once for {statistics} and {sums}: blocks of {size}{skipped}"


def rows_of(softmax: Softmax, blocks: Blocks) -> int:
    """How many rows of scores a block has."""
    ranges, sizes = softmax.ranges, dict(blocks.tile)
    return prod(sizes.get(axis, ranges[axis][1] - ranges[axis][0]) for axis in softmax.rows)


def conditions(softmax: Softmax) -> list[Affine]:
    """The affine conditions on the loop without which a point counts for nothing."""
    guards = [softmax.guard]
    match softmax.scores:
        case ir.Select(condition, _, ir.Const(value)) if value == -float("inf"):
            guards.append(condition)
        case _:
            pass
    loops = frozenset(softmax.sums[0].reduce.indices)
    every = [non_negative(part) for guard in guards for part in ir.conjuncts(guard)]
    return [affine for affine in every if affine is not None and affine.variables & loops]
