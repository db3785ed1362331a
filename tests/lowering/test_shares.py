"""Shares of sums of exponentials: values and derivatives against float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

BODIES = {
    "rows": (
        "m(n) max=! I(n,d)  s(n) +=! exp(I(n,d) - m(n))  O(n,d) = exp(I(n,d) - m(n)) / s(n)",
        (1,),
    ),
    "rows, stored exponentials": (
        "m(n) max=! I(n,d)  e(n,d) = exp(I(n,d) - m(n))  s(n) +=! e(n,d)  O(n,d) = e(n,d) / s(n)",
        (1,),
    ),
    "columns": ("O(n,d) = exp(I(n,d)) / sum[k](exp(I(k,d)))", (0,)),
    "all elements": ("s +=! exp(I(n,d))  O(n,d) = exp(I(n,d)) / s", (0, 1)),
}


@pytest.fixture(params=BODIES)
def share(request: pytest.FixtureRequest) -> tuple[tcjax.Kernel, tuple[int, ...]]:
    name: str = request.param
    body, summed = BODIES[name]
    kernel: tcjax.Kernel = tcjax.kernel(f"def f(float(N,D) I) -> (O) {{ {body} }}")
    assert "share" in str(kernel.plan(np.zeros((5, 7), np.float32)))
    return kernel, summed


def shares(x: np.ndarray, summed: tuple[int, ...]) -> np.ndarray:
    e = np.exp(x.astype(float) - x.max(summed, keepdims=True))
    return e / e.sum(summed, keepdims=True)


def moved(x: np.ndarray, change: np.ndarray, summed: tuple[int, ...]) -> np.ndarray:
    """The derivative of the shares, which is symmetric, so that it serves forward and backward."""
    o = shares(x, summed)
    return o * (change - (o * change).sum(summed, keepdims=True))


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_values_gradients_and_tangents(share: tuple[tcjax.Kernel, tuple[int, ...]]) -> None:
    kernel, summed = share
    x, w = normal(0, 5, 7), normal(1, 5, 7)
    found, pull_back = jax.vjp(kernel, x)
    np.testing.assert_allclose(found, shares(x, summed), rtol=1e-5)
    expected = moved(x, w, summed)
    np.testing.assert_allclose(pull_back(jnp.asarray(w))[0], expected, atol=1e-6)
    np.testing.assert_allclose(jax.jvp(kernel, (x,), (w,))[1], expected, atol=1e-6)


def test_batches_and_second_derivatives(share: tuple[tcjax.Kernel, tuple[int, ...]]) -> None:
    kernel, summed = share
    xs, w, v = normal(2, 3, 5, 7), normal(3, 5, 7), normal(4, 5, 7)

    def gradient(x: jax.Array | np.ndarray) -> jax.Array:
        return jax.grad(lambda y: (kernel(y) * w).sum())(x)

    found = jax.vmap(gradient)(xs)
    np.testing.assert_allclose(found, np.stack([moved(x, w, summed) for x in xs]), atol=1e-6)
    _, second = jax.jvp(gradient, (xs[0],), (v,))
    step = 1e-6
    x = xs[0].astype(float)
    expected = (moved(x + step * v, w, summed) - moved(x - step * v, w, summed)) / (2 * step)
    np.testing.assert_allclose(second, expected, atol=2e-6)


def test_large_differences_leave_zeros_and_no_nan() -> None:
    kernel = tcjax.kernel(f"def f(float(N,D) I) -> (O) {{ {BODIES['rows'][0]} }}")
    x = np.array([[0.0, 200.0, -300.0], [-1e4, 0.0, -np.inf]], np.float32)
    found, pull_back = jax.vjp(kernel, x)
    np.testing.assert_array_equal(found, [[0, 1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(pull_back(jnp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))[0], np.zeros((2, 3)))


def test_halves_keep_their_own_derivative() -> None:
    kernel = tcjax.kernel("def f(float16(N,D) I) -> (O) { O(n,d) = exp(I(n,d)) / sum[k](exp(I(n,k))) }")
    x, w = normal(5, 4, 6).astype(np.float16), normal(6, 4, 6).astype(np.float16)
    found = jax.vjp(kernel, x)[1](jnp.asarray(w))[0]
    np.testing.assert_allclose(found.astype(float), moved(x, w, (1,)), atol=3e-3)
