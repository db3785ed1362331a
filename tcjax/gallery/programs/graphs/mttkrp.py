"""A sparse tensor times two factors (MTTKRP)

The main step of a canonical (CP) decomposition: each entry of a sparse tensor, at (i, j, k), adds the product of row j
of one factor and row k of another to row i. The tensor is a list of entries, slice by slice, with a pointer to the
start of each slice; a ragged range does the rest. Here the tensor counts who bought what in which hour of the week, and
the factors describe items and hours by a few habits.

Bader and Kolda, "Efficient MATLAB computations with sparse and factored tensors" (2007).
"""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

mttkrp = tcjax.kernel("""
def mttkrp(float(E) value, int32(E) j, int32(E) k, int32(P) start, float(J,R) B, float(K,R) C) -> (A) {
    A(i,r) = sum[e in start(i):start(i+1)](value(e) * B(j(e), r) * C(k(e), r))
}""")


def habits(items: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """What is bought by habit, and when: hours of a day, on working days or at the weekend. Columns add up to one."""
    random = np.random.default_rng(0)
    hour = np.arange(168)
    day = np.exp(-(((hour[:, None] - np.linspace(8, 20, rank) + 12) % 24 - 12) ** 2) / 8)
    C = day * np.where(np.arange(rank) % 2, hour[:, None] >= 120, hour[:, None] < 120)
    B = random.exponential(size=(items, rank)) ** 3
    return B / B.sum(0), C / C.sum(0)


def data(people: int, items: int, bought: int, rank: int) -> tuple[np.ndarray, ...]:
    """Everyone has one main habit and sometimes another one; the counts are sorted by person."""
    random = np.random.default_rng(1)
    B, C = habits(items, rank)
    i = random.integers(0, people, bought)
    habit = np.where(random.uniform(size=bought) < 0.8, i * rank // people, random.integers(0, rank, bought))
    # A column's share of numbers below its running sum is what is drawn.
    draws = ((random.uniform(size=(bought, 1)) > factor.cumsum(0).T[habit]).sum(1) for factor in (B, C))
    j, k = (np.minimum(drawn, len(factor) - 1) for drawn, factor in zip(draws, (B, C), strict=True))
    places, value = np.unique(np.stack([i, j, k]), axis=1, return_counts=True)
    start = np.searchsorted(places[0], np.arange(people + 1))
    integers = (array.astype(np.int32) for array in (places[1], places[2], start))
    return value.astype(np.float32), *integers, B.astype(np.float32), C.astype(np.float32)


def reference(value, j, k, start, B, C):
    return np.stack([np.einsum("e,er,er->r", value[a:b], B[j[a:b]], C[k[a:b]]) for a, b in pairwise(start)])


def slices(start, count):
    return jnp.searchsorted(start, jnp.arange(count), side="right") - 1


def segments(value, j, k, start, B, C):
    terms = value[:, None] * B[j] * C[k]
    return jax.ops.segment_sum(terms, slices(start, len(value)), len(start) - 1, indices_are_sorted=True)


def matrix(value, j, k, start, B, C):
    """A sparse matrix with a column for each (j, k), times the Khatri-Rao product of the factors."""
    from jax.experimental.sparse import BCOO

    places = jnp.stack([slices(start, len(value)), j * len(C) + k], 1)
    sparse = BCOO((value, places), shape=(len(start) - 1, len(B) * len(C)), indices_sorted=True)
    return sparse @ (B[:, None] * C).reshape(-1, B.shape[1])


def scipy(value, j, k, start, B, C):
    from scipy.sparse import csr_array

    sparse = csr_array((value, j * len(C) + k, start), shape=(len(start) - 1, len(B) * len(C)))
    return sparse @ (B[:, None] * C).reshape(-1, B.shape[1])


def draw(figure, arrays, A):
    """The hours of the habits, and who has which: the result, times the inverse of the factors' products."""
    *_, B, C = arrays
    above, below = figure.subplots(2, 1, height_ratios=(1, 1.2))
    days = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
    above.plot(C)
    above.set(
        title="habits by hour of the week", xticks=np.arange(12, 168, 24), xticklabels=days, yticks=[], xlim=(0, 168)
    )
    weights = np.linalg.solve((B.T @ B) * (C.T @ C), A.T)
    edge = np.quantile(weights, 0.99)
    below.imshow(weights, aspect="auto", vmin=0, vmax=edge, interpolation="antialiased")
    below.set(
        title=f"found: who has which habit, of {int(arrays[0].sum())} things bought", xlabel="person", ylabel="habit"
    )


program = Program(
    mttkrp,
    data,
    reference,
    {"segment_sum": segments, "BCOO": matrix},
    draw,
    small={"people": 40, "items": 30, "bought": 800, "rank": 5},
    full={"people": 2000, "items": 400, "bought": 100000, "rank": 8},
    picture={"people": 400, "items": 200, "bought": 40000, "rank": 6},
    gradient=(0, 4, 5),
    peers={"SciPy": scipy},
)

if __name__ == "__main__":
    program.main()
