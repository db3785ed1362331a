"""A reduction in a branch that is not taken: infinities and NaN there change no value and no derivative."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import tcjax

N, M, K = 3, 4, 5
OUTER = (
    "y(i,j) = (c(i) > 0 && e(j) > 0) ? {} : 0",
    "y(i,j) = !(c(i) > 0 && e(j) > 0) ? 0 : 2 * {}",
    "y(i) +=! {} where c(i) > 0, e(j) > 0",
    "y(i) +=! tanh({}) where c(i) > 0, e(j) > 0",
    "y(i,j) max=! {} where c(i) > 0, e(j) > 0",
)
INNER = (
    "sum[k](A(i,k) * B(j,k))",
    "sum[k](A(i,k) * A(i,k))",
    "sum[k](A(i,k) * B(j,k) * B(j,k))",
    "sum[k](exp(A(i,k) * B(j,k)))",
    "sum[k](max[l in 0:2](A(i,k) * B(j,l)))",
    "mean[k](A(i,k) * B(j,k))",
    "prod[k](A(i,k))",
    "max[k](A(i,k))",
    "max[k in 0:3](A(i,k+1))",
    "max[k](A(i,k) * B(j,k))",
    "maxk[k](A(i,k), 1)",
    "logsumexp[k](A(i,k))",
)
C, E = np.array([1, 0, 1], np.int32), np.array([0, 1, 1, 1], np.int32)


def spoiled(array: NDArray[np.float32], live: NDArray[np.int32]) -> NDArray[np.float32]:
    """The masked rows are infinite or NaN."""
    found = array.copy()
    found[live == 0] = np.resize(np.array([np.nan, np.inf, -np.inf], np.float32), array.shape[1])
    return found


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", OUTER)
def test_what_a_condition_leaves_out_of_a_reduction_counts_for_nothing(outer: str, inner: str) -> None:
    kernel = tcjax.kernel(f"def f(float(N,K) A, float(M,K) B, int(N) c, int(M) e) -> (y) {{ {outer.format(inner)} }}")
    rng = np.random.default_rng(0)
    A, B = (rng.normal(size=(rows, K)).astype(np.float32) for rows in (N, M))

    @jax.jit
    def derivatives(A: Any, B: Any) -> Any:
        value, back = jax.vjp(lambda A, B: kernel(A, B, C, E), A, B)
        return value, back(jnp.ones_like(value)), jax.jvp(lambda A: kernel(A, B, C, E), (A,), (jnp.ones_like(A),))[1]

    wanted, found = derivatives(A, B), derivatives(spoiled(A, C), spoiled(B, E))
    np.testing.assert_allclose(wanted[0], kernel.interpret(A, B, C, E), rtol=1e-4, atol=1e-5)
    assert any(np.any(np.asarray(part)) for part in wanted[1])
    for left, right in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


def test_a_condition_that_binds_what_the_reduction_binds_stays_outside() -> None:
    kernel = tcjax.kernel("y(i) = sum[k](A(i,k)) > 0 ? sum[k](A(i,k) * A(i,k)) : 0")
    A = np.random.default_rng(1).normal(size=(N, K)).astype(np.float32)
    live = (A.sum(1) > 0)[:, None]
    assert live.any() and not live.all()
    np.testing.assert_allclose(kernel(A), np.where(live[:, 0], (A**2).sum(1), 0), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(lambda A: kernel(A).sum())(A), np.where(live, 2 * A, 0), rtol=1e-5)
