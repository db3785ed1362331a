"""Graph convolution

Each node sums the features of its neighbours and its own, divided by the square roots of both degrees. Edges are two
lists of nodes, in any order: `got(target(e), o) +=!` adds each edge's message to its target, and the degrees are
counted in the same way. The messages are never stored; their array would be the largest of all.

Kipf and Welling, "Semi-supervised classification with graph convolutional networks" (2017).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

gcn = tcjax.kernel("""
def gcn(float(N,D) x, float(D,O) W, int32(E) source, int32(E) target) -> (y) {
    float(N) degree
    float(N,O) got
    degree(target(e)) +=! 1.0
    scale(i) = rsqrt(1 + degree(i))
    h(i,o) = sum[d](x(i,d) * W(d,o))
    got(target(e),o) +=! scale(source(e)) * h(source(e),o)
    y(i,o) = relu(scale(i) * (got(i,o) + scale(i) * h(i,o)))
}""")


def graph(nodes, degree=8):
    """Points in the plane, joined where they are near; each edge in both directions."""
    from scipy.spatial import cKDTree

    points = np.random.default_rng(0).random((nodes, 2))
    pairs = cKDTree(points).query_pairs(np.sqrt(degree / (np.pi * nodes)), output_type="ndarray")
    return points, *np.concatenate([pairs, pairs[:, ::-1]]).T.astype(np.int32)


def data(nodes: int, width: int, channels: int) -> tuple[np.ndarray, ...]:
    """Features in which a place shows through the noise."""
    points, source, target = graph(nodes)
    random = np.random.default_rng(1)
    waves = np.sin(points @ random.normal(size=(2, width)) * 6)
    x = waves + random.normal(size=waves.shape)
    W = random.normal(size=(width, channels)) / np.sqrt(width)
    return x.astype(np.float32), W.astype(np.float32), source, target


def reference(x, W, source, target):
    adjacency = np.eye(len(x))
    np.add.at(adjacency, (target, source), 1)
    scale = 1 / np.sqrt(adjacency.sum(1))
    return np.maximum(scale[:, None] * adjacency * scale @ x @ W, 0)


def messages(x, W, source, target):
    """A weight for each edge, and self-loops as edges, as the libraries have them."""
    loops = jnp.arange(len(x), dtype="int32")
    source, target = jnp.concatenate([source, loops]), jnp.concatenate([target, loops])
    scale = jax.lax.rsqrt(jnp.zeros(len(x)).at[target].add(1.0))
    weight = scale[source] * scale[target]
    return jax.nn.relu(jnp.zeros((len(x), W.shape[1])).at[target].add(weight[:, None] * (x @ W)[source]))


def nodewise(x, W, source, target):
    """Scales at the nodes."""
    scale = jax.lax.rsqrt(1 + jax.ops.segment_sum(jnp.ones(len(target)), target, len(x)))[:, None]
    sent = scale * (x @ W)
    return jax.nn.relu(scale * (jax.ops.segment_sum(sent[source], target, len(x)) + sent))


def draw(figure, arrays, y):
    """What a channel would be at each node by itself, and with its neighbours."""
    x, W, source, target = arrays
    points, *_ = graph(len(x))
    channel = y.std(0).argmax()
    lines = np.stack([points[source], points[target]])
    titles = ("alone", "with the neighbours")
    values = (np.maximum(x @ W, 0)[:, channel], y[:, channel])
    for axes, title, value in zip(figure.subplots(1, 2), titles, values, strict=True):
        axes.plot(*lines.transpose(2, 0, 1), color="#808890", linewidth=0.3, alpha=0.4, zorder=0)
        axes.scatter(*points.T, c=value, s=9, cmap="cool", vmax=np.quantile(value, 0.98))
        axes.set(title=title, xticks=[], yticks=[])
        axes.spines[:].set_visible(False)


program = Program(
    gcn,
    data,
    reference,
    {"at[].add of messages": messages, "segment_sum, scales at the nodes": nodewise},
    draw,
    small={"nodes": 40, "width": 6, "channels": 4},
    full={"nodes": 20000, "width": 64, "channels": 64},
    picture={"nodes": 900, "width": 4, "channels": 6},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
