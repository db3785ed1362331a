"""Combines the parts of the devices along mesh axes: every device gets the result."""

import functools
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.sharding import Axes


def mean(part: jax.Array, axes: Axes) -> jax.Array:
    return lax.psum(part, axes) / lax.axis_size(axes)


def any_of(part: jax.Array, axes: Axes) -> jax.Array:
    return extremum(part.astype("int32"), axes, True).astype(bool)


def all_of(part: jax.Array, axes: Axes) -> jax.Array:
    return extremum(part.astype("int32"), axes, False).astype(bool)


def maximum(part: jax.Array, axes: Axes) -> jax.Array:
    return extremum(part, axes, True)


def minimum(part: jax.Array, axes: Axes) -> jax.Array:
    return extremum(part, axes, False)


def logsumexp(part: jax.Array, axes: Axes) -> jax.Array:
    largest = maximum(lax.stop_gradient(part), axes)
    # If all are infinite, their difference is NaN.
    largest = jnp.where(jnp.isfinite(largest), largest, 0)
    return largest + jnp.log(lax.psum(jnp.exp(part - largest), axes))


def one_by_one(join: Callable[[Any, Any], Any], part: Any, axes: Axes) -> Any:
    """For reductions without a collective: each device gathers all parts, in the order of the devices."""
    every = lax.all_gather(part, axes, to="invarying")
    parts = [jax.tree.map(itemgetter(number), every) for number in range(lax.axis_size(axes))]
    return functools.reduce(join, parts)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def extremum(part: jax.Array, axes: Axes, largest: bool) -> jax.Array:
    """The largest or the smallest of the parts; NaN if any is."""
    collective = lax.pmax if largest else lax.pmin
    if not jnp.issubdtype(part.dtype, jnp.floating):
        return collective(part, axes)
    # XLA's collectives drop NaN. Integers with the bits of floats have the same order, except that negative ones are
    # reversed.
    bits = jnp.dtype("int64" if part.dtype == jnp.float64 else "int32")
    wide = part.astype(jnp.float64 if bits == jnp.int64 else jnp.float32)
    ends = jnp.iinfo(bits)
    key = jnp.where(jnp.isnan(wide), ends.max if largest else ends.min, _turned(wide.view(bits), ends.max))
    return _turned(collective(key, axes), ends.max).view(wide.dtype).astype(part.dtype)


def _turned(key: jax.Array, most: int) -> jax.Array:
    """The bits of a float as an integer of the same order, or back."""
    return jnp.where(key < 0, key ^ jnp.asarray(most, key.dtype), key)


@extremum.defjvp
def _(axes: Axes, largest: bool, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    # JAX has no derivative of these collectives: equal extrema share it, as on one device.
    (part,), (tangent,) = primals, tangents
    result = extremum(part, axes, largest)
    if tangent.dtype != part.dtype:  # Integers have no derivative.
        return result, tangent
    meets = ((part == result) | ((part != part) & (result != result))).astype(part.dtype)
    return result, lax.psum(meets / lax.psum(meets, axes) * tangent, axes)
