"""`nn.dot_product_attention` and `nn.MultiHeadDotProductAttention` as comprehensions."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
from flax.linen.dtypes import promote_dtype

from ..layers.precision import is_pair
from ..layers.programs.attention import attention, dropout
from ..layers.programs.dense import dot_general


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
    force_fp32_for_softmax: bool = False,
    einsum_dot_general: Callable[..., jax.Array] | None = None,
    qk_attn_weights_einsum: Callable[..., jax.Array] | None = None,
    attn_weights_value_einsum: Callable[..., jax.Array] | None = None,
) -> jax.Array:
    """`nn.dot_product_attention`: the mean of values, weighted by the softmax of products of queries and keys.

    Flax computes it where a `module` asks for the weights, where the weights must stay in 32 bits, where another
    function does the products, and where each side of a product has its own precision.
    """
    dropping = (broadcast_dropout, dropout_rng, dropout_rate, deterministic)
    others = (module, einsum_dot_general, qk_attn_weights_einsum, attn_weights_value_einsum)
    if any(other is not None for other in others) or force_fp32_for_softmax or is_pair(precision):
        given = (query, key, value, bias, mask, *dropping, dtype, precision, module, force_fp32_for_softmax)
        return nn.dot_product_attention(*given, *others[1:])
    query, key, value = promote_dtype(query, key, value, dtype=dtype)
    kept = dropout(query, key, *dropping)
    return attention(query, key, value, bias, mask, kept=kept, precision=precision)


class MultiHeadDotProductAttention(nn.MultiHeadDotProductAttention):
    """`nn.MultiHeadDotProductAttention`, with its projections and its attention as comprehensions."""

    attention_fn: Callable[..., jax.Array] = dot_product_attention
    qkv_dot_general: Any = dot_general
    out_dot_general: Any = dot_general
