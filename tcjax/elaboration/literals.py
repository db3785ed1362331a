"""Literals take their partner's type: values whose type is still open, and arithmetic on them."""

import cmath
import math
import operator as op
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from .. import ir
from ..diagnostics import Code, CompileError, Span
from ..ir import types

Number = bool | int | float | complex


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, or an expression of numbers alone, computed exactly (integers) or in double."""

    value: Number
    span: Span


@dataclass(frozen=True, slots=True)
class Choice:
    """``condition ? a : b`` where both branches are literals."""

    condition: ir.Expr
    then: "Weak"
    otherwise: "Weak"
    span: Span


Weak = Literal | Choice
Value = ir.Expr | Literal | Choice

_MASK: Final = 2**64


def literal(value: Number, span: Span) -> Literal:
    """The literal. Raises TC0107 for an integer that no type holds."""
    if isinstance(value, int) and not -(2**63) <= value < _MASK:
        raise CompileError(
            Code.BAD_NUMBER,
            "this integer does not fit into 64 bits",
            span,
            help="write it as a floating-point number, with a `.` or an exponent",
        )
    return Literal(value, span)


def default_type(value: Weak) -> str:
    """The type of a literal that has no partner."""
    if isinstance(value, Choice):
        return types.join(default_type(value.then), default_type(value.otherwise))
    match value.value:
        case bool():
            return "bool"
        case int() as number:
            return next(dtype for dtype in ("int32", "int64", "uint64") if _holds(dtype, number))
        case float():
            return "float32"
        case _:
            return "complex64"


def type_beside(value: Weak, partner: str) -> str:
    """The joined type of a literal and a partner: the partner's, if that can hold the literal."""
    if isinstance(value, Choice):
        return types.join(type_beside(value.then, partner), type_beside(value.otherwise, partner))
    inexact = types.is_float(partner) or types.is_complex(partner)
    match value.value:
        case bool():
            return partner
        case int() as number:
            return partner if inexact or _holds(partner, number) else types.join(default_type(value), partner)
        case float():
            return partner if inexact else "float32"
        case _:
            return types.join("complex64", partner)


def dtype_of(value: Value) -> str:
    """The type of a value, a literal's default."""
    return default_type(value) if isinstance(value, (Literal, Choice)) else value.dtype


def joined(values: Iterable[Value]) -> str:
    """The joined type of some values, at least one, literals taking their partners' type."""
    strong: str | None = None
    weak: list[Weak] = []
    for value in values:
        if isinstance(value, (Literal, Choice)):
            weak.append(value)
        else:
            strong = value.dtype if strong is None else types.join(strong, value.dtype)
    for value in weak:
        if strong is None:
            strong = default_type(weak[0])
            for other in weak[1:]:
                strong = types.join(strong, default_type(other))
            break
        strong = type_beside(value, strong)
    assert strong is not None
    return strong


def settle(value: Value, dtype: str) -> ir.Expr:
    """The value as an expression of a type that it joins to."""
    match value:
        case Literal(number, span):
            return ir.Const(convert(number, dtype), dtype, span=span)
        case Choice(condition, then, otherwise, span):
            return ir.Select(condition, settle(then, dtype), settle(otherwise, dtype), dtype, span=span)
        case _:
            return value if value.dtype == dtype else ir.Cast(value, dtype, span=value.span)


def settled(value: Value) -> ir.Expr:
    """The value as an expression, a literal of its default type."""
    return settle(value, default_type(value)) if isinstance(value, (Literal, Choice)) else value


def convert(value: Number, dtype: str) -> Number:
    """A number as Python's number for a type that it joins to."""
    if dtype == "bool":
        return bool(value)
    if types.is_complex(dtype):
        return complex(value)
    assert not isinstance(value, complex)
    return int(value) if types.is_integral(dtype) else float(value)


