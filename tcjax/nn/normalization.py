"""`nnx.LayerNorm`, `RMSNorm`, `GroupNorm`, `InstanceNorm` and `BatchNorm` as comprehensions."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from flax.nnx.nn import dtypes
from flax.typing import Array

from ..layers import programs


class LayerNorm(nnx.LayerNorm):
    """`nnx.LayerNorm`: each position without its mean, divided by its deviation."""

    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        if _is_flax_asked(self, x):
            return super().__call__(x, mask=mask)
        return _by_position(self, x, mask, programs.axes_of(self.reduction_axes, x.ndim))


class RMSNorm(nnx.RMSNorm):
    """`nnx.RMSNorm`: each position divided by the root of its mean square."""

    def __call__(self, x: Array, mask: Array | None = None) -> jax.Array:
        if _is_flax_asked(self, x):
            return super().__call__(x, mask=mask)
        x, scale = self.promote_dtype((x, _value(self.scale)), dtype=self.dtype)
        axes = programs.axes_of(self.reduction_axes, x.ndim)
        _, square = programs.moments(x, axes, use_mean=False, mask=mask, dtype=self.dtype)
        return _normalized(self, x, None, square, scale, None, axes, self.feature_axes)


class GroupNorm(nnx.GroupNorm):
    """`nnx.GroupNorm`: groups of features are normalised together, over all axes but the first."""

    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        if _is_flax_asked(self, x) or self.reduction_axes is not None or mask is not None:
            return super().__call__(x, mask=mask)
        x, scale, bias = self.promote_dtype((x, _value(self.scale), _value(self.bias)), dtype=self.dtype)
        y = programs.group_normalized(
            x,
            scale,
            bias,
            groups=self.num_groups,
            epsilon=self.epsilon,
            fast=self.use_fast_variance,
            dtype=self.dtype,
        )
        return _typed(self, y, x, scale, bias)


class InstanceNorm(nnx.InstanceNorm):
    """`nnx.InstanceNorm`: each feature of each example is normalised by itself, over all other axes."""

    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        features = programs.axes_of(self.feature_axes, x.ndim)
        if _is_flax_asked(self, x) or 0 in features:
            return super().__call__(x, mask=mask)
        return _by_position(self, x, mask, tuple(axis for axis in range(1, x.ndim) if axis not in features))


class BatchNorm(nnx.BatchNorm):
    """`nnx.BatchNorm`: features are normalised over the batch, and by running averages when it is used."""

    def __call__(self, x: Array, use_running_average: bool | None = None, *, mask: Array | None = None) -> jax.Array:
        if use_running_average is None:
            use_running_average = self.use_running_average
        if _is_flax_asked(self, x) or use_running_average is None:
            return super().__call__(x, use_running_average, mask=mask)
        given = (x, self.mean[...], self.var[...], _value(self.scale), _value(self.bias))
        x, mean, variance, scale, bias = self.promote_dtype(given, dtype=self.dtype)
        features = programs.axes_of(self.axis, x.ndim)
        axes = tuple(axis for axis in range(x.ndim) if axis not in features)
        if not use_running_average:
            found: Any = programs.moments(x, axes, fast=self.use_fast_variance, mask=mask, dtype=self.dtype)
            mean, variance = found
            for average, batch in ((self.mean, mean), (self.var, variance)):
                average[...] = jax.lax.stop_gradient(programs.running(average[...], batch, self.momentum))
        return _normalized(self, x, mean, variance, scale, bias, axes, features)


def _is_flax_asked(layer: Any, x: jax.Array) -> bool:
    """Whether moments are joined across devices, or are those of complex numbers."""
    return layer.axis_name is not None or jnp.iscomplexobj(x) or jnp.issubdtype(layer.param_dtype, jnp.complexfloating)


def _by_position(layer: Any, x: jax.Array, mask: jax.Array | None, axes: tuple[int, ...]) -> jax.Array:
    x, scale, bias = layer.promote_dtype((x, _value(layer.scale), _value(layer.bias)), dtype=layer.dtype)
    mean, variance = programs.moments(x, axes, fast=layer.use_fast_variance, mask=mask, dtype=layer.dtype)
    return _normalized(layer, x, mean, variance, scale, bias, axes, layer.feature_axes)


def _normalized(
    layer: Any, x: Any, mean: Any, variance: Any, scale: Any, bias: Any, axes: tuple[int, ...], features: Any
) -> jax.Array:
    own = programs.axes_of(features, x.ndim)
    y = programs.normalized(x, mean, variance, scale, bias, axes=axes, features=own, epsilon=layer.epsilon)
    return _typed(layer, y, x, scale, bias)


def _typed(layer: Any, y: jax.Array, *given: jax.Array | None) -> jax.Array:
    present = [array for array in given if array is not None]
    return y.astype(dtypes.canonicalize_dtype(*present, dtype=layer.dtype))


def _value(variable: nnx.Variable[jax.Array] | None) -> jax.Array | None:
    return None if variable is None else variable[...]
