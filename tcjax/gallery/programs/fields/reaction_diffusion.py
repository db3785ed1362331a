"""Patterns of a reaction (Gray and Scott)

Two substances diffuse, and one feeds on the other. Spots, stripes or labyrinths form, depending on two rates that vary
in space here. A step is the formula of the paper, with a Laplacian whose neighbours `wrap` around. The gradient, with
respect to the initial concentrations and the rates, goes through all steps and keeps the concentrations of only a
fraction of them.

Pearson, "Complex patterns in a simple system" (1993).
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage

import tcjax
from tcjax.gallery import Program

STEPS = 200

gray_scott = tcjax.kernel(
    """
def gray_scott(float(N,M) food, float(N,M) eater, float(N,M) feed, float(N,M) kill) -> (u, v) {
    u(i,j) = food(i,j)
    v(i,j) = eater(i,j)
    for t in 0:steps {
        spread_u(i,j) = sum[a in -1:2](u(wrap(i+a), j) + u(i, wrap(j+a))) - 6 * u(i,j) where i in 0:N, j in 0:M
        spread_v(i,j) = sum[a in -1:2](v(wrap(i+a), j) + v(i, wrap(j+a))) - 6 * v(i,j) where i in 0:N, j in 0:M
        eaten(i,j) = u(i,j) * v(i,j) * v(i,j)
        u(i,j) = u(i,j) + 0.2 * spread_u(i,j) - eaten(i,j) + feed(i,j) * (1 - u(i,j))
        v(i,j) = v(i,j) + 0.1 * spread_v(i,j) + eaten(i,j) - (feed(i,j) + kill(i,j)) * v(i,j)
    }
}""",
    consts={"steps": STEPS},
)


def data(height: int, width: int) -> tuple[np.ndarray, ...]:
    """Food everywhere, a few drops of what feeds on it, and rates that change from place to place."""
    y, x = np.mgrid[:height, :width]
    random = np.random.default_rng(0)
    eater = np.zeros((height, width), np.float32)
    for row, column in random.integers(0, (height, width), (height * width // 200, 2)):
        eater[(abs(y - row) < 3) & (abs(x - column) < 3)] = 0.5
    feed = 0.035 + 0.02 * np.sin(np.pi * y / height) ** 2
    kill = 0.058 + 0.006 * np.sin(np.pi * x / width) ** 2
    return 1 - eater, eater, feed.astype(np.float32), kill.astype(np.float32)


def reference(u, v, feed, kill):
    cross = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    for _ in range(STEPS):
        spread = [scipy.ndimage.convolve(x, cross, mode="wrap") for x in (u, v)]
        eaten = u * v**2
        u = u + 0.2 * spread[0] - eaten + feed * (1 - u)
        v = v + 0.1 * spread[1] + eaten - (feed + kill) * v
    return u, v


def simulated(u, v, feed, kill, laplacian):
    def step(_, fields):
        u, v = fields
        eaten = u * v * v
        new_u = u + 0.2 * laplacian(u) - eaten + feed * (1 - u)
        return new_u, v + 0.1 * laplacian(v) + eaten - (feed + kill) * v

    return jax.lax.fori_loop(0, STEPS, step, (u, v))


def rolled(u, v, feed, kill):
    return simulated(u, v, feed, kill, lambda x: sum(jnp.roll(x, s, a) for s in (-1, 1) for a in (0, 1)) - 4 * x)


def padded(u, v, feed, kill):
    def laplacian(x):
        p = jnp.pad(x, 1, mode="wrap")
        return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * x

    return simulated(u, v, feed, kill, laplacian)


def draw(figure, arrays, result):
    """The beginning, and what has become of it after some thousand steps more."""
    u, v = result
    for _ in range(24):
        u, v = gray_scott(u, v, *arrays[2:])
    for axes, field, title in zip(figure.subplots(1, 2), (arrays[1], v), ("start", "5000 steps"), strict=True):
        axes.imshow(field, cmap="magma", interpolation="bilinear")
        axes.set(title=title, xticks=[], yticks=[])


program = Program(
    gray_scott,
    data,
    reference,
    {"roll": rolled, "pad": padded},
    draw,
    small={"height": 24, "width": 32},
    full={"height": 256, "width": 256},
    picture={"height": 140, "width": 180},
    gradient=(0, 1, 2, 3),
)

if __name__ == "__main__":
    program.main()
