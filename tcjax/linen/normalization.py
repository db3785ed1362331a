"""`nn.LayerNorm`, `RMSNorm`, `GroupNorm`, `InstanceNorm` and `BatchNorm` as comprehensions."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.linen import dtypes
from flax.typing import Array

from ..layers import programs


class LayerNorm(nn.LayerNorm):
    """`nn.LayerNorm`: each position without its mean, divided by its deviation."""

    @nn.compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        if _is_flax_asked(self, x):
            return super().__call__(x, mask=mask)
        return _by_position(self, x, mask, programs.axes_of(self.reduction_axes, x.ndim))


class RMSNorm(nn.RMSNorm):
    """`nn.RMSNorm`: each position divided by the root of its mean square."""

    @nn.compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        if _is_flax_asked(self, x):
            return super().__call__(x, mask=mask)
        return _by_position(self, x, mask, programs.axes_of(self.reduction_axes, x.ndim), use_mean=False)


class GroupNorm(nn.GroupNorm):
    """`nn.GroupNorm`: groups of features are normalised together, over all axes but the first."""

    @nn.compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        groups = self._groups(x.shape[-1])
        unusual = self.reduction_axes is not None or mask is not None
        if groups is None or unusual or _is_flax_asked(self, x):
            return super().__call__(x, mask=mask)
        scale, bias = _parameters(self, (x.shape[-1],), has_bias=self.use_bias)
        return programs.group_normalized(
            x, scale, bias, groups=groups, epsilon=self.epsilon, fast=self.use_fast_variance, dtype=self.dtype
        ).astype(_type(self, x, scale, bias))

    def _groups(self, features: int) -> int | None:
        """How many groups there are; None where Flax has something to say about it."""
        if (self.num_groups is None) == (self.group_size is None):
            return None
        groups = features // self.group_size if self.group_size else self.num_groups
        even = groups and groups > 0 and features % groups == 0 and features % (self.group_size or 1) == 0
        return groups if even else None


class InstanceNorm(nn.InstanceNorm):
    """`nn.InstanceNorm`: each feature of each example is normalised by itself, over all other axes."""

    @nn.compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        features = programs.axes_of(self.feature_axes, x.ndim)
        if _is_flax_asked(self, x) or 0 in features:
            return super().__call__(x, mask=mask)
        axes = tuple(axis for axis in range(1, x.ndim) if axis not in features)
        return _by_position(self, x, mask, axes)


class BatchNorm(nn.BatchNorm):
    """`nn.BatchNorm`: features are normalised over the batch, and by running averages when it is used."""

    @nn.compact
    def __call__(self, x: Array, use_running_average: bool | None = None, *, mask: Array | None = None) -> jax.Array:
        if _is_flax_asked(self, x):
            return super().__call__(x, use_running_average, mask=mask)
        use_running_average = nn.merge_param("use_running_average", self.use_running_average, use_running_average)
        features = programs.axes_of(self.axis, x.ndim)
        axes = tuple(axis for axis in range(x.ndim) if axis not in features)
        shape = tuple(x.shape[axis] for axis in features)
        kept_mean = self.variable("batch_stats", "mean", jnp.zeros, shape, jnp.float32)
        kept_variance = self.variable("batch_stats", "var", jnp.ones, shape, jnp.float32)
        if use_running_average:
            mean, variance = kept_mean.value, kept_variance.value
        else:
            found: Any = programs.moments(x, axes, fast=self.use_fast_variance, mask=mask, dtype=self.dtype)
            mean, variance = found
            if not self.is_initializing():
                kept_mean.value = programs.running(kept_mean.value, mean, self.momentum)
                kept_variance.value = programs.running(kept_variance.value, variance, self.momentum)
        scale, bias = _parameters(self, shape, has_bias=self.use_bias)
        return _normalized(self, x, mean, variance, scale, bias, axes, features)


def _is_flax_asked(layer: Any, x: jax.Array) -> bool:
    """Whether moments are joined across devices, are computed in few bits, or are those of complex numbers."""
    is_complex = jnp.iscomplexobj(x) or jnp.issubdtype(layer.param_dtype, jnp.complexfloating)
    return layer.axis_name is not None or not layer.force_float32_reductions or is_complex


def _by_position(
    layer: Any, x: jax.Array, mask: jax.Array | None, axes: tuple[int, ...], *, use_mean: bool = True
) -> jax.Array:
    features = programs.axes_of(layer.feature_axes, x.ndim)
    fast = layer.use_fast_variance
    mean, variance = programs.moments(x, axes, use_mean=use_mean, fast=fast, mask=mask, dtype=layer.dtype)
    shape = tuple(x.shape[axis] for axis in features)
    scale, bias = _parameters(layer, shape, has_bias=use_mean and layer.use_bias)
    return _normalized(layer, x, mean, variance, scale, bias, axes, features)


def _parameters(layer: Any, shape: tuple[int, ...], *, has_bias: bool) -> tuple[jax.Array | None, jax.Array | None]:
    """Scale and bias, where the layer has them."""
    scale = layer.param("scale", layer.scale_init, shape, layer.param_dtype) if layer.use_scale else None
    bias = layer.param("bias", layer.bias_init, shape, layer.param_dtype) if has_bias else None
    return scale, bias


def _normalized(
    layer: Any, x: Any, mean: Any, variance: Any, scale: Any, bias: Any, axes: tuple[int, ...], features: Any
) -> jax.Array:
    y = programs.normalized(x, mean, variance, scale, bias, axes=axes, features=features, epsilon=layer.epsilon)
    return y.astype(_type(layer, x, scale, bias))


def _type(layer: Any, *arrays: jax.Array | None) -> Any:
    present = [array for array in arrays if array is not None]
    return dtypes.canonicalize_dtype(*present, dtype=layer.dtype)
