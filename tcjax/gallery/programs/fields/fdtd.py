"""Light through a lens: Maxwell's equations on Yee's grid

The magnetic field is staggered by half a cell and half a step from the electric one, and each is updated from
differences of the other. The metal boundary reflects. Ranges follow from the subscripts, which are those of the paper.
The gradient with respect to the permittivity is used to design lenses and waveguides; it does not keep the fields of
all steps.

Yee, "Numerical solution of initial boundary value problems involving Maxwell's equations" (1966).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

fdtd = tcjax.kernel("""
def fdtd(float(N,M) permittivity, float(T) wave, float(N) beam) -> (E, energy) {
    E(i,j) = 0.0 where i in 0:N, j in 0:M
    energy(i,j) = 0.0 where i in 0:N, j in 0:M
    Hx(i,j) = 0.0 where i in 0:N, j in 0:M-1
    Hy(i,j) = 0.0 where i in 0:N-1, j in 0:M
    for t in 0:T {
        Hx(i,j) = Hx(i,j) - (E(i,j+1) - E(i,j)) / 2
        Hy(i,j) = Hy(i,j) + (E(i+1,j) - E(i,j)) / 2
        E(i,j) = E(i,j) + (Hy(i,j) - Hy(i-1,j) - Hx(i,j) + Hx(i,j-1)) / (2 * permittivity(i,j))
        E(i,0) = beam(i) * wave(t)
        energy(i,j) = energy(i,j) + E(i,j) * E(i,j)
    }
}""")


def data(height: int, width: int, steps: int) -> tuple[np.ndarray, ...]:
    """A lens of glass, a wave of 10 cells that starts softly, and the profile of the beam."""
    y, x = np.mgrid[:height, :width] / height
    lens = (np.hypot(x - 0.95, y - 0.5) < 0.5) & (np.hypot(x - 0.25, y - 0.5) < 0.5)
    time = np.arange(steps)
    wave = np.sin(2 * np.pi * time / 20) * np.minimum(time / 40, 1)
    beam = np.exp(-(((y[:, 0] - 0.5) / 0.25) ** 4))
    return tuple(a.astype(np.float32) for a in (np.where(lens, 2.5, 1.0), wave, beam))


def reference(permittivity, wave, beam):
    E, energy = np.zeros_like(permittivity), np.zeros_like(permittivity)
    Hx, Hy = np.zeros_like(E[:, 1:]), np.zeros_like(E[1:])
    for now in wave:
        Hx -= np.diff(E, axis=1) / 2
        Hy += np.diff(E, axis=0) / 2
        curl = np.diff(Hy, axis=0)[:, 1:-1] - np.diff(Hx, axis=1)[1:-1]
        E[1:-1, 1:-1] += curl / (2 * permittivity[1:-1, 1:-1])
        E[:, 0] = beam * now
        energy += E**2
    return E, energy


def updated(permittivity, wave, beam):
    def step(fields, now):
        E, energy, Hx, Hy = fields
        Hx = Hx - (E[:, 1:] - E[:, :-1]) / 2
        Hy = Hy + (E[1:] - E[:-1]) / 2
        curl = Hy[1:, 1:-1] - Hy[:-1, 1:-1] - Hx[1:-1, 1:] + Hx[1:-1, :-1]
        E = E.at[1:-1, 1:-1].add(curl / (2 * permittivity[1:-1, 1:-1])).at[:, 0].set(beam * now)
        return (E, energy + E**2, Hx, Hy), None

    zero = jnp.zeros_like(permittivity)
    return jax.lax.scan(step, (zero, zero, zero[:, 1:], zero[1:]), wave)[0][:2]


def padded(permittivity, wave, beam):
    n, m = permittivity.shape
    i, j = jnp.ogrid[:n, :m]
    inverse = jnp.where((i > 0) & (i < n - 1) & (j > 0) & (j < m - 1), 0.5 / permittivity, 0)

    def step(fields, now):
        E, energy, Hx, Hy = fields
        Hx = Hx - (E[:, 1:] - E[:, :-1]) / 2
        Hy = Hy + (E[1:] - E[:-1]) / 2
        p, q = jnp.pad(Hx, ((0, 0), (1, 1))), jnp.pad(Hy, ((1, 1), (0, 0)))
        E = E + inverse * (q[1:] - q[:-1] - p[:, 1:] + p[:, :-1])
        E = jnp.where(j == 0, (beam * now)[:, None], E)
        return (E, energy + E**2, Hx, Hy), None

    zero = jnp.zeros_like(permittivity)
    return jax.lax.scan(step, (zero, zero, zero[:, 1:], zero[1:]), wave)[0][:2]


def draw(figure, arrays, result):
    """The field at the end, and how bright it has been."""
    for axes, field, colours, title in zip(
        figure.subplots(1, 2), result, ("RdBu_r", "inferno"), ("electric field", "brightness"), strict=True
    ):
        limit = np.quantile(np.abs(field), 0.995)
        axes.imshow(field, cmap=colours, vmin=-limit if colours == "RdBu_r" else 0, vmax=limit)
        axes.contour(arrays[0], [1.5], colors="0.6", linewidths=1)
        axes.set(title=title, xticks=[], yticks=[])


program = Program(
    fdtd,
    data,
    reference,
    {"scan, at": updated, "scan, pad": padded},
    draw,
    small={"height": 32, "width": 48, "steps": 90},
    full={"height": 256, "width": 384, "steps": 400},
    picture={"height": 140, "width": 210, "steps": 560},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
