"""Means as sums: ``mean[k](e)`` is ``sum[k](e) / K``, so that rules for sums apply."""

from dataclasses import replace
from math import nan, prod
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import Box
from .definitions import Formula, constant, is_one_to_one
from .flattening import merged

# A single object, so that it equals itself as part of an expression.
_NAN: Final = nan


def without_means(statement: Formula, box: Box) -> Formula:
    """The statement with sums in place of means whose guard excludes no points."""
    statement = replace(statement, value=_summed(statement.value, box))
    match statement:
        case ir.Accumulate(
            target, indices, Reducer.MEAN, True, (_, *_) as reduction, value, accumulate, ir.Domain(guard=None)
        ) if is_one_to_one(indices):
            mean = ir.Reduce(Reducer.MEAN, tuple(reduction), (), None, value, None, accumulate, value.dtype)
            total = _summed(mean, box)
            is_whole = total is not mean and value.dtype == target.dtype
            return ir.Define(target, indices, total, statement.domain, span=statement.span) if is_whole else statement
        case _:
            return statement


def _summed(expr: ir.Expr, box: Box) -> ir.Expr:
    if isinstance(expr, ir.Reduce) and expr.reducer is Reducer.MEAN:
        expr = merged(expr)
    expr = ir.rebuild(expr, lambda part: _summed(part, box))
    match expr:
        case ir.Reduce(Reducer.MEAN, indices, guard=None, body=body, rank=None, accumulate=accumulate, dtype=dtype):
            points = prod(box[index][1] - box[index][0] for index in indices)
            if points and ir.types.is_float(dtype) and dtype == accumulate == body.dtype:
                total = replace(expr, reducer=Reducer.SUM)
                return ir.Binary("/", total, ir.Const(float(points), dtype), dtype, span=expr.span)
            return expr
        case _:
            return expr


def as_quotients_of_sums(statement: Formula) -> Formula | None:
    """The statement with a sum divided by a count in place of each mean over points chosen by data.

    Both can be scattered to positions given by data: ``mean[n where I(n) == b](x(n))`` is the sum sent to `b` divided
    by the number of terms sent there. None if there is no such mean.
    """
    whole: Formula = statement
    match statement:
        case ir.Accumulate(target, indices, Reducer.MEAN, True, (_, *_) as reduction, value, accumulate) if (
            is_one_to_one(indices) and accumulate == target.dtype
        ):
            guard = statement.domain.guard
            mean = ir.Reduce(Reducer.MEAN, tuple(reduction), (), guard, value, None, accumulate, accumulate)
            domain = replace(statement.domain, guard=None)
            whole = ir.Define(target, indices, mean, domain, span=statement.span)
        case _:
            pass
    found = replace(whole, value=_divided(whole.value))
    return None if found.value == whole.value else found


def _divided(expr: ir.Expr) -> ir.Expr:
    expr = ir.rebuild(expr, _divided)
    match expr:
        case ir.Reduce(Reducer.MEAN, indices, guard=guard, body=body, rank=None, dtype=dtype) if (
            guard is not None and any(ir.accesses(guard)) and ir.types.is_float(dtype)
        ):
            if not dtype == expr.accumulate == body.dtype or expr.fixed or not set(indices) & ir.free_indices(guard):
                return expr
            total = replace(expr, reducer=Reducer.SUM)
            count = replace(total, body=constant(1, dtype))
            some = ir.Binary(">", count, constant(0, dtype), "bool")
            divisor = ir.Binary("max", count, constant(1, dtype), dtype)
            quotient = ir.Binary("/", total, divisor, dtype, span=expr.span)
            return ir.Select(some, quotient, ir.Const(_NAN, dtype), dtype, span=expr.span)
        case _:
            return expr
