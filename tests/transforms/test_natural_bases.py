"""Exponentials and logarithms of other bases: which become natural, and that values and derivatives stay right."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

X = np.array([-np.inf, -3.5, 0.0, 0.25, 1.0, 7.0, np.inf, np.nan], "float32")
LN2, LN10 = math.log(2), math.log(10)
# Each is the natural exponential or logarithm of x.
NATURAL = {
    "exp2 of a product": (f"exp2(x(n) * {1 / LN2!r})", "exp"),
    "exp2, the constant first": (f"exp2({1 / LN2!r} * x(n))", "exp"),
    "exp2 of a quotient": (f"exp2(x(n) / {LN2!r})", "exp"),
    "exp10 of a product": (f"exp10(x(n) * {1 / LN10!r})", "exp"),
    "log2 times a constant": (f"log2(x(n)) * {LN2!r}", "log"),
    "a constant times log2": (f"{LN2!r} * log2(x(n))", "log"),
    "log10 by a constant": (f"log10(x(n)) / {1 / LN10!r}", "log"),
}
# A different scale, and a trivial scale.
OTHERS = ("exp2(x(n) * 1.44)", "exp2(x(n) * 2.0)", "exp2(x(n))", "log2(x(n)) * 0.7", "log2(x(n))", "log10(x(n)) * 2.0")


def kernel_of(value: str, dtype: str = "float") -> tcjax.Kernel:
    return tcjax.kernel(f"def f({dtype}(N) x) -> (y) {{ y(n) = {value} }}")


@pytest.mark.parametrize("name", NATURAL)
def test_another_base_scaled_to_the_natural_one_is_that(name: str) -> None:
    value, function = NATURAL[name]
    kernel = kernel_of(value)

    assert f"{function} -> " in str(kernel.plan(X))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(kernel(X), kernel.interpret(X), rtol=1e-5)


@pytest.mark.parametrize("value", OTHERS)
def test_another_scale_keeps_its_base(value: str) -> None:
    assert f"{value.partition('(')[0]} -> " in str(kernel_of(value).plan(X))


def test_a_constant_of_single_precision_is_another_one_in_double() -> None:
    with jax.enable_x64(True):
        x = X.astype("float64")

        assert "exp2 -> " in str(kernel_of("exp2(x(n) * 1.44269504)", "double").plan(x))
        assert "exp2 -> " not in str(kernel_of(f"exp2(x(n) * {1 / LN2!r})", "double").plan(x))


def test_the_derivative_is_that_of_the_natural_one() -> None:
    x = np.array([-3.5, 0.25, 1.0, 7.0], "float32")
    kernel = kernel_of(f"exp2(x(n) * {1 / LN2!r}) + {LN2!r} * log2(x(n) * x(n))")

    found = jax.grad(lambda x: jnp.sum(kernel(x)))(x)

    np.testing.assert_allclose(found, np.exp(x.astype("float64")) + 2 / x, rtol=1e-5)
