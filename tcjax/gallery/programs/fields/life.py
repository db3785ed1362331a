"""The game of life on a torus

A cell survives with two or three neighbours, and is born with three. The nine cells around each cell are a sum over two
small ranges, `wrap` makes the world a torus, and a `for` computes its history: bytes, conditions and steps in three
lines.

Gardner, "Mathematical games: the fantastic combinations of John Conway's new solitaire game 'life'" (1970).
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage

import tcjax
from tcjax.gallery import Program

STEPS = 100

life = tcjax.kernel(
    """
def life(int8(N,M) start) -> (alive) {
    alive(i,j) = start(i,j)
    for t in 0:steps {
        around(i,j) = sum[a in -1:2, b in -1:2](alive(wrap(i+a), wrap(j+b))) where i in 0:N, j in 0:M
        alive(i,j) = around(i,j) == 3 || (around(i,j) == 4 && alive(i,j) == 1) ? int8(1) : int8(0)
    }
}""",
    consts={"steps": STEPS},
)


def data(height: int, width: int) -> tuple[np.ndarray, ...]:
    """A soup on the left, and gliders that fly into it from the right."""
    start = np.zeros((height, width), np.int8)
    random = np.random.default_rng(0)
    start[:, : width // 3] = random.random((height, width // 3)) < 0.35
    glider = [[1, 1, 1], [1, 0, 0], [0, 1, 0]]
    for row in range(2, height - 6, 8):
        for column in range(width // 2, width - 6, 12):
            start[row : row + 3, column : column + 3] = glider
    return (start,)


def reference(start):
    alive = start
    ring = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])
    for _ in range(STEPS):
        neighbours = scipy.ndimage.convolve(alive, ring, mode="wrap")
        alive = ((neighbours == 3) | ((neighbours == 2) & (alive == 1))).astype(np.int8)
    return alive


def rolled(start):
    def step(_, alive):
        shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
        neighbours = sum(jnp.roll(alive, shift, (0, 1)) for shift in shifts)
        return ((neighbours == 3) | ((neighbours == 2) & (alive == 1))).astype(jnp.int8)

    return jax.lax.fori_loop(0, STEPS, step, start)


def separable(start):
    def step(_, alive):
        rows = alive + jnp.roll(alive, 1, 0) + jnp.roll(alive, -1, 0)
        around = rows + jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1)
        return ((around == 3) | ((around == 4) & (alive == 1))).astype(jnp.int8)

    return jax.lax.fori_loop(0, STEPS, step, start)


def halo(start):
    def step(_, alive):
        p = jnp.pad(alive, 1, mode="wrap")
        rows = p[:-2] + p[1:-1] + p[2:]
        around = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
        return ((around == 3) | ((around == 4) & (alive == 1))).astype(jnp.int8)

    return jax.lax.fori_loop(0, STEPS, step, start)


def draw(figure, arrays, alive):
    """The first and the last generation."""
    panels = zip(figure.subplots(1, 2), (arrays[0], alive), ("start", f"after {STEPS} steps"), strict=True)
    for axes, cells, title in panels:
        axes.imshow(cells, cmap="cividis")
        axes.set(title=title, xticks=[], yticks=[])


program = Program(
    life,
    data,
    reference,
    {"roll": rolled, "roll, two passes": separable, "halo, two passes": halo},
    draw,
    small={"height": 40, "width": 48},
    full={"height": 512, "width": 512},
    picture={"height": 96, "width": 128},
)

if __name__ == "__main__":
    program.main()
