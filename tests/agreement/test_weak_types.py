"""Literals, constants, indices and sizes take the type of the data they are combined with: doubles lose no digits."""

import linecache
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcjax
from tests.effort import examples, phases

N = 40
I = np.arange(N)
X = np.random.default_rng(0).normal(size=N)
COUNTS = np.arange(N, dtype=np.int32)[::-1].copy()
TWO_PI = 6.283185307179586
EXACT = 4e-15


@pytest.fixture(autouse=True)
def _in_64_bits() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


# Each is a factor of `x(i)`, as TC, Python and SaC write it, and its values in float64.
FACTORS = {
    "a function of an index": ("sin(0.1*i)", "sin(0.1 * i)", "sin(0.1*i)", np.sin(0.1 * I)),
    "an index over a size": ("(1.0*i/N)", "(i / x.shape[0])", "(1.0*i/shape(x)[0])", I / N),
    "a power": ("pow(i, 0.3)", "i ** 0.3", "pow(i, 0.3)", I**0.3),
    "a root of a size": ("sqrt(N)", "sqrt(x.shape[0])", "sqrt(shape(x)[0])", np.sqrt(N) + 0 * I),
    "a choice": (
        "(0.1*i < 0.3 ? 0.1*i : 0.7)",
        "(0.1 * i if 0.1 * i < 0.3 else 0.7)",
        "(0.1*i < 0.3 ? 0.1*i : 0.7)",
        np.where(0.1 * I < 0.3, 0.1 * I, 0.7),
    ),
    "a choice by data": (
        "(x(i) > 0 ? 0.1 : 0.3*i)",
        "(0.1 if x[i] > 0 else 0.3 * i)",
        "(x[i] > 0 ? 0.1 : 0.3*i)",
        np.where(X > 0, 0.1, 0.3 * I),
    ),
    "extrema": ("min(0.1*i, 0.7)", "min(0.1 * i, 0.7)", "min(0.1*i, 0.7)", np.minimum(0.1 * I, 0.7)),
    "a sum": (
        "sum[k in 0:9](0.1*k*i)",
        "sum[k in range(0, 9)](0.1 * k * i)",
        "sum({ [k] -> 0.1*k*i | [k] < [9] })",
        sum(0.1 * k * I for k in range(9)),
    ),
    "a mean of indices": (
        "mean[k in 0:7](k*k)",
        "mean[k in range(0, 7)](k * k)",
        "mean({ [k] -> k*k | [k] < [7] })",
        np.mean(np.arange(7.0) ** 2) + 0 * I,
    ),
    "a large integer": ("(100000*i*i)", "(100000 * i * i)", "(100000*i*i)", 100000.0 * I * I),
    "typed integers": ("(0.1*n(i))", "(0.1 * n[i])", "(0.1*n[i])", 0.1 * COUNTS),
    "a function of typed integers": ("sin(n(i))", "sin(n[i])", "sin(n[i])", np.sin(COUNTS)),
    "a sign": ("(-(0.1*i))", "-(0.1 * i)", "(-(0.1*i))", -0.1 * I),
    "a cast": ("float(0.1*i)", "float32(0.1 * i)", "tof(0.1*i)", (np.float32(0.1) * I.astype(np.float32))),
}


def from_tc(name: str) -> tcjax.Kernel:
    return tcjax.kernel(f"def f(double(N) x, int(N) n) -> (y) {{ y(i) = {FACTORS[name][0]} * x(i) + 0*n(i) }}")


def from_python(name: str) -> tcjax.Kernel:
    return read_python(function('x: "double(N)", n: "int(N)"', f"y[i] = {FACTORS[name][1]} * x[i] + 0 * n[i]"))


def from_sac(name: str) -> tcjax.Kernel:
    body = f"{{ [i] -> {FACTORS[name][2]} * x[i] + 0*n[i] }}"
    return tcjax.kernel(f"double[m] f(double[m] x, int[m] n) {{ return {body}; }}")


def function(parameters: str, body: str) -> str:
    """A definition in the Python notation."""
    return f"@tcjax.kernel\ndef f({parameters}):\n    {body}\n    return y\n"


