"""Unrolls short reductions, so that they become part of the loop around them."""

import functools
import itertools

from ... import ir, transforms
from ...symbolic import Affine, Box
from ...transforms.widening import widened
from .loop_schedules import is_short


def written_out(expr: ir.Expr, ranges: Box) -> ir.Expr:
    """The expression with every short reduction in it replaced by its terms, joined by its operator."""
    expr = ir.rebuild(expr, lambda part: written_out(part, ranges))
    if not isinstance(expr, ir.Reduce) or not is_short(expr, ranges):
        return expr
    operator = expr.reducer.operator
    assert operator is not None, expr.reducer
    body = widened(expr.body, expr.accumulate)
    points = itertools.product(*(range(*ranges[index]) for index in expr.indices))
    steps = (dict(zip(expr.indices, map(Affine.of, point), strict=True)) for point in points)
    terms = (transforms.substitute_expr(body, step) for step in steps)
    total = functools.reduce(lambda left, right: ir.Binary(operator, left, right, expr.accumulate), terms)
    return total if expr.dtype == expr.accumulate else ir.Cast(total, expr.dtype)
