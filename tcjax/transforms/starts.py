"""Counts an index from where it reads: ``sum[b in 0:t+1](x(t-b))`` becomes ``sum[s in 0:T where s <= t](x(s))``.

Applies if a bound moves with the term added to the index, while the range that is read does not.
"""

from dataclasses import dataclass, replace

from .. import ir
from ..symbolic import Affine, IndexVar
from .inlining import Step
from .limits import bounds_of, index_by_index, inside
from .subscripts import Known
from .substitution import substitute_expr


def from_start(step: Step) -> Step:
    """The step with each such index replaced by the position being read. Positions of extrema stay as written."""
    starter = _Starter(dict(step.box))
    statement = index_by_index(step.statement, starter.started)
    return replace(step, statement=statement, box=starter.box) if starter.found else step


@dataclass(slots=True)
class _Starter:
    """One statement while its indices are replaced by positions."""

    box: dict[IndexVar, tuple[int, int]]
    found: bool = False

    def started(
        self, index: IndexVar, indices: tuple[IndexVar, ...], guard: ir.Expr, body: ir.Expr
    ) -> tuple[ir.Expr | None, ir.Expr]:
        """The guard and the body over positions."""
        place = _place(index, body, frozenset(indices)) if index in ir.free_indices(guard) else None
        moved = None if place is None else self.moved(index, place, guard)
        if place is None or moved is None:
            return guard, body
        self.found = True
        return ir.conjunction(moved), substitute_expr(body, {index: _inverse(index, place)})

    def moved(self, index: IndexVar, place: Affine, guard: ir.Expr) -> list[ir.Expr] | None:
        """The rest of the guard over positions, over which the index then runs.

        None if this makes more bounds move, or move further: then the index keeps its range.
        """
        value = _inverse(index, place)
        span = Known.over(self.box).bounds(place)
        if span is None:
            return None
        lo, hi = self.box[index]
        low, high = span[0], span[1] + 1
        before, after, parts = 0, 0, list[ir.Expr]()
        for part in ir.conjuncts(guard):
            own = substitute_expr(part, {index: value})
            before += _moves(part, index)
            ends = bounds_of(own, index)
            if ends is not None and not _moves(own, index):
                low = max(low, low if ends[0] is None else ends[0].constant or 0)
                high = min(high, high if ends[1] is None else ends[1].constant or 0)
                continue
            after += _moves(own, index)
            parts.append(own)
        if high <= low or high - low > hi - lo:
            return None
        own = list(inside(value, lo, hi, Known.over({**self.box, index: (low, high)})))
        parts += own
        after += len(own)
        if before == 0 or after > before:
            return None
        self.box[index] = low, high
        return parts


def _place(index: IndexVar, body: ir.Expr, own: frozenset[IndexVar]) -> Affine | None:
    """The single position at which everything that the index determines is read, with unit stride; None if there are
    several.
    """
    bound = own | ir.bound_indices(body)
    found: Affine | None = None
    for access in ir.accesses(body):
        for subscript in access.indices:
            if index not in subscript.variables:
                continue
            step = subscript.weight(index).constant or 0
            rest = subscript - Affine.of(index).scale(step)
            if not subscript.is_linear or not rest.variables or rest.variables & bound:
                return None
            if abs(step) != 1 or (found is not None and subscript != found):
                return None
            found = subscript
    return found


def _inverse(index: IndexVar, place: Affine) -> Affine:
    """The index at a position, which takes its name."""
    step = place.weight(index)
    rest = place - Affine.of(index).scale(step)
    return (Affine.of(index) - rest).scale(step)


def _moves(condition: ir.Expr, index: IndexVar) -> bool:
    """Whether a condition bounds the index by other indices."""
    ends = bounds_of(condition, index)
    return ends is not None and any(end is not None and end.constant is None for end in ends)
