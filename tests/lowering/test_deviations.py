"""Sums of squared deviations from a mean are as accurate as with the mean subtracted first."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

ROWS, COLUMNS = 1024, 512
OF_COLUMNS = tcjax.kernel("""
def variance(float(N,D) x) -> (v) {
    m(d) +=! x(n,d) / N
    v(d) +=! pow(x(n,d) - m(d), 2.0) / N
}""")
OF_ROWS = tcjax.kernel("def variance(float(N,D) x) -> (v) { v(n) = mean[d](pow(x(n,d) - mean[k](x(n,k)), 2)) }")
KERNELS = {"columns": (OF_COLUMNS, 0), "rows": (OF_ROWS, 1)}


def normals(seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((ROWS, COLUMNS)).astype(np.float32)


def an_outlier() -> Any:
    found = normals()
    found[0, 0] = 1e6
    return found


DATA = {
    "about zero": normals(),
    "far from zero": normals() + np.float32(1e4),
    "one column far from zero": normals() + np.float32(1e4) * (np.arange(COLUMNS) == 3),
    "an outlier": an_outlier(),
    "sorted rows": np.sort(normals(), 0),
    "sorted columns": np.sort(normals(), 1),
    "of all sizes": normals() * np.float32(10) ** np.arange(-10, 10).repeat(COLUMNS)[:COLUMNS],
    "zeros": np.zeros((ROWS, COLUMNS), np.float32),
    "tiny": normals() * np.float32(1e-16),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_variance_keeps_its_digits(name: str, kernel: str) -> None:
    x = DATA[name]
    variance, dimension = KERNELS[kernel]
    assert "squares about the mean" in str(variance.plan(x))

    found = np.asarray(variance(x))

    np.testing.assert_allclose(found, x.astype(np.float64).var(dimension), rtol=1e-5, atol=1e-42)
    assert (found >= 0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_values_have_no_variance(kernel: str) -> None:
    variance, _ = KERNELS[kernel]
    x = np.broadcast_to(np.float32(0.1) + np.zeros(1, np.float32), (ROWS, COLUMNS))

    found = np.asarray(variance(x))

    assert (found >= 0).all()
    np.testing.assert_allclose(found, 0, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_has_no_variance(kernel: str, special: float) -> None:
    variance, dimension = KERNELS[kernel]
    x = normals()
    x[5, 7] = special
    expected = x.astype(np.float64).var(dimension, where=np.isfinite(x))
    expected[7 if dimension == 0 else 5] = np.nan

    np.testing.assert_allclose(variance(x), expected, rtol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_squares_beyond_the_largest_number_are_infinite(kernel: str) -> None:
    variance, _ = KERNELS[kernel]

    assert np.isinf(variance(normals() * np.float32(1e30))).all()


@pytest.mark.parametrize("offset", [0, 1e4])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_keeps_its_digits(kernel: str, offset: float) -> None:
    variance, dimension = KERNELS[kernel]
    x = normals() + np.float32(offset)
    wide = x.astype(np.float64)
    weights = np.random.default_rng(1).standard_normal(x.shape[1 - dimension]).astype(np.float32)
    every = np.expand_dims(weights, dimension)
    expected = 2 * (wide - wide.mean(dimension, keepdims=True)) * every / x.shape[dimension]

    found = jax.grad(lambda x: jnp.sum(weights * variance(x)))(x)

    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_second_derivative_knows_that_the_mean_moves(kernel: str) -> None:
    variance, dimension = KERNELS[kernel]
    x, change = normals(), normals(1)
    wide = change.astype(np.float64)
    expected = 2 * (wide - wide.mean(dimension, keepdims=True)) / x.shape[dimension]

    _, found = jax.jvp(jax.grad(lambda x: jnp.sum(variance(x))), (x,), (change,))

    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_batch_is_each_of_its_parts(kernel: str) -> None:
    variance, dimension = KERNELS[kernel]
    x = np.stack([normals(), normals(1) + np.float32(1e4), normals(2)])

    found = jax.vmap(variance)(x)

    np.testing.assert_allclose(found, x.astype(np.float64).var(1 + dimension), rtol=1e-5)


@pytest.mark.parametrize("offset", [0, 1e8])
def test_doubles_are_computed_in_doubles(offset: float) -> None:
    with jax.enable_x64(True):
        variance = tcjax.kernel(
            "def f(double(N,D) x) -> (v) { m(d) +=! x(n,d) / N\nv(d) +=! pow(x(n,d) - m(d), 2.0) / N }"
        )
        x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)) + offset
        assert "squares about the mean" in str(variance.plan(x))

        np.testing.assert_allclose(variance(x), (x - x.mean(0, keepdims=True)).var(0), rtol=1e-12)


def test_a_mean_over_several_indices() -> None:
    variance = tcjax.kernel("""
def variance(float(N,C,H,W) x) -> (v) {
    m(c) = mean[n,h,w](x(n,c,h,w))
    v(c) = mean[n,h,w](pow(x(n,c,h,w) - m(c), 2.0))
}""")
    x = np.random.default_rng(0).standard_normal((16, 32, 32, 32)).astype(np.float32)
    assert "squares about the mean" in str(variance.plan(x))

    np.testing.assert_allclose(variance(x), x.astype(np.float64).var((0, 2, 3)), rtol=1e-5)
