"""Statements that fill one tensor part by part, as one array: joined, interleaved or padded instead of updated."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """The values of a stage, counted from the first of the group."""

    stage: int


@dataclass(frozen=True, slots=True)
class Zeros:
    """What no stage writes."""

    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Parts behind each other along an axis."""

    axis: int
    parts: "tuple[Whole, ...]"


@dataclass(frozen=True, slots=True)
class Interleave:
    """The first part at places 0, n, 2n, ... of an axis, the second at 1, n+1, ..., of n parts; `extent` in all."""

    axis: int
    extent: int
    parts: "tuple[Whole, ...]"


@dataclass(frozen=True, slots=True)
class Pad:
    """One part with zeros around it, and `between` its elements: (before, after, between) for each axis."""

    part: Part
    widths: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Overlay:
    """A part over a whole array: (before, after, between) for each axis say where.

    `apart`: later stages read the array at several places, and must not compute it again at each. `everywhere`: the
    part is computed along the whole axes, and counts in its place.
    """

    base: Part
    part: Part
    widths: tuple[tuple[int, int, int], ...]
    apart: bool
    everywhere: bool = False


Whole = Part | Zeros | Join | Interleave | Pad | Overlay


@dataclass(frozen=True, slots=True)
class Assembly:
    """A run of stages with one target, and how their values make it."""

    stages: int
    whole: Whole


def describe(whole: Whole) -> str:
    """The way in which the parts are put together, in a few words."""
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
