"""An iteration space with tiles along some axes and blocks along one index: the values in each block."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ... import ir, transforms
from ...symbolic import Affine, Box, IndexVar
from ..data.blocked_loop import BEGIN, BLOCK, ROW, Tile
from .terms import written_out


@dataclass(frozen=True, slots=True)
class Part:
    """`count` blocks of `width` values: the `values` of indices in one block, and the `box` of their variables."""

    width: int
    count: int
    values: Mapping[IndexVar, Affine]
    box: Box

    def of(self, expr: ir.Expr) -> ir.Expr:
        """The expression at the points of a block."""
        return written_out(transforms.substitute_expr(expr, self.values), self.box)


@dataclass(frozen=True, slots=True)
class Space:
    """The `ranges` of all indices, divided into `tiles`; `loop` is traversed `width` values at a time.

    A space that `follows` has one block for each tile, which may begin anywhere.
    """

    ranges: Box
    loop: IndexVar
    width: int
    tiles: tuple[Tile, ...] = ()
    # An axis restricted to values from the given one on, without tiles.
    behind: Mapping[IndexVar, int] = field(default_factory=dict[IndexVar, int])
    follows: bool = False

    @property
    def lo(self) -> int:
        return self.ranges[self.loop][0]

    @property
    def count(self) -> int:
        """The number of whole blocks."""
        lo, hi = self.ranges[self.loop]
        return 1 if self.follows else (hi - lo) // self.width

    @property
    def latest(self) -> int | None:
        """The last value at which a block that follows its tile can begin."""
        return self.ranges[self.loop][1] - self.width if self.follows else None

    @property
    def box(self) -> dict[IndexVar, tuple[int, int]]:
        """The ranges within a tile, and those of its start."""
        found = {**self.ranges}
        for tile in self.tiles:
            found |= tile.box
        for axis, first in self.behind.items():
            found[axis] = 0, self.ranges[axis][1] - first
        return found

    @property
    def extents(self) -> dict[IndexVar, int]:
        """The extents within a tile."""
        return {index: hi - lo for index, (lo, hi) in self.box.items()}

    @property
    def axes(self) -> list[IndexVar]:
        """The axes that are tiled."""
        return [tile.axis for tile in self.tiles]

    @property
    def body(self) -> Part | None:
        """The whole blocks."""
        if not self.count:
            return None
        if self.latest is not None:
            return self._part(Affine.of(BEGIN) + Affine.of(ROW), self.width, 1, {BEGIN: (self.lo, self.latest + 1)})
        position = Affine.of(BLOCK).scale(self.width) + Affine.of(ROW) + self.lo
        return self._part(position, self.width, self.count, {BLOCK: (0, self.count)})

    @property
    def tail(self) -> Part | None:
        """The rest after the whole blocks."""
        lo, hi = self.ranges[self.loop]
        last = 0 if self.follows else (hi - lo) % self.width
        return self._part(Affine.of(ROW) + (hi - last), last, 1, {}) if last else None

    def in_tile(self, expr: ir.Expr) -> ir.Expr:
        """The expression, which does not depend on the loop, with axes relative to the start of a tile."""
        return transforms.substitute_expr(expr, self._starts)

    @property
    def _starts(self) -> dict[IndexVar, Affine]:
        found = {tile.axis: Affine.of(tile.start) + tile.axis for tile in self.tiles}
        return found | {axis: Affine.of(axis) + first for axis, first in self.behind.items()}

    def _part(self, position: Affine, width: int, count: int, steps: Box) -> Part:
        return Part(width, count, self._starts | {self.loop: position}, {**self.box, ROW: (0, width), **steps})


def tiled(axes: Iterable[IndexVar], sizes: Mapping[IndexVar, int], ranges: Box) -> tuple[Tile, ...]:
    """Tiles for the axes with a given size that is less than their extent."""
    found = [(axis, sizes[axis], ranges[axis]) for axis in axes if axis in sizes]
    found = [(axis, size, lo, hi - lo) for axis, size, (lo, hi) in found if size < hi - lo]
    # No program uses such an index name.
    return tuple(
        Tile(axis, IndexVar(f"o.{number}"), lo, size, extent) for number, (axis, size, lo, extent) in enumerate(found)
    )
