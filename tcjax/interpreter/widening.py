"""Narrow values inside a reduction that accumulates in a wider type.

A sum of products of halves is rounded once, at its end: in the body every 16-bit float has the accumulating type. Of 8-
and 16-bit integers only the summed products have that type: elsewhere their own type wraps.
"""

from dataclasses import replace
from typing import assert_never

from .. import ir


def widened(body: ir.Expr, accumulate: str) -> ir.Expr:
    """The body of a reduction, of type `accumulate` if that is wider than the body's narrow type, else unchanged."""
    types = ir.types
    if types.BITS[body.dtype] > 16 or body.dtype == "bool" or types.BITS[accumulate] <= 16:
        return body
    return _widen_product(body, accumulate) if types.is_integral(body.dtype) else _widen_floats(body, accumulate)


def _widen_product(expr: ir.Expr, wide: str) -> ir.Expr:
    match expr:
        case ir.Binary("*", left, right):
            return replace(expr, left=_widen_product(left, wide), right=_widen_product(right, wide), dtype=wide)
        case _:
            return ir.Cast(expr, wide)


def _widen_floats(expr: ir.Expr, wide: str) -> ir.Expr:
    """The expression with its 16-bit floats in type `wide`, except in subscripts and in guards of inner reductions."""
    dtype = wide if expr.dtype in ("float16", "bfloat16") else expr.dtype

    def visit(child: ir.Expr) -> ir.Expr:
        return _widen_floats(child, wide)

    match expr:
        case ir.Const() | ir.Extent() | ir.Index() | ir.Access() | ir.Foreign() | ir.Call("nextafter"):
            return expr if dtype == expr.dtype else ir.Cast(expr, wide)
        case ir.Cast(operand) if dtype != expr.dtype and ir.types.join(operand.dtype, expr.dtype) != expr.dtype:
            # The program explicitly asks for the rounding.
            return ir.Cast(expr, wide)
        case ir.Cast(operand):
            return replace(expr, operand=visit(operand), dtype=dtype)
        case ir.Unary(_, operand):
            return replace(expr, operand=visit(operand), dtype=dtype)
        case ir.Binary(_, left, right):
            return replace(expr, left=visit(left), right=visit(right), dtype=dtype)
        case ir.Call(_, arguments):
            return replace(expr, arguments=tuple(map(visit, arguments)), dtype=dtype)
        case ir.Select(condition, then, otherwise):
            return replace(expr, condition=visit(condition), then=visit(then), otherwise=visit(otherwise), dtype=dtype)
        case ir.Reduce(body=body, accumulate=accumulate):
            accumulate = wide if accumulate in ("float16", "bfloat16") else accumulate
            return replace(expr, body=visit(body), accumulate=accumulate, dtype=dtype)
        case _:
            assert_never(expr)
