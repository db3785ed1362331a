"""A mean over all points as a sum: ``mean[k](e)`` is ``sum[k](e) / K``, and what holds of sums holds of it."""

from dataclasses import replace
from math import prod

from .. import ir
from ..ir import Reducer
from ..ranges import Box
from .definitions import Formula, is_one_to_one
from .flattening import merged


def without_means(statement: Formula, box: Box) -> Formula:
    """The statement with sums in the place of means from which no guard leaves points out."""
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
