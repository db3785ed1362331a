"""Rewrites functions as arithmetic: ``fma(x, y, z)`` as ``x * y + z``, ``(a - b) * (b - a)`` as a negated square."""

from dataclasses import replace

from .. import ir


def plain_calls(expr: ir.Expr) -> ir.Expr:
    """The expression with such functions written as a few operations, which exposes sums of products and guards."""
    expr = ir.rebuild(expr, plain_calls)
    match expr:
        case ir.Call("fma", (x, y, z)):
            product = ir.Binary("*", x, y, expr.dtype, span=expr.span)
            return ir.Binary("+", product, z, expr.dtype, span=expr.span)
        case ir.Call("fdivide", (x, y)):
            return ir.Binary("/", x, y, expr.dtype, span=expr.span)
        case ir.Call("fdim", (x, y)):
            below = ir.Binary("<=", x, y, "bool")
            difference = ir.Binary("-", x, y, expr.dtype, span=expr.span)
            return ir.Select(below, ir.Const(0.0, expr.dtype), difference, expr.dtype, span=expr.span)
        case ir.Binary("*", x, y) if ir.types.is_float(expr.dtype) and x != y and (found := _square(x, y)):
            own, negative = found
            square = ir.Binary("*", own, own, expr.dtype, span=expr.span)
            return ir.Unary("-", square, expr.dtype, span=expr.span) if negative else square
        case ir.Binary("max", x, y) if ir.types.is_float(expr.dtype) and (_is_turned(x, y) or _is_negative(x, y)):
            return ir.Call("fabs", (x if not isinstance(x, ir.Unary) else y,), expr.dtype, span=expr.span)
        case ir.Binary("-", ir.Binary("max", x, y), ir.Binary("min", v, w)) if ir.types.is_float(expr.dtype):
            if (v, w) not in ((x, y), (y, x)):
                return expr
            difference = ir.Binary("-", x, y, expr.dtype, span=expr.span)
            return _one_way(ir.Call("fabs", (difference,), expr.dtype, span=expr.span))
        case ir.Call("abs" | "fabs") if ir.types.is_float(expr.dtype):
            return _one_way(expr)
        case _:
            return expr


def _one_way(distance: ir.Call) -> ir.Call:
    """``|y - x|`` as ``|x - y|``, so that equal factors of a product are recognised."""
    match distance.arguments:
        case (ir.Binary("-", x, y) as difference,) if ir.show_expr(y) < ir.show_expr(x):
            return replace(distance, arguments=(replace(difference, left=y, right=x),))
        case _:
            return distance


def _square(x: ir.Expr, y: ir.Expr) -> tuple[ir.Expr, bool] | None:
    """The common value of two factors that agree up to their signs, and whether one sign remains."""
    negative = False
    while isinstance(x, ir.Unary) and x.operator == "-":
        x, negative = x.operand, not negative
    while isinstance(y, ir.Unary) and y.operator == "-":
        y, negative = y.operand, not negative
    if x == y:
        return x, negative
    return (x, not negative) if _is_turned(x, y) else None


def _is_turned(x: ir.Expr, y: ir.Expr) -> bool:
    """Whether one difference is the other with its operands swapped."""
    match x, y:
        case ir.Binary("-", a, b), ir.Binary("-", c, d):
            return (a, b) == (d, c)
        case _:
            return False


def _is_negative(x: ir.Expr, y: ir.Expr) -> bool:
    """Whether one is the negation of the other."""
    return x == ir.Unary("-", y, y.dtype) or y == ir.Unary("-", x, x.dtype)
