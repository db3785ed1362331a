"""A mixture of experts as a comprehension."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.linen.dtypes import promote_dtype
from flax.linen.linear import default_kernel_init
from flax.typing import Array

from ..layers import Initializer, programs, recipe
from .comprehensions import initializer


class MixtureOfExperts(nn.Module):
    """Two-layer networks of which each input goes to the `top_k` that a gate likes best.

    The result ``(.., features)`` is the sum of their outputs, weighted by the softmax of what the gate says of these
    `top_k`; `features` are by default as many as the input has. With `sparse` the inputs are sorted by expert, and each
    expert computes those that chose it; without, every expert computes all of them; None: what is faster. `activation`
    is a builtin's name. The weights of the experts ``(.., num_experts)``, which a term that balances their load needs,
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
        if not 1 <= self.top_k <= self.num_experts:
            raise ValueError(f"top_k is {self.top_k}, but there are {self.num_experts} experts")
        experts, inner, outer = self.num_experts, x.shape[-1], self.hidden_features
        features = inner if self.features is None else self.features
        own = recipe(programs.NETWORKS, {"up": self.kernel_init, "down": self.kernel_init})

        def network(name: str, *shape: int) -> Any:
            return self.param(name, initializer(own, name, self.kernel_init, None), (experts, *shape), self.param_dtype)

        def offsets(name: str, size: int) -> Any:
            return self.param(name, self.bias_init, (experts, size), self.param_dtype)

        parameters = (
            self.param("gate", self.kernel_init, (inner, experts), self.param_dtype),
            network("up", inner, outer),
            offsets("up_bias", outer),
            network("down", outer, features),
            offsets("down_bias", features),
        )
        given: Any = promote_dtype(x, *parameters, dtype=self.dtype)
        y, shares = programs.experts(
            *given, chosen=self.top_k, activation=self.activation, precision=self.precision, sparse=self.sparse
        )
        self.sow("intermediates", "shares", shares)
        return y
