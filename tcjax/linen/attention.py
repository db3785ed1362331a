"""`nn.dot_product_attention` and `nn.MultiHeadDotProductAttention` as comprehensions."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
from flax.linen.dtypes import promote_dtype

from ..layers import programs


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
    module: nn.Module | None = None,
) -> jax.Array:
    """`nn.dot_product_attention`: the mean of values, weighted by the softmax of products of queries and keys.

    Where a `module` asks for the weights, Flax computes them.
    """
    dropout = (broadcast_dropout, dropout_rng, dropout_rate, deterministic)
    if module is not None:
        return nn.dot_product_attention(query, key, value, bias, mask, *dropout, dtype, precision, module)
    query, key, value = promote_dtype(query, key, value, dtype=dtype)
    kept = programs.dropout(query, key, *dropout)
    return programs.attention(query, key, value, bias, mask, kept=kept, precision=precision)


class MultiHeadDotProductAttention(nn.MultiHeadDotProductAttention):
    """`nn.MultiHeadDotProductAttention`, whose projections and whose attention are comprehensions."""

    attention_fn: Callable[..., jax.Array] = dot_product_attention
    qkv_dot_general: Any = programs.dot_general
    out_dot_general: Any = programs.dot_general
