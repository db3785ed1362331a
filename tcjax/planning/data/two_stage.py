"""An order statistic in two stages: first over blocks, then over the values in the few that remain."""

from dataclasses import dataclass

from ...symbolic import IndexVar
from .nests import Nest
from .nodes import Node

# The number of a block, a position in it, the rank of a block, and a position in the remaining values; no program uses
# such index names.
BLOCK, PLACE, RANK, LEFT = (IndexVar(name) for name in ("sb.", "st.", "sc.", "su."))
# The first values of the blocks, the numbers of the remaining blocks, and their values.
FIRSTS, BLOCKS, VALUES = "s.firsts", "s.blocks", "s.values"


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor `name`: the part of `tensor` that a tile needs along `dimensions`."""

    name: str
    tensor: str
    dimensions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TwoStage:
    """`firsts` are the first values of blocks of `size` points, along ``(block, *free)``; `blocks` the numbers of those
    that come first, along ``(rank, *free)``; `values` the values of all their points, along ``(rank, place, *free)``,
    `values_axes`; and `rest` is the nest over these, concatenated.

    With an `axis`, the nests are for one `tile` of its values at a time, from `parts` of the tensors.
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
        """Whether the last block has positions outside the loop."""
        return self.extent % self.size > 0
