"""Bessel functions of orders 0 and 1. Rational approximations: S. Moshier, Cephes 2.8 (2000), j0.c and j1.c."""

import math
from functools import lru_cache

import jax
import jax.numpy as jnp
from jax import lax

from .derivatives import Function, elementwise
from .special import polynomial

# On [0, 5], with z = x*x: J0 = (z - z1) (z - z2) P/Q, J1 = x (z - z1) (z - z2) P/Q; z1, z2 are squares of zeros.
J0_ZEROS = (5.78318596294678452118, 30.4712623436620863991)
J0_P = (-4.79443220978201773821e9, 1.95617491946556577543e12, -2.49248344360967716204e14, 9.70862251047306323952e15)
J0_Q = (
    1.0,
    4.99563147152651017219e2,
    1.73785401676374683123e5,
    4.84409658339962045305e7,
    1.11855537045356834862e10,
    2.11277520115489217587e12,
    3.10518229857422583814e14,
    3.18121955943204943306e16,
    1.71086294081043136091e18,
)
J1_ZEROS = (14.6819706421238932572, 49.2184563216946036703)
J1_P = (-8.99971225705559398224e8, 4.52228297998194034323e11, -7.27494245221818276015e13, 3.68295732863852883286e15)
J1_Q = (
    1.0,
    6.20836478118054335476e2,
    2.56987256757748830383e5,
    8.35146791431949253037e7,
    2.21511595479792499675e10,
    4.74914122079991414898e12,
    7.84369607876235854894e14,
    8.95222336184627338078e16,
    5.32278620332680085395e18,
)

# On [0, 5]: Y0 = P/Q + 2/pi log(x) J0, Y1 = x P/Q + 2/pi (log(x) J1 - 1/x).
Y0_P = (
    1.55924367855235737965e4,
    -1.46639295903971606143e7,
    5.43526477051876500413e9,
    -9.82136065717911466409e11,
    8.75906394395366999549e13,
    -3.46628303384729719441e15,
    4.42733268572569800351e16,
    -1.84950800436986690637e16,
)
Y0_Q = (
    1.0,
    1.04128353664259848412e3,
    6.26107330137134956842e5,
    2.68919633393814121987e8,
    8.64002487103935000337e10,
    2.02979612750105546709e13,
    3.17157752842975028269e15,
    2.50596256172653059228e17,
)
Y1_P = (
    1.26320474790178026440e9,
    -6.47355876379160291031e11,
    1.14509511541823727583e14,
    -8.12770255501325109621e15,
    2.02439475713594898196e17,
    -7.78877196265950026825e17,
)
Y1_Q = (
    1.0,
    5.94301592346128195359e2,
    2.35564092943068577943e5,
    7.34811944459721705660e7,
    1.87601316108706159478e10,
    3.88231277496238566008e12,
    6.20557727146953693363e14,
    6.87141087355300489866e16,
    3.97270608116560655612e18,
)

# Beyond 5, with z = (5/x)**2, Hankel's expansion: the amplitudes P/Q of the wave in phase and of the one a quarter off.
PHASE_0 = (
    (
        7.96936729297347051624e-4,
        8.28352392107440799803e-2,
        1.23953371646414299388e0,
        5.44725003058768775090e0,
        8.74716500199817011941e0,
        5.30324038235394892183e0,
        9.99999999999999997821e-1,
    ),
    (
        9.24408810558863637013e-4,
        8.56288474354474431428e-2,
        1.25352743901058953537e0,
        5.47097740330417105182e0,
        8.76190883237069594232e0,
        5.30605288235394617618e0,
        1.00000000000000000218e0,
    ),
)
QUARTER_0 = (
    (
        -1.13663838898469149931e-2,
        -1.28252718670509318512e0,
        -1.95539544257735972385e1,
        -9.32060152123768231369e1,
        -1.77681167980488050595e2,
        -1.47077505154951170175e2,
        -5.14105326766599330220e1,
        -6.05014350600728481186e0,
    ),
    (
        1.0,
        6.43178256118178023184e1,
        8.56430025976980587198e2,
        3.88240183605401609683e3,
        7.24046774195652478189e3,
        5.93072701187316984827e3,
        2.06209331660327847417e3,
        2.42005740240291393179e2,
    ),
)
PHASE_1 = (
    (
        7.62125616208173112003e-4,
        7.31397056940917570436e-2,
        1.12719608129684925192e0,
        5.11207951146807644818e0,
        8.42404590141772420927e0,
        5.21451598682361504063e0,
        1.00000000000000000254e0,
    ),
    (
        5.71323128072548699714e-4,
        6.88455908754495404082e-2,
        1.10514232634061696926e0,
        5.07386386128601488557e0,
        8.39985554327604159757e0,
        5.20982848682361821619e0,
        9.99999999999999997461e-1,
    ),
)
QUARTER_1 = (
    (
        5.10862594750176621635e-2,
        4.98213872951233449420e0,
        7.58238284132545283818e1,
        3.66779609360150777800e2,
        7.10856304998926107277e2,
        5.97489612400613639965e2,
        2.11688757100572135698e2,
        2.52070205858023719784e1,
    ),
    (
        1.0,
        7.42373277035675149943e1,
        1.05644886038262816351e3,
        4.98641058337653607651e3,
        9.56231892404756170795e3,
        7.99704160447350683650e3,
        2.82619278517639096600e3,
        3.36093607810698293419e2,
    ),
)
NEAR = 5.0


