"""Powers with a constant exponent: as in NumPy, also at the limits of the float range."""

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
    # XLA's products flush to zero below this.
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


@pytest.mark.parametrize("exponent", [-3, -1, 0, 2, 3, 4, 7])
def test_a_whole_power_of_complex_numbers_is_a_product(exponent: int) -> None:
    rng = np.random.default_rng(2)
    z = (rng.normal(size=64) + 1j * rng.normal(size=64)).astype(np.complex64)
    kernel = tcjax.kernel(f"def f(complex64(N) z) -> (o) {{ o(i) = pow(z(i), {exponent}) }}")

    def real_part(z: jax.Array) -> jax.Array:
        return jnp.real(kernel(z)).sum()

    wide = z.astype(np.complex128)
    np.testing.assert_allclose(kernel(z), wide**exponent, rtol=2e-6)
    np.testing.assert_allclose(jax.grad(real_part)(z), exponent * wide ** (exponent - 1), rtol=1e-5)
    # A general power of complex numbers takes twenty times as long.
    assert " pow" not in str(jax.make_jaxpr(kernel)(z))


@pytest.mark.parametrize("exponent", [-2, 0, 2, 4])
@pytest.mark.parametrize("type", ["complex64", "float"])
def test_a_power_under_a_guard_is_a_product_too(exponent: int, type: str) -> None:
    text = f"def f({type}(N) z) -> (o) {{ b(i) = pow(z(i), {exponent}) where abs(z(i)) > 0.5 o(i) = b(i) }}"
    kernel = tcjax.kernel(text)
    z = np.array([0, 1, -2, 0.25], np.complex64 if type == "complex64" else np.float32)

    np.testing.assert_allclose(kernel(z), [0, 1, (-2.0) ** exponent, 0], rtol=1e-6)
    found = jax.grad(lambda z: jnp.real(kernel(z)).sum())(z)
    np.testing.assert_allclose(found, [0, exponent, exponent * (-2.0) ** (exponent - 1), 0], rtol=1e-6)
    assert " pow" not in str(jax.make_jaxpr(kernel)(z))
