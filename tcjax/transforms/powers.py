"""Normalises powers: ``pow(x, 2)`` and ``|x| * |x|`` become ``x * x``, a quotient by an exponential a product.

Likewise ``exp2(x * log2(e))`` becomes ``exp(x)``, and ``log2(x) * log(2)`` becomes ``log(x)``.
"""

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from .. import ir

# Natural logarithms of the bases, and the tolerance for a constant rounded to a type.
_EXPONENTIALS: Final = {"exp2": math.log(2), "exp10": math.log(10)}
_LOGARITHMS: Final = {"log2": math.log(2), "log10": math.log(10)}
_ROUNDING: Final = {"float32": 2.0**-23, "float64": 2.0**-52}
# A base with more nodes than this is not duplicated.
MOST_NODES = 40


def without_powers(expr: ir.Expr) -> ir.Expr:
    """The expression with squares, cubes and reciprocals of floats as products and quotients, and without signs in
    squares.

    ``x / exp(u)`` becomes ``x * exp(-u)``: its derivative needs no quotient and reuses the exponential.
    """
    expr = _natural(ir.rebuild(expr, without_powers))
    match expr:
        case ir.Binary("/", dividend, ir.Call("exp" | "exp2", (exponent,)) as divisor) if divisor.dtype == expr.dtype:
            negative = ir.Unary("-", exponent, exponent.dtype, span=exponent.span)
            inverse = replace(divisor, arguments=(negative,))
            return ir.Binary("*", dividend, inverse, expr.dtype, span=expr.span)
        case ir.Binary("*"):
            return _without_signs(expr)
        case ir.Binary("**", base, exponent) | ir.Call("pow", (base, exponent)) if ir.types.is_float(expr.dtype):
            number = ir.number_of(exponent)
        case _:
            return expr
    if number == -1:
        return ir.Binary("/", ir.Const(1.0, expr.dtype), base, expr.dtype, span=expr.span)
    if number not in (2, 3) or sum(1 for _ in ir.walk(base)) > MOST_NODES or ir.has_reduction(base):
        return expr
    square = _without_signs(ir.Binary("*", base, base, expr.dtype, span=expr.span))
    return square if number == 2 else ir.Binary("*", square, base, expr.dtype, span=expr.span)


def _without_signs(product: ir.Binary) -> ir.Binary:
    """A product of floats with a repeated ``|x|`` replaced by `x`: the signs cancel, and so do their derivatives."""
    if not ir.types.is_float(product.dtype):
        return product
    counts = Counter(factor for factor in ir.factors(product) if _is_magnitude(factor))
    several = {factor for factor, count in counts.items() if count % 2 == 0}
    found = _replaced(product, several)
    assert isinstance(found, ir.Binary)
    return found


def _is_magnitude(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Call) and expr.function in ("abs", "fabs") and expr.arguments[0].dtype == expr.dtype


def _replaced(expr: ir.Expr, magnitudes: Collection[ir.Expr]) -> ir.Expr:
    """The product with the arguments of absolute values in place of some of its factors."""
    match expr:
        case ir.Binary("*", left, right) if magnitudes:
            return replace(expr, left=_replaced(left, magnitudes), right=_replaced(right, magnitudes))
        case ir.Call(_, (operand,)) if expr in magnitudes:
            return operand
        case _:
            return expr


def _natural(expr: ir.Expr) -> ir.Expr:
    """An exponential or a logarithm of another base as the natural one, if it is scaled accordingly."""
    match expr:
        case ir.Call(function, (ir.Binary("*" | "/") as exponent,)) if function in _EXPONENTIALS:
            rest = _without(exponent, _EXPONENTIALS[function])
            return expr if rest is None else replace(expr, function="exp", arguments=(rest,))
        case ir.Binary("*" | "/"):
            called = (part for part in (expr.left, expr.right) if isinstance(part, ir.Call))
            logarithms = [part for part in called if part.function in _LOGARITHMS]
            found = (part for part in logarithms if _without(expr, 1 / _LOGARITHMS[part.function]) == part)
            return next((replace(part, function="log") for part in found), expr)
        case _:
            return expr


def _without(product: ir.Binary, scale: float) -> ir.Expr | None:
    """The other factors of a product with one over the scale, or of a quotient by it; None if there is no scale."""
    divides = product.operator == "/"
    pairs = [(product.left, product.right)] + ([] if divides else [(product.right, product.left)])
    for rest, constant in pairs:
        number = ir.number_of(constant)
        if number and abs((number / scale if divides else number * scale) - 1) <= _ROUNDING.get(product.dtype, -1.0):
            return rest
    return None
