"""Weighted means of rows, bag by bag

A text becomes the weighted mean of its word vectors. Bags differ in length and are stored one after the other; a ragged
range runs over the words of each. The work is linear in the number of words. The gradient goes to the table rows that
were read, and to the weights.

As PyTorch's EmbeddingBag; weights by rarity after Arora, Liang and Ma, "A Simple but Tough-to-Beat Baseline" (2017).
"""

import re
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

TEXTS = ("breast_cancer", "wine", "digits", "diabetes")
embedding_bag = tcjax.kernel("""
def embedding_bag(float(V,D) table, float(P) weight, int32(P) word, int32(B) start) -> (mean_) {
    total(b) = sum[p in start(b):start(b+1)](weight(p))
    mean_(b,d) = sum[p in start(b):start(b+1)](weight(p) * table(word(p),d)) / total(b)
}""")


def paragraphs() -> tuple[list[list[str]], np.ndarray]:
    """The paragraphs of four descriptions of data, as words, and the numbers of the descriptions they are from."""
    from sklearn import datasets

    found = []
    for number, name in enumerate(TEXTS):
        text = getattr(datasets, f"load_{name}")().DESCR.lower()
        found += [(re.findall("[a-z]+", part), number) for part in re.split("\\n *\\n|\\n *- ", text)]
    bags, texts = zip(*(pair for pair in found if len(pair[0]) > 3), strict=True)
    return list(bags), np.array(texts)


def data(copies: int, width: int) -> tuple[np.ndarray, ...]:
    """The paragraphs, in `copies` languages; frequent words have small weights, words of a text similar vectors."""
    bags, texts = paragraphs()
    lengths = [len(bag) for bag in bags]
    vocabulary, words = np.unique(np.concatenate(bags), return_inverse=True)
    count = np.bincount(words)
    random = np.random.default_rng(0)
    table = 0.5 * random.normal(size=(len(vocabulary), width))
    np.add.at(table, words, (random.normal(size=(len(TEXTS), width))[np.repeat(texts, lengths)] / count[words, None]))
    weight = 1e-3 / (1e-3 + count[words] / len(words))
    word = np.arange(copies)[:, None] * len(vocabulary) + words
    floats = (np.tile(table, (copies, 1)), np.tile(weight, copies))
    whole = (word.reshape(-1), np.cumsum([0, *lengths * copies]))
    return *(a.astype(np.float32) for a in floats), *(a.astype(np.int32) for a in whole)


def reference(table, weight, word, start):
    """Bag by bag."""
    return np.stack([np.average(table[word[lo:hi]], 0, weight[lo:hi]) for lo, hi in pairwise(start)])


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
    """The means in the plane where they differ most."""
    axes = figure.subplots()
    middle = means - means.mean(0)
    places = middle @ np.linalg.svd(middle)[2][:2].T
    for number, name in enumerate(TEXTS):
        axes.scatter(*places[paragraphs()[1] == number].T, s=16, label=name.replace("_", " "))
    axes.set(xticks=[], yticks=[], title="a point for each paragraph: the mean of the vectors of its words")
    axes.legend(title="from the text about")


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
