"""The tile sizes of a kernel."""

from dataclasses import dataclass, replace
from typing import Final

# The smallest dimension for the matrix units (Triton: every dimension of a dot is at least 16).
SMALLEST_DOT: Final = 16
# The longest side of a requested tile.
_MOST: Final = 128


@dataclass(frozen=True, slots=True)
class Blocks:
    """The extents of a tile, powers of two, and how a program runs.

    A tile has `rows` x `columns` values, fewer where an axis is shorter. `chunk` values of a reduction index go into
    one matrix product. `split` programs share the reduction of a tile, so that a few long reductions fill the device
    too. `warps` of 32 threads run a program, which loads `stages` steps ahead. None leaves the choice to the emitter.
    """

    rows: int | None = None
    columns: int | None = None
    chunk: int = 32
    split: int | None = None
    warps: int | None = None
    stages: int = 2

    def __post_init__(self) -> None:
        for extent in (self.rows, self.columns, self.chunk, self.split, self.warps):
            if extent is None:
                continue
            assert extent > 0 and extent & (extent - 1) == 0, f"{extent} is no power of two"
        assert self.chunk >= SMALLEST_DOT, f"a chunk of {self.chunk}: a matrix product needs {SMALLEST_DOT}"


USUAL: Final = Blocks()


def blocks_of(tile: tuple[int, int] | None) -> Blocks:
    """Tiles of these rows and columns, limited to what a program can hold; None is the emitter's choice."""
    if tile is None:
        return USUAL
    rows, columns = (block(extent, _MOST) for extent in tile)
    return replace(USUAL, rows=rows, columns=columns)


def block(extent: int, limit: int, least: int = 1) -> int:
    """The smallest power of two that holds the extent, within ``[least, limit]``."""
    return max(least, min(limit, 1 << max(0, extent - 1).bit_length()))
