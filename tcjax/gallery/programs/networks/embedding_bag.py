"""Weighted means of rows, bag by bag

A text becomes the mean of the vectors of its words, each with a weight. The bags have different lengths and stand one
behind the other; a ragged range runs over the words of each. The rows of the table are read where they are added up, the
work grows with the number of words, and the gradient goes to the rows that were read and to the weights.

As PyTorch's EmbeddingBag; weights by rarity after Arora, Liang and Ma, "A Simple but Tough-to-Beat Baseline" (2017).
"""

import re

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

embedding_bag = tcjax.kernel("""
def embedding_bag(float(V,D) table, float(P) weight, int32(P) word, int32(B) start) -> (mean_) {
    total(b) = sum[p in start(b):start(b+1)](weight(p))
    mean_(b,d) = sum[p in start(b):start(b+1)](weight(p) * table(word(p),d)) / total(b)
}""")


def lines() -> tuple[list[list[str]], list[int]]:
    """The lines of three texts, as words, and which text each is from: about breast cancer, wine and diabetes."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

    texts = [load().DESCR.lower().splitlines() for load in (load_breast_cancer, load_wine, load_diabetes)]
    pairs = [(re.findall("[a-z]+", line), number) for number, text in enumerate(texts) for line in text]
    words, numbers = zip(*(pair for pair in pairs if len(pair[0]) > 2), strict=True)
    return list(words), list(numbers)


def data(copies: int, width: int) -> tuple[np.ndarray, ...]:
    """The lines as bags; a vector for each word by chance, and a weight that is smaller for frequent words."""
    texts, _ = lines()
    vocabulary, words = np.unique(np.concatenate([line for line in texts] * copies), return_inverse=True)
    random = np.random.default_rng(0)
    table = random.normal(size=(len(vocabulary), width)) / np.sqrt(width)
    frequency = np.bincount(words) / len(words)
    start = np.concatenate([[0], np.cumsum([len(line) for line in texts] * copies)])
    weight = 1e-3 / (1e-3 + frequency[words])
    return table.astype(np.float32), weight.astype(np.float32), words.astype(np.int32), start.astype(np.int32)


def reference(table, weight, word, start):
    """Bag by bag."""
    bags = zip(start[:-1], start[1:], strict=True)
    return np.stack([np.average(table[word[lo:hi]], 0, weight[lo:hi]) for lo, hi in bags])


def by_segments(table, weight, word, start):
    bag = jnp.searchsorted(start, jnp.arange(len(word)), side="right") - 1
    sums = jax.ops.segment_sum(weight[:, None] * table[word], bag, len(start) - 1, indices_are_sorted=True)
    return sums / jax.ops.segment_sum(weight, bag, len(start) - 1, indices_are_sorted=True)[:, None]


def by_running_sums(table, weight, word, start):
    """Differences of sums of everything before: no scatter forward, but digits are lost."""
    sums = jnp.cumsum(weight[:, None] * table[word], 0)
    total = jnp.cumsum(weight)
    ends = start[1:] - 1
    return jnp.diff(sums[ends], axis=0, prepend=0) / jnp.diff(total[ends], prepend=0)[:, None]


def sparse(table, weight, word, start):
    """SciPy's product with a sparse matrix of the weights."""
    from scipy.sparse import csr_matrix

    bags = csr_matrix((weight, word, start), (len(start) - 1, len(table)))
    return (bags @ table) / bags.sum(1)


def draw(figure, arrays, means):
    """How alike the lines are: those of the same text, which stand together, share words."""
    axes = figure.subplots()
    unit = means / np.linalg.norm(means, axis=1, keepdims=True)
    axes.imshow(unit @ unit.T, aspect="auto", vmin=0, vmax=0.6)
    ends = np.searchsorted(lines()[1], [0, 1, 2, 3])
    axes.set_yticks((ends[1:] + ends[:-1]) / 2, ["breast cancer", "wine", "diabetes"])
    axes.set(xlabel="line", title="cosine of the means of two lines")


program = Program(
    embedding_bag,
    data,
    reference,
    {"segment_sum": by_segments, "running sums": by_running_sums},
    draw,
    small={"copies": 1, "width": 8},
    full={"copies": 60, "width": 64},
    picture={"copies": 1, "width": 256},
    gradient=(0, 1),
    peers={"SciPy": sparse},
)

if __name__ == "__main__":
    program.main()
