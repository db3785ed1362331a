"""Causal attention with several heads, whose scores the program names."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .case import Case, Form, label, normals


def causal_heads(h: int, t: int, d: int) -> Case:
    """The mean of V by the softmax of Q.K over the keys up to each position, for each head."""
    scale = 1 / np.sqrt(np.float32(d))

    def part(Q, K, V, first: int):
        """The rows of `Q`, which begin at position `first`, and all keys up to the last of them."""
        scores = jnp.einsum("hqd,hkd->hqk", Q, K) * scale
        seen = jnp.arange(K.shape[1])[None] <= jnp.arange(first, first + Q.shape[1])[:, None]
        return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=2), V)

    def part_divided_late(Q, K, V, first: int):
        scores = jnp.einsum("hqd,hkd->hqk", Q * scale, K)
        seen = jnp.arange(K.shape[1])[None] <= jnp.arange(first, first + Q.shape[1])[:, None]
        scores = jnp.where(seen, scores, -jnp.inf)
        weights = jnp.exp(scores - scores.max(2, keepdims=True))
        return jnp.einsum("hqk,hkd->hqd", weights, V) / weights.sum(2, keepdims=True)

    def blocks(count: int, part: Form) -> Form:
        def by_blocks(Q, K, V):
            size = -(-t // count)
            ends = [(first, min(first + size, t)) for first in range(0, t, size)]
            return jnp.concatenate([part(Q[:, a:b], K[:, :b], V[:, :b], a) for a, b in ends], axis=1)

        return by_blocks

    def library(Q, K, V):
        batch = (a.transpose(1, 0, 2)[None] for a in (Q, K, V))
        return jax.nn.dot_product_attention(*batch, is_causal=True)[0].transpose(1, 0, 2)

    def head_by_head(Q, K, V):
        heads = zip(Q[:, None], K[:, None], V[:, None], strict=True)
        return jnp.concatenate([blocks(8, part)(*head) for head in heads])

    def reference(Q, K, V):
        scores = np.where(np.tri(t, dtype=bool), Q @ K.transpose(0, 2, 1) / np.sqrt(d), -np.inf)
        weights = np.exp(scores - scores.max(2, keepdims=True))
        return weights @ V / weights.sum(2, keepdims=True)

    return Case(
        name=f"causal_heads/{label(h, t, d)}",
        text="""
        def causal_heads(float(H,T,D) Q, float(H,T,D) K, float(H,T,E) V) -> (O) {
            s(h,q,k) +=! Q(h,q,d) * K(h,k,d) / sqrt(D) where k <= q
            m(h,q) max=! s(h,q,k) where k <= q
            p(h,q,k) = exp(s(h,q,k) - m(h,q)) where k <= q
            l(h,q) +=! p(h,q,k)
            O(h,q,e) +=! p(h,q,k) * V(h,k,e)
            O(h,q,e) = O(h,q,e) / l(h,q)
        }""",
        make_arrays=lambda rng: normals(rng, *[(h, t, d)] * 3),
        reference=reference,
        forms={
            "masked": lambda Q, K, V: part(Q, K, V, 0),
            "jax.nn": library,
            "four_blocks": blocks(4, part),
            "eight_blocks": blocks(8, part),
            "eight_blocks_divided_late": blocks(8, part_divided_late),
            "sixteen_blocks": blocks(16, part),
            "head_by_head": head_by_head,
        },
    )
