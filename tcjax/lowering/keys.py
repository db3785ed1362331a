"""Maps numbers to integers in the same order, with NaN before all others."""

import jax
import jax.numpy as jnp
from jax import lax


def key_of(value: jax.Array, *, descending: bool) -> jax.Array:
    """Integers in ascending order of the values; for floats, none is the largest integer. Zeros are equal."""
    if not jnp.issubdtype(value.dtype, jnp.floating):
        value = value.astype(jnp.int32) if value.dtype == jnp.bool_ else value
        return ~value if descending else value
    wide = value if value.dtype.itemsize == 8 else value.astype(jnp.float32)
    kind = _integer(wide.dtype)
    missing = wide != wide
    # The bits of a negative number grow with its magnitude.
    bits = lax.bitcast_convert_type(jnp.where(wide == 0, 0, -wide if descending else wide), kind)
    ordered = bits ^ ((bits >> (8 * kind.itemsize - 1)) & jnp.iinfo(kind).max)
    return jnp.where(missing, jnp.iinfo(kind).min, ordered)


def value_of(key: jax.Array, dtype: jnp.dtype, *, descending: bool) -> jax.Array:
    """The numbers for such keys; the largest integer becomes the last of all numbers."""
    if not jnp.issubdtype(dtype, jnp.floating):
        key = ~key if descending else key
        return key != 0 if dtype == jnp.bool_ else key
    kind = key.dtype
    bits = key ^ ((key >> (8 * kind.itemsize - 1)) & jnp.iinfo(kind).max)
    wide = jnp.dtype(jnp.float64 if kind.itemsize == 8 else jnp.float32)
    value = jnp.where(key == jnp.iinfo(kind).max, jnp.inf, lax.bitcast_convert_type(bits, wide))
    value = jnp.where(key == jnp.iinfo(kind).min, jnp.nan, -value if descending else value)
    return value.astype(dtype)


def _integer(dtype: jnp.dtype) -> jnp.dtype:
    return jnp.dtype(jnp.int64 if dtype.itemsize == 8 else jnp.int32)
