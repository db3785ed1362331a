"""Normalises extrema: ``-min(-x)`` becomes ``max(x)``, and likewise its position; nested duplicates are dropped."""

from dataclasses import replace

from .. import ir
from ..ir import Reducer
from ..symbolic import Box
from .definitions import is_one_to_one
from .inlining import Step


def plain_extrema(step: Step) -> Step:
    """The statement with signs moved out of extrema, and without operands that an extremum next to them contains."""
    statement = replace(step.statement, value=_plain(step.statement.value, step.box))
    match statement:
        case ir.Accumulate(reducer=Reducer(gives_position=True) as reducer, value=ir.Unary("-", operand)):
            if _is_float(operand):
                statement = replace(statement, reducer=_turned(reducer), value=operand)
        case ir.Accumulate(
            target, indices, Reducer(is_extremum=True) as reducer, True, (_, *_), ir.Unary("-", operand) as value
        ) if _is_float(operand) and value.dtype == target.dtype and is_one_to_one(indices):
            guard, kind = statement.domain.guard, statement.accumulate
            least = ir.Reduce(_turned(reducer), statement.reduction, (), guard, operand, None, kind, value.dtype)
            domain = replace(statement.domain, guard=None)
            turned = ir.Unary("-", least, value.dtype, span=value.span)
            statement = ir.Define(target, indices, turned, domain, span=statement.span)
        case _:
            pass
    return replace(step, statement=statement)


def _plain(expr: ir.Expr, box: Box) -> ir.Expr:
    expr = ir.rebuild(expr, lambda part: _plain(part, box))
    match expr:
        case ir.Reduce(reducer=Reducer(gives_position=True, is_ranked=False) as reducer, body=ir.Unary("-", operand)):
            return replace(expr, reducer=_turned(reducer), body=operand) if _is_float(operand) else expr
        case ir.Reduce(reducer=Reducer(is_extremum=True) as reducer, body=ir.Unary("-", operand)) if _is_float(expr):
            return ir.Unary("-", replace(expr, reducer=_turned(reducer), body=operand), expr.dtype, span=expr.span)
        case ir.Unary("-", ir.Unary("-", operand)) if _is_float(expr):
            return operand
        case ir.Binary("min" | "max" as operator, left, right):
            if _has(right, left, ir.BY_OPERATOR[operator], box):
                return right
            return left if _has(left, right, ir.BY_OPERATOR[operator], box) else expr
        case _:
            return expr


def _turned(reducer: Reducer) -> Reducer:
    """The reduction of the negated values that is equivalent."""
    return reducer.variant(order="max" if reducer.order == "min" else "min")


def _is_float(expr: ir.Expr) -> bool:
    return ir.types.is_float(expr.dtype)


def _has(extremum: ir.Expr, value: ir.Expr, reducer: Reducer, box: Box) -> bool:
    """Whether the value is among those over which an extremum is taken."""
    if not isinstance(extremum, ir.Reduce) or extremum.reducer is not reducer or extremum.guard is not None:
        return False
    body = extremum.body
    if not isinstance(body, ir.Access) or not isinstance(value, ir.Access) or body.tensor != value.tensor:
        return False
    places: dict[object, int] = {}
    for subscript, other in zip(body.indices, value.indices, strict=True):
        moved = subscript - other
        index = (moved - moved.base).variables & {*extremum.indices}
        weights = [weight.constant for _, weight in moved.terms]
        base = moved.base.constant
        if moved.constant == 0:
            continue
        if not moved.is_linear or len(moved.terms) != 1 or len(index) != 1 or weights[0] not in (1, -1) or base is None:
            return False
        (own,) = index
        place = -base if weights[0] == 1 else base
        if not box[own][0] <= place < box[own][1] or places.setdefault(own, place) != place:
            return False
    return len(places) == len(extremum.indices)
