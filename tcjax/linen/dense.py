"""`nn.Dense`, `nn.DenseGeneral`, `nn.Conv` and `nn.Embed` as comprehensions, and a bilinear layer."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.linen.dtypes import promote_dtype
from flax.linen.linear import default_kernel_init
from flax.typing import Array

from ..layers import Initializer, programs, recipe
from ..layers.precision import is_pair
from .comprehensions import initializer


class Dense(nn.Dense):
    """`nn.Dense`: ``y(.., o) = sum[i](x(.., i) * kernel(i, o)) + bias(o)``."""

    @nn.compact
    def __call__(self, inputs: Array) -> jax.Array:
        if self.dot_general is not None or self.dot_general_cls is not None or is_pair(self.precision):
            return super().__call__(inputs)
        kernel = self.param("kernel", self.kernel_init, (inputs.shape[-1], self.features), self.param_dtype)
        bias = self.param("bias", self.bias_init, (self.features,), self.param_dtype) if self.use_bias else None
        given: Any = self.promote_dtype(inputs, kernel, bias, dtype=self.dtype)
        return programs.dense(*given, precision=self.precision)


class DenseGeneral(nn.DenseGeneral):
    """`nn.DenseGeneral`, whose product is a comprehension: a dense layer over any axes."""

    dot_general: Any = programs.dot_general


class Conv(nn.Conv):
    """`nn.Conv`: ``y(.., h, o) = sum[k, c](x(.., s*h + d*k - low, c) * kernel(k, c, o)) + bias(o)``."""

    @nn.compact
    def __call__(self, inputs: Array) -> jax.Array:
        sizes = (self.kernel_size,) if isinstance(self.kernel_size, int) else tuple(self.kernel_size)
        rank = len(sizes)
        others = (self.conv_general_dilated, self.conv_general_dilated_cls, self.mask)
        unusual = self.padding == "REFLECT" or any(n != 1 for n in programs.per_axis(self.input_dilation, rank))
        if unusual or any(other is not None for other in others) or is_pair(self.precision):
            return super().__call__(inputs)
        shape = (*sizes, inputs.shape[-1] // self.feature_group_count, self.features)
        kernel = self.param("kernel", self.kernel_init, shape, self.param_dtype)
        bias = self.param("bias", self.bias_init, (self.features,), self.param_dtype) if self.use_bias else None
        given: Any = self.promote_dtype(inputs, kernel, bias, dtype=self.dtype)
        return programs.convolution(
            *given,
            strides=programs.per_axis(self.strides, rank),
            dilations=programs.per_axis(self.kernel_dilation, rank),
            padding=self.padding,
            groups=self.feature_group_count,
            precision=self.precision,
        )


class Embed(nn.Embed):
    """`nn.Embed`: ``y(.., d) = embedding(ids(..), d)``."""

    def __call__(self, inputs: Array) -> jax.Array:
        if self.num_embeddings == 1 or not jnp.issubdtype(inputs.dtype, jnp.integer):
            return super().__call__(inputs)
        table: Any = self.promote_dtype(self.embedding, dtype=self.dtype, inexact=False)
        return programs.embedded(table[0], inputs)

    def attend(self, query: Array) -> jax.Array:
        """The product of each query with each embedding."""
        given: Any = self.promote_dtype(query, self.embedding, dtype=self.dtype)
        return programs.attended(*given)


class Bilinear(nn.Module):
    """``y(.., o) = sum[i, j](left(.., i) * kernel(i, j, o) * right(.., j)) + bias(o)``, with so many `features` o.

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
        own = recipe(programs.BILINEAR, {"kernel": self.kernel_init})
        shape = (left.shape[-1], right.shape[-1], self.features)
        kernel = self.param("kernel", initializer(own, "kernel", self.kernel_init, None), shape, self.param_dtype)
        bias = self.param("bias", self.bias_init, (self.features,), self.param_dtype) if self.use_bias else None
        given: Any = promote_dtype(left, right, kernel, bias, dtype=self.dtype)
        return programs.bilinear(*given, precision=self.precision)
