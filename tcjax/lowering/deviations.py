"""Sums of squares of deviations from a mean."""

from functools import partial
from math import prod

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.nodes import Deviations
from .context import Context, Lower, transpose
from .placing import is_placed
from .provisos import either

# Every n-th value is sampled to see whether a mean is much larger than the deviations from it: whatever the others are,
# the sampled squares overestimate the mean square at most n times.
SAMPLE = 64


def lower_deviations(node: Deviations, context: Context, lower: Lower) -> jax.Array:
    operand = lower(node.operand, context)
    dimensions = tuple(node.operand.axes.index(index) for index in node.indices)
    axes = tuple(axis for axis in node.operand.axes if axis not in node.indices)
    return transpose(_squares(operand, dimensions, node.most), axes, node.axes)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _squares(array: jax.Array, dimensions: tuple[int, ...], most: float) -> jax.Array:
    """``sum (x - mean)^2`` as ``sum x^2 - (sum x)^2 / n`` if that loses few digits and is not NaN."""
    mean = _mean(array, dimensions)
    if is_placed(array):
        # Along explicit mesh axes the two branches could have different layouts.
        return jnp.sum(jnp.square(_from(mean, array, dimensions)), dimensions)
    squares = jnp.sum(array * array, dimensions)
    found = squares - jnp.sum(array, dimensions) * mean
    return either(
        lambda array, mean, squares, found: jnp.all(most * found >= squares),
        lambda array, mean, squares, found: found,
        lambda array, mean, squares, found: jnp.sum(jnp.square(_from(mean, array, dimensions)), dimensions),
        [array, mean, squares, found],
    )


@_squares.defjvp
def _(
    dimensions: tuple[int, ...], most: float, primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    # The mean changes too, but its term is the sum of all deviations, which is zero.
    [array], [tangent] = primals, tangents
    mean = _mean(array, dimensions)
    rounded = lax.stop_gradient(_rounded(array, mean, dimensions, most))
    deviations = _from(rounded, _from(mean, array, dimensions), dimensions)
    return _squares(array, dimensions, most), 2 * jnp.sum(deviations * tangent, dimensions)


def _rounded(array: jax.Array, mean: jax.Array, dimensions: tuple[int, ...], most: float) -> jax.Array:
    """The rounding error of a mean, if it is so much larger than the deviations that they would lose digits."""

    def left(array: jax.Array, mean: jax.Array, sample: jax.Array) -> jax.Array:
        return _mean(_from(mean, array, dimensions), dimensions)

    def is_exact(array: jax.Array, mean: jax.Array, sample: jax.Array) -> jax.Array:
        squares = jnp.square(_from(mean, sample, dimensions))
        return jnp.all(most * _mean(squares, dimensions) >= jnp.square(mean))

    first = dimensions[0]
    sample = lax.slice_in_dim(array, 0, -(-array.shape[first] // SAMPLE), axis=first)
    if is_placed(array):
        return left(array, mean, sample)
    return either(is_exact, lambda array, mean, sample: jnp.zeros_like(mean), left, [array, mean, sample])


def _mean(array: jax.Array, dimensions: tuple[int, ...]) -> jax.Array:
    return jnp.sum(array, dimensions) / prod(array.shape[dimension] for dimension in dimensions)


def _from(mean: jax.Array, array: jax.Array, dimensions: tuple[int, ...]) -> jax.Array:
    return array - jnp.expand_dims(mean, dimensions)
