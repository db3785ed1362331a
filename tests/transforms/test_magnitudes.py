"""Canonical powers: squares of magnitudes are squares, and so are their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

SQUARES = (
    "abs(x(i) - y(i)) * abs(x(i) - y(i))",
    "fabs(x(i) - y(i)) * fabs(x(i) - y(i))",
    "pow(fabs(x(i) - y(i)), 2.0)",
    "1.0 * fabs(x(i) - y(i)) * fabs(x(i) - y(i))",
    "pow(x(i) - y(i), 2)",
)
X = np.array([1.5, -2.0, 0.0, 3.0, -np.inf, np.nan], np.float32)
Y = np.array([2.0, 1.0, 0.0, 3.0, 1.0, 1.0], np.float32)


@pytest.mark.parametrize("square", SQUARES)
def test_a_square_of_a_magnitude_is_a_square(square: str) -> None:
    kernel = tcjax.kernel(f"def f(float(N) x, float(N) y) -> (o) {{ o(i) = {square} }}")

    assert "abs" not in str(kernel.plan(X, Y))
    np.testing.assert_array_equal(kernel(X, Y), np.square(X - Y))
    np.testing.assert_array_equal(kernel(X, Y), kernel.interpret(X, Y))
    found = jax.grad(lambda x: kernel(x, jnp.asarray(Y)).sum())(jnp.asarray(X))
    np.testing.assert_array_equal(found, 2 * (X - Y))


def test_other_magnitudes_stay() -> None:
    text = "def f(float(N) x, float(N) y) -> (o) { o(i) = abs(x(i)) * abs(y(i)) * abs(x(i)) * abs(x(i)) }"

    kernel = tcjax.kernel(text)

    assert str(kernel.plan(X[:4], Y[:4])).count("abs") >= 2
    np.testing.assert_allclose(kernel(X[:4], Y[:4]), np.abs(X[:4]) ** 3 * np.abs(Y[:4]), rtol=1e-6)


def test_magnitudes_of_integers_and_complex_numbers_are_the_interpreters() -> None:
    integers = tcjax.kernel("def f(int32(N) x) -> (o) { o(i) = abs(x(i)) * abs(x(i)) }")
    numbers = tcjax.kernel("def f(complex64(N) x) -> (o) { o(i) = abs(x(i)) * abs(x(i)) }")
    x = np.array([3, -4, 0], np.int32)
    z = np.array([3 + 4j, -1j], np.complex64)

    np.testing.assert_array_equal(integers(x), x * x)
    np.testing.assert_allclose(numbers(z), [25, 1], rtol=1e-6)
