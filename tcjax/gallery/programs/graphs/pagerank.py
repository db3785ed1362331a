"""PageRank over a list of edges

Each page passes its rank to the pages it links to, in equal parts, and with a small probability the reader starts over
somewhere. A step is a scatter over the edges, a `for` makes the power iteration, and there is no matrix. The gradient
with respect to the link weights says which links a page owes its rank to.

Page, Brin, Motwani and Winograd, "The PageRank citation ranking" (1999).
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

import tcjax
from tcjax.gallery import Program

STEPS = 30

pagerank = tcjax.kernel(
    """
def pagerank(float(N) anew, float(E) weight, int32(E) source, int32(E) target) -> (float(N) rank) {
    float(N) out
    float(N) come
    out(source(e)) +=! weight(e)
    share(e) = weight(e) / out(source(e))
    rank(n) = anew(n)
    for t in 0:steps {
        come(target(e)) +=! share(e) * rank(source(e))
        lost() = 1.0 - sum[n](come(n))
        rank(n) = damping * (come(n) + lost * anew(n)) + (1 - damping) * anew(n)
    }
}""",
    consts={"steps": STEPS, "damping": 0.85},
)


def data(pages: int, links: int) -> tuple[np.ndarray, ...]:
    """A web that has grown: each page links to earlier ones, some of them famous. The reader may start anywhere."""
    random = np.random.default_rng(0)
    source = np.sort(random.integers(1, pages, links))
    target = (source * random.random(links) ** 2).astype(np.int32)
    anew = np.full(pages, 1 / pages, np.float32)
    return anew, random.uniform(0.5, 1.5, links).astype(np.float32), source.astype(np.int32), target


def reference(anew, weight, source, target):
    matrix = scipy.sparse.coo_matrix((weight, (target, source)), (len(anew), len(anew))).tocsc()
    out = np.asarray(matrix.sum(0)).ravel()
    matrix = matrix @ scipy.sparse.diags(1 / np.where(out > 0, out, 1))
    rank = anew
    for _ in range(STEPS):
        come = matrix @ rank
        rank = 0.85 * (come + (1 - come.sum()) * anew) + 0.15 * anew
    return rank


def scattered(anew, weight, source, target):
    share = weight / jnp.zeros_like(anew).at[source].add(weight)[source]

    def step(_, rank):
        come = jnp.zeros_like(rank).at[target].add(share * rank[source])
        return 0.85 * (come + (1 - come.sum()) * anew) + 0.15 * anew

    return jax.lax.fori_loop(0, STEPS, step, anew)


def ordered(anew, weight, source, target):
    order = jnp.argsort(target)
    share = (weight / jax.ops.segment_sum(weight, source, len(anew), indices_are_sorted=True)[source])[order]
    source, target = source[order], target[order]

    def step(rank, _):
        come = jax.ops.segment_sum(share * rank[source], target, len(rank), indices_are_sorted=True)
        return 0.85 * (come + (1 - come.sum()) * anew) + 0.15 * anew, None

    return jax.lax.scan(step, anew, length=STEPS)[0]


def draw(figure, arrays, rank):
    """The web, oldest pages in the middle, and the rank of each page against the links that it has."""
    _, weight, source, target = arrays
    pages = np.arange(len(rank))
    x, y = np.sqrt(pages) * np.cos(2.4 * pages), np.sqrt(pages) * np.sin(2.4 * pages)
    left, right = figure.subplots(1, 2)
    left.plot([x[source], x[target]], [y[source], y[target]], color="0.5", linewidth=0.3, alpha=0.5, zorder=0)
    left.scatter(x, y, 2500 * rank, rank, cmap="plasma", norm="log")
    left.set(title="ranks", aspect="equal")
    left.axis("off")
    right.scatter(np.bincount(target, weight, len(rank)), rank, 12, rank, cmap="plasma", norm="log")
    right.set(xlabel="weight of the links to a page", ylabel="rank", yscale="log")


program = Program(
    pagerank,
    data,
    reference,
    {"at, add": scattered, "sorted segments": ordered},
    draw,
    small={"pages": 60, "links": 400},
    full={"pages": 20000, "links": 200000},
    picture={"pages": 300, "links": 1200},
    gradient=(0, 1),
    peers={"scipy.sparse": reference},
)

if __name__ == "__main__":
    program.main()
