"""Attention through a sliding window

Every query sees the last W keys, its own included: two guards say so. Blocks of scores that no query sees are never
computed, so the time grows with the length times W. No scores are stored, in the gradient either.

Beltagy, Peters and Cohan, "Longformer" (2020); Jiang and others, "Mistral 7B" (2023).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

WINDOW = 128
sliding_window = tcjax.kernel(
    """
def sliding_window(float(H,T,D) Q, float(H,T,D) K, float(H,T,E) V) -> (out) {
    score(h,q,k) = sum[d](Q(h,q,d) * K(h,k,d)) / sqrt(D)
    total(h,q) = logsumexp[k where k <= q, q - k < W](score(h,q,k))
    out(h,q,e) = sum[k where k <= q, q - k < W](exp(score(h,q,k) - total(h,q)) * V(h,k,e))
}""",
    consts={"W": WINDOW},
)


def data(heads: int, length: int, width: int) -> tuple[np.ndarray, ...]:
    """Queries, keys and values that change slowly from one position to the next."""
    noise = np.random.default_rng(0).normal(size=(3, heads, length + 15, width))
    sums = np.cumsum(np.pad(noise, ((0, 0), (0, 0), (1, 0), (0, 0))), 2)
    Q, K, V = ((sums[:, :, 16:] - sums[:, :, :-16]) / 4).astype(np.float32)
    return Q, K, V


def weights(Q, K):
    """How much each query takes of each key, by NumPy."""
    distance = np.subtract.outer(np.arange(Q.shape[1]), np.arange(K.shape[1]))
    seen = (distance >= 0) & (distance < WINDOW)
    scores = np.where(seen, Q @ K.swapaxes(1, 2) / np.sqrt(Q.shape[2]), -np.inf)
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def reference(Q, K, V):
    return weights(Q, K) @ V


def masked(Q, K, V):
    q, k = jnp.ogrid[: Q.shape[1], : K.shape[1]]
    scores = jnp.einsum("hqd,hkd->hqk", Q, K) / np.sqrt(Q.shape[2])
    return jax.nn.softmax(jnp.where((k <= q) & (q - k < WINDOW), scores, -jnp.inf)) @ V


def blocked(Q, K, V):
    """W queries at a time see their own keys and those of the block before; the length is a multiple of W."""

    def blocks(x):
        return x.reshape(len(x), -1, WINDOW, x.shape[-1])

    def pairs(x):
        return jnp.concatenate([jnp.pad(x, ((0, 0), (1, 0), (0, 0), (0, 0)))[:, :-1], x], 2)

    scores = jnp.einsum("hbqd,hbkd->hbqk", blocks(Q), pairs(blocks(K))) / np.sqrt(Q.shape[2])
    b, q, k = jnp.ogrid[: scores.shape[1], :WINDOW, : 2 * WINDOW]
    seen = (q < k) & (k <= q + WINDOW) & ((b > 0) | (k >= WINDOW))
    shares = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf))
    return jnp.einsum("hbqk,hbke->hbqe", shares, pairs(blocks(V))).reshape(*Q.shape[:2], -1)


def draw(figure, arrays, out):
    """What two heads look at, along the window."""
    shown = weights(*arrays[:2])
    for head, axes in enumerate(figure.subplots(1, 2, sharey=True)):
        axes.imshow(np.sqrt(shown[head]), aspect="auto", vmax=0.4)
        axes.set(title=f"head {head}: {WINDOW} keys for each query", xlabel="key")
        axes.set_ylabel("query" if head == 0 else None)


program = Program(
    sliding_window,
    data,
    reference,
    {"masked softmax": masked, "blocks of W": blocked},
    draw,
    small={"heads": 2, "length": 256, "width": 8},
    full={"heads": 8, "length": 4096, "width": 64},
    picture={"heads": 2, "length": 384, "width": 32},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
