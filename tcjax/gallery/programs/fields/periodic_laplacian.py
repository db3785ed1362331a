"""The Laplacian on a torus

Fourth-order differences of a periodic field. The subscripts say that what leaves the grid on one side comes in on the
other, so the program neither pads nor rolls the grid. The compiled code extends the grid once for the eight reads
beyond its border, and the gradient is one pass over such a grid too.

Fornberg, "Generation of finite difference formulas on arbitrarily spaced grids" (1988), table 2.
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage

import tcjax
from tcjax.gallery import Program

laplacian = tcjax.kernel("""
def laplacian(float(N,M) u) -> (L) {
    L(i,j) = (16 * (u(wrap(i-1), j) + u(wrap(i+1), j) + u(i, wrap(j-1)) + u(i, wrap(j+1)))
                 - (u(wrap(i-2), j) + u(wrap(i+2), j) + u(i, wrap(j-2)) + u(i, wrap(j+2))) - 60 * u(i,j)) / 12
}""")

WEIGHTS = np.array([-1, 16, -30, 16, -1]) / 12


def data(size: int) -> tuple[np.ndarray, ...]:
    """A landscape that repeats itself: waves of random phases, the longer the higher."""
    frequencies = np.fft.fftfreq(size, 1 / size)
    squared = frequencies[:, None] ** 2 + frequencies**2
    noise = np.fft.fft2(np.random.default_rng(0).normal(size=(size, size)))
    u = np.fft.ifft2(noise * np.exp(-squared * (16 / size) ** 2) / np.sqrt(1 + squared)).real
    return ((u / u.std()).astype(np.float32),)


def reference(u):
    return sum(scipy.ndimage.correlate1d(u, WEIGHTS, axis, mode="wrap") for axis in (0, 1))


def rolled(u):
    return sum(w * (jnp.roll(u, s, 0) + jnp.roll(u, s, 1)) for w, s in zip(WEIGHTS.tolist(), range(-2, 3), strict=True))


def padded(u):
    n, m = u.shape
    p = jnp.pad(u, 2, mode="wrap")
    return sum(w * (p[k : k + n, 2:-2] + p[2:-2, k : k + m]) for k, w in enumerate(WEIGHTS.tolist()))


def convolved(u):
    cross = np.zeros((5, 5), np.float32)
    cross[2] += WEIGHTS
    cross[:, 2] += WEIGHTS
    return jax.lax.conv(jnp.pad(u, 2, mode="wrap")[None, None], jnp.asarray(cross)[None, None], (1, 1), "VALID")[0, 0]


def draw(figure, arrays, L):
    """The landscape, and where it is hollow or bulging."""
    for axes, field, title in zip(figure.subplots(1, 2), (arrays[0], L), ("u", "Laplacian of u"), strict=True):
        limit = np.abs(field).max()
        shown = axes.imshow(field, cmap="RdBu_r", vmin=-limit, vmax=limit)
        axes.set(title=title, xticks=[], yticks=[])
        figure.colorbar(shown, ax=axes)


program = Program(
    laplacian,
    data,
    reference,
    {"jnp.roll": rolled, "padded": padded, "convolution": convolved},
    draw,
    small={"size": 48},
    full={"size": 2048},
    picture={"size": 192},
    gradient=(0,),
)

if __name__ == "__main__":
    program.main()
