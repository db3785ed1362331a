"""Attention by hand: named scores, rows and weights, or one expression; the mask as guard, ternary or product."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from ..cases.blocks import by_rows
from ..cases.case import Form, normals
from .computation import Computation, definitions

# (T, D)
ATTENTION_SIZES = {"small": (6, 4), "full": (1024, 64)}


def computations(size: str) -> Iterator[Computation]:
    """Attention to all positions and to earlier ones, at `size`."""
    yield attention(*ATTENTION_SIZES[size])
    yield causal_attention(*ATTENTION_SIZES[size])


def attention(t: int, d: int) -> Computation:
    """The mean of the rows of V by the softmax of the scores."""
    return Computation(
        name="attention",
        make_arrays=lambda rng: normals(rng, (t, d), (t, d), (t, d)),
        reference=lambda Q, K, V: _reference(Q @ K.T / d**0.5, V),
        forms={
            "softmax": _plain,
            "normalised_late": _normalised_late,
            "jax.nn": lambda Q, K, V: _library(Q, K, V, causal=False),
            "blocks_of_rows": lambda Q, K, V: by_rows(_plain, 0, rows=128)(Q, K, V),
        },
        spellings={
            **definitions(
                "def attention(float(T,D) Q, float(S,D) K, float(S,E) V) -> (O)",
                {
                    "five_rows": """
s(q,k) +=! Q(q,d) * K(k,d) / sqrt(D)
m(q) max=! s(q,k)
p(q,k) = exp(s(q,k) - m(q))
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q)""",
                    "scaled_after": """
s(q,k) +=! Q(q,d) * K(k,d)
s(q,k) = s(q,k) / sqrt(D)
m(q) max=! s(q,k)
p(q,k) = exp(s(q,k) - m(q))
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q)""",
                    "scaled_queries": """
z(q,d) = Q(q,d) * rsqrt(D)
s(q,k) +=! z(q,d) * K(k,d)
m(q) max=! s(q,k)
p(q,k) = exp(s(q,k) - m(q))
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e) / l(q)""",
                    "weights_named": """
s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D)
m(q) = max[k](s(q,k))
l(q) = sum[k](exp(s(q,k) - m(q)))
w(q,k) = exp(s(q,k) - m(q)) / l(q)
O(q,e) +=! w(q,k) * V(k,e)""",
                    "weights_divided_in_place": """
s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D)
p(q,k) = exp(s(q,k) - max[j](s(q,j)))
w(q,k) = p(q,k) / sum[j](p(q,j))
O(q,e) = sum[k](w(q,k) * V(k,e))""",
                    "quotient_of_sums": """
s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D)
m(q) = max[k](s(q,k))
O(q,e) = sum[k](exp(s(q,k) - m(q)) * V(k,e)) / sum[k](exp(s(q,k) - m(q)))""",
                    "logsumexp": """
s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D)
l(q) logsumexp=! s(q,k)
O(q,e) +=! exp(s(q,k) - l(q)) * V(k,e)""",
                    "logsumexp_unnamed": """
l(q) = logsumexp[k](sum[d](Q(q,d) * K(k,d)) / sqrt(D))
O(q,e) = sum[k](exp(sum[d](Q(q,d) * K(k,d)) / sqrt(D) - l(q)) * V(k,e))""",
                    "transposed_scores": """
s(k,q) +=! K(k,d) * Q(q,d) / sqrt(D)
m(q) max=! s(k,q)
p(k,q) = exp(s(k,q) - m(q))
l(q) +=! p(k,q)
O(q,e) +=! p(k,q) * V(k,e)
O(q,e) = O(q,e) / l(q)""",
                },
            ),
            "python": _attention,
            "sac": """
