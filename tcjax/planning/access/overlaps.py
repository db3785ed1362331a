"""Reads of overlapping elements, such as ``A(i + j)``, as a view with a dimension for each index."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...symbolic import Affine, IndexVar
from ...symbolic.runs import Run
from ..data.nodes import Strip
from ..data.views import Pieces, Slide, View, Zeros
from ..scope import Scope

# With more rows or columns, elements are looked up: a gather is as fast (bench/).
MOST_ROWS: Final = 16


@dataclass(frozen=True, slots=True)
class Overlap:
    """Strips that replace one dimension of the tensor after the views."""

    views: tuple[View, ...]
    strips: tuple[Strip, ...]


@dataclass(slots=True)
class _Group:
    """Indices that together run over ``stride * (0, 1, ..., count - 1)``, each as (index, extent, block)."""

    stride: int
    count: int
    factors: tuple[tuple[IndexVar, int, int], ...]


def as_overlap(subscript: Affine, extent: int, dimension: int, scope: Scope) -> Overlap | None:
    """The subscript as overlapping rows of a dimension of this extent; None if too many, or it is not a sum."""
    if not subscript.is_linear:
        return None
    fixed = Affine((), subscript.base)
    free: list[tuple[IndexVar, int]] = []
    for atom, weight in subscript.terms:
        assert isinstance(atom, IndexVar)
        if atom in scope.unrolled:
            fixed = fixed + Affine.of(atom).scale(weight)
        else:
            fixed = fixed + weight * scope.box[atom][0]
            free.append((atom, weight.constant or 0))
    if any(scope.extent(atom) == 0 for atom, _ in free):
        return None
    groups = _groups(free, scope)
    starts = scope.bounds(fixed)
    if starts is None or len(groups) < 2:
        return None
    # From the first to the last element that any step reads.
    lo = starts[0] + sum(min(0, group.stride * (group.count - 1)) for group in groups)
    hi = starts[1] + sum(max(0, group.stride * (group.count - 1)) for group in groups)
    inside = Pieces(dimension, tuple(_within(lo, hi, extent)))
    views: list[View] = [] if (lo, hi) == (0, extent - 1) else [inside]
    strips: list[Strip] = []
    groups.sort(key=lambda group: abs(group.stride) * (group.count - 1))
    *rows, last = groups
    span = hi - lo + 1
    for number, group in enumerate(rows):
        step = abs(group.stride)
        span -= step * (group.count - 1)
        if min(group.count, span) > MOST_ROWS:
            return None
        views.append(Slide(dimension + number, group.count, step, span))
        start, stride = (group.count - 1, -1) if group.stride < 0 else (0, 1)
        strips.append(Strip(Affine.of(start), stride, group.count, 0, 0, group.factors))
    # Rows that run backwards are counted from their other end, like the columns' start.
    start = fixed - lo + sum(min(0, group.stride * (group.count - 1)) for group in rows)
    strips.append(Strip(start, last.stride, last.count, 0, 0, last.factors))
    return Overlap(tuple(views), tuple(strips))


def _groups(free: list[tuple[IndexVar, int]], scope: Scope) -> list[_Group]:
    """The indices in few groups without overlap, built greedily in order of size."""
    single = tuple((atom, 1, 1) for atom, _ in free if scope.extent(atom) == 1)
    ordered = sorted(((a, s) for a, s in free if scope.extent(a) > 1), key=lambda term: abs(term[1]))
    groups: list[_Group] = []
    for atom, step in ordered:
        extent = scope.extent(atom)
        for group in groups:
            block = step // group.stride
            if step % group.stride == 0 and block == group.count:
                group.factors = ((atom, extent, block), *group.factors)
                group.count *= extent
                break
        else:
            groups.append(_Group(step, extent, ((atom, extent, 1),)))
    if groups and single:
        groups[0].factors = (*((a, 1, groups[0].count) for a, _, _ in single), *groups[0].factors)
    return groups


def _within(lo: int, hi: int, extent: int) -> Iterator[Run | Zeros]:
    """The elements from `lo` to `hi`, with zeros for those outside the dimension."""
    first, last = max(lo, 0), min(hi, extent - 1)
    if last < first:
        yield Zeros(hi - lo + 1)
        return
    if lo < first:
        yield Zeros(first - lo)
    yield Run(first, 1 if last > first else 0, last - first + 1)
    if hi > last:
        yield Zeros(hi - last)
