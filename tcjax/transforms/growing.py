"""Extends a reduction by one value of its index: just before its first, or just after its last."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .. import ir
from ..symbolic import Affine, Box, IndexVar
from .decisions import decide_alone
from .limits import bounds_of
from .subscripts import Known
from .substitution import substitute_expr


@dataclass(frozen=True, slots=True)
class Grown:
    """A reduction extended by one value of its only index, with the new range, and the body at that value."""

    reduce: ir.Reduce
    ends: tuple[int, int]
    added: ir.Expr


def grown(reduce: ir.Reduce, box: Box) -> Iterator[Grown]:
    """The reduction extended by each of the values next to its own, if these are contiguous at every point.

    Its values end where the range does, or at a condition: ``s < t`` extends to ``s <= t``.
    """
    if len(reduce.indices) != 1 or reduce.rank is not None or any(lo >= hi for lo, hi in box.values()):
        return
    (index,) = reduce.indices
    lo, hi = box[index]
    conditions = ir.conjuncts(reduce.guard)
    for value, ends in ((lo - 1, (lo - 1, hi)), (hi, (lo, hi + 1))):
        if _hold(conditions, index, Affine.of(value), box):
            yield Grown(reduce, ends, _at(reduce.body, index, Affine.of(value)))
    for place, condition in enumerate(conditions):
        low, high = bounds_of(condition, index) or (None, None)
        others = conditions[:place] + conditions[place + 1 :]
        if low is not None and high is None:
            value, operator = low - 1, ">="
        elif high is not None and low is None:
            value, operator = high, "<="
        else:
            continue
        ends = _with(value, (lo, hi), box, downwards=high is None)
        if ends is not None and _hold(others, index, value, box):
            wider = ir.Binary(operator, ir.integer(Affine.of(index)), ir.integer(value), "bool")
            guard = ir.conjunction((*conditions[:place], wider, *conditions[place + 1 :]))
            yield Grown(replace(reduce, guard=guard), ends, _at(reduce.body, index, value))


def _with(value: Affine, ends: tuple[int, int], box: Box, *, downwards: bool) -> tuple[int, int] | None:
    """A range with a value that a condition excluded; None if it is neither in the range nor adjacent to it."""
    found, (lo, hi) = Known.over(box).bounds(value), ends
    if found is None or found[0] < lo - downwards or found[1] >= hi + (not downwards):
        return None
    return min(lo, found[0]), max(hi, found[1] + 1)


def _hold(conditions: Sequence[ir.Expr], index: IndexVar, value: Affine, box: Box) -> bool:
    """Whether all conditions hold where the index has this value, which may depend on the point."""
    guard = ir.conjunction(_at(condition, index, value) for condition in conditions)
    return decide_alone(guard, ir.Const(True, "bool"), box)[0] is None


def _at(expr: ir.Expr, index: IndexVar, value: Affine) -> ir.Expr:
    return substitute_expr(expr, {index: value})
