"""The potential of the Mandelbrot set

If the set were a charged conductor, this would be the potential around it: log |z| of the n-th point of z <- z^2 + c,
divided by 2^n. A `for` takes the steps and updates the real and imaginary parts; points that are far away stay where
they are. Near the set the iteration is chaotic, but the potential is not, because errors are divided too.

Peitgen and Richter, "The Beauty of Fractals" (1986).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

STEPS = 100

mandelbrot = tcjax.kernel(
    """
def mandelbrot(float(H) y, float(W) x) -> (potential) {
    a(i,j) = x(j) where i in 0:H
    b(i,j) = y(i) where j in 0:W
    part(i,j) = 0.5 where i in 0:H, j in 0:W
    for t in 0:steps {
        far(i,j) = a(i,j) * a(i,j) + b(i,j) * b(i,j) > 1e6
        next(i,j) = a(i,j) * a(i,j) - b(i,j) * b(i,j) + x(j)
        b(i,j) = far(i,j) ? b(i,j) : 2 * a(i,j) * b(i,j) + y(i)
        a(i,j) = far(i,j) ? a(i,j) : next(i,j)
        part(i,j) = far(i,j) ? part(i,j) : part(i,j) / 2
    }
    potential(i,j) = part(i,j) * log(max(a(i,j) * a(i,j) + b(i,j) * b(i,j), 1.0))
}""",
    consts={"steps": STEPS},
)


def data(height: int, width: int, centre: tuple[float, float], reach: float) -> tuple[np.ndarray, ...]:
    """Imaginary and real parts of a part of the plane."""
    across = reach * width / height
    y = np.linspace(centre[1] + reach, centre[1] - reach, height, dtype=np.float32)
    return y, np.linspace(centre[0] - across, centre[0] + across, width, dtype=np.float32)


def reference(y, x):
    c = x + 1j * y[:, None]
    z, part = c.copy(), np.ones(c.shape)
    for _ in range(STEPS):
        near = np.abs(z) <= 1e3
        z[near] = z[near] ** 2 + c[near]
        part[near] /= 2
    return part * np.log(np.maximum(np.abs(z), 1))


def complex_numbers(y, x):
    c = x + 1j * y[:, None]

    def step(_, state):
        z, part = state
        far = jnp.abs(z) > 1e3
        return jnp.where(far, z, z * z + c), jnp.where(far, part, part / 2)

    z, part = jax.lax.fori_loop(0, STEPS, step, (c, jnp.ones(c.shape)))
    return part * jnp.log(jnp.maximum(jnp.abs(z), 1))


def real_numbers(y, x):
    def step(_, state):
        a, b, part = state
        far = a * a + b * b > 1e6
        new = a * a - b * b + x, 2 * a * b + y[:, None], part / 2
        return tuple(jnp.where(far, *pair) for pair in zip(state, new, strict=True))

    shape = len(y), len(x)
    start = jnp.broadcast_to(x, shape), jnp.broadcast_to(y[:, None], shape), jnp.full(shape, 0.5)
    a, b, part = jax.lax.fori_loop(0, STEPS, step, start)
    return part * jnp.log(jnp.maximum(a * a + b * b, 1))


def draw(figure, arrays, potential):
    """The set, and a bay of it, with lines of equal potential."""
    near = data(240, 300, (-0.757, 0.1), 0.02)
    for axes, (y, x), field in zip(
        figure.subplots(1, 2), (arrays, near), (potential, np.asarray(mandelbrot(*near))), strict=True
    ):
        shown = np.log2(np.maximum(field, 2.0**-STEPS))
        low = np.quantile(shown[shown > -90], 0.02)
        axes.imshow(shown, cmap="magma", extent=(x[0], x[-1], y[-1], y[0]), vmin=low)
        lines = np.linspace(low, shown.max(), 9)[2:]
        axes.contour(x, y, shown, lines, colors="black", linewidths=0.3, linestyles="solid", alpha=0.6)
        axes.set(xlabel="real part", ylabel="imaginary part")


program = Program(
    mandelbrot,
    data,
    reference,
    {"complex numbers": complex_numbers, "real numbers": real_numbers},
    draw,
    small={"height": 36, "width": 48, "centre": (-0.6, 0.0), "reach": 1.2},
    full={"height": 512, "width": 640, "centre": (-0.6, 0.0), "reach": 1.2},
    picture={"height": 240, "width": 300, "centre": (-0.6, 0.0), "reach": 1.2},
)

if __name__ == "__main__":
    program.main()
