"""Normalisation: means and variances over some axes, and inputs with both taken out."""

from functools import lru_cache
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from ...runtime.kernel import Kernel
from .notation import at, axes_of, check_lengths, definition, names

Axes = tuple[int, ...]


def moments(
    x: jax.Array,
    axes: Axes,
    *,
    use_mean: bool = True,
    fast: bool = True,
    mask: jax.Array | None = None,
    dtype: Any = None,
) -> tuple[jax.Array | None, jax.Array]:
    """Mean (None unless `use_mean`) and variance over `axes`, in float32 at least.

    With `fast` the variance is the mean of squares less the square of the mean, else that of the differences.
    """
    x = x.astype(jnp.promote_types(dtype or x.dtype, jnp.float32))
    given = (x,) if mask is None else (x, jnp.broadcast_to(mask, x.shape).astype(bool))
    found = moments_program(x.ndim, axes, use_mean, fast, mask is not None)(*given)
    return found if use_mean else (None, found)


@lru_cache(maxsize=1024)
def moments_program(rank: int, axes: Axes, use_mean: bool, fast: bool, masked: bool) -> Kernel:
    """Mean and variance over `axes`, at the points where a mask is true."""
    every = names("a", rank)
    kept = [name for axis, name in enumerate(every) if axis not in axes]
    over = ", ".join(every[axis] for axis in axes) + (f" where {at('mask', *every)}" if masked else "")
    x, mean, variance = at("x", *every), at("m", *kept), at("v", *kept)
    statements = [f"{mean} = mean[{over}]({x})"] if use_mean else []
    if not use_mean:
        statements += [f"{variance} = mean[{over}]({x} * {x})"]
    elif fast:
        # Rounding must not make it negative.
        statements += [f"{variance} = mean[{over}]({x} * {x})", f"{variance} = max({variance} - {mean} * {mean}, 0.0)"]
    else:
        statements += [f"{variance} = mean[{over}](({x} - {mean}) * ({x} - {mean}))"]
    results = ("m", "v") if use_mean else ("v",)
    return definition("moments", ("x", "mask") if masked else ("x",), results, statements)


def normalized(
    x: jax.Array,
    mean: jax.Array | None,
    variance: jax.Array,
    scale: jax.Array | None,
    bias: jax.Array | None,
    *,
    axes: Axes,
    features: Axes,
    epsilon: float,
) -> jax.Array:
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias``; `axes` were reduced, scale and bias have `features`."""
    every = names("a", x.ndim)
    kept = [name for axis, name in enumerate(every) if axis not in axes]
    own = [every[axis] for axis in features]
    # Flax.nnx keeps one axis for the features of several.
    scale, bias = (
        array if array is None else _spread(array, [x.shape[axis] for axis in features]) for array in (scale, bias)
    )
    check_lengths(inputs=(x, every), mean=(mean, kept), variance=(variance, kept), scale=(scale, own), bias=(bias, own))
    given = {"m": mean, "v": variance, "s": scale, "b": bias}
    present = {name: array for name, array in given.items() if array is not None}
    return normalized_program(x.ndim, axes, features, tuple(present), float(epsilon))(x, *present.values())


def _spread(array: jax.Array, shape: list[int]) -> jax.Array:
    return array.reshape(shape) if array.size == prod(shape) else array


@lru_cache(maxsize=1024)
def normalized_program(rank: int, axes: Axes, features: Axes, present: tuple[str, ...], epsilon: float) -> Kernel:
    """Inputs with their moments taken out; `present` are those of mean, variance, scale and bias that are used."""
    every = names("a", rank)
    kept = [name for axis, name in enumerate(every) if axis not in axes]
    own = [every[axis] for axis in features]
    factor = f"rsqrt({at('v', *kept)} + {epsilon!r})"
    if "s" in present:
        factor = f"({factor} * {at('s', *own)})"
    value = f"({at('x', *every)} - {at('m', *kept)})" if "m" in present else at("x", *every)
    value = f"{value} * {factor}" + (f" + {at('b', *own)}" if "b" in present else "")
    return definition("normalized", ("x", *present), ("y",), [f"{at('y', *every)} = {value}"])


def group_normalized(
    x: jax.Array,
    scale: jax.Array | None,
    bias: jax.Array | None,
    *,
    groups: int,
    epsilon: float,
    fast: bool = True,
    dtype: Any = None,
) -> jax.Array:
    """Inputs ``(batch, .., features)`` with the moments of each group of features taken out, over all but the batch."""
    grouped, scale, bias = (_in_groups(array, groups) for array in (x, scale, bias))
    assert grouped is not None
    axes = axes_of((*range(1, x.ndim - 1), -1), grouped.ndim)
    features = axes_of((-2, -1), grouped.ndim)
    mean, variance = moments(grouped, axes, fast=fast, dtype=dtype)
    y = normalized(grouped, mean, variance, scale, bias, axes=axes, features=features, epsilon=epsilon)
    return y.reshape(x.shape)


def _in_groups(array: jax.Array | None, groups: int) -> jax.Array | None:
    return None if array is None else array.reshape(*array.shape[:-1], groups, -1)


def running(average: jax.Array, batch: jax.Array, momentum: float) -> jax.Array:
    """A running average: ``momentum`` of what it was, the rest from the batch."""
    axes = names("c", average.ndim)
    check_lengths(average=(average, axes), inputs=(batch, axes))
    return running_program(average.ndim, float(momentum))(average, batch)


@lru_cache(maxsize=64)
def running_program(rank: int, momentum: float) -> Kernel:
    """The next value of running averages for features of a rank."""
    old, new = (at(tensor, *names("c", rank)) for tensor in ("average", "batch"))
    statement = f"{at('r', *names('c', rank))} = {momentum!r} * {old} + {1 - momentum!r} * {new}"
    return definition("running", ("average", "batch"), ("r",), [statement])
