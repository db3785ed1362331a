"""Embeddings: rows of a table, and products with all of its rows."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from ...runtime.kernel import Kernel
from ..adapter import Adapter
from .notation import at, check_lengths, definition, names


def embed(own: Adapter, ids: jax.Array, *others: Any) -> jax.Array:
    """The rows of ``(count, features)`` at `ids`: counted from the end for negative ids, NaN outside the table.

    Flax has its own rules for a table of one row, and for ids that are not integers.
    """
    if own.layer.num_embeddings == 1 or not jnp.issubdtype(ids.dtype, jnp.integer) or own.is_given((), others):
        return own.flax(ids, *others)
    (table,) = own.promoted(own.parameter("embedding"), inexact=False)
    # Ids that need more than 32 bits are outside every table.
    limits = jnp.iinfo(jnp.int32)
    wide = jnp.iinfo(ids.dtype).max > limits.max
    ids = (jnp.clip(ids, max(limits.min, jnp.iinfo(ids.dtype).min), limits.max) if wide else ids).astype(jnp.int32)
    return embedding_program(ids.ndim, bool(jnp.issubdtype(table.dtype, jnp.inexact)))(table, ids)


@lru_cache(maxsize=64)
def embedding_program(rank: int, has_nan: bool) -> Kernel:
    """Rows of a table at an array of ids of this rank."""
    kept = names("a", rank)
    number = at("ids", *kept)
    row = f"table(({number} < 0 ? {number} + table.0 : {number}), d)"
    outside = " : 0.0 / 0.0" if has_nan else " : 0"
    value = f"{number} >= -table.0 && {number} < table.0 ? {row}{outside}"
    return definition("embedding", ("table", "ids"), ("y",), [f"{at('y', *kept, 'd')} = {value}"])


def attend(own: Adapter, query: jax.Array, *others: Any) -> jax.Array:
    """The product of each query with each row."""
    if own.is_given((), others):
        return own.flax(query, *others)
    query, table = own.promoted(query, own.parameter("embedding"))
    check_lengths(query=(query, [*names("a", max(query.ndim - 1, 0)), "d"]), embedding=(table, "nd"))
    return attend_program(query.ndim - 1)(query, table)


@lru_cache(maxsize=64)
def attend_program(lead: int) -> Kernel:
    """Products of queries, with `lead` leading axes, and rows of a table."""
    kept = names("a", lead)
    statement = f"{at('y', *kept, 'n')} +=! {at('query', *kept, 'd')} * table(n, d)"
    return definition("attend", ("query", "table"), ("y",), [statement])
