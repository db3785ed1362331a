"""A softmax in one pass over blocks of its scores."""

from dataclasses import dataclass
from typing import Final

from .nodes import Axes

# The exponentials of the scores of a block; no program uses such a name.
EXPONENTIALS: Final = "p."


@dataclass(frozen=True, slots=True)
class OnlineSoftmax:
    """The largest score of each row, the total of the exponentials relative to it, and sums of them.

    The points of a block are its scores, its sums those of the exponentials; for a sum that still has loop axes, the
    points are to be added. `rows` are the axes of the scores that are not reduced. `columns` are the axes of each sum,
    `relative` the number of the statistic that it is relative to, and the type in which this was stored. With `stored`,
    the scores of a block are computed once and stored: XLA would recompute them for the exponentials.
    """

    rows: Axes
    columns: tuple[Axes, ...]
    relative: tuple[tuple[int, str], ...]
    stored: bool
