"""Layers of flax.linen as comprehensions, and two that Flax does not have: class heads for the recipes in `layers`."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.linen.linear import default_kernel_init
from flax.typing import Array

from ..layers import Initializer
from ..layers.programs import dense, embedding, experts, normalization, windows
from ..layers.shapes import Shape
from .adapter import Linen, learning


class Dense(nn.Dense):
    """`nn.Dense`: ``y(.., o) = sum[i](x(.., i) * kernel(i, o)) + bias(o)``."""

    @nn.compact
    def __call__(self, inputs: Array) -> jax.Array:
        own = Linen(self, super().__call__, made=lambda: _made(self, (inputs.shape[-1], self.features)))
        return dense.linear(own, inputs)


class DenseGeneral(nn.DenseGeneral):
    """`nn.DenseGeneral`: a dense layer over any axes."""

    dot_general: Any = dense.dot_general


class Conv(nn.Conv):
    """`nn.Conv`: ``y(.., h, o) = sum[k, c](x(.., s*h + d*k - low, c) * kernel(k, c, o)) + bias(o)``."""

    @nn.compact
    def __call__(self, inputs: Array) -> jax.Array:
        sizes = (self.kernel_size,) if isinstance(self.kernel_size, int) else tuple(self.kernel_size)

        def made() -> dict[str, tuple[Initializer, Shape]]:
            return _made(self, (*sizes, inputs.shape[-1] // self.feature_group_count, self.features))

        return windows.convolution(Linen(self, super().__call__, made=made), inputs, sizes)


class Embed(nn.Embed):
    """`nn.Embed`: ``y(.., d) = embedding(ids(..), d)``."""

    def __call__(self, inputs: Array) -> jax.Array:
        return embedding.embed(Linen(self, super().__call__), inputs)

    def attend(self, query: Array) -> jax.Array:
        """The product of each query with each embedding."""
        return embedding.attend(Linen(self, super().attend), query)


def _made(layer: Any, kernel: Shape) -> dict[str, tuple[Initializer, Shape]]:
    return {"kernel": (layer.kernel_init, kernel), "bias": (layer.bias_init, kernel[-1:])}


class _Norm(Linen):
    """A normalisation whose moments are those of the unmodified inputs."""

    def promoted(self, *arrays: jax.Array | None, **options: Any) -> tuple[Any, ...]:
        return arrays


class LayerNorm(nn.LayerNorm):
    """`nn.LayerNorm`: each position minus its mean, divided by its standard deviation."""

    @nn.compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        return normalization.layer_norm(_Norm(self, super().__call__), x, mask)


class RMSNorm(nn.RMSNorm):
    """`nn.RMSNorm`: each position divided by its root mean square."""

    @nn.compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        return normalization.layer_norm(_Norm(self, super().__call__), x, mask, use_mean=False)


class GroupNorm(nn.GroupNorm):
    """`nn.GroupNorm`: groups of features are normalised together, over all axes but the first."""

    @nn.compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        return normalization.group_norm(_Norm(self, super().__call__), x, mask, self._groups(x.shape[-1]))

    def _groups(self, features: int) -> int | None:
        """The number of groups; None if Flax should report an error."""
        if (self.num_groups is None) == (self.group_size is None):
            return None
        groups = features // self.group_size if self.group_size else self.num_groups
        even = groups and groups > 0 and features % groups == 0 and features % (self.group_size or 1) == 0
        return groups if even else None


class InstanceNorm(nn.InstanceNorm):
    """`nn.InstanceNorm`: each feature of each example is normalised by itself, over all other axes."""

    @nn.compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> jax.Array:
        return normalization.instance_norm(_Norm(self, super().__call__), x, mask)


class BatchNorm(nn.BatchNorm):
    """`nn.BatchNorm`: features are normalised over the batch in training, and by running averages in inference."""

    @nn.compact
    def __call__(self, x: Array, use_running_average: bool | None = None, *, mask: Array | None = None) -> jax.Array:
        own = _Norm(self, super().__call__)
        return normalization.batch_norm(own, x, use_running_average, mask, nn.merge_param)


class Bilinear(nn.Module):
    """``y(.., o) = sum[i, j](left(.., i) * kernel(i, j, o) * right(.., j)) + bias(o)``, with `features` values of o.

    The kernel's initialiser sees the product of both inputs' features as the fan-in. Other arguments are those of
    `Dense`.
    """

    features: int
    use_bias: bool = True
    dtype: Any = None
    param_dtype: Any = jnp.float32
    precision: Any = None
    kernel_init: Initializer = default_kernel_init
    bias_init: Initializer = nn.initializers.zeros_init()

    @nn.compact
    def __call__(self, left: Array, right: Array) -> jax.Array:
        learned = dense.bilinear_parameters(left.shape[-1], right.shape[-1], self.features)
        return dense.bilinear(learning(self, learned), left, right)


class MixtureOfExperts(nn.Module):
    """Two-layer networks; each input goes to the `top_k` that a gate ranks highest.

    The result ``(.., features)`` is the sum of their outputs, weighted by the softmax of the gate's scores for these
    `top_k`; `features` is by default that of the input. With `sparse` the inputs are sorted by expert, and each expert
    computes only those that chose it; without it every expert computes all of them; None picks the faster way.
    `activation` is the name of a builtin. The weights of the experts ``(.., num_experts)``, for a load-balancing term,
    are sown as ``intermediates/shares``.
    """

    num_experts: int
    hidden_features: int
    features: int | None = None
    top_k: int = 2
    activation: str = "relu"
    sparse: bool | None = None
    dtype: Any = None
    param_dtype: Any = jnp.float32
    precision: Any = None
    kernel_init: Initializer = default_kernel_init
    bias_init: Initializer = nn.initializers.zeros_init()

    @nn.compact
    def __call__(self, x: Array) -> jax.Array:
        """The outputs ``(.., features)`` for inputs ``(.., in_features)``."""
        features = (x.shape[-1], self.hidden_features, self.features)
        learned = experts.parameters(self.num_experts, self.top_k, *features)
        y, shares = experts.experts(learning(self, learned), x)
        self.sow("intermediates", "shares", shares)
        return y
