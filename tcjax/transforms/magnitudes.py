"""Bounds on the magnitude of values, computed from the magnitudes of their elements."""

from dataclasses import replace

from .. import ir
from ..ir import Reducer
from ..symbolic import IndexVar

_TYPES = ("float32", "float64")


def magnitude(expr: ir.Expr, around: frozenset[IndexVar] = frozenset()) -> ir.Expr | None:
    """A bound that no value of the expression exceeds except by rounding, NaN if one is NaN; None if none is known.

    It depends only on the indices in `around`: ``sum[d](Q(q,d) * K(k,d))`` is at most
    ``sum[d](sum[q](|Q(q,d)|) * sum[k](|K(k,d)|))``, which takes a pass over `Q` and `K`. The maximum of an array would
    be tighter, but XLA's loses NaN.
    """
    if expr.dtype not in _TYPES:
        return None
    match expr:
        case ir.Const(bool() | int() | float() as value):
            return ir.Const(abs(float(value)), expr.dtype)
        case ir.Access():
            found: ir.Expr = ir.Call("abs", (expr,), expr.dtype)
            free = tuple(sorted(ir.free_indices(expr) - around, key=str))
            return ir.Reduce(Reducer.SUM, free, (), None, found, None, expr.dtype, expr.dtype) if free else found
        case ir.Unary("-", operand):
            return magnitude(operand, around)
        case ir.Binary("+" | "-" | "*" as operator, left, right):
            first, second = magnitude(left, around), magnitude(right, around)
            if first is None or second is None:
                return None
            return ir.Binary("*" if operator == "*" else "+", first, second, expr.dtype)
        case ir.Binary("/", left, right) if not ir.free_indices(right) and not any(ir.accesses(right)):
            first = magnitude(left, around)
            return None if first is None else replace(expr, left=first, right=ir.Call("abs", (right,), right.dtype))
        case ir.Reduce(Reducer.SUM | Reducer.MEAN, indices, guard=None, body=body) if (
            expr.accumulate == expr.dtype == body.dtype
        ):
            inner = magnitude(body, around.union(indices))
            return None if inner is None else replace(expr, body=inner)
        case _:
            return None
