"""Powers in one spelling: ``pow(x, 2)`` is ``x * x``, and a quotient by an exponential a product with one."""

from dataclasses import replace

from .. import ir

# A base of more nodes than this is not written twice.
MOST_NODES = 40


def without_powers(expr: ir.Expr) -> ir.Expr:
    """The expression with squares, cubes and reciprocals of floats as products and quotients.

    ``x / exp(u)`` becomes ``x * exp(-u)``: its derivative needs no quotient, and the same exponential as the value.
    """
    expr = ir.rebuild(expr, without_powers)
    match expr:
        case ir.Binary("/", dividend, ir.Call("exp" | "exp2", (exponent,)) as divisor) if divisor.dtype == expr.dtype:
            negative = ir.Unary("-", exponent, exponent.dtype, span=exponent.span)
            inverse = replace(divisor, arguments=(negative,))
            return ir.Binary("*", dividend, inverse, expr.dtype, span=expr.span)
        case ir.Binary("**", base, exponent) | ir.Call("pow", (base, exponent)) if ir.types.is_float(expr.dtype):
            number = ir.number_of(exponent)
        case _:
            return expr
    if number == -1:
        return ir.Binary("/", ir.Const(1.0, expr.dtype), base, expr.dtype, span=expr.span)
    if number not in (2, 3) or sum(1 for _ in ir.walk(base)) > MOST_NODES or ir.has_reduction(base):
        return expr
    square = ir.Binary("*", base, base, expr.dtype, span=expr.span)
    return square if number == 2 else ir.Binary("*", square, base, expr.dtype, span=expr.span)
