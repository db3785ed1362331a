"""Graph attention

Each node collects the features of its neighbours, weighted by a softmax over pair scores. Nodes have different numbers
of neighbours: the range of p ends where the next node's begins. So nothing is padded to the largest degree, and the
work is linear in the number of edges. Heads are an index.

Velickovic et al., "Graph attention networks" (2018).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

gat = tcjax.kernel("""
def gat(float(N,D) x, float(D,H,O) W, float(H,O) asks, float(H,O) offers, int32(R) ptr, int32(E) col) -> (y) {
    z(i,h,o) = sum[d](x(i,d) * W(d,h,o))
    query(i,h) = sum[o](z(i,h,o) * asks(h,o))
    key(i,h) = sum[o](z(i,h,o) * offers(h,o))
    score(p,h) = max(query(i,h) + key(col(p),h), 0.2 * (query(i,h) + key(col(p),h))) where p in ptr(i):ptr(i+1)
    most(i,h) = max[p in ptr(i):ptr(i+1)](score(p,h))
    weight(p,h) = exp(score(p,h) - most(i,h)) where p in ptr(i):ptr(i+1)
    total(i,h) = sum[p in ptr(i):ptr(i+1)](weight(p,h))
    y(i,h,o) = sum[p in ptr(i):ptr(i+1)](weight(p,h) * z(col(p),h,o)) / total(i,h)
}""")


def graph(nodes):
    """Digits of scikit-learn, and for each the nearest ones, itself, and those of which it is a nearest one."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import kneighbors_graph

    pixels, label = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    chosen = random.permutation(len(pixels))[:nodes]
    pixels, label = pixels[chosen] / 16, label[chosen]
    near = kneighbors_graph(pixels, 6, include_self=True)
    near = (near + near.T).tocsr()
    near.sort_indices()
    return pixels, label, near


def data(nodes: int, heads: int, channels: int) -> tuple[np.ndarray, ...]:
    """Pixels of the digits, and random weights."""
    pixels, _, near = graph(nodes)
    random = np.random.default_rng(1)
    W = random.normal(size=(pixels.shape[1], heads, channels)) / 4
    asks, offers = random.normal(size=(2, heads, channels))
    floats = (array.astype(np.float32) for array in (pixels, W, asks, offers))
    return *floats, near.indptr.astype(np.int32), near.indices.astype(np.int32)


def scores(x, W, asks, offers):
    z = np.einsum("id,dho->iho", x, W)
    sums = np.einsum("iho,ho->ih", z, asks)[:, None] + np.einsum("iho,ho->ih", z, offers)
    return z, np.where(sums > 0, sums, 0.2 * sums)


def reference(x, W, asks, offers, ptr, col):
    z, score = scores(x, W, asks, offers)
    found = np.zeros_like(z)
    for i in range(len(x)):
        near = col[ptr[i] : ptr[i + 1]]
        weight = np.exp(score[i, near] - score[i, near].max(0))
        found[i] = np.einsum("ph,pho->ho", weight / weight.sum(0), z[near])
    return found


def segments(x, W, asks, offers, ptr, col):
    """The row of each entry, and one operation per segment for each line of the softmax."""
    rows = jnp.repeat(jnp.arange(len(x)), jnp.diff(ptr), total_repeat_length=len(col))
    z = jnp.einsum("id,dho->iho", x, W)
    query, key = (z * asks).sum(-1), (z * offers).sum(-1)
    score = jax.nn.leaky_relu(query[rows] + key[col], 0.2)
    most = jax.ops.segment_max(score, rows, len(x), indices_are_sorted=True)
    weight = jnp.exp(score - most[rows])
    total = jax.ops.segment_sum(weight, rows, len(x), indices_are_sorted=True)
    shares = weight / total[rows]
    return jax.ops.segment_sum(shares[..., None] * z[col], rows, len(x), indices_are_sorted=True)


def masked(x, W, asks, offers, ptr, col):
    """All pairs of nodes, as in the paper's own code."""
    rows = jnp.repeat(jnp.arange(len(x)), jnp.diff(ptr), total_repeat_length=len(col))
    z = jnp.einsum("id,dho->iho", x, W)
    sums = jnp.einsum("iho,ho->hi", z, asks)[:, :, None] + jnp.einsum("iho,ho->hi", z, offers)[:, None]
    near = jnp.zeros((len(x), len(x)), bool).at[rows, col].set(True)
    shares = jax.nn.softmax(jnp.where(near, jax.nn.leaky_relu(sums, 0.2), -jnp.inf))
    return jnp.einsum("hij,jho->iho", shares, z)


def draw(figure, arrays, _):
    """For two heads, the attention of each digit to the others, with digits sorted by class."""
    x, W, asks, offers, *_ = arrays
    _, label, near = graph(len(x))
    order = np.argsort(label, kind="stable")
    score = np.exp(scores(x, W, asks, offers)[1]) * (near.toarray() > 0)[..., None]
    ends = np.searchsorted(label[order], range(11))
    for head, axes in enumerate(figure.subplots(1, 2)):
        share = score[..., head] / score[..., head].sum(1, keepdims=True)
        rows, columns = np.nonzero(share[order][:, order])
        value = share[order][:, order][rows, columns]
        axes.scatter(columns, rows, c=value, s=25 * value, cmap="cool", vmax=0.5)
        axes.set(xticks=(ends[1:] + ends[:-1]) / 2, yticks=(ends[1:] + ends[:-1]) / 2, title=f"head {head}")
        axes.set(xticklabels=range(10), yticklabels=range(10), xlabel="neighbour", ylabel="node", aspect="equal")
        axes.invert_yaxis()


program = Program(
    gat,
    data,
    reference,
    {"segment_max, segment_sum": segments, "all pairs and a mask": masked},
    draw,
    small={"nodes": 40, "heads": 2, "channels": 4},
    full={"nodes": 1500, "heads": 8, "channels": 8},
    picture={"nodes": 240, "heads": 2, "channels": 6},
    gradient=(0, 1, 2, 3),
)

if __name__ == "__main__":
    program.main()
