"""Alignment of two strings (Needleman and Wunsch)

The best score for writing two strings one above the other, with gaps. An entry of the table comes from its upper left
neighbour by a pair of letters, from above by a gap, or from the left by one or more gaps. The last is a maximum over
the row so far. So a row is one step, and only the last row is kept. The gradient with respect to the letter scores says
how often each pair occurs in the alignment; if each position has its own letter, it is the path.

Needleman and Wunsch, "A general method applicable to the search for similarities in the amino acid sequence of two
proteins" (1970).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tcjax
from tcjax.gallery import Program

needleman_wunsch = tcjax.kernel("""
def needleman_wunsch(float(L,K) score, float gap, int32(N) a, int32(M) b) -> (best) {
    H(j) = -gap() * j where j in 0:M+1
    for i in 0:N {
        pair(j) = j == 0 ? -inf : H(j-1) + score(a(i), b(j-1)) where j in 0:M+1
        top(j) = max(pair(j), H(j) - gap())
        H(j) = max[k where k <= j](top(k) + gap() * k) - gap() * j
    }
    best() = H(M)
}""")


def strings(length):
    """A piece of DNA, and what some mutations, insertions and deletions made of it."""
    random = np.random.default_rng(4)
    a = random.integers(0, 4, length)
    b = np.where(random.random(length) < 0.15, random.integers(0, 4, length), a)
    for part in (0.25, 0.7):
        b = np.delete(b, np.arange(int(part * length), int((part + 0.06) * length)))
    middle = len(b) // 2
    return a.astype(np.int32), np.insert(b, [middle] * (length // 10), 1).astype(np.int32)


def data(length: int) -> tuple[np.ndarray, ...]:
    """A and G, and C and T, are more easily exchanged than others."""
    score = np.array([[2.1, -2.2, -1.1, -2.3], [-2.2, 1.9, -2.4, -1.2], [-1.1, -2.4, 2, -2.1], [-2.3, -1.2, -2.1, 1.8]])
    return score.astype(np.float32), np.array(1.4, np.float32), *strings(length)


def reference(score, gap, a, b):
    H = -gap * np.add.outer(np.arange(len(a) + 1.0), np.arange(len(b) + 1.0))
    for i, j in np.ndindex(len(a), len(b)):
        H[i + 1, j + 1] = max(H[i, j] + score[a[i], b[j]], H[i, j + 1] - gap, H[i + 1, j] - gap)
    return H[-1, -1]


def entries(score, gap, a, b):
    """A scan over rows of a scan over the row."""

    def row(above, now):
        def entry(left, now):
            corner, up, pair = now
            found = jnp.maximum(corner + pair, jnp.maximum(up, left) - gap)
            return found, found

        first, letter = now
        found = lax.scan(entry, first, (above[:-1], above[1:], score[letter, b]))[1]
        return jnp.concatenate([first[None], found]), None

    top, side = (-gap * jnp.arange(len(string) + 1.0) for string in (b, a))
    return lax.scan(row, top, (side[1:], a))[0][-1]


def rows(score, gap, a, b):
    """A row at once, by a running maximum."""
    gaps = gap * jnp.arange(len(b) + 1.0)

    def row(H, letter):
        pair = jnp.pad(H[:-1] + score[letter, b], (1, 0), constant_values=-jnp.inf)
        return lax.cummax(jnp.maximum(pair, H - gap) + gaps) - gaps, None

    return lax.scan(row, -gaps, a)[0][-1]


def draw(figure, arrays, best):
    """Where letters are equal, and the path: the gradient by a score for every pair of places."""
    score, gap, a, b = arrays
    places = np.arange(len(a), dtype=np.int32), np.arange(len(b), dtype=np.int32)
    path = np.asarray(jax.grad(needleman_wunsch)(score[np.ix_(a, b)], gap, *places))
    axes = figure.subplots()
    axes.imshow(a[:, None] == b, cmap="Greys", alpha=0.25, aspect="auto")
    axes.scatter(*np.nonzero(path)[::-1], c=path[np.nonzero(path)], s=10, cmap="autumn", vmin=0, vmax=1.2)
    axes.set(xlabel="second string", ylabel="first string", title=f"the best alignment has a score of {best:.1f}")


program = Program(
    needleman_wunsch,
    data,
    reference,
    {"lax.scan in lax.scan": entries, "lax.scan and cummax": rows},
    draw,
    small={"length": 30},
    full={"length": 1024},
    picture={"length": 100},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
