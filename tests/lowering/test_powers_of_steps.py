"""Powers whose exponents are the steps of an unrolled sum: products, not logarithms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute
from tcjax.planning.cost.prices import price
from tcjax.planning.data.nodes import Unroll

RNG = np.random.default_rng(0)
# Large enough for the sum to be unrolled.
X = np.append(RNG.normal(size=1 << 16), [0.0, -0.0, 1.0, -2.0]).astype(np.float32)
C = RNG.normal(size=6).astype(np.float32)
HEAD = "def f(float(N) x, float(K) c) -> (y)"


def test_a_polynomial_is_the_sum_of_its_terms() -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ y(i) +=! c(k) * pow(x(i), k) }}")

    found = kernel(X, C)

    expected = (C.astype(np.float64) * X.astype(np.float64)[:, None] ** np.arange(6)).sum(1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_its_gradient_is_finite_at_zero() -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ y(i) +=! c(k) * pow(x(i), k) }}")
    weights = RNG.normal(size=len(X)).astype(np.float32)

    by_x, by_c = jax.grad(lambda x, c: jnp.vdot(kernel(x, c), weights), (0, 1))(X, C)

    x, k = X.astype(np.float64)[:, None], np.arange(6)
    slopes = (C.astype(np.float64) * k * x ** np.maximum(k - 1, 0)).sum(1)
    np.testing.assert_allclose(by_x, weights * slopes, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(by_c, (weights[:, None] * x**k).sum(0), rtol=1e-4, atol=2e-1)


@pytest.mark.parametrize("exponent", ["k - 2", "2 * k", "k * k", "-k"])
def test_exponents_are_computed_from_steps(exponent: str) -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ y(i) +=! c(k) * pow(x(i), {exponent}) }}")
    x = np.array([0.5, -1.5, 2.0, 1.0], np.float32)

    np.testing.assert_allclose(kernel(x, C), kernel.interpret(x, C), rtol=1e-5)


def test_special_values_are_those_of_powers() -> None:
    kernel = tcjax.kernel("def f(float(N) x) -> (y) { y(i) max=! pow(x(i), k) where k in 0:3 }")
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0], np.float32)

    np.testing.assert_array_equal(kernel(x), kernel.interpret(x))


def test_the_terms_are_products() -> None:
    plan = tcjax.kernel(f"{HEAD} {{ y(i) +=! c(k) * pow(x(i), k) }}").plan(X, C)
    (stage,) = plan.stages
    assert isinstance(stage, Compute)

    value = stage.value
    assert isinstance(value, Unroll) and value.derivative is None
    assert 1e6 * price(stage).seconds < 100


def test_a_polynomial_of_many_terms_is_written_out_too() -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ y(i) +=! c(k) * pow(x(i), k) }}")
    x, c = RNG.uniform(-1, 1, 1000).astype(np.float32), RNG.normal(size=40).astype(np.float32)

    (stage,) = kernel.plan(x, c).stages
    found, by_x = kernel(x, c), jax.grad(lambda x: kernel(x, c).sum())(x)

    assert isinstance(stage, Compute) and isinstance(stage.value, Unroll)
    powers = x.astype(np.float64)[:, None] ** np.arange(40)
    np.testing.assert_allclose(found, powers @ c, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(by_x, powers[:, :-1] @ (c[1:] * np.arange(1, 40)), rtol=1e-4, atol=1e-4)