def read_python(source: str, **constants: float) -> tcjax.Kernel:
    """The kernel that a text in the Python notation defines."""
    name = f"<weak {len(linecache.cache)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"tcjax": tcjax, **constants}
    exec(compile(source, name, "exec"), names)
    return next(value for value in names.values() if isinstance(value, tcjax.Kernel))


WRITTEN: dict[str, Callable[[str], tcjax.Kernel]] = {"tc": from_tc, "python": from_python, "sac": from_sac}


@pytest.mark.parametrize("notation", WRITTEN)
@pytest.mark.parametrize("name", FACTORS)
def test_a_weak_factor_is_computed_in_the_type_of_its_data(name: str, notation: str) -> None:
    kernel, factor = WRITTEN[notation](name), FACTORS[name][3]

    found, interpreted = kernel(X, COUNTS), kernel.interpret(X, COUNTS)

    assert found.dtype == np.float64
    np.testing.assert_allclose(found, factor * X, rtol=EXACT)
    np.testing.assert_allclose(interpreted, factor * X, rtol=EXACT)


@pytest.mark.parametrize("notation", WRITTEN)
@pytest.mark.parametrize("name", ["a function of an index", "a choice", "a sum", "typed integers"])
def test_a_derivative_has_the_digits_of_its_data(name: str, notation: str) -> None:
    kernel, factor = WRITTEN[notation](name), FACTORS[name][3]

    slope = jax.grad(lambda x: (kernel(x, COUNTS) * X).sum())(X)
    adjoint = kernel.adjoint(wrt=("x",))
    cotangent = "d_out" if notation == "sac" else "d_y"
    written = adjoint(X, COUNTS, **{cotangent: X})

    np.testing.assert_allclose(slope, factor * X, rtol=EXACT)
    np.testing.assert_allclose(written, factor * X, rtol=EXACT)


@pytest.mark.parametrize("notation", WRITTEN)
@pytest.mark.parametrize("target", ["tc", "python", "sac"])
@pytest.mark.parametrize("name", FACTORS)
def test_a_translation_keeps_the_types(name: str, notation: str, target: str) -> None:
    kernel = WRITTEN[notation](name)

    text = kernel.to(target)
    there = read_python(text) if target == "python" else tcjax.kernel(text)

    np.testing.assert_allclose(there.interpret(X, COUNTS), kernel.interpret(X, COUNTS), rtol=EXACT)


