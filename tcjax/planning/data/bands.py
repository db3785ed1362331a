"""The block sizes of a band matrix product."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ...symbolic import IndexVar
from .nodes import Axes, Band, Window


@dataclass(frozen=True, slots=True)
class Blocks:
    """`count` blocks of `rows` rows, each of which meets `width` positions; the next begins `step` positions later."""

    rows: int
    count: int
    width: int
    step: int

    @staticmethod
    def of(rows: int, extent: int, shifts: int, window: Window) -> "Blocks":
        """The blocks of `extent` rows, each of which meets one position per shift."""
        width = window.stride * (rows - 1) + window.dilation * (shifts - 1) + 1
        return Blocks(rows, -(-extent // rows), width, window.stride * rows)

    @property
    def overlapping(self) -> int:
        """The number of steps spanned by the positions of a block."""
        return -(-self.width // self.step)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of stored arrays, in elements (`arrays`): blocks of `still` and `sliding`, and the products unless they
    are the result.

    `matrices` gives the number of products, their rows, columns, and terms per element; `positions` is their extent.
    """

    arrays: tuple[int, int, int]
    matrices: tuple[int, int, int, int]
    positions: int

    @property
    def products(self) -> int:
        """The number of multiplied elements."""
        return prod(self.matrices)


def band_of(node: Band, extents: Mapping[IndexVar, int]) -> Sizes:
    """The sizes of a band whose indices have these extents."""
    window = node.window
    own = {window.output, window.kernel, window.position}
    still, sliding = (tuple(axis for axis in part.axes if axis not in own) for part in (node.still, node.sliding))
    rows, shifts = (max(1, extents.get(index, 1)) for index in (window.output, window.kernel))
    blocks = Blocks.of(node.rows, rows, shifts, window)

    def points(axes: Axes) -> int:
        return prod(extents.get(axis, 1) for axis in axes)

    batch = points(tuple(axis for axis in still if axis in sliding and axis in node.axes))
    summed = points(tuple(axis for axis in still if axis not in node.axes))
    left, right = (points(tuple(a for a in axes if a in node.axes)) // batch for axes in (still, sliding))
    count = batch * blocks.count
    windows = count * blocks.width * right * summed
    positions = window.stride * (rows - 1) + window.dilation * (shifts - 1) + 1
    if node.is_summed:
        matrix = count * blocks.rows * blocks.width * left * summed
        return Sizes((matrix, windows, 0), (count, blocks.rows * left, right, blocks.width * summed), positions)
    matrices = count, blocks.rows * left, blocks.width * right, summed
    return Sizes((count * blocks.rows * left * summed, windows, prod(matrices[:3])), matrices, positions)


__all__ = ["Blocks", "Sizes", "band_of"]
