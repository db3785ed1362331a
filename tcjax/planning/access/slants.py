"""Reads along diagonals, such as ``A(p, s - p)``, as a view in which each row is shifted: slices, and no gather."""

from collections.abc import Callable, Sequence
from typing import Final

from ...symbolic import Affine, IndexVar
from ..data.nodes import Lookup, Strip
from ..data.views import Slant, View
from ..scope import Scope

# A view that has more elements than so many for each that is read does not pay.
MOST_UNREAD: Final = 4
# A gather of few elements is as fast.
LEAST: Final = 64

Sliced = tuple[tuple[View, ...], list[Strip | Lookup], str]
AsStrip = Callable[[Affine, int, Scope], Strip | None]


def as_slant(subscripts: Sequence[Affine], shape: Sequence[int], scope: Scope, as_strip: AsStrip) -> Sliced | None:
    """The read by slices of one view, where a subscript has an index of another beside its own; None elsewhere."""
    pairs = ((along, by) for along in range(len(shape)) for by in range(len(shape)) if by != along)
    for along, by in pairs:
        terms, row = dict(subscripts[along].terms), subscripts[by]
        if len(terms) != 2 or len(row.terms) != 1 or row.weight(row.terms[0][0]).constant != 1:
            continue
        [(shared, _)] = row.terms
        own = next((atom for atom in terms if atom != shared), None)
        if shared not in terms or not isinstance(own, IndexVar) or not isinstance(shared, IndexVar):
            continue
        others = (s for d, s in enumerate(subscripts) if d not in (along, by))
        if any(s.variables & {own, shared} for s in others) or not scope.unrolled.isdisjoint({own, shared}):
            continue
        weight, step = terms[shared].constant, terms[own].constant
        if step not in (1, -1) or not weight:
            continue
        # Of the place in the row, not of the index.
        rest = subscripts[along] - row.scale(weight)
        ends = scope.bounds(rest)
        if ends is None or ends[1] < ends[0]:
            continue
        count = ends[1] - ends[0] + 1
        points = scope.extent(own) * scope.extent(shared)
        if points < LEAST or shape[by] * (count + abs(weight)) > MOST_UNREAD * points:
            continue
        view = Slant(by, along, weight, ends[0], count)
        moved = [s if d != along else rest - ends[0] for d, s in enumerate(subscripts)]
        extents = [extent if d != along else count for d, extent in enumerate(shape)]
        strips = [as_strip(s, extent, scope) for s, extent in zip(moved, extents, strict=True)]
        found = [strip for strip in strips if strip is not None]
        if len(found) == len(strips):
            why = f"`{subscripts[along]}` runs along diagonals: rows behind each other, read as rows of another length"
            return (view,), list(found), why
    return None
