"""Normalisation: layers, means and variances over some axes, and normalised inputs."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from ...runtime.kernel import Kernel
from ..adapter import Adapter
from ..shapes import Shape
from .notation import at, axes_of, check_lengths, definition, names, run

Axes = tuple[int, ...]


def layer_norm(own: Adapter, x: jax.Array, mask: jax.Array | None, *, use_mean: bool = True) -> jax.Array:
    """Each position minus its mean, divided by its standard deviation; or divided by its root mean square, without a
    bias.
    """
    if _is_flax_asked(own, x):
        return own.flax(x, mask=mask)
    return _by_position(own, x, mask, axes_of(own.layer.reduction_axes, x.ndim), use_mean=use_mean)


def instance_norm(own: Adapter, x: jax.Array, mask: jax.Array | None) -> jax.Array:
    """Each feature of each example on its own, over all other axes."""
    features = axes_of(own.layer.feature_axes, x.ndim)
    if _is_flax_asked(own, x) or 0 in features:
        return own.flax(x, mask=mask)
    return _by_position(own, x, mask, _others(features, range(1, x.ndim)))


def group_norm(own: Adapter, x: jax.Array, mask: jax.Array | None, groups: int | None) -> jax.Array:
    """Groups of features, over all axes but the first; if groups is None, Flax reports the error."""
    if groups is None or own.layer.reduction_axes is not None or mask is not None or _is_flax_asked(own, x):
        return own.flax(x, mask=mask)
    given = own.promoted(x, *_affine(own, x.shape[-1:]))
    split: list[Any] = [a if a is None else a.reshape(*a.shape[:-1], groups, -1) for a in given]
    grouped, *affine = split
    axes, features = axes_of((*range(1, x.ndim - 1), -1), x.ndim + 1), (x.ndim - 1, x.ndim)
    return _normalized(own, grouped, _moments(own, grouped, axes), affine, axes, features).reshape(x.shape)


def batch_norm(
    own: Adapter, x: jax.Array, use_running_average: bool | None, mask: jax.Array | None, merge: Callable[..., Any]
) -> jax.Array:
    """Features over the batch, or with running averages, which are updated by calls that do not use them.

    `merge` resolves the layer's option and the argument; if it is None, Flax reports that neither is given.
    """
    layer, argument = own.layer, use_running_average
    if _is_flax_asked(own, x) or (uses := merge("use_running_average", layer.use_running_average, argument)) is None:
        return own.flax(x, argument, mask=mask)
    features = axes_of(layer.axis, x.ndim)
    axes = _others(features, range(x.ndim))
    shape = tuple(x.shape[axis] for axis in features)
    averages = [own.average(name, first, shape) for name, first in (("mean", jnp.zeros), ("var", jnp.ones))]
    x, *statistics, scale, bias = own.promoted(x, *(value for value, _ in averages), *_affine(own, shape))
    if not uses:
        statistics = _moments(own, x, axes, mask)
        for (average, keep), batch in zip(averages, statistics, strict=True):
            if keep is not None:
                keep(running(average, batch, layer.momentum))
    return _normalized(own, x, statistics, (scale, bias), axes, features)


def _is_flax_asked(own: Adapter, x: jax.Array) -> bool:
    """Whether moments are joined across devices, computed in low precision, or complex."""
    is_complex = jnp.iscomplexobj(x) or jnp.issubdtype(own.layer.param_dtype, jnp.complexfloating)
    return own.layer.axis_name is not None or not getattr(own.layer, "force_float32_reductions", True) or is_complex


def _by_position(own: Adapter, x: jax.Array, mask: jax.Array | None, axes: Axes, *, use_mean: bool = True) -> jax.Array:
    features = axes_of(own.layer.feature_axes, x.ndim)
    x, *affine = own.promoted(x, *_affine(own, tuple(x.shape[axis] for axis in features), has_bias=use_mean))
    return _normalized(own, x, _moments(own, x, axes, mask, use_mean=use_mean), affine, axes, features)


def _others(axes: Axes, among: Iterable[int]) -> Axes:
    return tuple(axis for axis in among if axis not in axes)


def _affine(own: Adapter, shape: Shape, *, has_bias: bool = True) -> list[jax.Array | None]:
    """Scale and bias, None if the layer has none."""
    return [own.parameter(name, shape) for name in (("scale", "bias") if has_bias else ("scale",))]


def _moments(own: Adapter, x: jax.Array, axes: Axes, mask: jax.Array | None = None, *, use_mean: bool = True) -> Any:
    """Mean (None unless `use_mean`) and variance over `axes`, in float32 at least.

    With `use_fast_variance` the variance is the mean of squares minus the square of the mean, else the mean squared
    deviation.
    """
    x = x.astype(jnp.promote_types(own.layer.dtype or x.dtype, jnp.float32))
    given = (x,) if mask is None else (x, jnp.broadcast_to(mask, x.shape).astype(bool))
    found = moments_program(x.ndim, axes, use_mean, own.layer.use_fast_variance, mask is not None)(*given)
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


def _normalized(
    own: Adapter, x: jax.Array, statistics: Sequence[Any], affine: Sequence[Any], axes: Axes, features: Axes
) -> jax.Array:
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias``; the moments are over `axes`, scale and bias have the
    axes `features`.
    """
    every = names("a", x.ndim)
    kept, over = [every[axis] for axis in _others(axes, range(x.ndim))], [every[axis] for axis in features]
    # Flax.nnx stores the features of several axes in one.
    shape = [x.shape[axis] for axis in features]
    spread = (a.reshape(shape) if a is not None and a.size == prod(shape) else a for a in affine)
    (mean, variance), (scale, bias, *_) = statistics, (*spread, None)
    lengths = {"mean": (mean, kept), "variance": (variance, kept), "scale": (scale, over), "bias": (bias, over)}
    check_lengths(inputs=(x, every), **lengths)
    given = {"m": mean, "v": variance, "s": scale, "b": bias}
    present = tuple(name for name, array in given.items() if array is not None)
    program = normalized_program(x.ndim, axes, features, present, float(own.layer.epsilon))
    return run(program, x, *given.values()).astype(own.result_type(x, *affine))


