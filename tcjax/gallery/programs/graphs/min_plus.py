"""Shortest paths between all places (Floyd and Warshall)

Intermediate places k are allowed one after the other: a path from i to j is either the old one, or one to k and one
from there. The loop over k contains two formulas, with minima and sums in place of sums and products. The gradient
counts paths: with respect to the length of a road, how many shortest paths use it; with respect to the wait at a place,
how many lead there or through. It stores the distances of a few steps and recomputes the others.

Floyd, "Algorithm 97: Shortest path" (1962); Warshall, "A theorem on Boolean matrices" (1962).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

min_plus = tcjax.kernel("""
def min_plus(float(N) wait, float(E) length, int32(E) first, int32(E) last) -> (d) {
    float(N,N) d
    d(first(e), last(e)) min=! length(e) + wait(last(e))
    d(i,i) = 0.0 where i in 0:N
    for k in 0:N {
        through(i,j) = d(i,k) + d(k,j)
        d(i,j) = min(d(i,j), through(i,j))
    }
}""")


def places(count: int) -> np.ndarray:
    """Places in a square."""
    return np.random.default_rng(0).uniform(size=(count, 2))


def data(count: int) -> tuple[np.ndarray, ...]:
    """Roads, both ways, between the places that are neighbours (Delaunay's triangles), and what each place costs."""
    from scipy.spatial import Delaunay

    where = places(count)
    triangles = Delaunay(where).simplices
    pairs = np.concatenate([triangles[:, [a, b]] for a in range(3) for b in range(3) if a != b])
    first, last = np.unique(pairs, axis=0).T.astype(np.int32)
    length = np.linalg.norm(where[first] - where[last], axis=1)
    wait = np.random.default_rng(1).uniform(0.01, 0.05, count)
    return wait.astype(np.float32), length.astype(np.float32), first, last


def reference(wait, length, first, last):
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    return dijkstra(csr_array((length + wait[last], (first, last)), shape=(len(wait), len(wait))))


def started(wait, length, first, last):
    d = jnp.full((len(wait), len(wait)), jnp.inf).at[first, last].min(length + wait[last])
    return d.at[jnp.diag_indices(len(wait))].set(0.0)


def allow(d, k):
    return jnp.minimum(d, d[:, k, None] + d[k]), None


def floyd(wait, length, first, last):
    return jax.lax.scan(allow, started(wait, length, first, last), jnp.arange(len(wait)))[0]


def chunks(wait, length, first, last):
    """For the gradient the distances of about sqrt(N) steps are stored, the others computed again."""
    size = next(size for size in range(int(len(wait) ** 0.5), 0, -1) if len(wait) % size == 0)

    @jax.checkpoint
    def chunk(d, places):
        return jax.lax.scan(allow, d, places)

    places = jnp.arange(len(wait)).reshape(-1, size)
    return jax.lax.scan(chunk, started(wait, length, first, last), places)[0]


def squared(wait, length, first, last):
    """Paths of two, four, eight roads: min-plus products, row by row."""

    def square(d, _):
        return jax.lax.map(jax.checkpoint(lambda row: (row[:, None] + d).min(0)), d), None

    doublings = int(np.ceil(np.log2(len(wait))))
    return jax.lax.scan(square, started(wait, length, first, last), length=doublings)[0]


def scipy(wait, length, first, last):
    return reference(wait.astype(np.float64), length.astype(np.float64), first, last)


def draw(figure, arrays, d):
    """Roads as wide as the number of shortest paths that use them, the gradient; and how far it is from one place."""
    wait, length, first, last = arrays
    where = places(len(wait))
    used = np.asarray(jax.grad(lambda length: min_plus(wait, length, first, last).sum())(length))
    left, right = figure.subplots(1, 2)
    for a, b, count in zip(where[first], where[last], used, strict=True):
        left.plot(*np.stack([a, b]).T, color="#d08770", linewidth=8 * count / used.max(), solid_capstyle="round")
    left.set_title("roads as wide as the gradient")
    start = np.argmin(((where - [0.1, 0.1]) ** 2).sum(1))
    right.plot(*np.stack([where[first], where[last]], 1).T, color="#808890", linewidth=0.4, zorder=0)
    shown = right.scatter(*where.T, c=d[start], s=25, cmap="plasma")
    right.plot(*where[start], "*", color="#5e81ac", markersize=12)
    right.set_title("how far it is from the star")
    figure.colorbar(shown, ax=right)
    for axes in (left, right):
        axes.set_aspect("equal")
        axes.axis("off")


program = Program(
    min_plus,
    data,
    reference,
    {"lax.scan": floyd, "checkpointed chunks": chunks, "squaring": squared},
    draw,
    small={"count": 30},
    full={"count": 256},
    picture={"count": 150},
    gradient=(0, 1),
    peers={"SciPy's dijkstra": scipy},
)

if __name__ == "__main__":
    program.main()
