"""The functions of `ir.builtins` on NumPy scalars, with CUDA's semantics."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from scipy import special

from .. import ir
from .scalars import Value, conversion, dtype_of

Scalar = Callable[..., Value]


def builtin(name: str, argument: str, result: str) -> Scalar:
    """The function on arguments of type `argument`, giving a `result`.

    Floats are computed in float64 and rounded once, at the end; functions that depend on the type itself
    (``nextafter``, ``popcount``) stay in it.
    """
    if name in _IN_OWN_TYPE:
        apply, convert = _IN_OWN_TYPE[name](argument), dtype_of(result).type
        return lambda *arguments: convert(apply(*arguments))
    wide = "complex128" if ir.types.is_complex(argument) else "float64"
    apply, widen, convert = _IN_FLOAT64[name], dtype_of(wide).type, conversion(wide, result)
    return lambda *arguments: convert(apply(*map(widen, arguments)))


def _of_type(function: Scalar) -> Callable[[str], Scalar]:
    return lambda scalar: function


def _sign(scalar: str) -> Scalar:
    return np.sign if scalar != "bool" else lambda x: x


def _relu(x: Value) -> Value:
    return x if x > 0 or x != x else type(x)(0)


def _popcount(scalar: str) -> Scalar:
    mask = (1 << ir.types.BITS[scalar]) - 1
    return lambda x: (int(x) & mask).bit_count()


def _real(scalar: str) -> Scalar:
    return np.real if ir.types.is_complex(scalar) else lambda x: x


def _imag(scalar: str) -> Scalar:
    return np.imag if ir.types.is_complex(scalar) else lambda x: type(x)(0)


def _conj(scalar: str) -> Scalar:
    return np.conj if ir.types.is_complex(scalar) else lambda x: x


def _exp10(x: Value) -> Value:
    return np.power(np.float64(10), x)


def _logb(x: Value) -> Value:
    """The exponent of a float, ``floor(log2(abs(x)))``."""
    if x == 0:
        return -np.inf
    return np.frexp(x)[1] - 1.0 if np.isfinite(x) else np.abs(x)


def _round(x: Value) -> Value:
    """The nearest integer, halves away from zero."""
    whole = np.trunc(x)
    return whole + np.copysign(1.0, x) if np.abs(x - whole) >= 0.5 else whole


def _sinpi(x: Value) -> Value:
    quarter, angle = _quarter_turns(x)
    return (np.sin, np.cos, lambda a: -np.sin(a), lambda a: -np.cos(a))[quarter](angle)


def _cospi(x: Value) -> Value:
    quarter, angle = _quarter_turns(x)
    return (np.cos, lambda a: -np.sin(a), lambda a: -np.cos(a), np.sin)[quarter](angle)


def _quarter_turns(x: Value) -> tuple[int, Value]:
    """``pi*x`` as a number of quarter turns and the remainder, so that whole and half `x` are exact."""
    if not np.isfinite(x):
        return 0, np.float64(np.nan)
    x = np.fmod(x, 2.0)
    quarters = np.rint(2 * x)
    return int(quarters) % 4, np.pi * (x - quarters / 2)


def _tgamma(x: Value) -> Value:
    # SciPy's value at the negative poles has changed between versions.
    if x == -np.inf or (x < 0 and x == np.floor(x)):
        return np.nan
    return np.divide(1.0, x) if x == 0 else special.gamma(x)


def _lgamma(x: Value) -> Value:
    return np.inf if np.isinf(x) else special.gammaln(x)


def _gelu(x: Value) -> Value:
    """The tanh approximation."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _fdim(x: Value, y: Value) -> Value:
    return np.float64(0) if x <= y else x - y


def _remainder(x: Value, y: Value) -> Value:
    """IEEE 754's: ``x - n*y`` with `n` the integer nearest to ``x/y``, even on ties."""
    if np.isnan(x) or np.isnan(y) or np.isinf(x) or y == 0:
        return np.nan
    return math.remainder(x, y)


def _fma(x: Value, y: Value, z: Value) -> Value:
    """``x*y + z``, rounded once."""
    rounded = x * y + z
    if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)) or (rounded == 0 and (x * y == 0 or z == 0)):
        return rounded
    try:
        return float(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))
    except OverflowError:
        return rounded


def _norm(*arguments: Value) -> Value:
    return np.float64(math.hypot(*arguments))


def _reciprocal(function: Scalar) -> Scalar:
    return lambda *arguments: 1.0 / function(*arguments)


_IN_OWN_TYPE: Final[dict[str, Callable[[str], Scalar]]] = {
    "nextafter": _of_type(np.nextafter),
    "abs": _of_type(np.abs),
    "sign": _sign,
    "relu": _of_type(_relu),
    "isnan": _of_type(np.isnan),
    "isinf": _of_type(np.isinf),
    "isfinite": _of_type(np.isfinite),
    "popcount": _popcount,
    "real": _real,
    "imag": _imag,
    "conj": _conj,
}
_IN_FLOAT64: Final[dict[str, Scalar]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "cospi": _cospi,
    "cyl_bessel_i0": special.i0,
    "cyl_bessel_i1": special.i1,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfcinv": special.erfcinv,
    "erfcx": special.erfcx,
    "erfinv": special.erfinv,
    "exp": np.exp,
    "exp10": _exp10,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.fabs,
    "floor": np.floor,
    "j0": special.j0,
    "j1": special.j1,
    "lgamma": _lgamma,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logb": _logb,
    "normcdf": special.ndtr,
    "normcdfinv": special.ndtri,
    "rcbrt": _reciprocal(np.cbrt),
    "round": _round,
    "rsqrt": _reciprocal(np.sqrt),
    "sin": np.sin,
    "sinh": np.sinh,
    "sinpi": _sinpi,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": _tgamma,
    "trunc": np.trunc,
    "y0": special.y0,
    "y1": special.y1,
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(x, 0.0),
    "gelu": _gelu,
    "silu": lambda x: x * special.expit(x),
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "fdim": _fdim,
    "fdivide": np.divide,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "pow": np.power,
    "remainder": _remainder,
    "rhypot": _reciprocal(np.hypot),
    "fma": _fma,
    "norm3d": _norm,
    "rnorm3d": _reciprocal(_norm),
    "norm4d": _norm,
    "rnorm4d": _reciprocal(_norm),
}
