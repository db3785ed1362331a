"""Branches that are not taken, and points excluded by a guard, affect neither values nor gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax import interpreter

X = np.array([-2.0, -0.5, 0.0, 0.5, 3.0], "float32")
HUGE = np.array([1e3, -1.0, 0.25, 200.0, 2.0], "float32")
HOLES = np.array([np.nan, 1.0, np.inf, 2.0, -np.inf], "float32")

PROGRAMS = {
    "a logarithm": ("def f(float(N) x) -> (y) { y(i) = x(i) > 0 ? log(x(i)) : 0.0 }", X),
    "a root": ("def f(float(N) x) -> (y) { y(i) = x(i) > 0 ? sqrt(x(i)) : x(i) }", X),
    "a quotient": ("def f(float(N) x) -> (y) { y(i) = x(i) != 0 ? 1.0 / x(i) : 0.0 }", X),
    "a power": ("def f(float(N) x) -> (y) { y(i) = x(i) > 0 ? pow(x(i), 1.5) : 0.0 }", X),
    "an overflow": ("def f(float(N) x) -> (y) { y(i) = x(i) < 10 ? exp(x(i)) : x(i) }", HUGE),
    "a product with holes": ("def f(float(N) x) -> (y) { y(i) = isfinite(x(i)) ? x(i) * x(i) : 0.0 }", HOLES),
    "the other branch": ("def f(float(N) x) -> (y) { y(i) = x(i) <= 0 ? 0.0 : log(x(i)) }", X),
    "nested": ("def f(float(N) x) -> (y) { y(i) = x(i) > 0 ? (x(i) > 1 ? log(log(x(i))) : sqrt(x(i))) : 0.0 }", X),
    "a guard": ("def f(float(N) x) -> (y) { y(i) = log(x(i)) where x(i) > 0 }", X),
    "a guarded sum": ("def f(float(N) x) -> (y) { y +=! sqrt(x(i)) where x(i) > 0 }", X),
    "a guarded inline sum": ("def f(float(N) x) -> (y) { y(i) = x(i) * sum[j where x(j) > 0](log(x(j))) }", X),
    "a read outside": ("def f(float(N) x) -> (y) { y(i) = i > 0 ? x(i-1) / x(i) : 1.0 where i in 0:N }", X + 7),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_ignore_what_is_not_evaluated(name: str) -> None:
    text, x = PROGRAMS[name]
    kernel = tcjax.kernel(text)
    expected = kernel.interpret(x)
    bound = kernel.plan(x).bound
    slopes = interpreter.differences(bound, {"x": x}, "x", [np.ones(expected.shape)])

    value = kernel(x)
    gradient = jax.grad(lambda a: jnp.sum(kernel(a)))(x)

    np.testing.assert_allclose(value, expected, rtol=1e-5)
    known = np.isfinite(slopes) & np.isfinite(x) & (x != 0)
    assert known.sum() >= 2
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(gradient[known], slopes[known], rtol=1e-3)


def test_a_kernel_is_exported_and_called_again() -> None:
    kernel = tcjax.kernel("def f(float(N) I, float(K) W) -> (O) { O(i) +=! I(i+k) * W(k) }")
    I, W = np.arange(8, dtype="float32"), np.array([1, 2, 1], "float32")

    exported = jax.export.export(jax.jit(kernel))(I, W)

    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_allclose(again.call(I, W), np.convolve(I, W, "valid"))


@pytest.mark.parametrize(
    "text",
    [
        "def f(float(N) x) -> (y) { y(i,j) = sum[r in 0:5](x(j + r)) where i in 0:0, j in 0:3 }",
        "def f(float(N) x) -> (y) { y(i,j) max=! x(j + r) where i in 0:0, j in 0:3, r in 0:5 }",
        "def f(float(N) x) -> (y) { y(i) = argmax[j](x(j) * x(i)) where i in 0:0 }",
    ],
)
def test_what_is_computed_nowhere_has_a_gradient_too(text: str) -> None:
    kernel = tcjax.kernel(text)

    gradient = jax.grad(lambda x: jnp.sum(kernel(x) * 1.0))(X + 3)

    assert kernel(X + 3).size == 0
    np.testing.assert_array_equal(gradient, np.zeros(X.shape))
