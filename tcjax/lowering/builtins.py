"""The builtin functions in JAX: elementwise, with CUDA's semantics, differentiable to every order."""

import math
import operator
from collections.abc import Mapping
from functools import reduce
from typing import Final

import jax
import jax.numpy as jnp
from jax import lax

from ..ir.builtins import BUILTINS as SIGNATURES
from .bessel import i0, i1, j0, j1, y0, y1
from .derivatives import Function, elementwise
from .special import cospi, erfcinv, erfcx, lgamma, normcdf, normcdfinv, sinpi, tgamma

# Rounding and the parts of a float.


def _round(x: jax.Array) -> jax.Array:
    """Halves are rounded away from zero."""
    return lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)


@elementwise(None)
def _trunc(x: jax.Array) -> jax.Array:
    return jnp.trunc(x)


@elementwise(None)
def _logb(x: jax.Array) -> jax.Array:
    """The exponent of the highest set bit."""
    exponent = jnp.frexp(x)[1].astype(x.dtype) - 1
    return jnp.where(x == 0, -jnp.inf, jnp.where(jnp.isfinite(x), exponent, jnp.abs(x)))


@elementwise(lambda answer, x, y: jnp.ones_like(answer), None, widen=False)
def _nextafter(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.nextafter(x, y)


@elementwise(lambda _, x, y: jnp.sign(x) * jnp.copysign(jnp.ones_like(y), y), None)
def _copysign(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.copysign(x, y)


# Division with remainder.


def _minus_quotient(answer: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    return -jnp.round((x - answer) / y)


@elementwise(lambda answer, x, y: jnp.ones_like(answer), _minus_quotient)
def _fmod(x: jax.Array, y: jax.Array) -> jax.Array:
    """With the sign of x."""
    return lax.rem(x, y)


@elementwise(lambda answer, x, y: jnp.ones_like(answer), _minus_quotient)
def _remainder(x: jax.Array, y: jax.Array) -> jax.Array:
    """IEEE 754: ``x - n * y``, n the nearest integer to ``x / y``, even on ties; exact."""
    size, step = jnp.abs(x), jnp.abs(y)
    # Twice the step keeps the parity of n; if it overflows, |x| is already below it.
    double = jnp.where(step > jnp.finfo(x.dtype).max / 2, step, 2 * step)
    rest = jnp.where(double == step, jnp.where(jnp.isfinite(x), size, jnp.nan), lax.rem(size, double))
    # With `rest` in [0, 2 * step]: n is 0 up to half a step, 1 below one and a half, 2 from there.
    above_half = rest > step / 2
    once = jnp.where(above_half, rest - step, rest)
    above_three_halves = above_half & (once >= step / 2)
    folded = jnp.where(above_three_halves, once - step, once)
    return jnp.where(step == 0, jnp.nan, jnp.where(jnp.signbit(x), -folded, folded))


# Powers, logarithms, norms.


@elementwise(lambda answer, x: math.log(10) * answer)
def _exp10(x: jax.Array) -> jax.Array:
    return jnp.power(jnp.full_like(x, 10), x)


@elementwise(lambda _, x: 1 / (math.log(2) * x))
def _log2(x: jax.Array) -> jax.Array:
    """Exact at powers of two."""
    mantissa, exponent = jnp.frexp(x)
    low = mantissa < math.sqrt(0.5)
    logarithm = jnp.log(jnp.where(low, 2 * mantissa, mantissa)) / math.log(2)
    return jnp.where(jnp.isinf(x), jnp.log(x), jnp.where(low, exponent - 1, exponent) + logarithm)


def _rcbrt(x: jax.Array) -> jax.Array:
    return 1 / jnp.cbrt(x)


def _along(k: int) -> Function:
    """The derivative of a norm with respect to the k-th argument; 0 at the origin, where it is undefined."""

    def derivative(norm: jax.Array, *arguments: jax.Array) -> jax.Array:
        origin = norm == 0
        return jnp.where(origin, 0, arguments[k] / jnp.where(origin, 1, norm))

    return derivative


def _against(k: int) -> Function:
    """The derivative of a reciprocal norm with respect to the k-th argument."""
    return lambda reciprocal, *arguments: -(arguments[k] * reciprocal) * reciprocal * reciprocal


def _norm(*arguments: jax.Array) -> jax.Array:
    """The Euclidean norm, scaled against overflow; infinite if an argument is, even if another one is NaN."""
    largest = reduce(jnp.maximum, map(jnp.abs, arguments))
    scale = jnp.where((largest == 0) | jnp.isinf(largest), 1, largest)
    norm = scale * jnp.sqrt(reduce(operator.add, (jnp.square(argument / scale) for argument in arguments)))
    return jnp.where(reduce(operator.or_, map(jnp.isinf, arguments)), jnp.inf, norm)


def _reciprocal_norm(*arguments: jax.Array) -> jax.Array:
    return 1 / _norm(*arguments)


def _norm_of(arity: int) -> Function:
    return elementwise(*(_along(k) for k in range(arity)))(_norm)


def _reciprocal_norm_of(arity: int) -> Function:
    return elementwise(*(_against(k) for k in range(arity)))(_reciprocal_norm)


# Arithmetic and choices.


def _fma(x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
    return x * y + z


def _fdivide(x: jax.Array, y: jax.Array) -> jax.Array:
    return x / y


def _fdim(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(x <= y, 0, x - y)


def _fmax(x: jax.Array, y: jax.Array) -> jax.Array:
    """The other argument if one is NaN."""
    return jnp.maximum(jnp.where(jnp.isnan(x), y, x), jnp.where(jnp.isnan(y), x, y))


def _fmin(x: jax.Array, y: jax.Array) -> jax.Array:
    """The other argument if one is NaN."""
    return jnp.minimum(jnp.where(jnp.isnan(x), y, x), jnp.where(jnp.isnan(y), x, y))


def _logaddexp(*exponents: jax.Array) -> jax.Array:
    """Relative to the largest exponent, which passes no derivative, like a reduction over any number of them."""
    largest = lax.stop_gradient(reduce(jnp.maximum, exponents))
    shift = jnp.where(jnp.isfinite(largest), largest, 0)
    total = sum(jnp.exp(exponent - shift) for exponent in exponents)
    # The derivative must not reach the logarithm of zero.
    found = jnp.log(jnp.where(total == 0, 1, total)) + shift
    return jnp.where(total == 0, -jnp.inf, found).astype(largest.dtype)


# Activations.


@elementwise(lambda _, x: jax.nn.sigmoid(x))
def _softplus(x: jax.Array) -> jax.Array:
    return jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


def _silu(x: jax.Array) -> jax.Array:
    # The sigmoid is 0 far below the bound, which keeps minus infinity out of the product.
    return jnp.maximum(x, -1000) * jax.nn.sigmoid(x)


def _gelu(x: jax.Array) -> jax.Array:
    """``x / 2 * (1 + tanh(angle))``: Hendrycks and Gimpel 2016, section 2."""
    inner = jnp.clip(x, -20, 20)
    angle = math.sqrt(2 / math.pi) * (inner + 0.044715 * inner * inner * inner)
    # (1 + tanh(a)) / 2 is the sigmoid of 2a, which keeps its precision for negative a.
    return jnp.maximum(x, -1000) * jax.nn.sigmoid(2 * angle)


# Functions of any scalar type.


def _abs(x: jax.Array) -> jax.Array:
    return x if x.dtype == jnp.bool_ else jnp.abs(x)


def _sign(x: jax.Array) -> jax.Array:
    return x if x.dtype == jnp.bool_ else jnp.sign(x)


def _relu(x: jax.Array) -> jax.Array:
    return x if x.dtype == jnp.bool_ else jax.nn.relu(x)


def _popcount(x: jax.Array) -> jax.Array:
    return x if x.dtype == jnp.bool_ else lax.population_count(x)


def _real(x: jax.Array) -> jax.Array:
    return jnp.real(x) if jnp.iscomplexobj(x) else x


def _imag(x: jax.Array) -> jax.Array:
    return jnp.imag(x) if jnp.iscomplexobj(x) else jnp.zeros_like(x)


def _conj(x: jax.Array) -> jax.Array:
    return jnp.conj(x) if jnp.iscomplexobj(x) else x


def _isnan(x: jax.Array) -> jax.Array:
    return jnp.isnan(x) if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.zeros(x.shape, bool)


def _isinf(x: jax.Array) -> jax.Array:
    return jnp.isinf(x) if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.zeros(x.shape, bool)


def _isfinite(x: jax.Array) -> jax.Array:
    return jnp.isfinite(x) if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.ones(x.shape, bool)


BUILTINS: Final[Mapping[str, Function]] = {
    "abs": _abs,
    "acos": jnp.arccos,
    "acosh": jnp.arccosh,
    "asin": jnp.arcsin,
    "asinh": jnp.arcsinh,
    "atan": jnp.arctan,
    "atan2": jnp.arctan2,
    "atanh": jnp.arctanh,
    "cbrt": jnp.cbrt,
    "ceil": jnp.ceil,
    "conj": _conj,
    "copysign": _copysign,
    "cos": jnp.cos,
    "cosh": jnp.cosh,
    "cospi": cospi,
    "cyl_bessel_i0": i0,
    "cyl_bessel_i1": i1,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "erfcinv": erfcinv,
    "erfcx": erfcx,
    "erfinv": lax.erf_inv,
    "exp": jnp.exp,
    "exp10": _exp10,
    "exp2": jnp.exp2,
    "expm1": jnp.expm1,
    "fabs": jnp.abs,
    "fdim": _fdim,
    "fdivide": _fdivide,
    "floor": jnp.floor,
    "fma": _fma,
    "fmax": _fmax,
    "fmin": _fmin,
    "fmod": _fmod,
    "gelu": _gelu,
    "hypot": _norm_of(2),
    "imag": _imag,
    "isfinite": _isfinite,
    "isinf": _isinf,
    "isnan": _isnan,
    "j0": j0,
    "j1": j1,
    "lgamma": lgamma,
    "log": jnp.log,
    "logaddexp": _logaddexp,
    "log10": jnp.log10,
    "log1p": jnp.log1p,
    "log2": _log2,
    "logb": _logb,
    "nextafter": _nextafter,
    "norm3d": _norm_of(3),
    "norm4d": _norm_of(4),
    "normcdf": normcdf,
    "normcdfinv": normcdfinv,
    "popcount": _popcount,
    "pow": jnp.power,
    "rcbrt": _rcbrt,
    "real": _real,
    "relu": _relu,
    "remainder": _remainder,
    "rhypot": _reciprocal_norm_of(2),
    "rnorm3d": _reciprocal_norm_of(3),
    "rnorm4d": _reciprocal_norm_of(4),
    "round": _round,
    "rsqrt": lax.rsqrt,
    "sigmoid": jax.nn.sigmoid,
    "sign": _sign,
    "silu": _silu,
    "sin": jnp.sin,
    "sinh": jnp.sinh,
    "sinpi": sinpi,
    "softplus": _softplus,
    "sqrt": jnp.sqrt,
    "tan": jnp.tan,
    "tanh": jnp.tanh,
    "tgamma": tgamma,
    "trunc": _trunc,
    "y0": y0,
    "y1": y1,
}

# Where a builtin is not evaluated, its arguments are replaced by these: its value and derivatives are finite there, so
# that the zero that multiplies them in a gradient stays zero.
SAFE_ARGUMENT: Final[Mapping[str, tuple[float, ...]]] = {
    name: (1.0,) * signature.arity for name, signature in SIGNATURES.items()
} | {
    "acos": (0.5,),
    "acosh": (2.0,),
    "asin": (0.5,),
    "atanh": (0.5,),
    "erfinv": (0.5,),
    "fmod": (1.0, 2.0),
    "nextafter": (1.0, 2.0),
    "normcdfinv": (0.5,),
    "remainder": (1.0, 3.0),
}
