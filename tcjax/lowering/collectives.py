"""What the devices along mesh axes have, as one: every device has the result."""

import functools
from collections.abc import Callable
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
    # Where all are infinite their difference is no number.
    largest = jnp.where(jnp.isfinite(largest), largest, 0)
    return largest + jnp.log(lax.psum(jnp.exp(part - largest), axes))


def one_by_one(join: Callable[[jax.Array, jax.Array], jax.Array], part: jax.Array, axes: Axes) -> jax.Array:
    """Where there is no collective: each device gets all parts, in the order of the devices."""
    every = _gathered(part, axes)
    return functools.reduce(join, [every[number] for number in range(lax.axis_size(axes))])


def _gathered(part: jax.Array, axes: Axes) -> jax.Array:
    """The parts of all devices, stacked; as a sum, so that JAX knows that all devices have the same."""
    number = lax.axis_index(axes)
    places = lax.broadcasted_iota("int32", (lax.axis_size(axes), *(1,) * part.ndim), 0)
    if part.dtype == bool:
        return _gathered(part.astype("int32"), axes).astype(bool)
    return lax.psum(jnp.where(places == number, part[None], jnp.zeros((), part.dtype)), axes)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def extremum(part: jax.Array, axes: Axes, largest: bool) -> jax.Array:
    """The largest or the smallest of the parts."""
    return lax.pmax(part, axes) if largest else lax.pmin(part, axes)


@extremum.defjvp
def _(axes: Axes, largest: bool, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    # JAX has no derivative of these collectives: as for one device, equal extrema share it.
    (part,), (tangent,) = primals, tangents
    result = extremum(part, axes, largest)
    if tangent.dtype != part.dtype:  # Integers have no derivative.
        return result, tangent
    meets = (part == result).astype(part.dtype)
    return result, lax.psum(meets / lax.psum(meets, axes) * tangent, axes)
