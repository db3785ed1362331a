"""Several reads of one tensor round its ends or beyond them, as reads of one extended array: stencils on a torus."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from ...symbolic import Affine, IndexVar
from ...symbolic.affine import Clamp, Remainder, clamp
from ...symbolic.runs import runs_along
from ...transforms import Known
from ..data.views import Pieces
from .viewing import MOST_PIECES

# The extended array may be so many times as large as the tensor.
MOST_EXTENSION: Final = 2


@dataclass(frozen=True, slots=True)
class Beyond:
    """A subscript before it was brought into its dimension: round its end (``%``), up to its ends (``min``), or not."""

    way: str
    subscript: Affine


@dataclass(frozen=True, slots=True)
class Border:
    """How far one dimension is extended, and in which way; `first` is the subscript of its first element."""

    way: str
    first: int
    last: int


Borders = tuple[Border, ...]


def borders(
    subscripts: Mapping[str, Iterable[tuple[Affine, ...]]], shapes: Mapping[str, tuple[int, ...]], known: Known
) -> dict[str, Borders]:
    """The extents that serve all reads of a tensor, for those that are read beyond their ends in several ways.

    `subscripts` are those of every read, counted from the first element.
    """
    found: dict[str, Borders] = {}
    for name, reads in subscripts.items():
        ways = [way for way in (beyond(read, shapes[name], known) for read in dict.fromkeys(reads)) if way is not None]
        curved = [way for way in ways if any(part.way for part in way)]
        if len(curved) < 2 or not any(sum(bool(part.way) for part in way) > 1 for way in curved):
            # Beyond one end at a time each read by itself is faster: nothing is stored.
            continue
        merged = [_border([way[d] for way in curved], extent, known) for d, extent in enumerate(shapes[name])]
        kept = tuple(border for border in merged if border is not None)
        extents = [border.last - border.first + 1 for border in kept]
        if len(kept) == len(merged) and prod(extents) <= MOST_EXTENSION * prod(shapes[name]):
            found[name] = kept
    return found


def beyond(subscripts: tuple[Affine, ...], shape: tuple[int, ...], known: Known) -> tuple[Beyond, ...] | None:
    """Each subscript before it was brought into its dimension; None where one is not a sum of indices."""
    found: list[Beyond] = []
    for subscript, extent in zip(subscripts, shape, strict=True):
        part = _beyond(subscript, extent, known)
        if part is None:
            return None
        found.append(part)
    return tuple(found)


def _beyond(subscript: Affine, extent: int, known: Known) -> Beyond | None:
    if subscript.is_linear:
        return Beyond("", subscript) if known.within(subscript, 0, extent) else None
    if len(subscript.terms) != 1:
        return None
    ((atom, weight),) = subscript.terms
    base, step = subscript.base.constant or 0, weight.constant
    match atom:
        case Remainder(argument, divisor) if argument.is_linear and step == 1:
            ends = known.bounds(argument)
            if divisor.constant != extent or base or ends is None:
                return None
            # As few elements beyond the ends as can be: the middle is inside.
            return Beyond("%", argument - sum(ends) // 2 // extent * extent)
        case Clamp(_, arguments) if step is not None and abs(step) == 1:
            inner = _free(arguments)
            if inner is None:
                return None
            whole = inner.scale(step) + base
            ends = known.simplify(clamp("max", [clamp("min", [whole, extent - 1]), 0]))
            return Beyond("min", whole) if ends == known.simplify(subscript) else None
        case _:
            return None


def _free(arguments: tuple[Affine, ...]) -> Affine | None:
    """The sum of indices in a clamp by numbers, or in two of them."""
    moving = [argument for argument in arguments if argument.constant is None]
    if len(moving) != 1:
        return None
    if moving[0].is_linear:
        return moving[0]
    ((atom, weight), *others) = moving[0].terms
    inner = _free(atom.arguments) if isinstance(atom, Clamp) and not others else None
    return None if inner is None else inner.scale(weight) + moving[0].base


def _border(parts: list[Beyond], extent: int, known: Known) -> Border | None:
    """The border that serves all reads in one dimension; None where they differ in their way."""
    ways = {part.way for part in parts if part.way}
    if not ways:
        return Border("", 0, extent - 1)
    ends = [known.bounds(part.subscript) for part in parts]
    if len(ways) > 1 or any(end is None for end in ends):
        return None
    return Border(ways.pop(), min(end[0] for end in ends if end), max(end[1] for end in ends if end))


def extension(found: Borders, shape: tuple[int, ...]) -> tuple[Pieces, ...] | None:
    """The views that extend a tensor; None where that takes too many pieces."""
    views: list[Pieces] = []
    place = Affine.of(IndexVar("place"))
    for d, (border, extent) in enumerate(zip(found, shape, strict=True)):
        if not border.way:
            continue
        inside = place.remainder(extent) if border.way == "%" else clamp("max", [clamp("min", [place, extent - 1]), 0])
        runs = runs_along(inside, place, border.first, border.last, MOST_PIECES)
        if runs is None:
            return None
        views.append(Pieces(d, runs))
    return tuple(views)
