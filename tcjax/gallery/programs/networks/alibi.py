"""Attention with linear biases (ALiBi)

A score decreases with the distance of the key, with a slope for each head, and only past keys are visible. Distance and
causality are expressed with the indices themselves: there is no mask, no table of distances, and no array of scores, in
the gradient either.

Press, Smith and Lewis, "Train short, test long" (2022).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

alibi = tcjax.kernel("""
def alibi(float(H,T,D) Q, float(H,T,D) K, float(H,T,E) V, float(H) slope) -> (out) {
    score(h,q,k) = sum[d](Q(h,q,d) * K(h,k,d)) / sqrt(D) - slope(h) * (q - k)
    total(h,q) = logsumexp[k where k <= q](score(h,q,k))
    out(h,q,e) = sum[k where k <= q](exp(score(h,q,k) - total(h,q)) * V(h,k,e))
}""")


def data(heads: int, length: int, width: int) -> tuple[np.ndarray, ...]:
    """Normal queries, keys and values, and the slopes of the paper: 2^(-8/H), 2^(-16/H), ..."""
    random = np.random.default_rng(0)
    Q, K, V = random.normal(size=(3, heads, length, width)).astype(np.float32)
    return Q, K, V, (2.0 ** (-8 * np.arange(1, heads + 1) / heads)).astype(np.float32)


def weights(Q, K, slope):
    """How much each query takes of each key, by NumPy."""
    q, k = np.ogrid[: Q.shape[1], : K.shape[1]]
    scores = np.einsum("hqd,hkd->hqk", Q, K) / np.sqrt(Q.shape[2]) - slope[:, None, None] * (q - k)
    scores = np.where(k <= q, scores, -np.inf)
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def reference(Q, K, V, slope):
    return weights(Q, K, slope) @ V


def dense(Q, K, V, slope):
    q, k = jnp.ogrid[: Q.shape[1], : K.shape[1]]
    scores = jnp.einsum("hqd,hkd->hqk", Q, K) / np.sqrt(Q.shape[2]) - slope[:, None, None] * (q - k)
    return jax.nn.softmax(jnp.where(k <= q, scores, -jnp.inf)) @ V


def library(Q, K, V, slope):
    q, k = jnp.ogrid[: Q.shape[1], : K.shape[1]]
    queries, keys, values = (x.swapaxes(0, 1) for x in (Q, K, V))
    bias = -slope[:, None, None] * (q - k)
    return jax.nn.dot_product_attention(queries, keys, values, bias, is_causal=True).swapaxes(0, 1)


def draw(figure, arrays, out):
    """What two heads look at."""
    Q, K, _, slope = arrays
    shown = weights(Q, K, slope)
    for axes, head in zip(figure.subplots(1, 2), (0, len(slope) - 1), strict=True):
        axes.imshow(np.sqrt(shown[head]), aspect="auto")
        axes.set(title=f"slope {slope[head]:.3g}", xlabel="key", ylabel="query")


program = Program(
    alibi,
    data,
    reference,
    {"softmax": dense, "dot_product_attention": library},
    draw,
    small={"heads": 4, "length": 48, "width": 8},
    full={"heads": 8, "length": 2048, "width": 64},
    picture={"heads": 4, "length": 96, "width": 16},
    gradient=(0, 1, 2, 3),
)

if __name__ == "__main__":
    program.main()
