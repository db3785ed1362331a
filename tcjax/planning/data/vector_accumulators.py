"""A reduction whose running results are vectors: several values of the loop are vectorised."""

from dataclasses import dataclass

from ...ir import Reducer
from .nodes import Axes, Node


@dataclass(frozen=True, slots=True)
class VectorAccumulators:
    """One running result for each loop value in a block; with `inside`, blocks are already reduced.

    `axes` are the result's, in the order of the accumulators, which have type `dtype`. `ranks` is the number of values
    of an order statistic, `rank` the one needed. With `written_out`, there are so few trips that each is its own
    kernel, without a loop.
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
        """The number of values of a running result; ranks are found one after another."""
        return 2 if self.ranks is not None else self.reducer.states
