"""Attention within packed sequences of different lengths

Sequences are stored one after the other, without padding, and `start` says where each begins. A position is counted
from the start of its sequence `b`, and the ragged range `0:size(b)` says how many keys there are: no query sees another
sequence. The work grows with the number of sequences times the square of the longest, L, not with the square of the
total length.

As in Dao, "FlashAttention-2" (2023), for sequences of variable length.
"""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

LONGEST = 80
ragged_attention = tcjax.kernel(
    """
def ragged_attention(float(N,H,D) Q, float(N,H,D) K, float(N,H,E) V, int32(B) start) -> (float(N,H,E) out) {
    size(b) = start(b+1) - start(b)
    score(b,h,q,k) = sum[d](Q(start(b)+q,h,d) * K(start(b)+k,h,d)) / sqrt(D) where b in 0:B-1, q in 0:L, k in 0:L
    total(b,h,q) = logsumexp[k in 0:size(b)](score(b,h,q,k))
    out(start(b)+q,h,e) = sum[k in 0:size(b)](exp(score(b,h,q,k) - total(b,h,q)) * V(start(b)+k,h,e))
                          where q in 0:size(b), unique start(b)+q
}""",
    consts={"L": LONGEST},
)


def lines(count: int) -> list[str]:
    """Lines of a text about breast cancer, each of a few words and of at most `LONGEST` letters."""
    from sklearn.datasets import load_breast_cancer

    text = (line.strip() for line in load_breast_cancer().DESCR.splitlines())
    return [line[:LONGEST] for line in text if len(line.split()) > 2][-count:]


def data(count: int, heads: int, width: int) -> tuple[np.ndarray, ...]:
    """Lines of text, and letters as random vectors: a query finds the keys of its own letter."""
    text = "".join(lines(count))
    random = np.random.default_rng(0)
    letters = random.normal(size=(256, heads, width))[[ord(letter) % 256 for letter in text]]
    Q, K, V = (letters + 0.3 * random.normal(size=(3, len(text), heads, width))).astype(np.float32)
    return Q, K, V, np.cumsum([0, *map(len, lines(count))]).astype(np.int32)


def softmax(scores):
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def reference(Q, K, V, start):
    """Sequence by sequence."""
    parts = []
    for lo, hi in pairwise(start):
        scores = np.einsum("qhd,khd->hqk", Q[lo:hi], K[lo:hi]) / np.sqrt(Q.shape[2])
        parts.append(np.einsum("hqk,khe->qhe", softmax(scores), V[lo:hi]))
    return np.concatenate(parts)


def masked(Q, K, V, start):
    """All pairs of positions, and minus infinity between sequences."""
    row = jnp.searchsorted(start, jnp.arange(len(Q)), side="right")
    scores = jnp.einsum("qhd,khd->hqk", Q, K) / np.sqrt(Q.shape[2])
    shares = jax.nn.softmax(jnp.where(row[:, None] == row, scores, -jnp.inf))
    return jnp.einsum("hqk,khe->qhe", shares, V)


def padded(Q, K, V, start):
    """Copies of the longest length for all sequences, and back."""
    at = start[:-1, None] + jnp.arange(LONGEST)
    queries, keys, values = (jnp.take(x, at, axis=0, mode="clip") for x in (Q, K, V))
    scores = jnp.einsum("bqhd,bkhd->bhqk", queries, keys) / np.sqrt(Q.shape[2])
    shares = jax.nn.softmax(jnp.where((at < start[1:, None])[:, None, None], scores, -jnp.inf))
    out = jnp.einsum("bhqk,bkhe->bqhe", shares, values)
    row = jnp.searchsorted(start, jnp.arange(len(Q)), side="right") - 1
    return out[row, jnp.arange(len(Q)) - start[row]]


def draw(figure, arrays, out):
    """The lines, packed, and what each letter sees: its own line, and there its own letter."""
    Q, K, _, start = arrays
    row = np.searchsorted(start, np.arange(len(Q)), side="right")
    scores = np.where(row[:, None] == row, Q[:, 0] @ K[:, 0].T / np.sqrt(Q.shape[2]), -np.inf)
    axes = figure.subplots()
    axes.imshow(softmax(scores) ** 0.4, aspect="auto", vmax=0.7)
    starts = [line if len(line) < 14 else f"{line[:12]}…" for line in lines(len(start) - 1)]
    axes.set_yticks((start[1:] + start[:-1]) / 2, starts)
    axes.set(xlabel="key", title="each line is a sequence of letters")


program = Program(
    ragged_attention,
    data,
    reference,
    {"masked softmax": masked, "padded": padded},
    draw,
    small={"count": 5, "heads": 2, "width": 8},
    full={"count": 64, "heads": 4, "width": 64},
    picture={"count": 6, "heads": 1, "width": 32},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
