"""Differences of rows and columns, next to others of the same rows and columns."""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax

accelerations = tcjax.kernel("""
def accelerations(float(N) m, float(N,D) q) -> (a) {
    a(i,d) = sum[j](m(j) * (q(j,d) - q(i,d)) * pow(sum[e]((q(j,e) - q(i,e)) * (q(j,e) - q(i,e))) + 0.01, -1.5))
}""")


def expected(m: np.ndarray, q: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The cotangents of the bodies from those of their accelerations, in float64."""
    away = q[None].astype(np.float64) - q[:, None]
    square = (away**2).sum(-1, keepdims=True) + 0.01
    along = (weights[:, None] * away).sum(-1, keepdims=True)
    passed = weights[:, None] / square**1.5 - 3 * along * away / square**2.5
    return m[:, None] * passed.sum(0) - (m[:, None] * passed).sum(1)


def test_a_heavy_body_leaves_the_gradient_of_light_ones_its_digits() -> None:
    random = np.random.default_rng(0)
    q = random.uniform(-2, 2, (1024, 3)).astype(np.float32)
    m = np.full(1024, 1e-4, np.float32)
    m[512] = 1.0
    weights = random.normal(size=q.shape).astype(np.float32)

    found = jax.jit(lambda q: jax.vjp(lambda q: accelerations(m, q), q)[1](jnp.asarray(weights))[0])(q)

    wanted = expected(m, q, weights)
    np.testing.assert_allclose(found, wanted, atol=1e-5 * float(abs(wanted).max()))
