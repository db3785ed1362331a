"""The distance between two point clouds (Chamfer distance)

The mean squared distance to the nearest point of the other cloud, in both directions: the usual loss for clouds and
meshes. The minimum over all pairs is written directly, and no pair is stored. The gradient moves each point along the
line to its nearest one. SciPy's tree finds neighbours in three dimensions faster, but it has no gradient and no
advantage in high dimensions.

Fan, Su and Guibas, "A point set generation network for 3D object reconstruction from a single image" (2017).
"""

import jax
import numpy as np

import tcjax
from tcjax.gallery import Program

chamfer = tcjax.kernel("""
def chamfer(float(N,D) x, float(M,D) y) -> (distance, there, back) {
    there(i) = min[j](sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))))
    back(j) = min[i](sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))))
    distance() = mean[i](there(i)) + mean[j](back(j))
}""")


def data(points: int) -> tuple[np.ndarray, ...]:
    """A knot, and the same knot turned by twenty degrees, as tubes of points: three fourths as many of the second."""
    random = np.random.default_rng(0)

    def knot(count: int, angle: float) -> np.ndarray:
        s = random.uniform(0, 2 * np.pi, count)
        curve = np.stack([np.sin(s) + 2 * np.sin(2 * s), np.cos(s) - 2 * np.cos(2 * s), -np.sin(3 * s)], 1)
        around = random.normal(size=(count, 3))
        tube = curve + 0.25 * around / np.linalg.norm(around, axis=1, keepdims=True)
        turn = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        return (tube @ turn).astype(np.float32)

    return knot(points, 0), knot(3 * points // 4, np.pi / 9)


def reference(x, y):
    squared = ((x[:, None] - y) ** 2).sum(-1)
    there, back = squared.min(1), squared.min(0)
    return there.mean() + back.mean(), there, back


def dense(x, y):
    squared = ((x[:, None] - y) ** 2).sum(-1)
    there, back = squared.min(1), squared.min(0)
    return there.mean() + back.mean(), there, back


def expanded(x, y):
    """The squares by a matrix product; near points lose digits."""
    squared = (x**2).sum(-1)[:, None] + (y**2).sum(-1) - 2 * x @ y.T
    there, back = squared.min(1), squared.min(0)
    return there.mean() + back.mean(), there, back


def indices(x, y):
    """The nearest ones by blocks of rows, without a gradient; then the distances to them, with one."""

    def nearest(x, y):
        def one(point):
            return ((point - y) ** 2).sum(-1).argmin()

        return jax.lax.map(one, x, batch_size=64)

    fixed_x, fixed_y = jax.lax.stop_gradient((x, y))
    there = ((x - y[nearest(fixed_x, fixed_y)]) ** 2).sum(-1)
    back = ((y - x[nearest(fixed_y, fixed_x)]) ** 2).sum(-1)
    return there.mean() + back.mean(), there, back


def scipy(x, y):
    from scipy.spatial import cKDTree

    there, back = (cKDTree(b).query(a)[0] ** 2 for a, b in ((x, y), (y, x)))
    return there.mean() + back.mean(), there, back


def draw(figure, arrays, results):
    """Both clouds, and how far each point of the first is from the second."""
    (x, y), (distance, there, _) = arrays, results
    left, right = figure.subplots(1, 2)
    left.scatter(*x.T[:2], s=2, color="#d08770", label=f"{len(x)} points")
    left.scatter(*y.T[:2], s=2, color="#5e81ac", label=f"{len(y)} points")
    left.set(title=f"Chamfer distance {distance:.3f}")
    left.legend(loc="upper left", markerscale=3, bbox_to_anchor=(-0.25, 1))
    shown = right.scatter(*x.T[:2], s=2, c=np.sqrt(there), cmap="plasma")
    right.set(title="from the first cloud to the nearest point")
    figure.colorbar(shown, ax=right)
    for axes in (left, right):
        axes.set_aspect("equal")
        axes.axis("off")


program = Program(
    chamfer,
    data,
    reference,
    {"array of all pairs": dense, "matrix product": expanded, "indices, then distances": indices},
    draw,
    small={"points": 160},
    full={"points": 4096},
    picture={"points": 3000},
    gradient=(0, 1),
    peers={"SciPy's cKDTree": scipy},
)

if __name__ == "__main__":
    program.main()
