"""A softmax in one pass over blocks of its scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ...symbolic import IndexVar
from .blocked_loop import ROW, End, Tile
from .layouts import Layout
from .nodes import Axes, Node

# The exponentials of the scores of a block; no program has such a name.
EXPONENTIALS: Final = "p."


@dataclass(frozen=True, slots=True)
class Block:
    """The points of a block: scores, which of them count (None: all), and a sum of the exponentials for each result.

    Of a sum that still has the axes of the loops, the points are to be added.
    """

    scores: Node
    live: Node | None
    sums: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class OnlineSoftmax:
    """`axes` are those of the scores, in the order in which they lie, `rows` those of them that are not reduced.

    `columns` are the axes of each sum, `relative` the number of the statistic that it is relative to and the type that
    this was stored in between; extents are those of a tile. With `stored`, scores are computed once and kept
    for a block: XLA would compute them anew for the exponentials; `layouts` say how tensors lie for them. `blocks` of
    `width` values of the loop follow `lo`; `tail` has the `last` values behind them. Where `ends` do not hold, no
    point counts.
    """

    axes: Axes
    rows: Axes
    stored: bool
    columns: tuple[Axes, ...]
    relative: tuple[tuple[int, str], ...]
    extents: Mapping[IndexVar, int]
    tiles: tuple[Tile, ...]
    lo: int
    width: int
    blocks: int
    last: int
    body: Block | None
    tail: Block | None
    ends: tuple[End, ...]
    layouts: tuple[Layout, ...]

    @property
    def parts(self) -> tuple[tuple[Block, int, int], ...]:
        """The blocks, with the values of the loop in each, and how many there are."""
        every = (self.body, self.width, self.blocks), (self.tail, self.last, 1)
        return tuple((block, width, count) for block, width, count in every if block is not None)

    def shape(self, axes: Axes, width: int = 0) -> tuple[int, ...]:
        """The extents within a tile, of so many values of the loop."""
        return tuple(width if axis == ROW else self.extents[axis] for axis in axes)
