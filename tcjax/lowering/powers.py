"""Powers with a constant exponent: products and a root, which take a twentieth of the time of XLA's power."""

from collections.abc import Callable
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.machine import MOST_PRODUCTS
from ..planning.data.nodes import Apply, Fill, Node
from .derivatives import elementwise


def of_number(exponent: Node, base: jax.Array) -> Callable[[jax.Array], jax.Array] | None:
    """The power with this exponent, a small multiple of a half; None for any other power.

    16-bit floats would be rounded at each product. For complex numbers, only integer powers are products.
    """
    while isinstance(exponent, Apply) and exponent.operator == "cast":
        (exponent,) = exponent.arguments
    if not isinstance(exponent, Fill) or abs(exponent.value) > MOST_PRODUCTS:
        return None
    number = exponent.value
    if isinstance(number, complex):
        if number.imag:
            return None
        number = number.real
    halves = 2 * number
    is_complex = base.dtype in (jnp.complex64, jnp.complex128)
    if halves != int(halves) or not (is_complex or base.dtype in (jnp.float32, jnp.float64)):
        return None
    if halves % 2 == 0:
        return partial(lax.integer_pow, y=int(halves) // 2)
    return None if is_complex else _half(int(halves))


@lru_cache(maxsize=128)
def _half(halves: int) -> Callable[[jax.Array], jax.Array]:
    """``x ** (halves / 2)`` for an odd number of halves: NaN below zero, and never negative.

    At minus infinity it follows C and NumPy, where NumPy does not use a root.
    """

    @elementwise(lambda _, x: halves / 2 * _half(halves - 2)(x))
    def power(x: jax.Array) -> jax.Array:
        if halves == 1:
            return lax.sqrt(x)
        # The root comes last: whatever overflows before it does so after it too.
        whole, root = (halves // 2, lax.sqrt) if halves > 0 else (-(-halves // 2), lax.rsqrt)
        found = lax.abs(root(x) if whole == 0 else lax.integer_pow(x, whole) * root(x))
        return jnp.where(x == -jnp.inf, jnp.inf if halves > 0 else 0, found)

    return power
