"""Statements that fill one tensor part by part, as one array: joined, interleaved or padded instead of updated."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """The values of a stage, numbered from the first of the group."""

    stage: int


@dataclass(frozen=True, slots=True)
class Zeros:
    """Elements that no stage writes."""

    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Parts concatenated along an axis."""

    axis: int
    parts: "tuple[Whole, ...]"


@dataclass(frozen=True, slots=True)
class Interleave:
    """The first of n parts at positions 0, n, 2n, ... of an axis, the second at 1, n+1, ...; `extent` in all."""

    axis: int
    extent: int
    parts: "tuple[Whole, ...]"


@dataclass(frozen=True, slots=True)
class Pad:
    """A part padded with zeros around and `between` its elements: (before, after, between) for each axis."""

    part: Part
    widths: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Overlay:
    """A part written over a whole array, at (before, after, between) along each axis.

    `apart`: later stages read the array in several places, and must not recompute it in each. `everywhere`: the part is
    computed along whole axes, and masked to its place.
    """

    base: Part
    part: Part
    widths: tuple[tuple[int, int, int], ...]
    apart: bool
    everywhere: bool = False


Whole = Part | Zeros | Join | Interleave | Pad | Overlay


@dataclass(frozen=True, slots=True)
class Assembly:
    """A run of stages with one target, and how it is assembled from their values."""

    stages: int
    whole: Whole


def describe(whole: Whole) -> str:
    """How the parts are assembled, in a few words."""
    match whole:
        case Join(axis):
            return f"joined along dimension {axis}"
        case Interleave(axis):
            return f"interleaved along dimension {axis}"
        case Pad():
            return "padded with zeros"
        case Overlay():
            return "chosen element by element"
        case Part() | Zeros():
            return "as it is"
