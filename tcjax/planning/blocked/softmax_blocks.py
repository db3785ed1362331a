"""Chooses the blocks of scores of a softmax, with a reason."""

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

# Elements of a block of scores and values of the loop in it, measured on two cores: for matrix products,
PRODUCT: Final = (1 << 19, 4096)
# for scores that XLA computes in one loop,
ELEMENTWISE: Final = (1 << 18, 256)
# and for scores that a guard may skip: small blocks follow its edge.
GUARDED: Final = (1 << 17, 512)
# Square blocks, if the mask depends on data.
SQUARE: Final = 128
# Rows of a block that contains all active scores of these rows, if a guard leaves few for each; a block has a start-up
# cost worth this many points.
FOLLOWING: Final = (64, 128, 256, 512)
BEGIN: Final = 1 << 14
# Arrays of a block that exist at the same time: scores, exponentials, and an intermediate one.
ARRAYS: Final = 4


def choose(softmax: Softmax, memory: int | None) -> Blocks:
    """The blocks of a softmax, within `memory` bytes as far as blocks decide it."""
    chooser = _Chooser(softmax, memory)
    blocks = chooser.evenly()
    if chooser.of_data:
        return chooser.square()
    if not chooser.conditions:
        return blocks
    return min((blocks, *chooser.following()), key=chooser.cost)


class _Chooser:
    """Ways to split a softmax into blocks."""

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
        # The data per loop value and per row besides scores: weights, and running sums.
        columns = max(prod(self.extents[a] for a in nest.axes if a not in softmax.rows) for nest in softmax.sums)
        self.most = max(1, PRODUCT[0] // max(1, columns))

    def evenly(self) -> Blocks:
        """Blocks with the best number of values if no scores are masked."""
        rows = max(1, prod(self.extents[axis] for axis in self.softmax.rows))
        width = max(self.shape[1], self.room // rows)
        width = dividing(max(1, min(width, self.room, self.most) // self.others), self.extents[self.loop])
        return Blocks(self.loop, width, self.tile(width))

    def square(self) -> Blocks:
        """Square blocks: as many rows as loop values, with as much of the axes that data does not tie to the loop as
        fits.

        The mask is only known at run time: small blocks follow any edge.
        """
        width = dividing(max(1, min(SQUARE, self.room, self.most) // self.others), self.extents[self.loop])
        return Blocks(self.loop, width, self.tile(width, SQUARE))

    def following(self) -> Iterator[Blocks]:
        """One block per tile, as wide as the largest range of loop values that the guard leaves for any tile."""
        for size in FOLLOWING:
            # With a single block, all values that a tile needs are in it.
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
        """As many rows as fit, but at most `most` along the axes that the guard ties to the loop."""
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
        """The points of the blocks that the guard leaves, plus the start-up cost of each block in points."""
        points = rows_of(self.softmax, blocks) * blocks.width * self.others
        count = 0
        for first, behind, times in self.spans(blocks):
            lo = self.ranges[self.loop][0]
            walked = -(-(behind - lo) // blocks.width) - (first - lo) // blocks.width
            count += times * (1 if blocks.follows else max(0, walked))
        return count * (points + BEGIN)

    def spans(self, blocks: Blocks) -> Iterator[tuple[int, int, int]]:
        """The range of the loop that the guard leaves for each kind of tile, and the number of such tiles."""
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
    """Whether the scores are essentially matrix products."""
    ranges = softmax.ranges
    return any(isinstance(node, ir.Reduce) and is_contraction(node, ranges) for node in ir.walk(softmax.scores))


def _spread(softmax: Softmax, nest: Nest, extents: Mapping[IndexVar, int]) -> int:
    """The number of products per score: those of a weight that depends on the rows are computed one by one."""
    _, weight = parts(nest)
    free = frozenset[IndexVar]() if weight is None else ir.free_indices(weight)
    if not softmax.rows or not frozenset(softmax.rows) <= free:
        return 1
    return prod(extents[axis] for axis in free if axis in nest.axes and axis not in softmax.rows)


def is_divided(nest: Nest) -> bool:
    """Whether a sum of products could be split into several."""
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
    skipped = ", skipping those that the guard leaves empty" if conditions_of(softmax) else ""
    size = f"{rows} x {blocks.width}"
    return f"{count} scores, never stored, computed once for {statistics} and {sums}: blocks of {size}{skipped}"


def rows_of(softmax: Softmax, blocks: Blocks) -> int:
    """The number of rows of scores in a block."""
    ranges, sizes = softmax.ranges, dict(blocks.tile)
    return prod(sizes.get(axis, ranges[axis][1] - ranges[axis][0]) for axis in softmax.rows)


def conditions_of(softmax: Softmax) -> list[Affine]:
    """The conditions on the loop outside which points are masked, as expressions that are not negative inside."""
    return conditions(softmax.guard, softmax.scores, softmax.sums[0].reduce.indices)


def conditions(guard: ir.Expr | None, scores: ir.Expr, loops: Iterable[IndexVar]) -> list[Affine]:
    """Expressions that are not negative where a guard holds and scores are not minus infinity, if they depend on a
    loop.
    """
    guards = [guard]
    match scores:
        case ir.Select(condition, _, ir.Const(value)) if value == -float("inf"):
            guards.append(condition)
        case _:
            pass
    every = [affine for each in guards for affine in non_negatives(each, of_data=True)]
    return [affine for affine in every if affine.variables & frozenset(loops)]
