"""Matching by distances (Gromov-Wasserstein)

Two sets without a common space are compared by the distances within each: a coupling T is good if i and k are as far
apart as the j and l that they are matched to. The compiler multiplies out the sum over four indices into three sums of
products, and turns each of them into matrix products, in the gradient too. Nothing has N^4 terms or N^3 numbers.

Mémoli, "Gromov-Wasserstein distances and the metric approach to object matching" (2011); Peyré, Cuturi and Solomon,
"Gromov-Wasserstein averaging of kernel and distance matrices" (2016).
"""

from typing import no_type_check

import numpy as np

import tcjax
from tcjax.gallery import Program


@no_type_check
@tcjax.kernel
def gromov(C: "float(N,N)", E: "float(M,M)", T: "float(N,M)"):
    cost[i, j] = sum[k, l]((C[i, k] - E[j, l]) ** 2 * T[k, l])
    total[()] = sum[i, j](cost[i, j] * T[i, j])
    return total, cost


def shapes(points: int) -> tuple[np.ndarray, np.ndarray]:
    """A spiral, and the same one turned, seen from behind, and drawn with an unsteady hand."""
    random = np.random.default_rng(0)
    s = np.linspace(0.15, 1, points) ** 0.7
    spiral = np.stack([s * np.cos(9 * s), s * np.sin(9 * s)], 1)
    turn = np.array([[np.cos(2), np.sin(2)], [np.sin(2), -np.cos(2)]])
    return spiral, spiral @ turn + 0.02 * random.normal(size=spiral.shape)


def data(points: int) -> tuple[np.ndarray, ...]:
    """Distances inside of both shapes, and a coupling that sends each point to the places around its own."""
    C, E = (np.sqrt(((p[:, None] - p) ** 2).sum(-1)) for p in shapes(points))
    i, j = np.ogrid[:points, :points]
    T = np.exp(-(((i - j) / (0.05 * points)) ** 2))
    return tuple(array.astype(np.float32) for array in (C, E, T / T.sum()))


def reference(C, E, T):
    cost = np.stack([[(T * (row[:, None] - other) ** 2).sum() for other in E] for row in C])
    return (cost * T).sum(), cost


def expanded(C, E, T):
    """The square multiplied out, as in Peyré, Cuturi and Solomon."""
    cost = ((C**2) @ T.sum(1))[:, None] + (E**2) @ T.sum(0) - 2 * C @ T @ E.T
    return (cost * T).sum(), cost


def centred(C, E, T):
    """The same about the mean distance: what both have in common costs no digits."""
    return expanded(C - C.mean(), E - C.mean(), T)


def draw(figure, arrays, results):
    """Both shapes in the colours of the first, and what it would cost to send i to j."""
    total, cost = results
    first, second = shapes(len(cost))
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 1.2))
    colours = np.linspace(0, 1, len(first))
    left.scatter(*first.T, s=8, c=colours, cmap="plasma")
    left.set_title("a spiral")
    middle.scatter(*second.T, s=8, c=colours[cost.argmin(0)], cmap="plasma")
    middle.set_title("coloured by the cheapest i")
    for axes in (left, middle):
        axes.set_aspect("equal")
        axes.axis("off")
    shown = right.imshow(cost.T, origin="lower")
    right.plot(np.arange(len(cost)), cost.argmin(1), ".", markersize=1.5, color="#d08770")
    right.set(title=f"cost(i,j); objective {total:.4f}", xlabel="i", ylabel="j")
    figure.colorbar(shown, ax=right)


program = Program(
    gromov,
    data,
    reference,
    {"multiplied out": expanded, "about the mean": centred},
    draw,
    small={"points": 20},
    full={"points": 512},
    picture={"points": 200},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
