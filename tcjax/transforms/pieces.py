"""Splits sums at conditions on the index: ``sum[k](k < K ? a : b)`` is ``sum[k in 0:K](a) + sum[k in K:N](b)``."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from .. import ir
from ..symbolic import Affine, IndexVar
from .definitions import is_one_to_one
from .inlining import Step
from .joining import placed
from .limits import bounds_of
from .substitution import substitute_expr
from .units import without_units

# More pieces than this are not written out.
MOST_PIECES: Final = 4


def in_pieces(step: Step) -> Step | None:
    """The step with a reduction for each part of a range on which a condition on its index alone is constant.

    None if there is no such condition, or too many.
    """
    box = dict(step.box)
    statement = step.statement
    if isinstance(statement, ir.Accumulate) and statement.reduction:
        if (
            not statement.restart
            or statement.reducer.operator is None
            or statement.value.dtype != statement.target.dtype
            or not is_one_to_one(statement.indices)
        ):
            return None
        reducer, value, guard = statement.reducer, statement.value, statement.domain.guard
        total = ir.Reduce(
            reducer, statement.reduction, (), guard, value, None, statement.accumulate, statement.target.dtype
        )
        pieces = _pieces(total, box)
        if pieces is total:
            return None
        domain = replace(statement.domain, guard=None)
        statement = ir.Define(statement.target, statement.indices, pieces, domain, span=statement.span)
    else:
        value = _apart(statement.value, box)
        if value is statement.value or value == statement.value:
            return None
        statement = replace(statement, value=value)
    if len(box) > len(step.box) + MOST_PIECES:
        return None
    return without_units(replace(step, statement=statement, box=box))


def _apart(expr: ir.Expr, box: dict[IndexVar, tuple[int, int]]) -> ir.Expr:
    expr = ir.rebuild(expr, lambda part: _apart(part, box))
    return _pieces(expr, box) if isinstance(expr, ir.Reduce) and expr.reducer.operator is not None else expr


def _pieces(total: ir.Reduce, box: dict[IndexVar, tuple[int, int]]) -> ir.Expr:
    """The reduction as two if a condition cuts its range, recursively."""
    found = next(_cuts(total, box), None)
    operator = total.reducer.operator
    if found is None or operator is None:
        return total
    index, cut = found
    lo, hi = box[index]
    parts: list[ir.Expr] = []
    for ends in ((lo, cut), (cut, hi)):
        own = placed(index, ends, box)
        indices = tuple(own if each == index else each for each in total.indices)
        values = {index: Affine.of(own)}
        guard = None if total.guard is None else substitute_expr(total.guard, values)
        part = replace(total, indices=indices, body=substitute_expr(total.body, values), guard=guard)
        parts.append(_pieces(part, box))
    left, right = parts
    return ir.Binary(operator, left, right, total.dtype, span=total.span)


def _cuts(total: ir.Reduce, box: dict[IndexVar, tuple[int, int]]) -> Iterator[tuple[IndexVar, int]]:
    """The indices whose range a choice's condition cuts, and the position of the cut."""
    for node in ir.walk(total.body):
        if not isinstance(node, ir.Select):
            continue
        for part in ir.conjuncts(node.condition):
            for index in total.indices:
                lo, hi = box[index]
                for end in bounds_of(part, index) or ():
                    cut = None if end is None else end.constant
                    if cut is not None and lo < cut < hi:
                        yield index, cut
