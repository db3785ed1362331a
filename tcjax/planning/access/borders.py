"""Several reads of one tensor around or beyond its ends, as reads of one extended array: stencils on a torus."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Final

from ...symbolic import Affine
from ...symbolic.runs import Run, direction, runs_along, runs_of
from ...transforms import Known
from ..data.views import MOST_BLOCKS, Halo, Pieces, blocks, shaped
from .viewing import MOST_PIECES

# The maximum size of an extended array relative to the tensor, and a size that is always allowed.
MOST_EXTENSION: Final = 2
FEW_ELEMENTS: Final = 256
# The maximum number of elements added at one end of a dimension.
MOST_BEYOND: Final = 64


@dataclass(frozen=True, slots=True)
class Reach:
    """A subscript as a sum of indices, and the element that it reads at each position `beyond` the ends of the
    dimension.
    """

    place: Affine
    beyond: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Border:
    """A tensor extended for all reads beyond its ends; its first element has the position `low`."""

    halo: Halo
    low: tuple[int, ...]


def borders(
    subscripts: Mapping[str, Iterable[tuple[Affine, ...]]],
    shapes: Mapping[str, tuple[int, ...]],
    known: Known,
    few: int,
) -> dict[str, Border]:
    """The extensions that serve all reads of a tensor, for tensors read beyond their ends in several ways.

    `subscripts` are those of every read, counted from the first element. Up to `few` reads, each beyond one end, are
    better read in pieces.
    """
    found: dict[str, Border] = {}
    for name, reads in subscripts.items():
        shape = shapes[name]
        ways = [way for way in (reaches(read, shape, known) for read in dict.fromkeys(reads)) if way is not None]
        curved = [way for way in ways if any(part.beyond for part in way)]
        corners = any(sum(bool(part.beyond) for part in way) > 1 for way in curved)
        border = _border([[way[d].beyond for way in curved] for d in range(len(shape))], shape, corners)
        if len(curved) > (1 if corners else few) and border is not None and _is_thin(border.halo, shape):
            found[name] = border
    return found


def _is_thin(halo: Halo, shape: tuple[int, ...]) -> bool:
    size = prod(shaped(shape, halo))
    return blocks(halo) <= MOST_BLOCKS and size <= MOST_EXTENSION * max(prod(shape), FEW_ELEMENTS)


def reaches(subscripts: tuple[Affine, ...], shape: tuple[int, ...], known: Known) -> tuple[Reach, ...] | None:
    """Each subscript along the line that it follows inside its dimension; None if one does not follow a line."""
    found: list[Reach] = []
    for subscript, extent in zip(subscripts, shape, strict=True):
        reach = _reach(subscript, extent, known)
        if reach is None:
            return None
        found.append(reach)
    return tuple(found)


def _reach(subscript: Affine, extent: int, known: Known) -> Reach | None:
    if subscript.is_linear:
        return Reach(subscript, {}) if known.within(subscript, 0, extent) else None
    line = None if subscript.is_data else direction(subscript)
    ends = None if line is None else known.bounds(line)
    runs = None if line is None or ends is None else runs_along(subscript, line, *ends, MOST_PIECES)
    if line is None or ends is None or not runs:
        return None
    inside = range(extent)
    begins = list(accumulate((run.count for run in runs), initial=ends[0]))
    main = max(range(len(runs)), key=lambda n: (abs(runs[n].stride) == 1, runs[n].count))
    way, start = runs[main], begins[main]
    if abs(way.stride) != 1 or way.start not in inside or way.last not in inside:
        return None
    beyond: dict[int, int] = {}
    for number, run in enumerate(runs):
        if number == main:
            continue
        if run.count > MOST_BEYOND:
            return None
        for n in range(run.count):
            place = way.start + way.stride * (begins[number] + n - start)
            element = run.start + run.stride * n
            if element not in inside or (place in inside and place != element):
                return None
            if place not in inside:
                beyond[place] = element
    return Reach((line - start).scale(way.stride) + way.start, beyond)


def _border(beyond: list[list[Mapping[int, int]]], shape: tuple[int, ...], corners: bool) -> Border | None:
    """The extension with the elements that reads find beyond the ends of each dimension; None if they differ."""
    sides: list[Pieces] = []
    low: list[int] = []
    for d, (reads, extent) in enumerate(zip(beyond, shape, strict=True)):
        elements: dict[int, int] = {}
        for read in reads:
            if any(elements.get(place, element) != element for place, element in read.items()):
                return None
            elements |= read
        before = range(min(0, *elements, 0), 0)
        behind = range(extent, max(extent - 1, *elements, 0) + 1)
        if any(place not in elements for place in (*before, *behind)):
            return None
        low.append(before.start if before else 0)
        if elements:
            ends = [runs_of(elements[place] for place in part) for part in (before, behind)]
            sides.append(Pieces(d, (*ends[0], Run(0, 1 if extent > 1 else 0, extent), *ends[1])))
    return Border(Halo(tuple(sides), corners), tuple(low))