@lru_cache(maxsize=1024)
def normalized_program(rank: int, axes: Axes, features: Axes, present: tuple[str, ...], epsilon: float) -> Kernel:
    """Normalised inputs; `present` tells which of mean, variance, scale and bias are used."""
    every = names("a", rank)
    kept = [name for axis, name in enumerate(every) if axis not in axes]
    own = [every[axis] for axis in features]
    factor = f"rsqrt({at('v', *kept)} + {epsilon!r})"
    if "s" in present:
        factor = f"({factor} * {at('s', *own)})"
    value = f"({at('x', *every)} - {at('m', *kept)})" if "m" in present else at("x", *every)
    value = f"{value} * {factor}" + (f" + {at('b', *own)}" if "b" in present else "")
    return definition("normalized", ("x", *present), ("y",), [f"{at('y', *every)} = {value}"])


def running(average: jax.Array, batch: jax.Array, momentum: float) -> jax.Array:
    """A running average: ``momentum`` times the old value, the rest from the batch."""
    axes = names("c", average.ndim)
    check_lengths(average=(average, axes), inputs=(batch, axes))
    return running_program(average.ndim, float(momentum))(average, batch)


@lru_cache(maxsize=64)
def running_program(rank: int, momentum: float) -> Kernel:
    """The next running averages, for features of this rank."""
    old, new = (at(tensor, *names("c", rank)) for tensor in ("average", "batch"))
    statement = f"{at('r', *names('c', rank))} = {momentum!r} * {old} + {1 - momentum!r} * {new}"
    return definition("running", ("average", "batch"), ("r",), [statement])
