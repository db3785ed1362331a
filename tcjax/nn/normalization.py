"""`nnx.LayerNorm`, `RMSNorm`, `GroupNorm` and `BatchNorm` as comprehensions."""

from typing import Any

import jax
from flax import nnx
from flax.nnx.nn import dtypes

from ..layers import programs


class LayerNorm(nnx.LayerNorm):
    """`nnx.LayerNorm`: each position without its mean, divided by its deviation."""

    def __call__(self, x: jax.Array, *, mask: jax.Array | None = None) -> jax.Array:
        if self.axis_name is not None:
            return super().__call__(x, mask=mask)
        x, scale, bias = self.promote_dtype((x, _value(self.scale), _value(self.bias)), dtype=self.dtype)
        axes = programs.axes_of(self.reduction_axes, x.ndim)
        mean, variance = programs.moments(x, axes, fast=self.use_fast_variance, mask=mask, dtype=self.dtype)
        return _normalized(self, x, mean, variance, scale, bias, axes, self.feature_axes)


class RMSNorm(nnx.RMSNorm):
    """`nnx.RMSNorm`: each position divided by the root of its mean square."""

    def __call__(self, x: jax.Array, mask: jax.Array | None = None) -> jax.Array:
        if self.axis_name is not None:
            return super().__call__(x, mask=mask)
        x, scale = self.promote_dtype((x, _value(self.scale)), dtype=self.dtype)
        axes = programs.axes_of(self.reduction_axes, x.ndim)
        _, square = programs.moments(x, axes, use_mean=False, mask=mask, dtype=self.dtype)
        return _normalized(self, x, None, square, scale, None, axes, self.feature_axes)


class GroupNorm(nnx.GroupNorm):
    """`nnx.GroupNorm`: groups of features are normalised together, over all axes but the first."""

    def __call__(self, x: jax.Array, *, mask: jax.Array | None = None) -> jax.Array:
        if self.axis_name is not None or self.reduction_axes is not None or mask is not None:
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


class BatchNorm(nnx.BatchNorm):
    """`nnx.BatchNorm`: features are normalised over the batch, and by running averages when it is used."""

    def __call__(
        self, x: jax.Array, use_running_average: bool | None = None, *, mask: jax.Array | None = None
    ) -> jax.Array:
        if use_running_average is None:
            use_running_average = self.use_running_average
        if self.axis_name is not None or use_running_average is None:
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
