"""Dot-product attention: masks, biases, and groups of queries that share keys."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from ...diagnostics import Code, CompileError
from ...runtime.kernel import Kernel
from ..mistakes import not_an_option
from .notation import at, check_lengths, definition, names, run

# The layout of an operand of the weights ``(.., heads, queries, keys)``: whether each of its axes has length 1.
Broadcast = tuple[bool, ...]


def attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    bias: jax.Array | None = None,
    mask: jax.Array | None = None,
    *,
    kept: jax.Array | None = None,
    is_causal: bool = False,
    precision: Any = None,
) -> jax.Array:
    """The mean of values ``(.., keys, heads, V)``, weighted by the softmax of products of queries and keys.

    `query` is ``(.., queries, heads, D)``; `bias` is added to the scaled products ``(.., heads, queries, keys)``,
    `mask` is true for the keys to use, `kept` multiplies the weights; axes of length 1 are repeated. If keys have fewer
    heads than queries, consecutive query heads share one. If every key is masked, all get equal weights.
    """
    lead, heads, shared = _checked(query, key, value)
    query = query.reshape(*query.shape[:-2], shared, heads // shared, query.shape[-1])
    extra = {"bias": bias, "mask": None if mask is None else mask.astype(bool), "kept": kept}
    whole = (*query.shape[:-4], heads, query.shape[-4], key.shape[-3])
    given = {name: _grouped(name, array, whole, shared) for name, array in extra.items() if array is not None}
    patterns = tuple((name, tuple(extent == 1 for extent in array.shape)) for name, array in given.items())
    wide = str(jnp.promote_types(query.dtype, jnp.float32))
    lowest = 0.7 * float(jnp.finfo(wide).min)
    scale = query.shape[-1] ** -0.5
    program = attention_program(lead, patterns, is_causal, wide, str(query.dtype), lowest, scale)
    found = run(program, query, key, value, *given.values(), precision=precision)
    return found.reshape(*found.shape[:-3], heads, found.shape[-1])


def dropout(
    query: jax.Array, key: jax.Array, broadcast: bool, rng: jax.Array | None, rate: float, deterministic: bool
) -> jax.Array | None:
    """The factors of the weights ``(.., heads, queries, keys)``: zero or ``1 / (1 - rate)``; None without dropout.

    With `broadcast` they are the same for every head and every example, as in Flax.
    """
    if not 0.0 <= rate < 1.0:
        raise not_an_option("dropout_rate", rate, "a rate is in [0, 1)")
    if rate == 0.0 or deterministic:
        return None
    if rng is None:
        raise ValueError("dropout_rng is required when dropout_rate > 0 and deterministic=False.")
    lead = (1,) * (key.ndim - 2) if broadcast else (*query.shape[:-3], query.shape[-2])
    keep = jax.random.bernoulli(rng, 1.0 - rate, (*lead, query.shape[-3], key.shape[-3]))
    return keep.astype(query.dtype) / jnp.asarray(1.0 - rate, query.dtype)


def _checked(query: jax.Array, key: jax.Array, value: jax.Array) -> tuple[int, int, int]:
    """The number of leading axes, of query heads, and of key heads. Raises `CompileError` for other shapes."""
    batch = names("a", max(query.ndim - 3, 0))
    axes = {"query": [*batch, "q", "h", "d"], "key": [*batch, "k", "s", "d"], "value": [*batch, "k", "s", "e"]}
    check_lengths(query=(query, axes["query"]), key=(key, axes["key"]), value=(value, axes["value"]))
    heads, shared = query.shape[-2], key.shape[-2]
    if shared == 0 or heads % shared:
        raise CompileError(
            Code.SIZE_MISMATCH,
            f"{heads} heads of queries cannot share {shared} heads of keys in equal groups",
            help="the number of heads of queries is a multiple of that of keys",
        )
    return len(batch), heads, shared


def _grouped(name: str, array: jax.Array, whole: tuple[int, ...], shared: int) -> jax.Array:
    """``(.., heads, queries, keys)`` with all leading axes and with two axes for heads, either repeated or `whole`."""
    array = array.reshape((1,) * (len(whole) - array.ndim) + array.shape)
    if array.ndim > len(whole) or any(n not in (1, full) for n, full in zip(array.shape, whole, strict=True)):
        raise CompileError(
            Code.SIZE_MISMATCH,
            f"`{name}` has the shape {array.shape}, and the weights of attention {whole}",
            help="an axis is as long as that of the weights (.., heads, queries, keys), or 1",
        )
    heads = array.shape[-3]
    split = (1, 1) if heads == 1 else (shared, heads // shared)
    return array.reshape(*array.shape[:-3], *split, *array.shape[-2:])


@lru_cache(maxsize=1024)
def attention_program(
    lead: int,
    patterns: tuple[tuple[str, Broadcast], ...],
    is_causal: bool,
    wide: str,
    dtype: str,
    lowest: float,
    scale: float,
) -> Kernel:
    """Attention with `lead` leading axes. The softmax and the products before it are computed in `wide`."""
    batch = names("a", lead)
    every = [*batch, "h", "g", "q", "k"]
    reads = {
        name: at(name, *("0" if single else index for single, index in zip(pattern, every, strict=True)))
        for name, pattern in patterns
    }
    query, key, value = (
        at("Q", *batch, "q", "h", "g", "d"),
        at("K", *batch, "k", "h", "d"),
        at("V", *batch, "k", "h", "e"),
    )
    score, norm, weight = at("score", *every), at("norm", *every[:-1]), at("weight", *every)
    y = at("y", *batch, "q", "h", "g", "e")
    scaled = f"{score} * {scale!r}" + (f" + {reads['bias']}" if "bias" in reads else "")
    counts = [*(["k <= q"] if is_causal else []), *([reads["mask"]] if "mask" in reads else [])]
    if counts:
        scaled = f"({' && '.join(counts)} ? {scaled} : {lowest!r})"
    dropped = f" * {reads['kept']}" if "kept" in reads else ""
    statements = [
        f"{score} = sum[d]({wide}({query}) * {wide}({key}))",
        f"{score} = {scaled}",
        f"{norm} = logsumexp[k]({score})",
        f"{weight} = {dtype}(exp({score} - {norm})){dropped}",
        f"{y} +=! {weight} * {value}",
    ]
    if "mask" in reads:
        # If every key is masked, the norm is so large that the logarithm of their number vanishes in it.
        statements.append(f"{y} = {y} / {dtype}(sum[k](exp({score} - {norm})))")
    return definition("attention", ("Q", "K", "V", *reads), ("y",), statements)
