"""Indices that count from where they read: ``sum[b in 0:t+1](x(t-b))`` is ``sum[s in 0:T where s <= t](x(s))``.

So it is where a bound moves with what the index is added to, and what is read does not.
"""

from dataclasses import dataclass, replace

from .. import ir
from ..symbolic import Affine, IndexVar
from .inlining import Step
from .limits import bound_once, bounds_of
from .subscripts import Known
from .substitution import substitute_expr


def from_start(step: Step) -> Step:
    """The step with each such index as the place that is read. The place of an extremum is counted as it is written."""
    statement = step.statement
    starter = _Starter(dict(step.box), bound_once(statement))
    guard, value = statement.domain.guard, starter.expr(statement.value)
    if isinstance(statement, ir.Accumulate) and guard is not None and statement.reducer not in ir.PLACES:
        guard, value = starter.started(statement.reduction, guard, value)
    if not starter.found:
        return step
    statement = replace(statement, value=value, domain=replace(statement.domain, guard=guard))
    return replace(step, statement=statement, box=starter.box)


@dataclass(slots=True)
class _Starter:
    """One statement while its indices become places."""

    box: dict[IndexVar, tuple[int, int]]
    alone: frozenset[IndexVar]
    found: bool = False

    def expr(self, expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, self.expr)
        if not isinstance(expr, ir.Reduce) or expr.guard is None or expr.rank is not None or expr.reducer in ir.PLACES:
            return expr
        guard, body = self.started(expr.indices, expr.guard, expr.body)
        return replace(expr, guard=guard, body=body)

    def started(self, indices: tuple[IndexVar, ...], guard: ir.Expr, body: ir.Expr) -> tuple[ir.Expr | None, ir.Expr]:
        """The guard and the body over places."""
        left: ir.Expr | None = guard
        for index in indices:
            if index in self.alone and left is not None and index in ir.free_indices(left):
                place = _place(index, body, frozenset(indices))
                moved = None if place is None else self.moved(index, place, left)
                if place is not None and moved is not None:
                    left, body = moved, substitute_expr(body, {index: _inverse(index, place)})
                    self.found = True
        return left, body

    def moved(self, index: IndexVar, place: Affine, guard: ir.Expr) -> ir.Expr | None:
        """The guard over places, from whose values the index goes; None where more bounds would move, or further."""
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
        known = Known.over({**self.box, index: (low, high)})
        for slack in (value - lo, Affine.of(hi - 1) - value):
            ends = known.bounds(slack)
            if ends is None or ends[0] < 0:
                parts.append(ir.Binary(">=", ir.integer(slack), ir.Const(0, "int32"), "bool"))
                after += 1
        if before == 0 or after > before:
            return None
        self.box[index] = low, high
        return ir.conjunction(parts)


def _place(index: IndexVar, body: ir.Expr, own: frozenset[IndexVar]) -> Affine | None:
    """The one place at which everything is read that the index decides, in one step of it; None if there are more."""
    inside = {i for node in ir.walk(body) if isinstance(node, ir.Reduce) for i in node.indices}
    found: Affine | None = None
    for access in ir.accesses(body):
        for subscript in access.indices:
            if index not in subscript.variables:
                continue
            rest = subscript - Affine.of(index).scale(_step(subscript, index))
            if not subscript.is_linear or not rest.variables or rest.variables & (own | inside):
                return None
            if abs(_step(subscript, index)) != 1 or (found is not None and subscript != found):
                return None
            found = subscript
    return found


def _step(subscript: Affine, index: IndexVar) -> int:
    return next((weight.constant or 0 for atom, weight in subscript.terms if atom == index), 0)


def _inverse(index: IndexVar, place: Affine) -> Affine:
    """The index at a place, which has its name."""
    step = _step(place, index)
    rest = place - Affine.of(index).scale(step)
    return (Affine.of(index) - rest).scale(step)


def _moves(condition: ir.Expr, index: IndexVar) -> bool:
    """Whether a condition ends the range of an index where other indices say."""
    ends = bounds_of(condition, index)
    return ends is not None and any(end is not None and end.constant is None for end in ends)
