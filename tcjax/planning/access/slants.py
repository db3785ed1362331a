"""Reads along diagonals, such as ``A(p, s - p)``, as a view with shifted rows: slices instead of gathers."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ...symbolic import Affine, IndexVar
from ..data.nodes import Lookup, Strip
from ..data.views import MOST_SLICES, Slant, View
from ..scope import Scope

# A view with more elements than this per element read does not pay off.
MOST_UNREAD: Final = 4
# A gather of few elements is as fast.
LEAST: Final = 64

Sliced = tuple[tuple[View, ...], list[Strip | Lookup], str]
AsStrip = Callable[[Affine, int, Scope], Strip | None]


@dataclass(frozen=True, slots=True)
class Diagonal:
    """A subscript ``step*own + weight*row + rest`` along one dimension, where `row` is the subscript of dimension `by`.

    `straight` is the subscript of the same elements in shifted rows.
    """

    along: int
    by: int
    own: IndexVar
    shared: IndexVar
    weight: int
    straight: Affine


def diagonals(subscripts: Sequence[Affine]) -> list[Diagonal]:
    """The subscripts, at most one per dimension, that contain the index of another dimension besides their own."""
    found: list[Diagonal] = []
    for along, subscript in enumerate(subscripts):
        if len(subscript.terms) != 2:
            continue
        pairs = (_diagonal(subscripts, along, by) for by in range(len(subscripts)) if by != along)
        diagonal = next((pair for pair in pairs if pair is not None), None)
        if diagonal is not None:
            found.append(diagonal)
    return found


def _diagonal(subscripts: Sequence[Affine], along: int, by: int) -> Diagonal | None:
    terms, row = dict(subscripts[along].terms), subscripts[by]
    if len(row.terms) != 1:
        return None
    [(shared, unit)] = row.terms
    own = next((atom for atom in terms if atom != shared), None)
    if unit.constant not in (1, -1) or shared not in terms:
        return None
    if not isinstance(own, IndexVar) or not isinstance(shared, IndexVar):
        return None
    if any(own in subscript.variables for d, subscript in enumerate(subscripts) if d != along):
        return None
    slope, step = terms[shared].constant, terms[own].constant
    if step not in (1, -1) or not slope:
        return None
    # In terms of the position in the row, not of the index.
    weight = slope * unit.constant
    return Diagonal(along, by, own, shared, weight, subscripts[along] - row.scale(weight))


def as_slant(subscripts: Sequence[Affine], shape: Sequence[int], scope: Scope, as_strip: AsStrip) -> Sliced | None:
    """The read by slices of one view, if subscripts contain another dimension's index besides their own; else None."""
    views: list[View] = []
    reasons: list[str] = []
    moved, extents = list(subscripts), list(shape)
    variables = frozenset[IndexVar]().union(*(subscript.variables for subscript in subscripts))
    if scope.points(variables - scope.unrolled) < LEAST:
        return None
    for diagonal in diagonals(subscripts):
        along, by, weight = diagonal.along, diagonal.by, diagonal.weight
        ends = scope.bounds(diagonal.straight)
        if ends is None or ends[1] < ends[0] or not scope.unrolled.isdisjoint({diagonal.own, diagonal.shared}):
            continue
        count = ends[1] - ends[0] + 1
        points = scope.extent(diagonal.own) * scope.extent(diagonal.shared)
        if shape[by] * (count + abs(weight)) > MOST_UNREAD * points:
            continue
        views.append(Slant(by, along, weight, ends[0], count))
        moved[along], extents[along] = diagonal.straight - ends[0], count
        reasons.append(
            f"`{subscripts[along]}` runs along diagonals: consecutive rows, read as rows of another length"
            if shape[by] > MOST_SLICES
            else f"`{subscripts[along]}` runs along diagonals: a slice of each row"
        )
    strips = [as_strip(s, extent, scope) for s, extent in zip(moved, extents, strict=True)]
    found = [strip for strip in strips if strip is not None]
    counts = Counter(index for strip in found for index, _, _ in strip.factors)
    if not views or len(found) < len(strips) or any(count > 1 for count in counts.values()):
        return None
    return tuple(views), list(found), "; ".join(reasons)
