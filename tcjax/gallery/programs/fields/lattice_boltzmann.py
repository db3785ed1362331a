"""A lattice Boltzmann flow around a cylinder

Particles of nine velocities move by one cell and collide. The velocity is a pair of indices, each for -1, 0 and 1. So
particles come from `i + 1 - a, j + 1 - b`, the weights are a product, the momentum is a sum over `a - 1`, and particles
that hit an obstacle return in the direction `2 - a, 2 - b`: there are no tables. How solid a cell is can be any number
between 0 and 1, and the gradient with respect to it lets you design shapes. It keeps the fields of only a fraction of
the steps.

Krueger et al., "The Lattice Boltzmann Method" (2017), chapters 3 and 5; Pingen, Evgrafov and Maute, "Topology
optimization of flow domains using the lattice Boltzmann method" (2007).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

STEPS, SPEED, OMEGA = 100, 0.1, 1.85

flow = tcjax.kernel(
    """
def flow(float(3,3,N,M) start, float(N,M) solid, float(3,3) inflow, float(3) w) -> (f, down, right) {
    f(a,b,i,j) = start(a,b,i,j)
    for t in 0:steps {
        f(a,b,i,0) = inflow(a,b)
        g(a,b,i,j) = f(a, b, wrap(i+1-a), wrap(j+1-b)) where i in 0:N, j in 0:M
        mass(i,j) +=! g(a,b,i,j)
        down(i,j) = sum[a,b]((a - 1) * g(a,b,i,j)) / mass(i,j)
        right(i,j) = sum[a,b]((b - 1) * g(a,b,i,j)) / mass(i,j)
        still(i,j) = 1 - 1.5 * (down(i,j) * down(i,j) + right(i,j) * right(i,j))
        calm(a,b,i,j) = w(a) * w(b) * mass(i,j) * (still(i,j) + along + along * along / 2)
            where along = 3 * ((a - 1) * down(i,j) + (b - 1) * right(i,j))
        f(a,b,i,j) = solid(i,j) * g(2-a, 2-b, i, j)
                   + (1 - solid(i,j)) * ((1 - omega) * g(a,b,i,j) + omega * calm(a,b,i,j))
    }
}""",
    consts={"steps": STEPS, "omega": OMEGA},
)


def equilibrium(mass, down, right):
    """What nine populations are in a uniform flow."""
    w = np.array([1, 4, 1]) / 6
    along = 3 * (np.arange(-1, 2)[:, None] * down + np.arange(-1, 2) * right)
    return mass * np.outer(w, w) * (1 + along + along**2 / 2 - 1.5 * (down**2 + right**2))


def data(height: int, width: int) -> tuple[np.ndarray, ...]:
    """A flow to the right, everywhere, and a cylinder a little above the middle."""
    inflow = equilibrium(1.0, 0.0, SPEED).astype(np.float32)
    y, x = np.mgrid[:height, :width]
    away = np.hypot(y - 0.48 * height, x - 0.5 * height)
    solid = np.clip(0.11 * height - away + 0.5, 0, 1).astype(np.float32)
    start = np.tile(inflow[:, :, None, None], (1, 1, height, width))
    return start, solid, inflow, np.array([1, 4, 1], np.float32) / 6


def reference(start, solid, inflow, w):
    f, down, right = start.copy(), solid, solid
    velocity = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    for _ in range(STEPS):
        f[..., 0] = inflow[:, :, None]
        for a, b in velocity:
            f[a + 1, b + 1] = np.roll(f[a + 1, b + 1], (a, b), (0, 1))
        mass = f.sum((0, 1))
        down, right = (f[2] - f[0]).sum(0) / mass, (f[:, 2] - f[:, 0]).sum(0) / mass
        new = np.empty_like(f)
        for a, b in velocity:
            along = a * down + b * right
            calm = w[a + 1] * w[b + 1] * mass * (1 + 3 * along + 4.5 * along**2 - 1.5 * (down**2 + right**2))
            moved = f[a + 1, b + 1] + OMEGA * (calm - f[a + 1, b + 1])
            new[a + 1, b + 1] = solid * f[1 - a, 1 - b] + (1 - solid) * moved
        f = new
    return f, down, right


def rolled(start, solid, inflow, w):
    signs = np.arange(-1.0, 2).astype(np.float32)

    def step(state, _):
        f = state[0].at[..., 0].set(inflow[:, :, None])
        g = jnp.stack([jnp.stack([jnp.roll(f[a, b], (a - 1, b - 1), (0, 1)) for b in range(3)]) for a in range(3)])
        mass = g.sum((0, 1))
        down, right = jnp.einsum("a,abij->ij", signs, g) / mass, jnp.einsum("b,abij->ij", signs, g) / mass
        along = 3 * (signs[:, None, None, None] * down + signs[:, None, None] * right)
        still = 1 - 1.5 * (down**2 + right**2)
        calm = jnp.outer(w, w)[:, :, None, None] * mass * (still + along + along**2 / 2)
        return (solid * g[::-1, ::-1] + (1 - solid) * (g + OMEGA * (calm - g)), down, right), None

    return jax.lax.scan(step, (start, start[0, 0], start[0, 0]), length=STEPS)[0]


def nine_fields(start, solid, inflow, w):
    places = [(a, b) for a in range(3) for b in range(3)]

    def step(state, _):
        g = {p: jnp.roll(state[0][p].at[:, 0].set(inflow[p]), (p[0] - 1, p[1] - 1), (0, 1)) for p in places}
        mass = sum(g.values())
        down = sum(g[2, b] - g[0, b] for b in range(3)) / mass
        right = sum(g[a, 2] - g[a, 0] for a in range(3)) / mass
        still = 1 - 1.5 * (down**2 + right**2)
        new = {}
        for a, b in places:
            along = 3 * ((a - 1) * down + (b - 1) * right)
            moved = g[a, b] + OMEGA * (w[a] * w[b] * mass * (still + along + along**2 / 2) - g[a, b])
            new[a, b] = solid * g[2 - a, 2 - b] + (1 - solid) * moved
        return (new, down, right), None

    begin = ({p: start[p] for p in places}, start[0, 0], start[0, 0])
    f, down, right = jax.lax.scan(step, begin, length=STEPS)[0]
    return jnp.stack([jnp.stack([f[a, b] for b in range(3)]) for a in range(3)]), down, right


def draw(figure, arrays, result):
    """How the air turns behind the cylinder, after some thousand steps more."""
    f, down, right = result
    for _ in range(45):
        f, down, right = flow(f, *arrays[1:])
    turning = np.gradient(np.asarray(down), axis=1) - np.gradient(np.asarray(right), axis=0)
    axes = figure.subplots()
    axes.imshow(np.where(arrays[1] < 0.5, turning, np.nan)[:, 2:-6], cmap="RdBu_r", vmin=-0.02, vmax=0.02)
    axes.set(title="vorticity", xticks=[], yticks=[])


program = Program(
    flow,
    data,
    reference,
    {"scan, roll": rolled, "scan, nine fields": nine_fields},
    draw,
    small={"height": 16, "width": 24},
    full={"height": 128, "width": 256},
    picture={"height": 72, "width": 172},
    gradient=(0, 1, 2, 3),
)

if __name__ == "__main__":
    program.main()
