"""Narrow values inside a reduction that accumulates in a wider type.

A sum of products of halves is rounded once, at its end: in the body every 16-bit float has the accumulating type. Of 8-
and 16-bit integers only the summed products have that type: elsewhere their own type wraps.
"""

from dataclasses import replace
from typing import assert_never

from .. import ir


def widened(body: ir.Expr, accumulate: str) -> ir.Expr:
    """The body of a reduction, of type `accumulate` if that is wider than the body's narrow type, else unchanged."""
    if ir.types.BITS[body.dtype] > 16 or body.dtype == "bool" or ir.types.BITS[accumulate] <= 16:
        return body
    return _product(body, accumulate) if ir.types.is_integral(body.dtype) else _floats(body, accumulate)


def _product(expr: ir.Expr, wide: str) -> ir.Expr:
    match expr:
        case ir.Binary("*", left, right):
            return replace(expr, left=_product(left, wide), right=_product(right, wide), dtype=wide)
        case ir.Const(value):
            return ir.Const(value, wide)
        case _:
            return ir.Cast(expr, wide)


def _floats(expr: ir.Expr, wide: str) -> ir.Expr:
    """The expression with its 16-bit floats in type `wide`, except in subscripts and in guards of inner reductions."""
    dtype = wide if expr.dtype in ir.types.HALVES else expr.dtype

    def inner(child: ir.Expr) -> ir.Expr:
        return _floats(child, wide)

    match expr:
        case ir.Const(value) if dtype != expr.dtype and float(value.real).is_integer():
            return ir.Const(value, wide)
        case ir.Const() | ir.Extent() | ir.Index() | ir.Access() | ir.Foreign() | ir.Call("nextafter"):
            return expr if dtype == expr.dtype else ir.Cast(expr, wide)
        case ir.Cast(operand) if dtype != expr.dtype and ir.types.join(operand.dtype, expr.dtype) != expr.dtype:
            # The program explicitly asks for the rounding.
            return ir.Cast(expr, wide)
        case ir.Cast(operand):
            return replace(expr, operand=inner(operand), dtype=dtype)
        case ir.Unary(_, operand):
            return replace(expr, operand=inner(operand), dtype=dtype)
        case ir.Binary(_, left, right):
            return replace(expr, left=inner(left), right=inner(right), dtype=dtype)
        case ir.Call(_, arguments):
            return replace(expr, arguments=tuple(map(inner, arguments)), dtype=dtype)
        case ir.Select(condition, then, otherwise):
            return replace(expr, condition=inner(condition), then=inner(then), otherwise=inner(otherwise), dtype=dtype)
        case ir.Reduce(body=body, accumulate=accumulate):
            accumulate = wide if accumulate in ir.types.HALVES else accumulate
            return replace(expr, body=inner(body), accumulate=accumulate, dtype=dtype)
        case _:
            assert_never(expr)
