"""Sums of Gaussians: a kernel matrix times a vector

Each point of one set contributes a weighted Gaussian to every point of another. This is the inner loop of kernel
regression, support vector machines, Gaussian processes and density estimates. The formula is written for all pairs, and
the pairs are never stored: a block of them is computed, summed and dropped, also in the gradient with respect to
points, weights and width.

Schölkopf and Smola, "Learning with Kernels" (2002), chapter 2.
"""

from typing import no_type_check

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program


@no_type_check
@tcjax.kernel
def rbf(x: "float(N,D)", y: "float(M,D)", a: "float(M)", width: "float"):
    out[i] = sum[j](a[j] * exp(-sum[d]((x[i, d] - y[j, d]) ** 2) / (2 * width**2)))
    return out


def data(side: int, points: int) -> tuple[np.ndarray, ...]:
    """A square of `side` by `side` points, two moons as centres, +1 and -1 as their weights, and the width."""
    from sklearn.datasets import make_moons

    moons, kinds = make_moons(points, noise=0.12, random_state=0)
    grid = np.stack(np.meshgrid(np.linspace(-1.6, 2.6, side), np.linspace(-1.2, 1.7, side)), -1)
    a = np.where(kinds == 1, 1, -1) / points
    return tuple(np.asarray(array, np.float32) for array in (grid.reshape(-1, 2), moons, a, 0.2))


def reference(x, y, a, width):
    squared = ((x[:, None] - y) ** 2).sum(-1)
    return np.exp(-squared / (2 * width**2)) @ a


def dense(x, y, a, width):
    squared = ((x[:, None] - y) ** 2).sum(-1)
    return jnp.exp(-squared / (2 * width**2)) @ a


def expanded(x, y, a, width):
    """The squares by a matrix product; close points lose digits."""
    squared = (x**2).sum(-1)[:, None] + (y**2).sum(-1) - 2 * x @ y.T
    return jnp.exp(-squared / (2 * width**2)) @ a


def blocks(x, y, a, width):
    """64 rows at a time, computed again for the gradient, and no axis of two or three coordinates inside."""

    @jax.checkpoint
    def row(point):
        squared = sum((point[d] - y[:, d]) ** 2 for d in range(y.shape[1]))
        return jnp.exp(-squared / (2 * width**2)) @ a

    return jax.lax.map(row, x, batch_size=64)


def sklearn(x, y, a, width):
    from sklearn.metrics.pairwise import rbf_kernel

    return rbf_kernel(x, y, gamma=1 / (2 * width**2)) @ a


def draw(figure, arrays, out):
    """What the grid sees: its sign tells the two moons apart."""
    x, y, a, width = arrays
    side = int(len(x) ** 0.5)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for sign, colour in ((1, "#d08770"), (-1, "#5e81ac")):
        left.scatter(*y[np.sign(a) == sign].T, s=4, color=colour, label=f"a {'>' if sign > 0 else '<'} 0")
    left.set(title=f"{len(y)} centres", aspect="equal")
    left.legend(loc="upper right")
    field = out.reshape(side, side)
    edge = float(np.abs(out).max())
    grid = x.reshape(side, side, 2)
    shown = right.pcolormesh(grid[..., 0], grid[..., 1], field, cmap="coolwarm", vmin=-edge, vmax=edge, rasterized=True)
    right.contour(grid[..., 0], grid[..., 1], field, [0], colors="#303030", linewidths=1)
    right.set(title=f"their sum at {len(x)} points, width {width:.1f}", aspect="equal")
    figure.colorbar(shown, ax=[left, right], shrink=0.75)


program = Program(
    rbf,
    data,
    reference,
    {"array of all pairs": dense, "matrix product": expanded, "lax.map of blocks": blocks},
    draw,
    small={"side": 12, "points": 200},
    full={"side": 64, "points": 4096},
    picture={"side": 100, "points": 600},
    gradient=(0, 1, 2, 3),
    peers={"scikit-learn": sklearn},
)

if __name__ == "__main__":
    program.main()
