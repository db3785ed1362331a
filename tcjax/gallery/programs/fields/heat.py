"""Heat in a plate of varying conductivity

Each step of the `for` computes first the flux between neighbours, then what each cell gains and loses. Nothing flows
beyond the boundary, as `pad` says. The whole simulation is one kernel, so its gradient tells how the final temperatures
depend on the initial ones and on the material of the plate: the inverse problem of heat conduction. The gradient keeps
the fields of only a fraction of the steps.

Patankar, "Numerical Heat Transfer and Fluid Flow" (1980), chapter 4.
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

STEPS = 200

heat = tcjax.kernel(
    """
def heat(float(N,M) start, float(N,M) conductivity) -> (u) {
    u(i,j) = start(i,j)
    a(i,j) = (conductivity(i,j) + conductivity(i+1,j)) / 2
    b(i,j) = (conductivity(i,j) + conductivity(i,j+1)) / 2
    for t in 0:steps {
        down(i,j) = a(i,j) * (u(i+1,j) - u(i,j))
        right(i,j) = b(i,j) * (u(i,j+1) - u(i,j))
        u(i,j) = u(i,j) + pad(down(i,j), 0) - pad(down(i-1,j), 0)
                        + pad(right(i,j), 0) - pad(right(i,j-1), 0) where i in 0:N, j in 0:M
    }
}""",
    consts={"steps": STEPS},
)


def data(size: int) -> tuple[np.ndarray, ...]:
    """A hot disc in the middle of rings that hardly conduct, each with a gap."""
    y, x = np.mgrid[:size, :size] / size - 0.5
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    conductivity = np.full((size, size), 0.24, np.float32)
    for ring, gap in ((0.16, 0.0), (0.28, 2.5), (0.4, -1.2)):
        away = np.abs((angle - gap + np.pi) % (2 * np.pi) - np.pi)
        conductivity[(np.abs(radius - ring) < 0.02) & (away > 0.06 / ring)] = 0.002
    return (radius < 0.1).astype(np.float32), conductivity


def reference(start, conductivity):
    a = (conductivity[1:] + conductivity[:-1]) / 2
    b = (conductivity[:, 1:] + conductivity[:, :-1]) / 2
    u = start.copy()
    for _ in range(STEPS):
        down, right = a * np.diff(u, axis=0), b * np.diff(u, axis=1)
        u[:-1] += down
        u[1:] -= down
        u[:, :-1] += right
        u[:, 1:] -= right
    return u


def padded(start, conductivity):
    def shifted(x):
        p = jnp.pad(x, 1, mode="edge")
        return p[2:, 1:-1], p[:-2, 1:-1], p[1:-1, 2:], p[1:-1, :-2]

    def step(_, u):
        return u + sum((conductivity + c) / 2 * (v - u) for c, v in zip(neighbours, shifted(u), strict=True))

    neighbours = shifted(conductivity)
    return jax.lax.fori_loop(0, STEPS, step, start)


def fluxes(start, conductivity):
    a = (conductivity[1:] + conductivity[:-1]) / 2
    b = (conductivity[:, 1:] + conductivity[:, :-1]) / 2

    def step(u, _):
        down = jnp.pad(a * jnp.diff(u, axis=0), ((1, 1), (0, 0)))
        right = jnp.pad(b * jnp.diff(u, axis=1), ((0, 0), (1, 1)))
        return u + jnp.diff(down, axis=0) + jnp.diff(right, axis=1), None

    return jax.lax.scan(step, start, length=STEPS)[0]


def draw(figure, arrays, u):
    """The plate, the temperatures, and where more conductivity would bring more heat through the second ring."""
    start, conductivity = arrays
    y, x = np.mgrid[: len(u), : len(u)] / len(u) - 0.5
    slope = jax.jit(jax.grad(lambda c: (heat(start, c) * (np.hypot(x, y) > 0.28)).sum()))(conductivity)
    left, middle, right = figure.subplots(1, 3, subplot_kw={"xticks": [], "yticks": []})
    left.imshow(conductivity, cmap="cividis")
    left.set_title("conductivity")
    middle.imshow(np.sqrt(u), cmap="inferno")
    middle.set_title("temperature at the end")
    shown = np.cbrt(slope)
    limit = np.abs(shown).max()
    right.imshow(shown, cmap="RdBu_r", vmin=-limit, vmax=limit)
    right.set_title("slope of the heat beyond ring 2")


program = Program(
    heat,
    data,
    reference,
    {"fori_loop, padded": padded, "scan, fluxes": fluxes},
    draw,
    small={"size": 40},
    full={"size": 256},
    picture={"size": 60},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
