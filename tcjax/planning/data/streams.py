"""A reduction block after block."""

from dataclasses import dataclass
from typing import Final

from ...ir import Reducer
from ...symbolic import IndexVar
from .blocked_loop import End, Tile
from .layouts import Layout
from .nodes import Axes, Node

# The number of a block, and that of a block within its trip; no program names an index so.
BLOCK, STEP = (IndexVar(name) for name in ("t.", "u."))
# So few trips are written out: a loop begins with a state of nothing, which it writes and reads once more. Eight trips
# for 1024^2 distances took 1.07 ms of processor time, and as a loop 1.19.
_FEW_TRIPS: Final = 8
# Beyond so many operations in all of them they are one loop: one takes about a millisecond to compile. Four trips of
# 4 x 64 terms, of five nearest of 4096, took 6.2 s and then 152 ms of processor time; as a loop 2.9 s and 68 ms.
_MOST_WRITTEN: Final = 2048


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a block: values along the row (if there is one) and the result's axes, and which take part."""

    value: Node
    live: Node | None


@dataclass(frozen=True, slots=True)
class Cut:
    """A dimension of a tensor that the loop index walks from element `first` on: a trip reads its part at once."""

    tensor: str
    dimension: int
    first: int


@dataclass(frozen=True, slots=True)
class Stream:
    """A reduction block after block. `axes` are the result's, in the order of the accumulators.

    `body` may use the number of the `BLOCK`, and for tensors that are `cuts` the `STEP` of the block in its trip, which
    has `unroll`; `tail` has the `last` rows after all `blocks`. `ranks` is the number of values of an order statistic,
    `rank` which of them is wanted. The blocks begin with the value `lo` of the loop; where `ends` do not hold, no point
    of a tile counts. With `inside`, values have no rows.
    `layouts` say how tensors lie, and under which name. A point has so many `operations`.
    """

    reducer: Reducer
    axes: Axes
    extents: tuple[int, ...]
    dtype: str
    lo: int
    rows: int
    unroll: int
    blocks: int
    last: int
    body: Points | None
    tail: Points | None
    cuts: tuple[Cut, ...] = ()
    ranks: int | None = None
    rank: Node | None = None
    tiles: tuple[Tile, ...] = ()
    inside: bool = False
    layouts: tuple[Layout, ...] = ()
    ends: tuple[End, ...] = ()
    operations: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of what is accumulated at a time."""
        size = {tile.axis: tile.size for tile in self.tiles}
        return tuple(size.get(axis, extent) for axis, extent in zip(self.axes, self.extents, strict=True))

    @property
    def states(self) -> int:
        """How many values a running result has; ranks are found one after the other."""
        return 2 if self.ranks is not None else self.reducer.states

    @property
    def is_written_out(self) -> bool:
        """Whether there are so few trips that each is a kernel of its own, without a loop."""
        few = 1 < self.blocks // self.unroll <= _FEW_TRIPS and self.blocks * self.operations <= _MOST_WRITTEN
        return few and self.states == 1 and not self.ends

    @property
    def points(self) -> tuple[Points, ...]:
        return tuple(points for points in (self.body, self.tail) if points is not None)
