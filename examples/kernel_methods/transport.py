"""How far are the colours of a photograph from those of another? Optimal transport, by Sinkhorn's algorithm.

The potentials are kept in the log domain, and each half step is one ``logsumexp`` over all pairs of colours. The
colours of one photograph then follow the gradient of the Sinkhorn divergence until they match those of the other. The
data are scikit-learn's two sample images.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp
from sklearn.datasets import load_sample_images

import tcjax

# The entropy's weight, in squared distances between colours, falls from step to step: large weights spread the
# potentials quickly, small ones make them exact.
WIDTHS = np.geomspace(1.0, 2e-3, 60, dtype=np.float32)

softmin = tcjax.kernel("""
def softmin(float(N,D) x, float(M,D) y, float(M) g, float width) -> (f) {
    f(i) = -width() * logsumexp[j]((g(j) - sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) / width()) + width() * log(M)
}""")


def cost(x: jax.Array, y: jax.Array) -> jax.Array:
    """What it costs to take the colours x to the colours y: the means of the two potentials."""

    def step(potentials, width):
        f, g = potentials
        f = (f + softmin(x, y, g, width)) / 2
        g = (g + softmin(y, x, f, width)) / 2
        return (f, g), None

    (f, g), _ = lax.scan(step, (jnp.zeros(len(x)), jnp.zeros(len(y))), WIDTHS)
    # At the optimum a change of the potentials changes nothing, and each colour acts through its own potential.
    f, g, fixed_x, fixed_y = lax.stop_gradient((f, g, x, y))
    return softmin(x, fixed_y, g, WIDTHS[-1]).mean() + softmin(y, fixed_x, f, WIDTHS[-1]).mean()


@jax.jit
def divergence(x, y):
    """The cost from x to y, less what the entropy adds: zero for equal clouds (Feydy et al. 2019)."""
    return cost(x, y) - (cost(x, x) + cost(y, y)) / 2


def colours(count: int) -> list[np.ndarray]:
    """Some pixels of each photograph, ``(count, 3)`` in the unit cube."""
    random = np.random.default_rng(0)
    pixels = [image.reshape(-1, 3) / np.float32(255) for image in load_sample_images().images]
    return [all_[random.choice(len(all_), count, replace=False)].astype(np.float32) for all_ in pixels]


def dense_cost(x: np.ndarray, y: np.ndarray) -> float:
    """The same cost by NumPy, in float64 and with the matrix of distances."""
    squared = ((x[:, None].astype(np.float64) - y[None]) ** 2).sum(-1)

    def of_rows(g, width):
        return -width * logsumexp((g - squared) / width, axis=1, b=1 / len(y))

    def of_columns(f, width):
        return -width * logsumexp((f[:, None] - squared) / width, axis=0, b=1 / len(x))

    f, g = np.zeros(len(x)), np.zeros(len(y))
    for width in WIDTHS.astype(np.float64):
        f = (f + of_rows(g, width)) / 2
        g = (g + of_columns(f, width)) / 2
    return float(of_rows(g, WIDTHS[-1]).mean() + of_columns(f, WIDTHS[-1]).mean())


def main(count: int = 400) -> list[float]:
    """Compares with NumPy and with the exact optimum; returns the divergence as the colours move."""
    x, y = colours(count)
    squared = ((x[:, None] - y[None]) ** 2).sum(-1)
    exact = squared[linear_sum_assignment(squared)].mean()
    found = float(jax.jit(cost)(x, y))
    dense = dense_cost(x, y)
    print(f"cost {found:.5f}, by NumPy {dense:.5f}; without entropy {exact:.5f}")
    np.testing.assert_allclose(found, dense, rtol=1e-3)
    np.testing.assert_allclose(found, exact, rtol=0.05)
    assert abs(float(divergence(x, x))) < 1e-5

    history = []
    slope = jax.jit(jax.value_and_grad(divergence))
    for number in range(3):
        value, by_colour = slope(x, y)
        history.append(float(value))
        print(f"step {number}: {value:.5f}")
        x = x - count / 2 * by_colour  # The whole way, if there were no entropy.
    return history


if __name__ == "__main__":
    main()