float[t,s] scores(float[t,d] Q, float[s,d] K) {
    return { [q,k] -> sum(Q[q] * K[k]) / sqrt(tof(d)) };
}
float[s] softmax(float[s] x) { e = exp(x - maxval(x)); return e / sum(e); }
float[t,n] attention(float[t,d] Q, float[s,d] K, float[s,n] V) {
    w = { [q] -> softmax(scores(Q, K)[q]) };
    return { [q,e] -> sum({ [k] -> w[q,k] * V[k,e] }) };
}""",
        },
    )


def _attention(Q: "float(T,D)", K: "float(S,D)", V: "float(S,E)"):
    s[q, k] = sum[d](Q[q, d] * K[k, d]) / sqrt(D)
    m[q] = max[k](s[q, k])
    w[q, k] = exp(s[q, k] - m[q])
    O[q, e] = sum[k](w[q, k] * V[k, e]) / sum[k](w[q, k])
    return O


def causal_attention(t: int, d: int) -> Computation:
    """Attention to a position and to earlier ones."""

    def reference(Q, K, V):
        scores = Q @ K.T / d**0.5
        return _reference(np.where(np.tri(t, dtype=bool), scores, -np.inf), V)

    def masked(Q, K, V):
        scores = Q @ K.T / np.float32(d) ** 0.5
        return jax.nn.softmax(jnp.where(jnp.tri(t, dtype=bool), scores, -jnp.inf), axis=1) @ V

    def blocks(count: int) -> Form:
        def by_blocks(Q, K, V):
            size = -(-t // count)
            parts = []
            for first in range(0, t, size):
                end = min(first + size, t)
                scores = Q[first:end] @ K[:end].T / np.float32(d) ** 0.5
                seen = jnp.arange(end)[None] <= jnp.arange(first, end)[:, None]
                parts.append(jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=1) @ V[:end])
            return jnp.concatenate(parts)

        return by_blocks

    return Computation(
        name="causal_attention",
        make_arrays=lambda rng: normals(rng, (t, d), (t, d), (t, d)),
        reference=reference,
        forms={
            "masked": masked,
            "four_blocks": blocks(4),
            "eight_blocks": blocks(8),
            "jax.nn": lambda Q, K, V: _library(Q, K, V, causal=True),
        },
        spellings={
            **definitions(
                "def causal_attention(float(T,D) Q, float(T,D) K, float(T,E) V) -> (O)",
                {
                    "five_guarded_rows": """
s(q,k) +=! Q(q,d) * K(k,d) / sqrt(D) where k <= q
m(q) max=! s(q,k) where k <= q
p(q,k) = exp(s(q,k) - m(q)) where k <= q
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q)""",
                    "guard_everywhere": """
s(q,k) +=! Q(q,d) * K(k,d) / sqrt(D) where k <= q
m(q) max=! s(q,k) where k <= q
p(q,k) = exp(s(q,k) - m(q)) where k <= q
l(q) +=! p(q,k) where k <= q
O(q,e) +=! p(q,k) * V(k,e) / l(q) where k <= q""",
                    "guard_in_reductions": """
s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D)
m(q) = max[k where k <= q](s(q,k))
O(q,e) = sum[k where k <= q](exp(s(q,k) - m(q)) * V(k,e)) / sum[k where k <= q](exp(s(q,k) - m(q)))""",
                    "masked_to_infinity": """
s(q,k) = k <= q ? sum[d](Q(q,d) * K(k,d)) / sqrt(D) : -inf
m(q) max=! s(q,k)
p(q,k) = exp(s(q,k) - m(q))
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q)""",
                    "masked_to_a_large_number": """
s(q,k) +=! Q(q,d) * K(k,d) / sqrt(D)
z(q,k) = k > q ? -1e9 : s(q,k)
p(q,k) = exp(z(q,k) - max[j](z(q,j)))
O(q,e) = sum[k](p(q,k) / sum[j](p(q,j)) * V(k,e))""",
                    "weights_by_ternary": """
