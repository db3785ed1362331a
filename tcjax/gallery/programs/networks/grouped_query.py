"""Grouped-query attention

Several query heads share one key and value head, which makes the cache of a language model smaller. Query head `h`
reads key head `h / G`, and that is all there is to it: you repeat and reshape nothing by hand. The gradient adds up the
contributions of all queries in a group.

Ainslie and others, "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints" (2023).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

GROUP = 4
grouped_query = tcjax.kernel(
    """
def grouped_query(float(H,T,D) Q, float(L,T,D) K, float(L,T,E) V) -> (out) {
    score(h,q,k) = sum[d](Q(h,q,d) * K(h / G, k, d)) / sqrt(D)
    total(h,q) = logsumexp[k where k <= q](score(h,q,k))
    out(h,q,e) = sum[k where k <= q](exp(score(h,q,k) - total(h,q)) * V(h / G, k, e))
}""",
    consts={"G": GROUP},
)


def data(groups: int, length: int, width: int) -> tuple[np.ndarray, ...]:
    """Keys are waves of their position; each head of queries looks for the wave of an earlier position of its own."""
    random = np.random.default_rng(0)
    frequency = random.uniform(0.05, 3, size=(groups, 1, width // 2))

    def waves(back):
        phase = frequency * (np.arange(length)[:, None] - back)
        return 2 * np.concatenate([np.cos(phase), np.sin(phase)], -1)

    Q = np.stack([waves(8 * head)[head // GROUP] for head in range(GROUP * groups)])
    Q, K, V = Q, waves(0), random.normal(size=(groups, length, width))
    return Q.astype(np.float32), K.astype(np.float32), V.astype(np.float32)


def weights(Q, K):
    """How much each query takes of each key, by NumPy."""
    scores = Q @ np.repeat(K, GROUP, 0).swapaxes(1, 2) / np.sqrt(Q.shape[2])
    scores = np.where(np.tri(Q.shape[1], dtype=bool), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def reference(Q, K, V):
    return weights(Q, K) @ np.repeat(V, GROUP, 0)


def repeated(Q, K, V):
    keys, values = jnp.repeat(K, GROUP, 0), jnp.repeat(V, GROUP, 0)
    scores = Q @ keys.swapaxes(1, 2) / np.sqrt(Q.shape[2])
    return jax.nn.softmax(jnp.where(jnp.tri(Q.shape[1], dtype=bool), scores, -jnp.inf)) @ values


def grouped(Q, K, V):
    queries = Q.reshape(len(K), GROUP, *Q.shape[1:])
    scores = jnp.einsum("lgqd,lkd->lgqk", queries, K) / np.sqrt(Q.shape[2])
    shares = jax.nn.softmax(jnp.where(jnp.tri(Q.shape[1], dtype=bool), scores, -jnp.inf))
    return jnp.einsum("lgqk,lke->lgqe", shares, V).reshape(*Q.shape[:2], -1)


def library(Q, K, V):
    queries, keys, values = (x.swapaxes(0, 1) for x in (Q, K, V))
    return jax.nn.dot_product_attention(queries, keys, values, is_causal=True).swapaxes(0, 1)


def draw(figure, arrays, out):
    """Four heads look at the same keys, each further back."""
    shown = weights(*arrays[:2])
    for head, axes in enumerate(figure.subplots(1, GROUP, sharey=True)):
        axes.imshow(np.sqrt(shown[head]), aspect="auto")
        axes.set(title=f"head {head} of queries", xlabel="key")
        axes.set_ylabel("query" if head == 0 else None)


program = Program(
    grouped_query,
    data,
    reference,
    {"repeated keys": repeated, "einsum over groups": grouped, "dot_product_attention": library},
    draw,
    small={"groups": 2, "length": 48, "width": 8},
    full={"groups": 2, "length": 2048, "width": 64},
    picture={"groups": 1, "length": 64, "width": 32},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
