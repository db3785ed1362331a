"""Tensors read by a formula, as reshaped arrays: extended, repeated, with dimensions merged or divided."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Final, TypeGuard, assert_never

from ...symbolic.runs import Run

# Up to this many blocks are written one by one: each is an update, and a kernel on a GPU.
MOST_BLOCKS: Final = 27
# Up to this many rows are sliced one by one, each at its own position; more are read as rows of another length.
MOST_SLICES: Final = 16


@dataclass(frozen=True, slots=True)
class Zeros:
    """Padding whose value is never used."""

    count: int


@dataclass(frozen=True, slots=True)
class Pieces:
    """Concatenated runs of one dimension's elements; a run of stride 0 repeats one element.

    If they are `fused`, nothing is stored: each run is padded to the whole extent, and its readers add them up.
    """

    dimension: int
    runs: tuple[Run | Zeros, ...]
    fused: bool = False


@dataclass(frozen=True, slots=True)
class Halo:
    """Dimensions in pieces, assembled block by block into one array, which is stored for all its readers.

    Without its `corners` it has unused zeros beyond two dimensions at once; the inside is the first of a dimension's
    longest runs.
    """

    sides: tuple[Pieces, ...]
    corners: bool = True


@dataclass(frozen=True, slots=True)
class Padded:
    """A dimension padded with elements of one value."""

    dimension: int
    low: int
    high: int
    value: bool | int | float | complex


@dataclass(frozen=True, slots=True)
class Repeat:
    """Every element of a dimension, repeated."""

    dimension: int
    times: int


@dataclass(frozen=True, slots=True)
class Tile:
    """A whole dimension, repeated."""

    dimension: int
    times: int


@dataclass(frozen=True, slots=True)
class Merge:
    """Dimension `second` moved after `first`, and both merged row-major."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Divide:
    """A dimension as rows of `inner` elements, which become the next dimension."""

    dimension: int
    inner: int


@dataclass(frozen=True, slots=True)
class Slide:
    """A dimension as overlapping rows, a new dimension before it: element ``row_step*r + c`` is column c of row r."""

    dimension: int
    rows: int
    row_step: int
    columns: int


@dataclass(frozen=True, slots=True)
class Slant:
    """Dimension `along` skewed: at position x of dimension `by` it begins at ``first + weight*x``.

    It has `count` elements; those outside the dimension are zero.
    """

    by: int
    along: int
    weight: int
    first: int
    count: int


View = Pieces | Halo | Padded | Repeat | Tile | Merge | Divide | Slide | Slant


@dataclass(frozen=True, slots=True)
class Viewed:
    """A tensor that is a view of another, and why it is equivalent."""

    tensor: str
    views: tuple[View, ...]
    why: str


def shaped(shape: Sequence[int], view: View) -> tuple[int, ...]:
    """The shape of the view of an array."""
    match view:
        case Pieces(d, runs):
            return (*shape[:d], sum(run.count for run in runs), *shape[d + 1 :])
        case Halo(sides):
            return tuple(reduce(shaped, sides, tuple(shape)))
        case Padded(d, low, high):
            return (*shape[:d], low + shape[d] + high, *shape[d + 1 :])
        case Repeat(d, times) | Tile(d, times):
            return (*shape[:d], shape[d] * times, *shape[d + 1 :])
        case Merge(first, second):
            merged = list(shape)
            merged[first] *= shape[second]
            del merged[second]
            return tuple(merged)
        case Divide(d, inner):
            return (*shape[:d], shape[d] // inner, inner, *shape[d + 1 :])
        case Slide(d, rows, _, columns):
            return (*shape[:d], rows, columns, *shape[d + 1 :])
        case Slant(along=d, count=count):
            return (*shape[:d], count, *shape[d + 1 :])
        case _:
            assert_never(view)


def is_reshape(view: View) -> bool:
    """Whether all elements keep their order in memory."""
    return isinstance(view, Divide) or (isinstance(view, Merge) and view.second == view.first + 1)


def extends(view: View) -> bool:
    """Whether the view repeats elements or inserts others: it may have to be stored."""
    if isinstance(view, Pieces):
        return len(view.runs) > 1 and not view.fused
    return isinstance(view, (Halo, Padded, Repeat, Tile, Slide, Slant))


def growth(view: View) -> int:
    """The factor by which a repeating view increases the number of elements."""
    match view:
        case Repeat(_, times) | Tile(_, times):
            return times
        case Slide(_, rows, _, columns):
            return min(rows, columns)
        case _:
            return 1


def together(views: Sequence[View]) -> tuple[View, ...]:
    """The views, with consecutive dimensions in pieces assembled block by block if there are few blocks."""
    found: list[View] = []
    for view in views:
        before = found[-1] if found else None
        sides = before.sides if isinstance(before, Halo) else (before,) if _in_pieces(before) else ()
        if sides and _in_pieces(view) and all(side.dimension != view.dimension for side in sides):
            both = Halo((*sides, view))
            if blocks(both) <= MOST_BLOCKS:
                found[-1] = both
                continue
        found.append(view)
    return tuple(found)


def _in_pieces(view: View | None) -> TypeGuard[Pieces]:
    return isinstance(view, Pieces) and len(view.runs) > 1 and not view.fused


def blocks(halo: Halo) -> int:
    """The number of blocks from which it is assembled."""
    counts = [len(side.runs) for side in halo.sides]
    return prod(counts) if halo.corners else 1 + sum(count - 1 for count in counts)


def describe_view(view: View) -> str:
    """The view in a few words, for a printed plan."""
    match view:
        case Pieces(d, runs, fused):
            together = " added up" if fused else ""
            return f"dimension {d} in {len(runs)} pieces{together}" if len(runs) > 1 else f"dimension {d} cut"
        case Halo(sides):
            return f"dimensions {', '.join(str(side.dimension) for side in sides)} with a halo in {blocks(view)} blocks"
        case Padded(d, low, high, value):
            return f"dimension {d} padded {low},{high} with {value}"
        case Repeat(d, times):
            return f"each of dimension {d} {times} times"
        case Tile(d, times):
            return f"dimension {d} {times} times"
        case Merge(first, second):
            return f"dimensions {first} and {second} as one"
        case Divide(d, inner):
            return f"dimension {d} in rows of {inner}"
        case Slide(d, rows, _, columns):
            return f"dimension {d} as {rows} overlapping rows of {columns}"
        case Slant(by, along, weight):
            return f"dimension {along} shifted by {weight} for each place of dimension {by}"
        case _:
            assert_never(view)
