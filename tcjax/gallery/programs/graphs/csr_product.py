"""Sparse matrix times matrix (CSR)

A sparse matrix is stored as its entries, row by row, with their columns and the start of each row. Here it is
multiplied by a dense matrix. Each row is a range between two pointers: `p in ptr(i):ptr(i+1)`. The work is linear in
the number of entries, however unequal the rows are, and the rows of the dense matrix are read in place. The gradient
with respect to the entries is one number each.

The format is SciPy's `csr_array`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse
from scipy.sparse import csr_array

import tcjax
from tcjax.gallery import Program

csr_product = tcjax.kernel("""
def csr_product(float(E) value, int32(E) col, int32(R) ptr, float(C,K) x) -> (y) {
    y(i,k) = sum[p in ptr(i):ptr(i+1)](value(p) * x(col(p), k))
}""")


def data(documents: int, words: int, width: int) -> tuple[np.ndarray, ...]:
    """Which words stand in which documents, by Zipf's law and of very different lengths; vectors of the words."""
    random = np.random.default_rng(0)
    length = np.ceil(random.lognormal(3, 1, documents)).astype(int)
    ranks = np.exp(random.random(length.sum()) * np.log(words)).astype(int) - 1
    counts = csr_array((np.ones(len(ranks)), (np.repeat(np.arange(documents), length), ranks)), (documents, words))
    counts.sum_duplicates()
    rare = np.log1p(documents / (1 + np.bincount(counts.indices, minlength=words)))
    value = (counts.data * rare[counts.indices]).astype(np.float32)
    x = random.normal(size=(words, width)).astype(np.float32)
    return value, counts.indices.astype(np.int32), counts.indptr.astype(np.int32), x


def reference(value, col, ptr, x):
    return csr_array((value, col, ptr), (len(ptr) - 1, len(x))) @ x


def rows_of(ptr, entries):
    return jnp.repeat(jnp.arange(len(ptr) - 1), jnp.diff(ptr), total_repeat_length=entries)


def segments(value, col, ptr, x):
    rows = rows_of(ptr, len(col))
    return jax.ops.segment_sum(value[:, None] * x[col], rows, len(ptr) - 1, indices_are_sorted=True)


def bcoo(value, col, ptr, x):
    """JAX's own sparse matrices."""
    places = jnp.stack([rows_of(ptr, len(col)), col], 1)
    shape = len(ptr) - 1, len(x)
    return sparse.BCOO((value, places), shape=shape, indices_sorted=True, unique_indices=True) @ x


def draw(figure, arrays, y):
    """Where the entries are, and the product."""
    value, col, ptr, _ = arrays
    left, right = figure.subplots(1, 2, width_ratios=(2.5, 1), sharey=True)
    rows = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    left.scatter(col, rows, c=value, s=2, cmap="cool", vmax=np.quantile(value, 0.95))
    left.set(title=f"{len(value)} entries", xlabel="word", ylabel="document", ylim=(len(ptr) - 1.5, -0.5))
    bound = np.quantile(np.abs(y), 0.98)
    right.imshow(y, aspect="auto", cmap="RdBu_r", vmin=-bound, vmax=bound)
    right.set(title="product", xlabel="channel")


program = Program(
    csr_product,
    data,
    reference,
    {"segment_sum": segments, "BCOO": bcoo},
    draw,
    small={"documents": 30, "words": 50, "width": 4},
    full={"documents": 5000, "words": 20000, "width": 64},
    picture={"documents": 120, "words": 400, "width": 32},
    gradient=(0, 3),
    peers={"scipy.sparse": reference},
)

if __name__ == "__main__":
    program.main()
