"""NumPy scalars of every type, their conversions and operators."""

import operator
from collections.abc import Callable
from typing import Any, Final

import ml_dtypes
import numpy as np

from .. import ir

# A NumPy scalar of the type given in the IR: one evaluator handles nodes of all types, so its static type is no
# narrower.
Value = Any

_DTYPES: Final = {name: np.dtype(name) for name in ir.types.SCALARS if name != "bfloat16"} | {
    "bfloat16": np.dtype(ml_dtypes.bfloat16)
}


def dtype_of(scalar: str) -> np.dtype[Any]:
    """NumPy's type for one of `ir.types.SCALARS`."""
    return _DTYPES[scalar]


def constant(value: bool | int | float | complex, scalar: str) -> Value:
    """A literal as a scalar; an integer that does not fit wraps."""
    if isinstance(value, int) and ir.types.is_integral(scalar):
        bits = ir.types.BITS[scalar]
        value %= 1 << bits
        if scalar in ir.types.SIGNED and value >= 1 << (bits - 1):
            value -= 1 << bits
    return _DTYPES[scalar].type(value)


def conversion(source: str, target: str) -> Callable[[Value], Value]:
    """The cast from one type to another: truncating to integers, ``!= 0`` to bool, the real part of complex.

    Out-of-range values become the nearest integer of the type; NaN becomes 0.
    """
    if source == target:
        return lambda value: value
    convert = _DTYPES[target].type
    if ir.types.is_integral(target) and not ir.types.is_integral(source):
        least, greatest = int(np.iinfo(convert).min), int(np.iinfo(convert).max)

        def nearest(value: Value) -> Value:
            real = float(value.real)
            if real != real:
                return convert(0)
            return convert(least if real <= least else greatest if real >= greatest else int(real))

        return nearest
    if ir.types.is_complex(source) and not ir.types.is_complex(target) and target != "bool":
        return lambda value: convert(value.real)
    return convert


def unary(symbol: str, scalar: str) -> Callable[[Value], Value]:
    """``- ! ~`` on one type. A bool is a number modulo 2, and so its own negative."""
    match symbol:
        case "-" if scalar == "bool":
            return lambda value: value
        case "-":
            return operator.neg
        case "!" | "~":
            return operator.invert
        case _:
            raise AssertionError(symbol)


def binary(symbol: str, scalar: str) -> Callable[[Value, Value], Value]:
    """The operator on two values of one type, with a result of that type, or bool for a comparison.

    Without ``&&`` and ``||``, which do not evaluate both sides. Integers wrap; bools add modulo 2.
    """
    if symbol in _COMPARISONS:
        return _COMPARISONS[symbol]
    if symbol == "/":
        assert ir.types.is_float(scalar) or ir.types.is_complex(scalar), "integers are cast before a true division"
    if scalar == "bool":
        convert, apply = np.bool_, _ON_BOOLS.get(symbol) or _ARITHMETIC[symbol]
        return lambda left, right: convert(apply(left, right))
    if symbol == "**" and ir.types.is_integral(scalar):
        return _integer_power
    return _ARITHMETIC[symbol]


def _minimum(left: Value, right: Value) -> Value:
    return right if right < left or right != right else left


def _maximum(left: Value, right: Value) -> Value:
    return right if right > left or right != right else left


def _quotient(left: Value, right: Value) -> Value:
    down = left // right
    return down + type(left)(1) if down < 0 and down * right != left else down


def _integer_power(base: Value, exponent: Value) -> Value:
    # NumPy rejects negative exponents; the truncated reciprocal is 0 except for 1 and -1.
    if exponent >= 0:
        return base**exponent
    if abs(int(base)) != 1:
        return type(base)(0)
    return base if exponent % 2 else type(base)(1)


_COMPARISONS: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_ON_BOOLS: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "+": operator.xor,
    "-": operator.xor,
    "*": operator.and_,
}
_ARITHMETIC: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "quot": _quotient,
    "rem": np.fmod,
    "**": operator.pow,
    "min": _minimum,
    "max": _maximum,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
