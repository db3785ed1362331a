"""Expressions put together with what is trivial folded: ``0*x``, ``1*x``, ``0+x``, ``--x``, ``x+x``."""

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from ... import ir
from ...ir.builtins import BUILTINS, result_type
from ..definitions import constant

# A number in double precision is the only one of this many decimal digits.
DIGITS: Final = 15
# Beyond it, a decimal product could overflow.
LARGE: Final = 1e300


def number(expr: ir.Expr) -> complex | None:
    """The value of a literal that is a number, with its sign."""
    match expr:
        case ir.Const(value, dtype) if dtype != "bool":
            return value
        case ir.Unary("-", ir.Const(value, dtype)) if dtype != "bool":
            return -value
        case _:
            return None


def add(left: ir.Expr | None, right: ir.Expr | None) -> ir.Expr | None:
    """The sum; None is zero."""
    if left is None or right is None:
        return right if left is None else left
    return plus(left, right)


def plus(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    if number(left) == 0:
        return right
    if number(right) == 0:
        return left
    if left == right and not _is_long(left):
        return times(constant(2, left.dtype), left)
    match left, right:
        case _, ir.Unary("-", operand):
            return minus(left, operand)
        case ir.Unary("-", operand), _:
            return minus(right, operand)
        case ir.Const(a), ir.Const(b):
            return constant(_folded(operator.add, a, b), left.dtype)
        case _:
            return ir.Binary("+", left, right, left.dtype)


def minus(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    if number(right) == 0:
        return left
    if number(left) == 0:
        return negative(right)
    match left, right:
        case _, ir.Unary("-", operand):
            return plus(left, operand)
        case ir.Const(a), ir.Const(b):
            return constant(_folded(operator.sub, a, b), left.dtype)
        case _:
            return ir.Binary("-", left, right, left.dtype)


def negative(expr: ir.Expr) -> ir.Expr:
    match expr:
        case ir.Unary("-", operand):
            return operand
        case ir.Const(value, dtype) if not ir.types.is_integral(dtype):
            return constant(-value, dtype)
        case ir.Binary("-", left, right):
            return ir.Binary("-", right, left, expr.dtype)
        case ir.Binary("*", ir.Const(value, dtype), right) if not ir.types.is_integral(dtype):
            return times(constant(-value, dtype), right)
        case _:
            return ir.Unary("-", expr, expr.dtype)


def times(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """The product, a sign and a number in front."""
    if number(left) == 1:
        return right
    if number(right) == 1:
        return left
    if number(left) == -1:
        return negative(right)
    if number(right) == -1:
        return negative(left)
    match left, right:
        case ir.Const(a), ir.Const(b):
            return constant(_folded(operator.mul, a, b), left.dtype)
        case ir.Unary("-", operand), _:
            return negative(times(operand, right))
        case _, ir.Unary("-", operand):
            return negative(times(left, operand))
        case ir.Const(), ir.Binary("*", ir.Const() as first, rest):
            return times(times(left, first), rest)
        case _, ir.Const():
            return times(right, left)
        case _, ir.Binary("*", ir.Const() as first, rest) if not isinstance(left, ir.Const):
            return times(first, times(left, rest))
        case ir.Binary("*", ir.Const() as first, rest), _:
            return times(first, times(rest, right))
        case _:
            return ir.Binary("*", left, right, left.dtype)


def over(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    if number(right) == 1:
        return left
    match left, right:
        case ir.Unary("-", operand), _:
            return negative(over(operand, right))
        case _:
            return ir.Binary("/", left, right, left.dtype)


def power(base: ir.Expr, exponent: ir.Expr) -> ir.Expr:
    if number(exponent) == 1:
        return base
    if number(exponent) == 0:
        return constant(1, base.dtype)
    return ir.Binary("**", base, exponent, base.dtype)


def call(function: str, *arguments: ir.Expr) -> ir.Call:
    return ir.Call(function, arguments, result_type(BUILTINS[function], arguments[0].dtype))


def compare(operator: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Binary(operator, left, right, "bool")


def choose(condition: ir.Expr, then: ir.Expr, otherwise: ir.Expr) -> ir.Expr:
    return ir.Select(condition, then, otherwise, then.dtype)


def cast(expr: ir.Expr, dtype: str) -> ir.Expr:
    if ir.types.is_complex(expr.dtype) and not ir.types.is_complex(dtype):
        expr = call("real", expr)
    if expr.dtype == dtype:
        return expr
    value = number(expr)
    if isinstance(value, float) and ir.types.is_float(dtype) and ir.types.BITS[dtype] >= 32:
        return constant(value, dtype)
    return ir.Cast(expr, dtype)


def _folded(operate: Callable[[Any, Any], Any], left: complex, right: complex) -> complex:
    """The result for two numbers; for two decimals, as people write them, that of the decimals: 0.1 * 0.1 is 0.01."""
    found = operate(left, right)
    # A zero keeps its sign.
    is_plain = isinstance(found, float) and 0 < abs(found) < LARGE
    if not is_plain or not (_is_decimal(left) and _is_decimal(right)):
        return found
    return float(operate(Fraction(repr(left)), Fraction(repr(right))))


def _is_decimal(number: complex) -> bool:
    """Whether it is a finite number with few digits."""
    digits = repr(number).partition("e")[0].replace(".", "").lstrip("-").strip("0")
    return not isinstance(number, complex) and (not digits or digits.isdecimal()) and len(digits) <= DIGITS


def _is_long(expr: ir.Expr) -> bool:
    """Whether comparing it again and again would take long."""
    return sum(1 for _ in zip(ir.walk(expr), range(200), strict=False)) >= 200
