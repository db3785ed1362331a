"""Sums with a factor that is zero except at a few positions agree with the interpreter, also for inf and NaN."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax.planning.data.nodes import LoopNest, below
from tcjax.planning.data.stages import Compute

HEAD = "def f(float(N) a, float(N) b, float(N) c, float(N) x) -> (y)"
BANDS = {
    "choices": "y(i) +=! (i == j ? b(i) : (i == j+1 ? a(i) : (j == i+1 ? c(i) : 0.0))) * x(j) where i in 0:N",
    "zero first": "y(i) +=! (i - j > 1 || j - i > 1 ? 0.0 : i == j ? b(i) : j < i ? a(i) : c(i)) * x(j) where i in 0:N",
    "a value": "y(i) = 1.0 * sum[j](x(j) * (j == i-1 ? a(i) : i == j ? b(i) : j == i+1 ? c(i) : 0.0)) where i in 0:N",
    "updates": """
        A(i,j) = 0.0 where i in 0:N, j in 0:N
        A(i,i) = b(i)
        A(i,i-1) = a(i) where i in 1:N
        A(i,i+1) = c(i) where i in 0:N-1
        y(i) +=! A(i,j) * x(j)""",
}
FAST = ("choices", "a value", "updates")


def kernel(name: str) -> tcjax.Kernel:
    return tcjax.kernel(f"{HEAD} {{ {BANDS[name]} }}")


def arrays(size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(size).astype(np.float32) for _ in range(4)]


def matrix(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    low, middle, high = (own.astype(np.float64) for own in (a[1:], b, c[:-1]))
    return np.diag(middle) + np.diag(low, -1) + np.diag(high, 1)


@pytest.mark.parametrize("name", BANDS)
@pytest.mark.parametrize("size", [1, 2, 7, 600])
def test_a_few_places_are_those_of_the_matrix(name: str, size: int) -> None:
    a, b, c, x = arrays(size)

    np.testing.assert_allclose(kernel(name)(a, b, c, x), matrix(a, b, c) @ x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", FAST)
def test_no_other_place_is_visited(name: str) -> None:
    stage = kernel(name).plan(*arrays(600)).stages[-1]

    assert isinstance(stage, Compute) and stage.proviso is not None
    assert not any(isinstance(node, LoopNest) for node in below(stage.value))


@pytest.mark.parametrize("name", BANDS)
@pytest.mark.parametrize("spoilt", range(4))
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_zero_meets_what_is_not_finite(name: str, spoilt: int, value: float) -> None:
    given = arrays(9)
    given[spoilt][4] = value
    band = kernel(name)

    np.testing.assert_allclose(band(*given), band.interpret(*given), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", BANDS)
def test_the_derivative_is_that_of_the_band(name: str) -> None:
    a, b, c, x = arrays(600)
    weights = np.random.default_rng(1).standard_normal(600).astype(np.float32)

    found = jax.vjp(kernel(name), a, b, c, x)[1](weights)

    low, high = np.append(0.0, weights[1:] * x[:-1]), np.append(weights[:-1] * x[1:], 0.0)
    for own, expected in zip(found, (low, weights * x, high, matrix(a, b, c).T @ weights), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-5)


def test_places_of_two_indices_are_few_of_a_matrix() -> None:
    text = """def f(float(N,N) A, float(N) d) -> (y) {
      y(k) +=! (i == k && j == k ? d(k) : i == k+1 && j == k ? 2.0 : 0.0) * A(i,j) where k in 0:N }"""
    rng = np.random.default_rng(0)
    A, d = rng.standard_normal((40, 40)).astype(np.float32), rng.standard_normal(40).astype(np.float32)

    expected = d * np.diag(A) + 2 * np.append(np.diag(A, -1), 0)
    np.testing.assert_allclose(tcjax.kernel(text)(A, d), expected, rtol=1e-5, atol=1e-5)
