"""Reductions over spaces that are never stored, as one loop over blocks of an index."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from ...symbolic import IndexVar
from .kernel_sums import MatrixProducts
from .layouts import Layout
from .nodes import Axes, Node
from .online_softmax import OnlineSoftmax
from .vector_accumulators import VectorAccumulators

# The number of a block, the number of a block within its trip, a loop value within a block, and the start of a block
# that follows its tile; no program uses such names.
BLOCK, STEP, ROW, BEGIN = (IndexVar(name) for name in ("t.", "u.", "r.", "b."))
# All positions have a smaller absolute value.
FARTHEST: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Tile:
    """`count` tiles of `size` values of an axis, each from its `start` on, which is at least `lo`; the last one may
    overlap.
    """

    axis: IndexVar
    start: IndexVar
    lo: int
    size: int
    extent: int

    @property
    def count(self) -> int:
        return -(-self.extent // self.size)

    @property
    def box(self) -> dict[IndexVar, tuple[int, int]]:
        """The ranges of the axis within a tile and of the start."""
        return {self.axis: (0, self.size), self.start: (self.lo, self.lo + self.extent - self.size + 1)}


@dataclass(frozen=True, slots=True)
class End:
    """The condition ``weight * loop + rest >= 0``; over a tile that starts at `starts` the rest is at most

    ``base + sum of coefficient * start``, with a coefficient for each of the tile's axes. If it depends on `data`, the
    largest of these values in the tile is added.
    """

    weight: int
    base: int
    coefficients: tuple[int, ...]
    data: Node | None = None

    def limit(self, starts: Sequence[Any], largest: Any = 0) -> Any:
        """The first loop value that may be active; with a negative weight, the one after the last.

        Starts, the `largest` of the data and the result are numbers, or integer arrays.
        """
        pairs = zip(self.coefficients, starts, strict=True)
        rest = self.base + largest + sum(factor * start for factor, start in pairs)
        return -(rest // self.weight) if self.weight > 0 else rest // -self.weight + 1


def between(
    limits: Iterable[tuple[End, Any]],
    span: tuple[Any, Any],
    larger: Callable[[Any, Any], Any] = max,
    smaller: Callable[[Any, Any], Any] = min,
) -> tuple[Any, Any]:
    """The part of a half-open span of the loop within these limits, which may be empty.

    Works for numbers, and for arrays with their own operations.
    """
    first, behind = span
    for end, limit in limits:
        first, behind = (larger(first, limit), behind) if end.weight > 0 else (first, smaller(behind, limit))
    return first, behind


@dataclass(frozen=True, slots=True)
class Points:
    """The values at the points of a block, and the mask of active points (None: all)."""

    value: Node
    live: Node | None


@dataclass(frozen=True, slots=True)
class Block:
    """`width` loop values: the `points` that all states share, and `sums` computed from these."""

    width: int
    points: tuple[Points, ...]
    sums: tuple[Node, ...] = ()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All computations for the points."""
        return tuple(node for one in self.points for node in (one.value, one.live) if node is not None)


@dataclass(frozen=True, slots=True)
class Cut:
    """A dimension of a tensor that the loop index traverses from element `first` on: a trip reads its part at once."""

    tensor: str
    dimension: int
    first: int


@dataclass(frozen=True, slots=True)
class BlockedLoop:
    """`count` blocks of values of an index that begins at `lo`, in sequence, followed by a `tail`.

    Results are computed for one of the `tiles` at a time; if `ends` do not hold, none of its points is active. The
    points of a block are along `axes`, with these `extents` in a tile. Blocks may use the number of the `BLOCK`, and
    for tensors in `cuts` the `STEP` of the block in its trip, which has `unroll` of them. `states` say what is
    accumulated over points. `layouts` give the layouts and names of tensors during the loop. `rest` is the loop for the
    part of the only tiled axis that no tile covers.

    A loop that `follows` its tiles has one block per tile, which begins at `BEGIN`, where the `ends` do, but not after
    this value: so it contains all active values, and stays inside the range.
    """

    axes: Axes
    extents: Mapping[IndexVar, int]
    tiles: tuple[Tile, ...]
    lo: int
    count: int
    body: Block | None
    tail: Block | None
    states: VectorAccumulators | OnlineSoftmax | MatrixProducts
    layouts: tuple[Layout, ...] = ()
    ends: tuple[End, ...] = ()
    unroll: int = 1
    cuts: tuple[Cut, ...] = ()
    rest: "BlockedLoop | None" = None
    follows: int | None = None

    @property
    def width(self) -> int:
        """The number of loop values in a block."""
        return 0 if self.body is None else self.body.width

    @property
    def parts(self) -> tuple[tuple[Block, int], ...]:
        """The kinds of blocks, and the number of each."""
        every = (self.body, self.count), (self.tail, 1)
        return tuple((block, count) for block, count in every if block is not None)

    @property
    def is_one_block(self) -> bool:
        return len(self.parts) == 1 and self.parts[0][1] == 1

    def within(self, block: Block) -> dict[IndexVar, int]:
        """The extents in a block."""
        return {**self.extents, ROW: block.width}

    def shape(self, axes: Axes) -> tuple[int, ...]:
        """The extents of axes in a tile."""
        return tuple(self.extents[axis] for axis in axes)

    def whole(self, axes: Axes) -> tuple[int, ...]:
        """The extents of axes in the results of all tiles."""
        tiled = {tile.axis: tile.extent for tile in self.tiles}
        return tuple(tiled.get(axis, self.extents[axis]) for axis in axes)

    @property
    def visits(self) -> int:
        """The number of tiles."""
        return prod(tile.count for tile in self.tiles)