@elementwise(lambda _, x: -j1(x))
def j0(x: jax.Array) -> jax.Array:
    size = jnp.abs(x)
    z = jnp.square(jnp.minimum(size, NEAR))
    near = (z - J0_ZEROS[0]) * (z - J0_ZEROS[1]) * polynomial(J0_P, z) / polynomial(J0_Q, z)
    return jnp.where(size <= NEAR, near, _waves_0(size)[0])


def _j1_derivative(_: jax.Array, x: jax.Array) -> jax.Array:
    return j0(x) - _over_power(-1, 1)(x)


@elementwise(_j1_derivative)
def j1(x: jax.Array) -> jax.Array:
    size = jnp.abs(x)
    z = jnp.square(jnp.minimum(size, NEAR))
    near = x * ((z - J1_ZEROS[0]) * (z - J1_ZEROS[1]) * polynomial(J1_P, z) / polynomial(J1_Q, z))
    return jnp.where(size <= NEAR, near, jnp.sign(x) * _waves_1(size)[0])


@elementwise(lambda _, x: -y1(x))
def y0(x: jax.Array) -> jax.Array:
    """Minus infinity at 0, NaN below 0."""
    z = jnp.square(jnp.minimum(x, NEAR))
    near = polynomial(Y0_P, z) / polynomial(Y0_Q, z) + 2 / math.pi * jnp.log(x) * j0(x)
    return jnp.where(x <= NEAR, near, _waves_0(x)[1])


def _y1_derivative(answer: jax.Array, x: jax.Array) -> jax.Array:
    return y0(x) - answer / x


@elementwise(_y1_derivative)
def y1(x: jax.Array) -> jax.Array:
    """Minus infinity at 0, NaN below 0."""
    z = jnp.square(jnp.minimum(x, NEAR))
    near = x * polynomial(Y1_P, z) / polynomial(Y1_Q, z) + 2 / math.pi * (jnp.log(x) * j1(x) - 1 / x)
    return jnp.where(x == 0, -jnp.inf, jnp.where(x <= NEAR, near, _waves_1(x)[1]))


@elementwise(lambda _, x: i1(x))
def i0(x: jax.Array) -> jax.Array:
    # In two halves, since exp(|x|) overflows before I0 does.
    root = jnp.exp(jnp.abs(x) / 2)
    return jnp.where(jnp.isinf(x), jnp.inf, lax.bessel_i0e(x) * root * root)


def _i1_derivative(_: jax.Array, x: jax.Array) -> jax.Array:
    return i0(x) - _over_power(1, 1)(x)


@elementwise(_i1_derivative)
def i1(x: jax.Array) -> jax.Array:
    root = jnp.exp(jnp.abs(x) / 2)
    return jnp.where(jnp.isinf(x), x, lax.bessel_i1e(x) * root * root)


def _waves_0(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """J0 and Y0 for ``x > 5``."""
    inner = jnp.maximum(x, NEAR)
    ahead, behind = jnp.sin(inner) - jnp.cos(inner), jnp.sin(inner) + jnp.cos(inner)
    return _waves(inner, PHASE_0, QUARTER_0, cosine=behind, sine=ahead)


def _waves_1(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """J1 and Y1 for ``x > 5``."""
    inner = jnp.maximum(x, NEAR)
    ahead, behind = jnp.sin(inner) - jnp.cos(inner), jnp.sin(inner) + jnp.cos(inner)
    return _waves(inner, PHASE_1, QUARTER_1, cosine=ahead, sine=-behind)


Rational = tuple[tuple[float, ...], tuple[float, ...]]


def _waves(
    x: jax.Array, phase: Rational, quarter: Rational, cosine: jax.Array, sine: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The functions of the first and second kind; `cosine` and `sine` of the shifted x are given times sqrt(2).

    A sum of sin(x) and cos(x) replaces the shift, since ``x - pi / 4`` would lose the last digits of a large x.
    """
    w = NEAR / x
    p = polynomial(phase[0], w * w) / polynomial(phase[1], w * w)
    q = w * polynomial(quarter[0], w * w) / polynomial(quarter[1], w * w)
    size = 1 / jnp.sqrt(math.pi) / jnp.sqrt(x)
    first, second = size * (p * cosine - q * sine), size * (p * sine + q * cosine)
    return jnp.where(jnp.isinf(x), 0, first), jnp.where(jnp.isinf(x), 0, second)


SERIES_TERMS = 14


@lru_cache(maxsize=128)
def _over_power(sign: int, n: int) -> Function:
    """``J_n(x) / x**n`` for `sign` -1, ``I_n(x) / x**n`` for `sign` 1; they and their derivatives are regular at 0."""

    @elementwise(lambda _, x: sign * x * _over_power(sign, n + 1)(x))
    def quotient(x: jax.Array) -> jax.Array:
        z = jnp.square(jnp.minimum(jnp.abs(x), 2)) / 4
        terms = [sign**k / (2**n * math.factorial(k) * math.factorial(n + k)) for k in reversed(range(SERIES_TERMS))]
        return jnp.where(jnp.abs(x) < 2, polynomial(terms, z), _recurrent_over_power(sign, n, x))

    return quotient


def _recurrent_over_power(sign: int, n: int, x: jax.Array) -> jax.Array:
    """The same by the recurrence over the order, which is stable for ``|x| >= 2``."""
    far = jnp.where(jnp.abs(x) < 2, 2, x)
    before, current = (j0(far), j1(far) / far) if sign < 0 else (i0(far), i1(far) / far)
    for order in range(1, n):
        before, current = current, sign * (before - 2 * order * current) / (far * far)
    return current
