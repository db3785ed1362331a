"""Optimal transport between two clouds (Sinkhorn)

Moves one cloud of points onto another at the least total squared distance, with entropic smoothing. Each step is a
logsumexp over the other cloud, so small widths do not underflow; the steps are a loop inside the kernel. Neither the
cost matrix nor the transport plan is ever stored, even in the gradient through all steps. It keeps only the two
potentials of each step.

Cuturi, "Sinkhorn distances" (2013); Peyré and Cuturi, "Computational optimal transport" (2019), chapter 4.
"""

from typing import no_type_check

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

STEPS = 40


@no_type_check
@tcjax.kernel(consts={"steps": STEPS})
def sinkhorn(x: "float(N,D)", y: "float(M,D)", width: "float"):
    for j in range(M):
        g[j] = 0.0
    for _t in range(steps):
        f[i] = -width * logsumexp[j]((g[j] - sum[d]((x[i, d] - y[j, d]) ** 2)) / width - log(M))
        g[j] = -width * logsumexp[i]((f[i] - sum[d]((x[i, d] - y[j, d]) ** 2)) / width - log(N))
    plan[i, j] = exp((f[i] + g[j] - sum[d]((x[i, d] - y[j, d]) ** 2)) / width) / M
    moved[i, d] = sum[j](plan[i, j] * y[j, d])
    cost[()] = sum[i](f[i]) / N + sum[j](g[j]) / M
    return moved, cost


def data(points: int, first: int = 3, second: int = 5) -> tuple[np.ndarray, ...]:
    """Points spread like the ink of two written digits, in the unit square, and the width."""
    from sklearn.datasets import load_digits

    images, names = load_digits().images, load_digits().target
    random = np.random.default_rng(0)
    clouds = []
    for name in (first, second):
        ink = images[np.argmax(names == name)] ** 2
        rows, columns = np.divmod(random.choice(64, points, p=ink.ravel() / ink.sum()), 8)
        clouds.append((np.stack([columns, 7 - rows], 1) + random.uniform(size=(points, 2))) / 8)
    return tuple(np.asarray(array, np.float32) for array in (*clouds, 0.01))


def reference(x, y, width):
    c = ((x[:, None] - y) ** 2).sum(-1)
    K = np.exp(-c / width)
    u, v = np.ones(len(x)), np.ones(len(y))
    for _ in range(STEPS):
        u = 1 / (K @ v / len(y))
        v = 1 / (u @ K / len(x))
    plan = u[:, None] * K * v / len(y)
    return plan @ y, width * (np.log(u).mean() + np.log(v).mean())


def matrix(x, y, width):
    c = ((x[:, None] - y) ** 2).sum(-1)
    N, M = c.shape

    def step(g, _):
        f = -width * jax.nn.logsumexp((g - c) / width - jnp.log(M), axis=1)
        return -width * jax.nn.logsumexp((f[:, None] - c) / width - jnp.log(N), axis=0), f

    g, f = jax.lax.scan(step, jnp.zeros(M), length=STEPS)
    return jnp.exp((f[-1][:, None] + g - c) / width) @ y / M, f[-1].mean() + g.mean()


def rows(x, y, width):
    """Rows of costs computed where they are needed, 64 at a time, and again for the gradient."""
    N, M = len(x), len(y)

    def costs(point, points):
        return sum((point[d] - points[:, d]) ** 2 for d in range(len(point)))

    def softmin(x, y, g):
        @jax.checkpoint
        def one(point):
            return -width * jax.nn.logsumexp((g - costs(point, y)) / width - jnp.log(len(y)))

        return jax.lax.map(one, x, batch_size=64)

    def step(g, _):
        f = softmin(x, y, g)
        return softmin(y, x, f), f

    g, f = jax.lax.scan(step, jnp.zeros(M), length=STEPS)
    move = jax.checkpoint(lambda a: jnp.exp((a[1] + g - costs(a[0], y)) / width) @ y / M)
    return jax.lax.map(move, (x, f[-1]), batch_size=64), f[-1].mean() + g.mean()


def draw(figure, arrays, results):
    """One digit becomes the other: each point goes straight to where the plan takes it."""
    x, (moved, cost) = arrays[0], results
    panels = figure.subplots(1, 4)
    for axes, share in zip(panels, np.linspace(0, 1, 4), strict=True):
        axes.scatter(*((1 - share) * x + share * moved).T, s=3, c=x[:, 1], cmap="plasma")
        axes.set(title=f"{share:.0%} of the way", aspect="equal", xlim=(0, 1), ylim=(-0.02, 1.02))
        axes.axis("off")
    panels[-1].set_title(f"there: cost {cost:.4f}")


program = Program(
    sinkhorn,
    data,
    reference,
    {"matrix of costs": matrix, "lax.map of rows": rows},
    draw,
    small={"points": 60},
    full={"points": 1024},
    picture={"points": 700},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
