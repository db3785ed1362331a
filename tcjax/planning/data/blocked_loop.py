"""What loops over blocks have in common: the tiles of their results, and the blocks in which a point may count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...symbolic import IndexVar

# The first loop value of a block and a row of it; no program has such names.
FIRST: Final = IndexVar("t.")
ROW: Final = IndexVar("r.")


@dataclass(frozen=True, slots=True)
class Tile:
    """`size` values of an axis from `start` on, which is at least `lo`, `count` times; the last tile may overlap."""

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
    """``weight * loop + rest >= 0`` has to hold; over a tile that starts at `starts` the rest is at most

    ``base + sum of coefficient * start``, with a coefficient for each of the tile's axes.
    """

    weight: int
    base: int
    coefficients: tuple[int, ...]

    def limit(self, starts: Sequence[Any], lo: int, width: int) -> Any:
        """The first block of `width` values from `lo` on that is left; with a negative weight, the one behind the last.

        Starts and the result are numbers, or arrays of integers.
        """
        rest = self.base + sum(factor * start for factor, start in zip(self.coefficients, starts, strict=True))
        if self.weight > 0:
            return (-(rest // self.weight) - lo) // width
        return (rest // -self.weight - lo) // width + 1


def between(
    ends: Sequence[End],
    starts: Sequence[Any],
    blocks: tuple[Any, Any],
    lo: int,
    width: int,
    larger: Callable[[Any, Any], Any] = max,
    smaller: Callable[[Any, Any], Any] = min,
) -> tuple[Any, Any]:
    """Of the `blocks` of `width` values from `lo` on, the first in which a point may count, and that behind the last.

    Numbers, or arrays with operations of their own.
    """
    first, behind = blocks
    for end in ends:
        limit = end.limit(starts, lo, width)
        first, behind = (larger(first, limit), behind) if end.weight > 0 else (first, smaller(behind, limit))
    return first, behind