s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D)
m(q) = max[k where k <= q](s(q,k))
p(q,k) = k <= q ? exp(s(q,k) - m(q)) : 0.0
O(q,e) = sum[k](p(q,k) * V(k,e)) / sum[k](p(q,k))""",
                    "weights_times_condition": """
s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D)
m(q) = max[k](s(q,k))
p(q,k) = exp(s(q,k) - m(q)) * float(k <= q)
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q)""",
                    "added_infinity": """
s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D) + (k <= q ? 0.0 : -inf)
m(q) max=! s(q,k)
p(q,k) = exp(s(q,k) - m(q))
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e) / l(q)""",
                    "weights_by_logsumexp": """
s(q,k) +=! Q(q,d) * K(k,d) / sqrt(D)
w(q,k) = k <= q ? exp(s(q,k) - logsumexp[j where j <= q](s(q,j))) : 0.0
O(q,e) +=! w(q,k) * V(k,e)""",
                    "condition_as_mask": """
c(q,k) = k <= q ? 1.0 : 0.0 where q in 0:T, k in 0:T
s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D) + (c(q,k) - 1.0) * 1e9
l(q) logsumexp=! s(q,k)
O(q,e) +=! exp(s(q,k) - l(q)) * V(k,e)""",
                    "logsumexp": """
s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D)
l(q) logsumexp=! s(q,k) where k <= q
O(q,e) +=! exp(s(q,k) - l(q)) * V(k,e) where k <= q""",
                    "logsumexp_unnamed": """
l(q) = logsumexp[k where k <= q](sum[d](Q(q,d) * K(k,d)) / sqrt(D))
O(q,e) = sum[k where k <= q](exp(sum[d](Q(q,d) * K(k,d)) / sqrt(D) - l(q)) * V(k,e))""",
                },
            ),
            "python": _causal_attention,
            "sac": """
float[t,n] causal_attention(float[t,d] Q, float[t,d] K, float[t,n] V) {
    s = { [q,k] -> k <= q ? sum(Q[q] * K[k]) / sqrt(tof(d)) : -1e9 };
    p = { [q] -> exp(s[q] - maxval(s[q])) };
    return { [q,e] -> sum(p[q] * V[.,e]) / sum(p[q]) };
}""",
            "sac_ragged": """
float[t,n] causal_attention(float[t,d] Q, float[t,d] K, float[t,n] V) {
    s = { [q,k] -> sum(Q[q] * K[k]) / sqrt(tof(d)) };
    l = { [q] -> logsumexp({ [k] -> s[q,k] | [k] <= [q] }) | [q] < [t] };
    return { [q,e] -> sum({ [k] -> exp(s[q,k] - l[q]) * V[k,e] | [k] <= [q] }) | [q,e] < [t,n] };
}""",
        },
    )


def _causal_attention(Q: "float(T,D)", K: "float(T,D)", V: "float(T,E)"):
    s[q, k] = sum[d](Q[q, d] * K[k, d]) / sqrt(D)
    m[q] = max[k, k <= q](s[q, k])
    if k <= q:
        w[q, k] = exp(s[q, k] - m[q])
    O[q, e] = sum[k](w[q, k] * V[k, e]) / sum[k](w[q, k])
    return O


def _plain(Q, K, V):
    return jax.nn.softmax(Q @ K.T / np.float32(Q.shape[1]) ** 0.5, axis=1) @ V


def _normalised_late(Q, K, V):
    scores = (Q / np.float32(Q.shape[1]) ** 0.5) @ K.T
    weights = jnp.exp(scores - scores.max(1, keepdims=True))
    return (weights @ V) / weights.sum(1, keepdims=True)


def _library(Q, K, V, *, causal: bool):
    batch = (a[None, :, None, :] for a in (Q, K, V))
    return jax.nn.dot_product_attention(*batch, is_causal=causal)[0, :, 0]


def _reference(scores, V):
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights @ V / weights.sum(1, keepdims=True)
