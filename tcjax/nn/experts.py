"""A mixture of experts as a comprehension."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from flax.nnx.nn import dtypes
from flax.nnx.nn.linear import default_bias_init, default_kernel_init
from flax.typing import Array

from ..layers import programs, recipe
from .comprehensions import initial_value


class MixtureOfExperts(nnx.Module):
    """Two-layer networks of which each input goes to the `top_k` that a gate likes best.

    The result is the sum of their outputs, weighted by the softmax of what the gate says of these `top_k`. With
    `sparse` the inputs are sorted by expert, and each expert computes those that chose it; without, every expert
    computes all of them, and counts with the weight zero where it was not chosen. None: what is faster, which depends
    on the number of inputs and experts. `activation` is a builtin's name.
    """

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
        if not 1 <= top_k <= num_experts:
            raise ValueError(f"top_k is {top_k}, but there are {num_experts} experts")
        out_features = in_features if out_features is None else out_features
        own = recipe(programs.NETWORKS, {"up": kernel_init, "down": kernel_init})

        def network(name: str, *shape: int) -> nnx.Param[jax.Array]:
            value = initial_value(own, name, kernel_init, rngs.params(), (num_experts, *shape), param_dtype)
            return nnx.Param(value)

        self.gate = nnx.Param(kernel_init(rngs.params(), (in_features, num_experts), param_dtype))
        self.up = network("up", in_features, hidden_features)
        self.up_bias = nnx.Param(bias_init(rngs.params(), (num_experts, hidden_features), param_dtype))
        self.down = network("down", hidden_features, out_features)
        self.down_bias = nnx.Param(bias_init(rngs.params(), (num_experts, out_features), param_dtype))
        self.top_k = top_k
        self.activation = activation
        self.sparse = sparse
        self.dtype = dtype
        self.precision = precision

    def __call__(self, x: Array) -> jax.Array:
        """The outputs ``(.., out_features)`` for inputs ``(.., in_features)``."""
        return self._outputs_and_shares(x)[0]

    def shares(self, x: Array) -> jax.Array:
        """The weight of each expert ``(.., num_experts)``: what a term that balances their load needs."""
        return self._outputs_and_shares(x)[1]

    def _outputs_and_shares(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        own = (self.gate, self.up, self.up_bias, self.down, self.down_bias)
        given = dtypes.promote_dtype((x, *(param[...] for param in own)), dtype=self.dtype)
        return programs.experts(
            *given, chosen=self.top_k, activation=self.activation, precision=self.precision, sparse=self.sparse
        )
