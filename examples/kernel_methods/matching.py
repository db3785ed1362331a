"""Finds each flower again among others that were rotated, shuffled and measured in other directions.

The Gromov-Wasserstein distance compares two sets by the distances within each: a plan T is good if ``C(i,k)`` and
``E(j,l)`` are similar wherever it takes i to j and k to l. That is a sum over four indices, written as it is defined.
The data are scikit-learn's irises.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.stats import ortho_group
from sklearn.datasets import load_iris

import tcjax

WIDTHS = np.geomspace(0.5, 5e-3, 40, dtype=np.float32)  # The entropy's weight, which falls from step to step.

distances = tcjax.kernel("C(i,j) = sqrt(sum[d]((x(i,d) - x(j,d)) * (x(i,d) - x(j,d))))")
mismatch = tcjax.kernel("cost(i,j) +=! (C(i,k) - E(j,l)) * (C(i,k) - E(j,l)) * T(k,l)")
balance = tcjax.kernel("f(i) = -logsumexp[j](K(i,j) + g(j))")


def plan_for(cost: jax.Array, width: jax.Array) -> jax.Array:
    """The plan with even rows and columns that costs least, but for its entropy (Sinkhorn's algorithm)."""
    n, m = cost.shape
    K = -cost / width

    def step(g, _):
        f = balance(K, g) - jnp.log(n)
        return balance(K.T, f) - jnp.log(m), f

    g, f = lax.scan(step, jnp.zeros(m), length=100)
    return jnp.exp(f[-1][:, None] + K + g)


@jax.jit
def match(C: jax.Array, E: jax.Array) -> jax.Array:
    """The plan between two sets of which the distances inside are known."""
    start = jnp.full((len(C), len(E)), 1 / (len(C) * len(E)))
    return lax.scan(lambda T, width: (plan_for(mismatch(C, E, T), width), None), start, jnp.asarray(WIDTHS))[0]


def main(count: int = 60) -> float:
    """Compares the fourfold sum with NumPy's; returns the share of flowers that are found again."""
    random = np.random.default_rng(0)
    flowers = np.unique(load_iris().data, axis=0)
    flowers = flowers[random.permutation(len(flowers))[:count]].astype(np.float32)
    order = random.permutation(count)
    others = (flowers @ ortho_group.rvs(4, random_state=0))[order].astype(np.float32)
    C, E = (np.asarray(distances(points)) for points in (flowers, others))

    T = np.asarray(match(C, E))

    spread = ((C**2) @ T.sum(1))[:, None] + (E**2) @ T.sum(0) - 2 * C @ T @ E.T
    np.testing.assert_allclose(mismatch(C, E, T), spread, atol=1e-4)
    np.testing.assert_allclose(T.sum(1), 1 / count, rtol=1e-2)
    found = float((order[T.argmax(1)] == np.arange(count)).mean())
    print(f"cost {float((mismatch(C, E, T) * T).sum()):.6f}; {found:.0%} of {count} flowers found again")
    return found


if __name__ == "__main__":
    main()
