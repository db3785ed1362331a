"""Arrays that nothing that reads them computes again."""

import jax
from jax import lax

# XLA:CPU removes `optimization_barrier` before it fuses in JAX 0.10.
_BARRIERS_HOLD = jax.__version_info__ >= (0, 11)


def keep_apart(array: jax.Array, corner: jax.Array) -> jax.Array:
    """The array, which nothing that reads it computes again; its first element is that of `corner`."""
    if _BARRIERS_HOLD:
        return lax.optimization_barrier(array)
    # An update is not fused with what follows: here one of an element by itself, taken from where it came from.
    first = lax.slice(corner, [0] * array.ndim, [1] * array.ndim)
    return lax.dynamic_update_slice(array, first, [0] * array.ndim)
