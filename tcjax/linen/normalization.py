"""`nn.LayerNorm` and `nn.RMSNorm` as comprehensions."""

from typing import Any

import flax.linen as nn
import jax
from flax.linen import dtypes

from ..layers import programs


class LayerNorm(nn.LayerNorm):
    """`nn.LayerNorm`: each position without its mean, divided by its deviation."""

    @nn.compact
    def __call__(self, x: jax.Array, *, mask: jax.Array | None = None) -> jax.Array:
        if self.axis_name is not None or not self.force_float32_reductions:
            return super().__call__(x, mask=mask)
        return _normalized(self, x, mask, use_mean=True)


class RMSNorm(nn.RMSNorm):
    """`nn.RMSNorm`: each position divided by the root of its mean square."""

    @nn.compact
    def __call__(self, x: jax.Array, *, mask: jax.Array | None = None) -> jax.Array:
        if self.axis_name is not None or not self.force_float32_reductions:
            return super().__call__(x, mask=mask)
        return _normalized(self, x, mask, use_mean=False)


def _normalized(layer: Any, x: jax.Array, mask: jax.Array | None, *, use_mean: bool) -> jax.Array:
    axes = programs.axes_of(layer.reduction_axes, x.ndim)
    features = programs.axes_of(layer.feature_axes, x.ndim)
    shape = tuple(x.shape[axis] for axis in features)
    fast = layer.use_fast_variance
    mean, variance = programs.moments(x, axes, use_mean=use_mean, fast=fast, mask=mask, dtype=layer.dtype)
    has_bias = use_mean and layer.use_bias
    scale = layer.param("scale", layer.scale_init, shape, layer.param_dtype) if layer.use_scale else None
    bias = layer.param("bias", layer.bias_init, shape, layer.param_dtype) if has_bias else None
    y = programs.normalized(x, mean, variance, scale, bias, axes=axes, features=features, epsilon=layer.epsilon)
    present = [array for array in (x, scale, bias) if array is not None]
    return y.astype(dtypes.canonicalize_dtype(*present, dtype=layer.dtype))
