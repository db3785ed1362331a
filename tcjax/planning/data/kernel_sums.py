"""Sums over blocks of the matrices that they share."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from ...symbolic import IndexVar
from .blocked_loop import ROW, End
from .layouts import Layout
from .nodes import Axes, Node

# The first column of a tile, and the matrices as one expression while tensors are laid out for them; no program has
# such names.
COLUMN: Final = IndexVar("c.")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns side by side that a matrix is multiplied with: `parts` of so many `widths`, along `extra` axes.

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
    """``mask ? factor * (matrix times the columns of a part) : 0``, negative or not; without a factor it is 1."""

    matrix: int
    part: int
    factor: Node | None
    negative: bool
    mask: Node | None


@dataclass(frozen=True, slots=True)
class Cut:
    """`count` parts of `size` values of an axis, of which the first begins `first` values behind the start."""

    first: int
    size: int
    count: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """A block of a matrix; where it is not `live`, it is zero, and columns do not count, even infinite ones."""

    node: Node
    live: Node | None


@dataclass(frozen=True, slots=True)
class KernelSumBlocks:
    """Rows are the axes of the side that the loop walks along, which comes last; the last of the columns is tiled.

    `lows` are the first values of these two. `blocks` have the matrices of a block, for each part of the rows and for
    each of the columns. `across` are the columns for sums over columns, by matrix, `along` those for sums over rows.
    `pieces` are the terms of each sum, of which those over rows are `summed`. A block counts for nothing where `ends`
    do not hold, which limit the columns.
    """

    batch: Axes
    rows: Axes
    columns: Axes
    extents: Mapping[IndexVar, int]
    lows: tuple[int, int]
    dtype: str
    blocks: tuple[tuple[Cut, tuple[tuple[Cut, tuple[Matrix, ...]], ...]], ...]
    across: tuple[Columns, ...]
    along: tuple[Columns, ...]
    summed: tuple[bool, ...]
    pieces: tuple[tuple[Piece, ...], ...]
    layouts: tuple[Layout, ...]
    ends: tuple[End, ...]

    @property
    def axes(self) -> Axes:
        """How a block lies."""
        return (*self.batch, *self.rows[:-1], ROW, *self.columns)

    @property
    def matrices(self) -> Iterator[tuple[Cut, Cut, tuple[Node, ...]]]:
        """The matrices of each kind of block, by its rows and its columns."""
        return (
            (rows, columns, tuple(matrix.node for matrix in matrices))
            for rows, own in self.blocks
            for columns, matrices in own
        )

    def within(self, rows: Cut, columns: Cut) -> dict[IndexVar, int]:
        """The extents in a block."""
        return {**self.extents, ROW: rows.size, self.columns[-1]: columns.size}

    def shape(self, axes: Axes, extents: Mapping[IndexVar, int] | None = None) -> tuple[int, ...]:
        known = self.extents if extents is None else extents
        return tuple(known[axis] for axis in axes)

    def size(self, axes: Axes) -> int:
        return prod(self.shape(axes))
