"""`nnx.dot_product_attention` and `nnx.MultiHeadAttention` as comprehensions."""

from functools import wraps
from typing import TYPE_CHECKING, Any

import jax
from flax import nnx
from flax.nnx.nn import dtypes

from ..layers.precision import is_pair
from ..layers.programs.attention import attention, dropout
from .classes import LayerNorm, LinearGeneral


def dot_product_attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    bias: jax.Array | None = None,
    mask: jax.Array | None = None,
    broadcast_dropout: bool = True,
    dropout_rng: jax.Array | None = None,
    dropout_rate: float = 0.0,
    deterministic: bool = False,
    dtype: Any = None,
    precision: Any = None,
    module: nnx.Module | None = None,
    promote_dtype: Any = dtypes.promote_dtype,
    is_causal: bool = False,
) -> jax.Array:
    """`nnx.dot_product_attention`: the mean of values, weighted by the softmax of products of queries and keys.

    Flax computes it where a `module` asks for the weights, where the heads of values and keys differ, and where each
    side of a product has its own precision.
    """
    dropping = (broadcast_dropout, dropout_rng, dropout_rate, deterministic)
    if module is not None or value.shape[-2:-1] != key.shape[-2:-1] or is_pair(precision):
        given = (query, key, value, bias, mask, *dropping, dtype, precision, module, promote_dtype)
        return nnx.dot_product_attention(*given, is_causal)
    query, key, value = promote_dtype((query, key, value), dtype=dtype)
    kept = dropout(query, key, *dropping)
    return attention(query, key, value, bias, mask, kept=kept, is_causal=is_causal, precision=precision)


class MultiHeadAttention(nnx.MultiHeadAttention):
    """`nnx.MultiHeadAttention` with its projections, its norms and its attention as comprehensions."""

    # Type checkers see Flax's own arguments.
    if not TYPE_CHECKING:

        @wraps(nnx.MultiHeadAttention.__init__)
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{"attention_fn": dot_product_attention, **kwargs})
            # Flax creates the submodules; ours have the same attributes and different methods.
            for projection in (self.query, self.key, self.value, self.out):
                projection.__class__ = LinearGeneral
            for norm in (self.query_ln, self.key_ln):
                if norm is not None:
                    norm.__class__ = LayerNorm
