"""`nnx.Linear`, `nnx.LinearGeneral` and `nnx.Embed` as comprehensions, and a bilinear layer."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from flax.nnx.nn import dtypes
from flax.nnx.nn.linear import default_bias_init, default_kernel_init
from flax.typing import Array
from jax import lax

from ..layers import programs, recipe
from ..layers.precision import is_pair
from .comprehensions import initial_value


class Linear(nnx.Linear):
    """`nnx.Linear`: ``y(.., o) = sum[i](x(.., i) * kernel(i, o)) + bias(o)``."""

    def __call__(self, inputs: Array, out_sharding: Any = None) -> jax.Array:
        others = (self.dot_general, self.preferred_element_type, out_sharding)
        if others != (lax.dot_general, None, None) or is_pair(self.precision):
            return super().__call__(inputs, out_sharding)
        bias = None if self.bias is None else self.bias[...]
        inputs, kernel, bias = self.promote_dtype((inputs, self.kernel[...], bias), dtype=self.dtype)
        return programs.dense(inputs, kernel, bias, precision=self.precision)


class LinearGeneral(nnx.LinearGeneral):
    """`nnx.LinearGeneral`: a dense layer that sums over any axes and makes any number of them."""

    def __call__(self, inputs: Array, out_sharding: Any = None) -> jax.Array:
        others = (self.dot_general, self.dot_general_cls, self.preferred_element_type, out_sharding)
        if self.batch_axis or any(other is not None for other in others) or is_pair(self.precision):
            return super().__call__(inputs, out_sharding)
        bias = None if self.bias is None else self.bias[...]
        inputs, kernel, bias = self.promote_dtype((inputs, self.kernel[...], bias), dtype=self.dtype)
        return programs.dense(inputs, kernel, bias, self.axis, self.precision)


class Embed(nnx.Embed):
    """`nnx.Embed`: ``y(.., d) = embedding(ids(..), d)``."""

    def __call__(self, inputs: Array, out_sharding: Any = None) -> jax.Array:
        is_integer = jnp.issubdtype(inputs.dtype, jnp.integer)
        if out_sharding is not None or self.num_embeddings == 1 or not is_integer:
            return super().__call__(inputs, out_sharding)
        (table,) = self.promote_dtype((self.embedding[...],), dtype=self.dtype, inexact=False)
        return programs.embedded(table, inputs)

    def attend(self, query: Array, out_sharding: Any = None) -> jax.Array:
        """The product of each query with each embedding."""
        if out_sharding is not None:
            return super().attend(query, out_sharding)
        query, table = self.promote_dtype((query, self.embedding[...]), dtype=self.dtype)
        return programs.attended(query, table)


class Bilinear(nnx.Module):
    """``y(.., o) = sum[i, j](left(.., i) * kernel(i, j, o) * right(.., j)) + bias(o)``.

    `kernel` has the shape ``(left_features, right_features, out_features)``. Its initialiser sees the product of the
    first two as the fan-in. Other arguments are those of `Linear`.
    """

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
        own = recipe(programs.BILINEAR, {"kernel": kernel_init})
        shape = (left_features, right_features, out_features)
        self.kernel = nnx.Param(initial_value(own, "kernel", kernel_init, rngs.params(), shape, param_dtype))
        self.bias: nnx.Param[jax.Array] | None = nnx.data(None)
        if use_bias:
            self.bias = nnx.Param(bias_init(rngs.params(), (out_features,), param_dtype))
        self.dtype = dtype
        self.precision = precision

    def __call__(self, left: Array, right: Array) -> jax.Array:
        bias = None if self.bias is None else self.bias[...]
        left, right, kernel, bias = dtypes.promote_dtype((left, right, self.kernel[...], bias), dtype=self.dtype)
        return programs.bilinear(left, right, kernel, bias, self.precision)
