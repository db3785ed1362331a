"""`nnx.Conv` and Flax's pooling as comprehensions."""

from typing import Any

import jax
from flax import nnx
from flax.typing import Array
from jax import lax

from ..layers import programs
from ..layers.precision import is_pair


class Conv(nnx.Conv):
    """`nnx.Conv`: ``y(.., h, o) = sum[k, c](x(.., s*h + d*k - low, c) * kernel(k, c, o)) + bias(o)``."""

    def __call__(self, inputs: Array, out_sharding: Any = None) -> jax.Array:
        rank = len(self.kernel_size)
        other = (self.conv_general_dilated, self.preferred_element_type, out_sharding)
        unusual = self.mask is not None or self.padding == "REFLECT" or is_pair(self.precision)
        if (
            unusual
            or any(n != 1 for n in programs.per_axis(self.input_dilation, rank))
            or other != (lax.conv_general_dilated, None, None)
        ):
            return super().__call__(inputs, out_sharding)
        bias = None if self.bias is None else self.bias[...]
        inputs, kernel, bias = self.promote_dtype((inputs, self.kernel[...], bias), dtype=self.dtype)
        return programs.convolution(
            inputs,
            kernel,
            bias,
            strides=programs.per_axis(self.strides, rank),
            dilations=programs.per_axis(self.kernel_dilation, rank),
            padding=self.padding,
            groups=self.feature_group_count,
            precision=self.precision,
        )
