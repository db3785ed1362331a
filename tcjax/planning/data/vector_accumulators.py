"""A reduction whose running results are vectors: several values of the loop are vectorised."""

from dataclasses import dataclass

from ...ir import Reducer
from .nodes import Axes, Node


@dataclass(frozen=True, slots=True)
class VectorAccumulators:
    """One running result for each value of the loop in a block; with `inside`, blocks are reduced already.

    `axes` are the result's, in the order of the accumulators, which are of type `dtype`. `ranks` is the number of
    values of an order statistic, `rank` which of them is wanted. With `written_out`, there are so few trips that each
    is a kernel of its own, without a loop.
    """

    reducer: Reducer
    axes: Axes
    dtype: str
    inside: bool
    ranks: int | None
    rank: Node | None
    written_out: bool

    @property
    def count(self) -> int:
        """How many values a running result has; ranks are found one after the other."""
        return 2 if self.ranks is not None else self.reducer.states
