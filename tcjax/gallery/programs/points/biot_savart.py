"""The magnetic field of a wire (Biot-Savart)

A current in a closed wire makes a field: every short piece of the wire adds one that circles it. The wire closes on
itself, and the coordinates in a cross product go around from x to y to z to x: both are the same boundary, `wrap`. The
pairs of points and pieces are never stored. Coil designers use the gradient with respect to the wire.

Griffiths, "Introduction to electrodynamics" (4th edition, 2013), section 5.2; a current of 4 pi / mu_0 along the wire.
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

CORE = 0.05

biot_savart = tcjax.kernel(
    """
    def biot_savart(float(N,D) x, float(M,D) wire) -> (B) {
        along(j,d) = wire(wrap(j+1), d) - wire(j,d) where j in 0:M
        middle(j,d) = 0.5 * (wire(wrap(j+1), d) + wire(j,d)) where j in 0:M
        squared(i,j) = sum[d]((x(i,d) - middle(j,d)) * (x(i,d) - middle(j,d))) + core * core
        B(i,d) = sum[j]((along(j, wrap(d+1)) * (x(i, wrap(d+2)) - middle(j, wrap(d+2)))
                       - along(j, wrap(d+2)) * (x(i, wrap(d+1)) - middle(j, wrap(d+1))))
                      * pow(squared(i,j), -1.5)) where d in 0:D
    }""",
    consts={"core": CORE},
)


def data(side: int, pieces: int) -> tuple[np.ndarray, ...]:
    """A square of points in the plane y = 0, and a wire of 24 turns around a ring."""
    across, up = np.meshgrid(np.linspace(-1.8, 1.8, side), np.linspace(-0.9, 0.9, side // 2))
    points = np.stack([across, 0 * across, up], -1).reshape(-1, 3)
    s = np.linspace(0, 2 * np.pi, pieces, endpoint=False)
    radius = 1 + 0.35 * np.cos(24 * s)
    wire = np.stack([radius * np.cos(s), radius * np.sin(s), 0.35 * np.sin(24 * s)], 1)
    return points.astype(np.float32), wire.astype(np.float32)


def reference(x, wire):
    after = np.roll(wire, -1, 0)
    away = x[:, None] - (wire + after) / 2
    return (np.cross(after - wire, away) / ((away**2).sum(-1, keepdims=True) + CORE**2) ** 1.5).sum(1)


def crossed(x, wire):
    after = jnp.roll(wire, -1, 0)
    away = x[:, None] - (wire + after) / 2
    return (jnp.cross(after - wire, away) / ((away**2).sum(-1, keepdims=True) + CORE**2) ** 1.5).sum(1)


def blocks(x, wire):
    """64 points at a time, computed again for the gradient, and coordinate by coordinate."""
    after = jnp.roll(wire, -1, 0)
    along, middle = (after - wire).T, ((wire + after) / 2).T

    @jax.checkpoint
    def field(point):
        a = [point[d] - middle[d] for d in range(3)]
        squared = a[0] ** 2 + a[1] ** 2 + a[2] ** 2 + CORE**2
        pull = jax.lax.rsqrt(squared) / squared
        turns = (1, 2), (2, 0), (0, 1)
        return jnp.stack([((along[p] * a[q] - along[q] * a[p]) * pull).sum() for p, q in turns])

    return jax.lax.map(field, x, batch_size=64)


def draw(figure, arrays, B):
    """The wire from above, and a section through it: the field stays inside of the ring."""
    x, wire = arrays
    grid = len(np.unique(x[:, 2])), -1
    left, right = figure.subplots(1, 2, width_ratios=(1, 2))
    left.plot(*np.append(wire, wire[:1], 0).T[:2], color="#d08770")
    left.axhline(0, color="#5e81ac", linewidth=1, linestyle="--")
    left.set(title="from above", aspect="equal")
    left.axis("off")
    # Around the ring, across the section: into the page or out of it.
    edge = float(np.abs(B[:, 1]).max())
    X, Z, across = (values.reshape(grid) for values in (x[:, 0], x[:, 2], B[:, 1]))
    shown = right.pcolormesh(X, Z, across, cmap="coolwarm", vmin=-edge, vmax=edge, rasterized=True)
    right.streamplot(X[0], Z[:, 0], B[:, 0].reshape(grid), B[:, 2].reshape(grid), color="#404040", linewidth=0.5,
                     arrowsize=0.5, density=0.9)  # fmt: skip
    right.set(title="section: along the ring (colour), across it (lines)", aspect="equal", xlabel="x", ylabel="z")
    figure.colorbar(shown, ax=right, shrink=0.7)


program = Program(
    biot_savart,
    data,
    reference,
    {"cross product of all pairs": crossed, "lax.map of blocks": blocks},
    draw,
    small={"side": 16, "pieces": 60},
    full={"side": 90, "pieces": 2000},
    picture={"side": 120, "pieces": 2000},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
