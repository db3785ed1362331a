"""How a softmax is cut into blocks of scores, and why."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Final

from ... import ir
from ...symbolic import Affine, IndexVar
from ...transforms.factors import distributed, summands
from ..data.blocked_loop import between
from ..data.groups import Blocks, Softmax, parts
from ..data.nests import Nest
from .domains import ends, non_negatives
from .loop_schedules import dividing, is_contraction, stored_points
from .spaces import Space, tiled

# Elements of a block of scores and values of the loop in it, as measured on two cores: of matrix products,
PRODUCT: Final = (1 << 19, 4096)
# of what XLA computes in one loop,
ELEMENTWISE: Final = (1 << 18, 256)
# and of those that a guard may skip: small ones follow its edge.
GUARDED: Final = (1 << 17, 512)
# As many rows as values, where data say which scores count.
SQUARE: Final = 128
# Rows of a block that has all scores that count for them, where a guard leaves few for each; a block begins in the time
# of so many points.
FOLLOWING: Final = (64, 128, 256, 512)
BEGIN: Final = 1 << 14
# Arrays of a block that exist at a time: scores, exponentials, and one more on the way.
ARRAYS: Final = 4


def choose(softmax: Softmax, memory: int | None) -> Blocks:
    """The blocks that a softmax runs in, within `memory` bytes as far as blocks decide it."""
    chooser = _Chooser(softmax, memory)
    blocks = chooser.evenly()
    if chooser.of_data:
        return chooser.square()
    if not chooser.conditions:
        return blocks
    return min((blocks, *chooser.following()), key=chooser.cost)


class _Chooser:
    """Ways to cut a softmax into blocks."""

    def __init__(self, softmax: Softmax, memory: int | None) -> None:
        self.softmax = softmax
        self.ranges = softmax.ranges
        self.extents = {index: max(0, hi - lo) for index, (lo, hi) in self.ranges.items()}
        loops = softmax.sums[0].reduce.indices
        self.loop = max(loops, key=lambda index: self.extents[index])
        self.others = max(1, prod(self.extents[index] for index in loops if index != self.loop))
        self.conditions = [each for each in conditions_of(softmax) if self.loop in each.variables]
        self.of_data = any(each.is_data for each in self.conditions)
        self.shape = GUARDED if self.conditions else PRODUCT if is_product(softmax) else ELEMENTWISE
        spread = max(_spread(softmax, nest, self.extents) for nest in softmax.sums)
        room = self.shape[0] // stored_points(softmax.scores, self.ranges) // spread
        if memory is not None:
            room = min(room, memory // (ARRAYS * ir.types.width(softmax.scores.dtype)))
        self.room = room
        # What the loop and each row have beside scores: weights, and running sums.
        columns = max(prod(self.extents[a] for a in nest.axes if a not in softmax.rows) for nest in softmax.sums)
        self.most = max(1, PRODUCT[0] // max(1, columns))

    def evenly(self) -> Blocks:
        """Blocks of about as many values as is best where all scores count."""
        rows = max(1, prod(self.extents[axis] for axis in self.softmax.rows))
        width = max(self.shape[1], self.room // rows)
        width = dividing(max(1, min(width, self.room, self.most) // self.others), self.extents[self.loop])
        return Blocks(self.loop, width, self.tile(width))

    def square(self) -> Blocks:
        """As many rows as values of the loop, of all axes but those that data tie to the loop as many as there is room.

        Nobody knows which of them count: small ones follow any edge.
        """
        width = dividing(max(1, min(SQUARE, self.room, self.most) // self.others), self.extents[self.loop])
        return Blocks(self.loop, width, self.tile(width, SQUARE))

    def following(self) -> Iterator[Blocks]:
        """One block for each tile, as wide as the guard leaves values of the loop for any of them."""
        for size in FOLLOWING:
            # With a single one, all values that a tile needs are in one block.
            tile = {axis: min(size, self.extents[axis]) for axis in self.tied}
            ends = self.spans(Blocks(self.loop, 1, tuple(tile.items())))
            width = max((behind - first for first, behind, _ in ends), default=0)
            if 0 < width < self.extents[self.loop] and width * self.others * prod(tile.values()) <= self.room:
                yield Blocks(self.loop, width, self.tile(width, size), follows=True)

    @property
    def tied(self) -> tuple[IndexVar, ...]:
        """The axes that the guard ties to the loop."""
        return tuple(axis for axis in self.softmax.rows if any(axis in each.variables for each in self.conditions))

    def tile(self, width: int, most: int | None = None) -> tuple[tuple[IndexVar, int], ...]:
        """As many rows as there is room for, but `most` of the axes that the guard ties to the loop."""
        left = max(1, min(self.room // max(1, width * self.others), self.most))
        found: list[tuple[IndexVar, int]] = []
        first = self.tied if most is not None else ()
        for axis in sorted(self.softmax.rows, key=lambda axis: (axis not in first, -self.extents[axis])):
            size = dividing(min(left, most) if most is not None and axis in first else left, self.extents[axis])
            left = max(1, left // max(1, size))
            if size < self.extents[axis]:
                found.append((axis, size))
        return tuple(found)

    def cost(self, blocks: Blocks) -> int:
        """Points of the blocks that the guard leaves, and for each block as many as it takes to begin."""
        points = rows_of(self.softmax, blocks) * blocks.width * self.others
        count = 0
        for first, behind, times in self.spans(blocks):
            lo = self.ranges[self.loop][0]
            walked = -(-(behind - lo) // blocks.width) - (first - lo) // blocks.width
            count += times * (1 if blocks.follows else max(0, walked))
        return count * (points + BEGIN)

    def spans(self, blocks: Blocks) -> Iterator[tuple[int, int, int]]:
        """For the tiles what the guard leaves of the loop, and for how many of them it leaves so much."""
        tiles = tiled(self.softmax.rows, dict(blocks.tile), self.ranges)
        box = Space(self.ranges, self.loop, 1, tiles).box
        found = ends(self.conditions, self.loop, [tile.axis for tile in tiles], box)
        moving = [any(end.coefficients[number] for end in found) for number in range(len(tiles))]
        times = prod(tile.count for tile, moves in zip(tiles, moving, strict=True) if not moves)
        starts = [
            [min(tile.lo + n * tile.size, tile.lo + tile.extent - tile.size) for n in range(tile.count)]
            if moves
            else [tile.lo]
            for tile, moves in zip(tiles, moving, strict=True)
        ]
        for place in product(*starts):
            first, behind = between([(end, end.limit(place)) for end in found], self.ranges[self.loop])
            yield first, max(first, behind), times


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
    skipped = ", none that the guard leaves empty" if conditions_of(softmax) else ""
    size = f"{rows} x {blocks.width}"
    return f"{count} scores, never stored, computed once for {statistics} and {sums}: blocks of {size}{skipped}"


def rows_of(softmax: Softmax, blocks: Blocks) -> int:
    """How many rows of scores a block has."""
    ranges, sizes = softmax.ranges, dict(blocks.tile)
    return prod(sizes.get(axis, ranges[axis][1] - ranges[axis][0]) for axis in softmax.rows)


def conditions_of(softmax: Softmax) -> list[Affine]:
    """The conditions on the loop outside which points are masked, as expressions that are not negative inside."""
    return conditions(softmax.guard, softmax.scores, softmax.sums[0].reduce.indices)


def conditions(guard: ir.Expr | None, scores: ir.Expr, loops: Iterable[IndexVar]) -> list[Affine]:
    """What is not negative where a guard holds, and scores are not minus infinity: that which changes with a loop."""
    guards = [guard]
    match scores:
        case ir.Select(condition, _, ir.Const(value)) if value == -float("inf"):
            guards.append(condition)
        case _:
            pass
    every = [affine for each in guards for affine in non_negatives(each, of_data=True)]
    return [affine for affine in every if affine.variables & frozenset(loops)]
