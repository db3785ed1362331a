"""Powers with a number as their exponent: as NumPy has them, at the ends of what floats can say too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

EXPONENTS = [-8, -3.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 4, 7.5, 8, 8.5, 0.3]
ENDS = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.5, 1.0, 1e-30, 1e30, 3e38, 1e-38]


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_a_power_is_that_of_numpy(exponent: float) -> None:
    x = np.r_[np.random.default_rng(0).uniform(0.01, 30, 64), ENDS].astype(np.float32)
    with np.errstate(all="ignore"):
        wanted = (x.astype(float) ** exponent).astype(np.float32)
    # XLA's products are zero where they would be smaller than this.
    wanted = np.where(np.abs(wanted) < np.finfo(np.float32).tiny, np.copysign(0, wanted), wanted)
    normal = np.isnan(x) | (x == 0) | (np.abs(x) >= np.finfo(np.float32).tiny)

    found = np.asarray(tcjax.kernel(f"def f(float(N) x) -> (o) {{ o(i) = pow(x(i), {exponent}) }}")(x))

    if exponent not in (0.5, 0.3, 8.5):
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(wanted[found == 0]))
    np.testing.assert_allclose(found[normal], wanted[normal], rtol=2e-6, atol=2e-38)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_its_derivatives_are_those_of_a_power(exponent: float) -> None:
    x = np.random.default_rng(1).uniform(0.1, 3, 16)
    with jax.enable_x64():
        kernel = tcjax.kernel(f"def f(double(N) x) -> (o) {{ o(i) = pow(x(i), {exponent}) }}")
        first = jax.grad(lambda x: kernel(x).sum())
        second = jax.grad(lambda x: first(x).sum())
        found = first(jnp.asarray(x)), second(jnp.asarray(x))

    np.testing.assert_allclose(found[0], exponent * x ** (exponent - 1), rtol=1e-12)
    np.testing.assert_allclose(found[1], exponent * (exponent - 1) * x ** (exponent - 2), rtol=1e-12)


def test_a_power_of_nothing_has_the_derivative_that_its_exponent_says() -> None:
    def derivative(exponent: float) -> float:
        kernel = tcjax.kernel(f"def f(float(N) x) -> (o) {{ o(i) = pow(x(i), {exponent}) }}")
        return float(jax.grad(lambda x: kernel(x).sum())(jnp.zeros(1))[0])

    assert [derivative(exponent) for exponent in (0, 0.5, 1, 1.5, 2.5, 4)] == [0.0, np.inf, 1.0, 0.0, 0.0, 0.0]


def test_a_branch_without_a_power_passes_no_infinite_derivative() -> None:
    kernel = tcjax.kernel("def f(float(N) x) -> (o) { o(i) = x(i) > 0 ? pow(x(i), -1.5) : 0.0 }")

    found = jax.grad(lambda x: kernel(x).sum())(jnp.float32([0.0, -1.0, 4.0]))

    np.testing.assert_allclose(found, [0.0, 0.0, -1.5 * 4**-2.5], rtol=1e-6)


def test_a_power_of_halves_is_rounded_once() -> None:
    x = jnp.asarray(np.random.default_rng(2).uniform(0.5, 2, 256), jnp.bfloat16)
    kernel = tcjax.kernel("def f(bfloat16(N) x) -> (o) { o(i) = pow(x(i), 7.5) }")

    found = np.asarray(kernel(x), np.float32)

    np.testing.assert_allclose(found, np.asarray(x, np.float32) ** 7.5, rtol=2**-8)
