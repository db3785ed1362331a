"""The gamma function, the error function's relatives, and the sine and cosine of half turns."""

import math
from collections.abc import Sequence
from functools import lru_cache, reduce

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import ndtri, polygamma

from .derivatives import Function, elementwise


def polynomial(coefficients: Sequence[float], x: jax.Array) -> jax.Array:
    """The value at `x`, by Horner's rule; the highest power's coefficient comes first."""
    return reduce(lambda total, coefficient: total * x + coefficient, coefficients, jnp.zeros_like(x))


# Half turns: exact at the multiples of one half.


def _sinpi_derivative(_: jax.Array, x: jax.Array) -> jax.Array:
    return math.pi * cospi(x)


@elementwise(_sinpi_derivative)
def sinpi(x: jax.Array) -> jax.Array:
    return _sine_of_half_turns(x, 0)


@elementwise(lambda _, x: -math.pi * sinpi(x))
def cospi(x: jax.Array) -> jax.Array:
    return _sine_of_half_turns(x, 1)


def _sine_of_half_turns(x: jax.Array, phase: int) -> jax.Array:
    """``sin(pi * (x + phase / 2))``."""
    turned = lax.rem(x, jnp.full_like(x, 2))
    quarters = jnp.round(2 * turned)
    # Not `turned - 0`, which would lose the sign of a zero.
    angle = math.pi * jnp.where(quarters == 0, turned, turned - quarters / 2)
    quadrant = quarters.astype(jnp.int32) + phase
    size = jnp.where(quadrant & 1 == 1, jnp.cos(angle), jnp.sin(angle))
    return jnp.where(quadrant & 2 == 2, -size, size)


# The gamma function.

# Lanczos' approximation with g = 7 and nine terms, as computed by P. Godfrey (2001).
LANCZOS_G = 7.0
LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


@elementwise(lambda answer, x: answer * digamma(x))
def tgamma(x: jax.Array) -> jax.Array:
    """As in C: infinite at zero, NaN at the negative integers."""
    reflected = x < 0.5
    # Beyond this the type overflows, but the factors would give infinity times zero.
    overflow = 200.0 if x.dtype == jnp.float64 else 40.0
    z = jnp.minimum(jnp.where(reflected, 1 - x, x) - 1, overflow)
    series = LANCZOS[0] + sum(weight / (z + k) for k, weight in enumerate(LANCZOS[1:], 1))
    base = z + (LANCZOS_G + 0.5)
    root = base ** (z / 2 + 0.25)
    gamma = math.sqrt(2 * math.pi) * series * (root * jnp.exp(-base)) * root
    pole = (x < 0) & (jnp.floor(x) == x)
    return jnp.where(reflected, jnp.where(pole, jnp.nan, math.pi / (sinpi(x) * gamma)), gamma)


@elementwise(lambda _, x: digamma(x))
def lgamma(x: jax.Array) -> jax.Array:
    return lax.lgamma(x)


@elementwise(lambda _, x: trigamma(x))
def digamma(x: jax.Array) -> jax.Array:
    return lax.digamma(x)


def trigamma(x: jax.Array) -> jax.Array:
    """The derivative of `digamma`; JAX's own supports only positive arguments."""
    reflected = x < 0.5
    positive = polygamma(1, jnp.where(reflected, 1 - x, x))
    sine = sinpi(jnp.where(reflected, x, 0.5))
    return jnp.where(reflected, (math.pi / sine) ** 2 - positive, positive)


# The error function.

# exp(x*x) * erfc(x) on [1, 8] is P/Q: S. Moshier, Cephes 2.8 (2000), ndtr.c.
ERFC_P = (
    2.46196981473530512524e-10,
    5.64189564831068821977e-1,
    7.46321056442269912687e0,
    4.86371970985681366614e1,
    1.96520832956077098242e2,
    5.26445194995477358631e2,
    9.34528527171957607540e2,
    1.02755188689515710272e3,
    5.57535335369399327526e2,
)
ERFC_Q = (
    1.0,
    1.32281951154744992508e1,
    8.67072140885989742329e1,
    3.54937778887819891062e2,
    9.75708501743205489753e2,
    1.82390916687909736289e3,
    2.24633760818710981792e3,
    1.65666309194161350182e3,
    5.57535340817727675546e2,
)
ASYMPTOTIC_TERMS = 18


def erfcx(x: jax.Array) -> jax.Array:
    """``exp(x**2) * erfc(x)``."""
    return _scaled_erfc_integral(0)(x)


@lru_cache(maxsize=128)
def _scaled_erfc_integral(n: int) -> Function:
    """``exp(x**2)`` times the n-th repeated integral of `erfc` from x to infinity.

    They are each other's derivatives up to a factor, which avoids cancellation in the derivatives of `erfcx` for large
    x. Abramowitz and Stegun, section 7.2.
    """

    @elementwise(lambda _, x: -2 * (n + 1) * _scaled_erfc_integral(n + 1)(x))
    def integral(x: jax.Array) -> jax.Array:
        far = 8.0 if x.dtype == jnp.float64 else 5.0
        return jnp.where(x > far, _far_erfc_integral(n, jnp.maximum(x, far)), _near_erfc_integral(n, x))

    return integral


def _far_erfc_integral(n: int, x: jax.Array) -> jax.Array:
    """By the asymptotic series, 7.2.14."""
    terms = [
        (-1) ** m * math.factorial(2 * m + n) / (math.factorial(n) * math.factorial(m))
        for m in reversed(range(ASYMPTOTIC_TERMS))
    ]
    reciprocal = 0.5 / x
    return 2 / math.sqrt(math.pi) * reciprocal ** (n + 1) * polynomial(terms, reciprocal * reciprocal)


def _near_erfc_integral(n: int, x: jax.Array) -> jax.Array:
    """By the recurrence 7.2.5 from order 0."""
    between = jnp.clip(x, 1, 8)
    rational = polynomial(ERFC_P, between) / polynomial(ERFC_Q, between)
    before = jnp.full_like(x, 2 / math.sqrt(math.pi))
    current = jnp.where(x < 1, _exp_of_square(x, 1) * lax.erfc(x), rational)
    for order in range(1, n + 1):
        before, current = current, (before - 2 * x * current) / (2 * order)
    return current


def _exp_of_square(x: jax.Array, sign: int) -> jax.Array:
    """``exp(sign * x**2)``, without the rounding error of ``x**2`` that the exponential would magnify."""
    x = jnp.clip(x, -100, 100)
    head = jnp.round(16 * x) / 16
    # Not a product of two exponentials: XLA would turn it back into the exponential of the sum.
    return jnp.exp(sign * head * head) * (1 + jnp.expm1(sign * (x - head) * (x + head)))


@elementwise(lambda answer, _: -math.sqrt(math.pi) / 2 * jnp.exp(answer * answer))
def erfcinv(x: jax.Array) -> jax.Array:
    return -math.sqrt(0.5) * ndtri(x / 2)


@elementwise(lambda _, x: jnp.exp(-x * x / 2) / math.sqrt(2 * math.pi))
def normcdf(x: jax.Array) -> jax.Array:
    scaled = -math.sqrt(0.5) * x
    # exp(-x**2 / 2) is the square of exp(-(x/2)**2).
    tail = 0.5 * erfcx(scaled) * _exp_of_square(x / 2, -1) ** 2
    return jnp.where(x < -1, tail, 0.5 * lax.erfc(scaled))


@elementwise(lambda answer, _: math.sqrt(2 * math.pi) * jnp.exp(answer * answer / 2))
def normcdfinv(x: jax.Array) -> jax.Array:
    return ndtri(x)
