"""Rotary embeddings, and attention scores

Pairs of query and key channels are rotated by angles that grow with the position. Their dot products then depend only
on the distance between query and key. The angles are a formula of the indices, not a table passed in.

Su and others, "RoFormer: Enhanced Transformer with Rotary Position Embedding" (2021); pairs as in GPT-NeoX.
"""

import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

BASE = 10000.0
rope = tcjax.load(
    """
def turn(float(H,T,D) x) -> (float(H,T,D) y) {
    angle(t,c)   = t * pow(base, -2.0 * c / D) where t in 0:T, c in 0:D/2
    y(h,t,c)     = x(h,t,c) * cos(angle(t,c)) - x(h,t,D/2+c) * sin(angle(t,c)) where c in 0:D/2
    y(h,t,D/2+c) = x(h,t,c) * sin(angle(t,c)) + x(h,t,D/2+c) * cos(angle(t,c)) where c in 0:D/2
}
def rope(float(H,T,D) Q, float(H,T,D) K) -> (score) {
    q = turn(Q)
    k = turn(K)
    score(h,i,j) = sum[d](q(h,i,d) * k(h,j,d)) / sqrt(D)
}""",
    consts={"base": BASE},
).rope


def data(heads: int, length: int, width: int) -> tuple[np.ndarray, ...]:
    """In each head one vector, with little noise, for the queries and the keys of all positions."""
    random = np.random.default_rng(0)
    Q, K = random.normal(size=(heads, 1, width)) + 0.1 * random.normal(size=(2, heads, length, width))
    return Q.astype(np.float32), K.astype(np.float32)


def reference(Q, K):
    """Pairs as complex numbers, which an angle turns."""
    half = Q.shape[2] // 2
    turns = np.exp(1j * np.arange(Q.shape[1])[:, None] * BASE ** (-np.arange(half) / half))
    q, k = ((x[..., :half] + 1j * x[..., half:]) * turns for x in (Q, K))
    return (q @ k.conj().swapaxes(1, 2)).real / np.sqrt(Q.shape[2])


def halves(Q, K):
    def turn(x):
        half = x.shape[2] // 2
        angle = jnp.arange(x.shape[1])[:, None] * BASE ** (-jnp.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1)

    return turn(Q) @ turn(K).swapaxes(1, 2) / np.sqrt(Q.shape[2])


def rotated(Q, K):
    """As most libraries have it: angles twice, and a vector of which one half has changed its sign."""
    half = Q.shape[2] // 2
    angle = jnp.tile(jnp.arange(Q.shape[1])[:, None] * BASE ** (-jnp.arange(half) / half), 2)

    def turn(x):
        return x * jnp.cos(angle) + jnp.concatenate([-x[..., half:], x[..., :half]], -1) * jnp.sin(angle)

    return jnp.einsum("hqd,hkd->hqk", turn(Q), turn(K)) / np.sqrt(Q.shape[2])


def draw(figure, arrays, score):
    """The scores of a head, and their mean at each distance."""
    left, right = figure.subplots(1, 2)
    left.imshow(score[0], aspect="auto")
    left.set(xlabel="key", ylabel="query", title="scores: the same along each diagonal")
    distance = np.arange(score.shape[1])
    for head in range(len(score)):
        right.plot(distance, [np.trace(score[head], -d) / (len(distance) - d) for d in distance])
    right.set(xlabel="distance of the key", title="one curve for each head")


program = Program(
    rope,
    data,
    reference,
    {"halves": halves, "angles twice": rotated},
    draw,
    small={"heads": 2, "length": 24, "width": 8},
    full={"heads": 8, "length": 1024, "width": 64},
    picture={"heads": 3, "length": 128, "width": 64},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
