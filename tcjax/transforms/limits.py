"""Turns guards into ranges of reduction indices: ``sum[k where k < 4](e)`` becomes ``sum[k in 0:4](e)``.

If the range moves but its length is fixed, the index is counted from its start:
``sum[h where 2*y <= h, h < 2*y + 2](A(h))`` becomes ``sum[t in 0:2](A(2*y + t))``.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from .. import ir
from ..symbolic import Affine, AtLeastZero, IndexVar
from .definitions import Formula
from .inlining import Step
from .subscripts import Known
from .substitution import substitute_expr


def limited(step: Step) -> Step:
    """The step without guards that are ranges. Positions are counted from the start of their range, which is kept."""
    limiter = _Limiter(dict(step.box))
    statement = index_by_index(step.statement, limiter.cut)
    return step if limiter.box == step.box else replace(step, statement=statement, box=limiter.box)


class Change(Protocol):
    """A rewrite of the guard and the body of a reduction over `indices`, for one `index` of them."""

    def __call__(
        self, index: IndexVar, indices: tuple[IndexVar, ...], guard: ir.Expr, body: ir.Expr
    ) -> tuple[ir.Expr | None, ir.Expr]: ...


def index_by_index(statement: Formula, change: Change) -> Formula:
    """The statement after `change` for each index of a guard that belongs to a single reduction.

    Positions of extrema and of order statistics are counted as written: those reductions are kept.
    """
    alone = _bound_once(statement)

    def changed(indices: tuple[IndexVar, ...], guard: ir.Expr, body: ir.Expr) -> tuple[ir.Expr | None, ir.Expr]:
        left: ir.Expr | None = guard
        for index in indices:
            if index in alone and left is not None:
                left, body = change(index, indices, left, body)
        return left, body

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        if not isinstance(expr, ir.Reduce) or expr.guard is None:
            return expr
        if expr.reducer.is_ranked or expr.reducer.gives_position:
            return expr
        guard, body = changed(expr.indices, expr.guard, expr.body)
        return replace(expr, guard=guard, body=body)

    guard, value = statement.domain.guard, visit(statement.value)
    if isinstance(statement, ir.Accumulate) and guard is not None and not statement.reducer.gives_position:
        guard, value = changed(statement.reduction, guard, value)
    return replace(statement, value=value, domain=replace(statement.domain, guard=guard))


def _bound_once(statement: Formula) -> frozenset[IndexVar]:
    """The indices of a single reduction whose ranges no other range depends on."""
    bound = Counter(statement.reduction if isinstance(statement, ir.Accumulate) else ())
    for part in (statement.value, statement.domain.guard):
        for node in ir.walk(part) if part is not None else ():
            if isinstance(node, ir.Reduce):
                bound.update(node.indices)
    left = frozenset[IndexVar]().union(*(subscript.variables for subscript in statement.indices))
    return frozenset(index for index, count in bound.items() if count == 1) - left


@dataclass(slots=True)
class _Limiter:
    """One statement while its ranges are shortened."""

    box: dict[IndexVar, tuple[int, int]]

    def cut(
        self, index: IndexVar, indices: tuple[IndexVar, ...], guard: ir.Expr, body: ir.Expr
    ) -> tuple[ir.Expr | None, ir.Expr]:
        """The rest of a guard, and the body where it holds."""
        left = self.shortened(index, guard)
        return (None, body) if left is None else self.moved(index, left, body)

    def shortened(self, index: IndexVar, guard: ir.Expr) -> ir.Expr | None:
        """The guard without bounds of the index by numbers, which move to its range."""
        rest: list[ir.Expr] = []
        for part in ir.conjuncts(guard):
            ends = bounds_of(part, index)
            if ends is None or any(end is not None and end.constant is None for end in ends):
                rest.append(part)
                continue
            lo, hi = self.box[index]
            low, high = (None if end is None else end.constant for end in ends)
            lo = lo if low is None else max(lo, low)
            hi = hi if high is None else min(hi, high)
            self.box[index] = lo, max(lo, hi)
        return ir.conjunction(rest)

    def moved(self, index: IndexVar, guard: ir.Expr, body: ir.Expr) -> tuple[ir.Expr | None, ir.Expr]:
        """The guard and the body with an index counted from the start of a moving range."""
        parts = ir.conjuncts(guard)
        ends = [(part, found) for part in parts if (found := bounds_of(part, index)) is not None]
        for begin, (low, _) in ends:
            for end, (_, high) in ends:
                if low is None or high is None or (width := (high - low).constant) is None:
                    continue
                lo, hi = self.box[index]
                if width < 1 or width >= hi - lo or not low.is_linear:
                    continue
                known = Known.over(self.box)
                beside = not (known.within(low, lo, hi) and known.within(low + (width - 1), lo, hi))
                if beside and width > 1:
                    continue
                value = low + index
                others = [part for part in parts if part is not begin and part is not end]
                rest = ir.conjunction((*others, *inside(low, lo, hi, known)) if beside else others)
                self.box[index] = 0, width
                return (
                    None if rest is None else substitute_expr(rest, {index: value}),
                    substitute_expr(body, {index: value}),
                )
        return guard, body


def inside(value: Affine, lo: int, hi: int, known: Known) -> Iterator[ir.Expr]:
    """The conditions that an index, given by other indices, is within its range."""
    ends = known.bounds(value)
    if ends is None or ends[0] < lo:
        yield ir.Binary(">=", ir.integer(value), ir.Const(lo, "int32"), "bool")
    if ends is None or ends[1] >= hi:
        yield ir.Binary("<", ir.integer(value), ir.Const(hi, "int32"), "bool")


def bounds_of(condition: ir.Expr, index: IndexVar) -> tuple[Affine | None, Affine | None] | None:
    """The least value of an index where a comparison holds, and its exclusive upper bound; None if it gives neither."""
    if not isinstance(condition, ir.Binary) or condition.left.dtype != "int32" or condition.right.dtype != "int32":
        return None
    if condition.operator == "==":
        difference = ir.affine_of(condition.left) - ir.affine_of(condition.right)
        return _floor_ends(condition, index) or _equal_ends(difference, index)
    match ir.condition_of(condition):
        case AtLeastZero(slack):
            return _slack_ends(slack, index)
        case _:
            return None


def _slack_ends(slack: Affine, index: IndexVar) -> tuple[Affine | None, Affine | None] | None:
    """The bounds of the index where an affine expression is non-negative."""
    weight = slack.weight(index).constant
    if not weight:
        return None
    rest = slack - Affine.of(index).scale(weight)
    if index in rest.variables or rest.is_data:
        return None
    if rest.constant is not None:
        low = -(rest.constant // weight) if weight > 0 else None
        high = rest.constant // -weight + 1 if weight < 0 else None
        return (None if low is None else Affine.of(low), None if high is None else Affine.of(high))
    if weight == 1:
        return -rest, None
    return (None, rest + 1) if weight == -1 else None


def _equal_ends(difference: Affine, index: IndexVar) -> tuple[Affine | None, Affine | None] | None:
    ends = _slack_ends(difference, index), _slack_ends(-difference, index)
    if ends[0] is None or ends[1] is None or difference.constant is not None:
        return None
    if difference.weight(index).constant not in (1, -1):
        return None
    low, high = ends if ends[0][0] is not None else ends[::-1]
    assert low is not None and high is not None
    return low[0], high[1]


def _floor_ends(condition: ir.Binary, index: IndexVar) -> tuple[Affine | None, Affine | None] | None:
    """The bounds from ``h / 2 == y``: ``2*y`` to ``2*y + 2``."""
    for own, other in ((condition.left, condition.right), (condition.right, condition.left)):
        match own:
            case ir.Binary("//", ir.Index(variable), ir.Const(int() as by)) if variable == index and by > 0:
                value = ir.affine_of(other)
                if index in value.variables or value.is_data:
                    return None
                return value.scale(by), value.scale(by) + by
            case _:
                pass
    return None