ATOMS = st.sampled_from(["i", "N", "0.1", "2", "0.75*i", "1.0/N", "sqrt(i)"])


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Larger weak expressions; each is a float, so that the temporary divides as it does."""
    form = st.sampled_from(
        ["({} + {})", "({} * {})", "({} - 1.5*{})", "max({}, 0.5*{})", "sin(0.5*{} + {})", "({} > {} ? 0.25 : 0.5*i)"]
    )
    return st.builds(lambda form, a, b: form.format(a, b), form, inner, inner)


def test_constants_around_a_python_function_are_weak() -> None:
    body = "y[i] = cos(SCALE * TWO_PI * i / x.shape[0]) * x[i]"
    scaled = read_python(function("x", body), SCALE=0.1, TWO_PI=TWO_PI)

    found = scaled(X)

    np.testing.assert_allclose(found, np.cos(0.1 * TWO_PI * I / N) * X, rtol=EXACT)
    np.testing.assert_allclose(scaled.interpret(X), np.cos(0.1 * TWO_PI * I / N) * X, rtol=EXACT)


def test_a_fourier_transform_keeps_its_digits() -> None:
    kernel = tcjax.kernel("""
    def dft(double(R) x) -> (y) { y(q) +=! exp(-6.283185307179586i * r * q / R) * x(r) where q in 0:R }""")

    found = kernel(X)

    assert found.dtype == np.complex128
    np.testing.assert_allclose(found, np.fft.fft(X), atol=1e-12)


@settings(max_examples=examples(20), phases=phases(), deadline=None)
@given(st.recursive(ATOMS, grown, max_leaves=6), st.sampled_from(["double", "float", "half", "bfloat16"]))
def test_a_weak_expression_is_a_temporary_of_the_datas_type(expression: str, scalar: str) -> None:
    given_ = f"{scalar}(N) x"
    direct = tcjax.kernel(f"def f({given_}) -> (y) {{ y(i) = ({expression}) * x(i) }}")
    stored = tcjax.kernel(
        f"def f({given_}) -> (y) {{ {scalar}(N) t  t(i) = {expression} where i in 0:N  y(i) = t(i) * x(i) }}"
    )
    x = jax.numpy.asarray(X, {"double": "float64", "float": "float32", "half": "float16"}.get(scalar, scalar))

    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(direct.interpret(x), stored.interpret(x))


def test_a_weak_value_with_nothing_to_meet_is_of_the_declared_type_else_float32() -> None:
    declared = tcjax.kernel("def f(double(N) x) -> (double(N) y) { y(i) = 0.1*i where i in 0:N }")
    free = tcjax.kernel("def f(double(N) x) -> (y) { y(i) = 0.1*i where i in 0:N }")

    np.testing.assert_array_equal(declared(X), 0.1 * I)
    assert free(X).dtype == np.float32


def test_an_output_with_a_double_somewhere_makes_doubles_of_its_weak_values() -> None:
    kernel = tcjax.kernel("def f(double(N) x) -> (y) { y(i) = 0.1*i where i in 0:N  y(i) += x(i) }")

    np.testing.assert_allclose(kernel(X), 0.1 * I + X, rtol=EXACT)


def test_a_guard_compares_in_the_type_of_the_data() -> None:
    # In float32 0.1 * 3 is 0.3, in float64 it is larger.
    kernel = tcjax.kernel("def f(double(N) x) -> (y) { y(i) = x(i) where 0.1*i <= 0.3, i in 0:N }")

    np.testing.assert_array_equal(kernel(X), np.where(0.1 * I <= 0.3, X, 0.0))
    np.testing.assert_array_equal(kernel.interpret(X), np.where(0.1 * I <= 0.3, X, 0.0))


def test_beside_halves_indices_keep_their_digits() -> None:
    kernel = tcjax.kernel("y(i) = x(i) * (0.001*i)")
    ones = np.ones(2000, np.float16)

    np.testing.assert_array_equal(kernel(ones), (0.001 * np.arange(2000)).astype(np.float32).astype(np.float16))


def test_a_weak_argument_of_a_python_function_is_of_the_type_of_the_others() -> None:
    kernel = tcjax.kernel("y(i) = twice(x(i), 0.1*i, 0.1)", fns={"twice": lambda a, b, c: a + b + c})

    np.testing.assert_allclose(kernel(X), X + 0.1 * I + 0.1, rtol=EXACT)


def test_a_weak_argument_of_a_python_function_on_cells_is_of_the_type_of_the_others() -> None:
    kernel = tcjax.kernel("{ [i] -> twice(x[i], 0.1*i, 0.1) }", fns={"twice": lambda a, b, c: a + b + c})

    np.testing.assert_allclose(kernel(X), X + 0.1 * I + 0.1, rtol=EXACT)


@pytest.mark.parametrize("target", ["tc", "sac"])
def test_a_cast_argument_of_a_python_function_is_translated_as_one(target: str) -> None:
    fns = {"twice": lambda a, b: a + b}
    kernel = tcjax.kernel("def f(double(N) x) -> (y) { y(i) = twice(x(i), float(0.1)) }", fns=fns)

    there = tcjax.kernel(kernel.to(target), fns=fns)

    np.testing.assert_array_equal(kernel(X), X + np.float64(np.float32(0.1)))
    np.testing.assert_array_equal(there(X), kernel(X))


def test_the_slash_of_the_python_notation_divides() -> None:
    halved = read_python(function("x, n", "y[i] = 1 / 2 * x[i] + (i + 1) / x.shape[0] + n[i] / 3"))

    # A warning is an error in these tests.
    np.testing.assert_allclose(halved(X, COUNTS), X / 2 + (I + 1) / N + COUNTS / 3, rtol=EXACT)


def test_literals_of_a_sac_array_keep_their_digits_where_it_is_stored() -> None:
    kernel = tcjax.kernel("w = [0.1, 0.2, 0.3]; { [i] -> sum({ [k] -> w[k] * x[i+k] | [k] < [3] }) | [i] < [38] }")

    np.testing.assert_allclose(kernel(X), np.convolve(X, [0.3, 0.2, 0.1], "valid"), rtol=EXACT, atol=EXACT)
