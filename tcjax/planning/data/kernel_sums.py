"""Sums over blocks of the matrices that they share."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ...symbolic import IndexVar
from .nodes import Axes, Node


@dataclass(frozen=True, slots=True)
class Columns:
    """The concatenated columns that a matrix is multiplied with: `parts` of these `widths`, along `extra` axes.

    None is 1.
    """

    parts: tuple[Node | None, ...]
    extra: tuple[Axes, ...]
    widths: tuple[int, ...]

    @property
    def width(self) -> int:
        return sum(self.widths)

    def start(self, part: int) -> int:
        return sum(self.widths[:part])


@dataclass(frozen=True, slots=True)
class Piece:
    """``mask ? factor * (matrix times the columns of a part) : 0``, possibly negated; a missing factor is 1."""

    matrix: int
    part: int
    factor: Node | None
    negative: bool
    mask: Node | None


@dataclass(frozen=True, slots=True)
class MatrixProducts:
    """The products of the matrices of a block with columns, from both sides.

    The points of a block are its matrices, along `batch`, `rows` and `columns`; a masked element is zero, and
    contributes 0 even if it is multiplied by infinity. The last of the rows is tiled, and the loop runs along the last
    of the columns. `across` are the columns that each matrix is multiplied with for sums over columns, `along` those
    for sums over rows, which continue from tile to tile. `pieces` are the terms of each sum; those over rows are
    `summed`.
    """

    batch: Axes
    rows: Axes
    columns: Axes
    extents: Mapping[IndexVar, int]
    dtype: str
    across: tuple[Columns, ...]
    along: tuple[Columns, ...]
    summed: tuple[bool, ...]
    pieces: tuple[tuple[Piece, ...], ...]

    def shape(self, axes: Axes) -> tuple[int, ...]:
        """The whole extents."""
        return tuple(self.extents[axis] for axis in axes)

    def size(self, axes: Axes) -> int:
        return prod(self.shape(axes))