def cast(value: Number, dtype: str, span: Span) -> Number:
    """A number converted as C does it: floats truncate, integers wrap. Raises TC0107 where C leaves it undefined."""
    if isinstance(value, complex) or not types.is_integral(dtype):
        return convert(value, dtype)
    if isinstance(value, float) and not (math.isfinite(value) and _holds(dtype, int(value))):
        raise CompileError(Code.BAD_NUMBER, f"{value} has no value in {dtype}", span, help="cast it to a wider type")
    bits = types.BITS[dtype]
    wrapped = int(value) % 2**bits
    return wrapped - 2**bits if dtype in types.SIGNED and wrapped >= 2 ** (bits - 1) else wrapped


def fold(operator: str, left: Number, right: Number, span: Span) -> Literal:
    """``left operator right`` for two numbers of one type, which has the operator."""
    try:
        return literal(_FOLDS[operator](left, right), span)
    except ZeroDivisionError:
        return literal(_divided_by_zero(operator, left), span)
    except (OverflowError, ValueError):
        raise CompileError(
            Code.BAD_NUMBER, f"`{operator}` of these numbers has no value", span, help="write smaller numbers"
        ) from None


def fold_call(function: str, arguments: list[float], span: Span) -> Literal | None:
    """A builtin applied to numbers, in double; None for the functions that only run on a device."""
    evaluate = _FUNCTIONS.get(function)
    if evaluate is None:
        return None
    try:
        return Literal(evaluate(*arguments), span)
    except (ValueError, OverflowError):
        return None


def _holds(dtype: str, value: int) -> bool:
    """Whether an integer type can hold a number; a bool holds none."""
    if dtype in types.UNSIGNED:
        return 0 <= value < 2 ** types.BITS[dtype]
    return dtype in types.SIGNED and abs(2 * value + 1) < 2 ** types.BITS[dtype]


def _divided_by_zero(operator: str, left: Any) -> Number:
    assert not isinstance(left, int), "operators.py refuses integer division by zero"
    if isinstance(left, complex) or operator != "/" or left == 0 or math.isnan(left):
        return complex(cmath.nan, cmath.nan) if isinstance(left, complex) else math.nan
    return math.copysign(math.inf, left)


def _plus(left: Any, right: Any) -> Number:
    return left != right if isinstance(left, bool) else left + right


def _minus(left: Any, right: Any) -> Number:
    return left != right if isinstance(left, bool) else left - right


def _times(left: Any, right: Any) -> Number:
    return left and right if isinstance(left, bool) else left * right


def _power(left: Any, right: Any) -> Number:
    if isinstance(left, complex):
        return left**right
    if isinstance(left, int):
        # Before it is computed: 9 ** 9 ** 9 would not end.
        if abs(left) > 1 and right > 64:
            raise OverflowError
        return left**right
    try:
        return math.pow(left, right)
    except ValueError:
        return math.inf if left == 0 else math.nan
    except OverflowError:
        return math.inf


def _nan_of(left: Any, right: Any) -> float | None:
    """The one that is not a number: minima and maxima propagate it."""
    return left if left != left else right if right != right else None


def _shift(left: Any, right: Any) -> Number:
    if right > 64:
        raise OverflowError
    return left << right


_FOLDS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": op.truediv,
    "//": op.floordiv,
    "%": op.mod,
    "**": _power,
    "min": lambda left, right: _nan_of(left, right) or min(left, right),
    "max": lambda left, right: _nan_of(left, right) or max(left, right),
    "<": op.lt,
    "<=": op.le,
    ">": op.gt,
    ">=": op.ge,
    "==": op.eq,
    "!=": op.ne,
    "&&": op.and_,
    "||": op.or_,
    "&": op.and_,
    "|": op.or_,
    "^": op.xor,
    "<<": _shift,
    ">>": op.rshift,
}

_IN_MATH: Final = """acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh erf erfc exp exp2 expm1 fabs hypot
log log10 log1p log2 pow sin sinh sqrt tan tanh"""

_FUNCTIONS: Final[dict[str, Callable[..., float]]] = {
    **{name: getattr(math, name) for name in _IN_MATH.split()},
    "abs": math.fabs,
    "ceil": lambda x: float(math.ceil(x)),
    "floor": lambda x: float(math.floor(x)),
    "trunc": lambda x: float(math.trunc(x)),
    "rsqrt": lambda x: 1 / math.sqrt(x) if x else math.inf,
}
