"""Layers of flax.nnx as comprehensions, and two that Flax does not have: class heads for the recipes in `layers`."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from flax.nnx.nn.linear import default_bias_init, default_kernel_init
from flax.typing import Array
from jax import lax

from ..layers.programs import dense, embedding, experts, normalization, windows
from .adapter import Nnx, make


class Linear(nnx.Linear):
    """`nnx.Linear`: ``y(.., o) = sum[i](x(.., i) * kernel(i, o)) + bias(o)``."""

    def __call__(self, inputs: Array, out_sharding: Any = None) -> jax.Array:
        own = Nnx(self, super().__call__, {"dot_general": lax.dot_general})
        return dense.linear(own, inputs, out_sharding)


class LinearGeneral(nnx.LinearGeneral):
    """`nnx.LinearGeneral`: a dense layer over any axes, with any number of output axes."""

    def __call__(self, inputs: Array, out_sharding: Any = None) -> jax.Array:
        if self.batch_axis:
            return super().__call__(inputs, out_sharding)
        return dense.linear(Nnx(self, super().__call__), inputs, out_sharding, axes=self.axis)


class Conv(nnx.Conv):
    """`nnx.Conv`: ``y(.., h, o) = sum[k, c](x(.., s*h + d*k - low, c) * kernel(k, c, o)) + bias(o)``."""

    def __call__(self, inputs: Array, out_sharding: Any = None) -> jax.Array:
        own = Nnx(self, super().__call__, {"conv_general_dilated": lax.conv_general_dilated})
        return windows.convolution(own, inputs, self.kernel_size, out_sharding)


class Embed(nnx.Embed):
    """`nnx.Embed`: ``y(.., d) = embedding(ids(..), d)``."""

    def __call__(self, inputs: Array, out_sharding: Any = None) -> jax.Array:
        return embedding.embed(Nnx(self, super().__call__), inputs, out_sharding)

    def attend(self, query: Array, out_sharding: Any = None) -> jax.Array:
        """The product of each query with each embedding."""
        return embedding.attend(Nnx(self, super().attend), query, out_sharding)


class LayerNorm(nnx.LayerNorm):
    """`nnx.LayerNorm`: each position minus its mean, divided by its standard deviation."""

    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        return normalization.layer_norm(Nnx(self, super().__call__), x, mask)


class RMSNorm(nnx.RMSNorm):
    """`nnx.RMSNorm`: each position divided by its root mean square."""

    def __call__(self, x: Array, mask: Array | None = None) -> jax.Array:
        return normalization.layer_norm(Nnx(self, super().__call__), x, mask, use_mean=False)


class GroupNorm(nnx.GroupNorm):
    """`nnx.GroupNorm`: groups of features are normalised together, over all axes but the first."""

    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        return normalization.group_norm(Nnx(self, super().__call__), x, mask, self.num_groups)


class InstanceNorm(nnx.InstanceNorm):
    """`nnx.InstanceNorm`: each feature of each example is normalised by itself, over all other axes."""

    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        return normalization.instance_norm(Nnx(self, super().__call__), x, mask)


class BatchNorm(nnx.BatchNorm):
    """`nnx.BatchNorm`: features are normalised over the batch in training, and by running averages in inference."""

    def __call__(self, x: Array, use_running_average: bool | None = None, *, mask: Array | None = None) -> jax.Array:
        own = Nnx(self, super().__call__)
        return normalization.batch_norm(own, x, use_running_average, mask, _merge)


def _merge(_: str, option: bool | None, argument: bool | None) -> bool | None:
    return option if argument is None else argument


class Bilinear(nnx.Module):
    """``y(.., o) = sum[i, j](left(.., i) * kernel(i, j, o) * right(.., j)) + bias(o)``.

    `kernel` has the shape ``(left_features, right_features, out_features)``. Its initialiser sees the product of the
    first two as the fan-in. Other arguments are those of `Linear`.
    """

    kernel: nnx.Param[jax.Array]
    bias: nnx.Param[jax.Array] | None

    def __init__(
        self,
        left_features: int,
        right_features: int,
        out_features: int,
        *,
        use_bias: bool = True,
        dtype: Any = None,
        param_dtype: Any = jnp.float32,
        precision: Any = None,
        kernel_init: nnx.Initializer = default_kernel_init,
        bias_init: nnx.Initializer = default_bias_init,
        rngs: nnx.Rngs,
    ) -> None:
        learned = dense.bilinear_parameters(left_features, right_features, out_features)
        if not use_bias:
            self.bias = nnx.data(None)
            del learned.shapes["bias"]
        make(self, learned, kernel_init, bias_init, param_dtype, rngs)
        self.dtype = dtype
        self.precision = precision

    def __call__(self, left: Array, right: Array) -> jax.Array:
        return dense.bilinear(Nnx(self), left, right)


class MixtureOfExperts(nnx.Module):
    """Two-layer networks; each input goes to the `top_k` that a gate ranks highest.

    The result is the sum of their outputs, weighted by the softmax of the gate's scores for these `top_k`. With
    `sparse` the inputs are sorted by expert, and each expert computes only those that chose it. Without it every expert
    computes all of them, with weight zero where it was not chosen. None picks the faster way, which depends on the
    number of inputs and experts. `activation` is the name of a builtin.
    """

    gate: nnx.Param[jax.Array]
    up: nnx.Param[jax.Array]
    up_bias: nnx.Param[jax.Array]
    down: nnx.Param[jax.Array]
    down_bias: nnx.Param[jax.Array]

    def __init__(
        self,
        num_experts: int,
        in_features: int,
        hidden_features: int,
        out_features: int | None = None,
        *,
        top_k: int = 2,
        activation: str = "relu",
        sparse: bool | None = None,
        dtype: Any = None,
        param_dtype: Any = jnp.float32,
        precision: Any = None,
        kernel_init: nnx.Initializer = default_kernel_init,
        bias_init: nnx.Initializer = default_bias_init,
        rngs: nnx.Rngs,
    ) -> None:
        learned = experts.parameters(num_experts, top_k, in_features, hidden_features, out_features)
        make(self, learned, kernel_init, bias_init, param_dtype, rngs)
        self.top_k = top_k
        self.activation = activation
        self.sparse = sparse
        self.dtype = dtype
        self.precision = precision

    def __call__(self, x: Array) -> jax.Array:
        """The outputs ``(.., out_features)`` for inputs ``(.., in_features)``."""
        return experts.experts(Nnx(self), x)[0]

    def shares(self, x: Array) -> jax.Array:
        """The weight of each expert ``(.., num_experts)``, for a load-balancing term."""
        return experts.experts(Nnx(self), x)[1]
