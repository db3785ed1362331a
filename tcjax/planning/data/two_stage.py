"""An order statistic in two stages: of blocks first, then of the values in the few that are left."""

from dataclasses import dataclass

from ...symbolic import IndexVar
from .nests import Nest
from .nodes import Node

# The number of a block, a place in it, the rank of a block, and a place in what is left; no program names an index so.
BLOCK, PLACE, RANK, LEFT = (IndexVar(name) for name in ("sb.", "st.", "sc.", "su."))
# The first values of the blocks, the numbers of the blocks that are left, and the values in these.
FIRSTS, BLOCKS, VALUES = "s.firsts", "s.blocks", "s.values"


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor `name`, so much of `tensor` as a tile needs along `dimensions`."""

    name: str
    tensor: str
    dimensions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TwoStage:
    """`firsts` are the first values of blocks of `size` points, along ``(block, *free)``; `blocks` the numbers of those
    that come first, along ``(rank, *free)``; `values` the values of all their points, along ``(rank, place, *free)``,
    `values_axes`; and `rest` is the nest over these, one behind the other.

    Of an `axis` so many values, `tile`, at a time, from `parts` of the tensors: the nests are for one tile.
    """

    size: int
    extent: int
    firsts: Nest
    blocks: Nest
    values: Node
    rest: Nest
    free: tuple[IndexVar, ...]
    axis: IndexVar | None = None
    tile: int = 0
    parts: tuple[Part, ...] = ()

    @property
    def guarded(self) -> bool:
        """Whether the last block has places outside of the loop."""
        return self.extent % self.size > 0
