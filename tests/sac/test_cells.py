"""Python functions on cells: wherever a program calls them, the values are those of a loop over the cells."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.syntax import sac
from tests.agreement.comparing import agree
from tests.sac.doubles import in_double
from tests.sac.reference import evaluate

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def real(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers in general position."""
    return np.random.default_rng(seed).uniform(0.2, 1.5, shape).astype("float32")


def softmax(x: Any) -> Any:
    e = jnp.exp(x - jnp.max(x))
    return e / jnp.sum(e)


FNS: dict[str, Callable[..., Any]] = {
    "soft": softmax,
    "smooth": lambda x: jnp.sin(x) * x,
    "norm": lambda x: jnp.sqrt(jnp.sum(x * x)),
    "outer": lambda x, y: jnp.outer(x, y),
    "pair": lambda x: (x + 1, jnp.sum(x)),
    "three": lambda x: (x, -x, x > 0),
    "largest": lambda x: jnp.argmax(x),
    "affine": lambda x, m, b: m @ x + b,
    "constant": lambda: jnp.arange(3.0),
    "widen": lambda x: jnp.concatenate([x, x]),
    "flip": lambda x: jnp.flip(x),
    "plus": lambda x, y: x + y,
    "positive": lambda x: x > 0.5,
    "square": lambda m: m @ m,
}

A, B, C = real(3, 4), real(4, seed=1), real(2, 3, 3, seed=2)

# Texts, their arguments in the order of the names.
PROGRAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "a scalar cell": ("{ [i,j] -> smooth(a[i,j]) }", {"a": A}),
    "a scalar cell at an index vector": ("{ iv -> smooth(a[iv]) }", {"a": C}),
    "a scalar in the middle of an expression": ("{ iv -> 2.0 * smooth(a[iv] + 1) - a[iv] }", {"a": A}),
    "a vector cell": ("{ [i] -> soft(a[i]) }", {"a": A}),
    "a vector cell that becomes a scalar": ("{ [i] -> norm(a[i]) }", {"a": A}),
    "a vector cell that grows": ("{ [i] -> widen(a[i]) }", {"a": A}),
    "a matrix cell": ("{ [i] -> square(a[i]) }", {"a": C}),
    "two cells that become a matrix": ("{ [i] -> outer(a[i], b) }", {"a": A, "b": B}),
    "a cell that is computed": ("{ [i] -> soft(a[i] * 2.0 + b) }", {"a": A, "b": B}),
    "a cell that is a comprehension": ("{ [i] -> soft({ [j] -> a[i,j] * b[j] }) }", {"a": A, "b": B}),
    "a cell of indices": ("{ [i] -> plus(i, 1) | [i] < [4] }", {}),
    "an index vector as a cell": ("{ iv -> flip(iv) | iv < [2,3] }", {}),
    "a column as a cell": ("{ [.,j] -> soft(a[.,j]) }", {"a": A}),
    "results placed by dots": ("{ [.,i] -> widen(a[i]) }", {"a": A}),
    "an argument that is closed over": ("{ [i] -> affine(a[i], m, b) }", {"a": A, "m": real(2, 4), "b": real(2)}),
    "no argument": ("{ [i] -> constant() * i | [i] < [2] }", {}),
    "everything at once": ("soft(b)", {"b": B}),
    "everything and then an element": ("soft(b)[2]", {"b": B}),
    "a result that is selected from": ("{ [i] -> soft(a[i])[1] }", {"a": A}),
    "a result that is selected from by an index": ("{ [i,j] -> soft(a[i])[j] | [i,j] < shape(a) }", {"a": A}),
    "a result that says how far an index runs": ("{ [i] -> { [j] -> widen(a[i])[j] } }", {"a": A}),
    "a result that decides a choice": ("{ [i] -> positive(a[i,0]) ? a[i] : -a[i] }", {"a": A}),
    "a result that is an index": ("{ [i] -> b[largest(a[i])] }", {"a": A, "b": B}),
    "under a fold": ("sum({ [i] -> norm(a[i]) })", {"a": A}),
    "a fold of cells": ("{ [i] -> maxval(soft(a[i])) }", {"a": A}),
    "a fold of scalar cells": ("sum({ iv -> smooth(a[iv]) * a[iv] })", {"a": A}),
    "a fold in a fold": ("{ [i] -> sum({ [j] -> norm(a[i,j]) }) }", {"a": C}),
    "under a ragged fold": ("{ [i] -> sum({ [j] -> smooth(a[i,j]) | [j] <= [i] }) }", {"a": A}),
    "under a ragged fold of larger cells": (
        "{ [i] -> sum({ [j] -> norm(c[i,j]) | [j] <= [i] }) | [i] < [2] }",
        {"c": C},
    ),
    "applied twice": ("{ [i] -> soft(soft(a[i])) }", {"a": A}),
    "applied to results of another": ("{ [i] -> plus(soft(a[i]), flip(a[i])) }", {"a": A}),
    "nested frames": ("{ [i] -> { [j] -> soft(a[i,j]) } }", {"a": C}),
    "around a comprehension that calls it": ("soft({ [i] -> norm(soft(a[i])) })", {"a": A}),
    "in the first partition": ("{ [i] -> soft(a[i]) | [i] < [2]; [i] -> a[i] }", {"a": A}),
    "in the last partition": ("{ [i] -> a[i] | [i] < [1]; [i] -> soft(a[i]) }", {"a": A}),
    "in both partitions": ("{ [i] -> soft(a[i]) | [1] <= [i]; [i] -> smooth(a[i]) }", {"a": A}),
    "in a partition with steps": ("{ [i] -> soft(a[i]) | [0] <= [i] < [3] step [2]; [i] -> -a[i] }", {"a": A}),
    "in the interior": ("{ [i,j] -> smooth(a[i,j-1] + a[i,j+1]) | . < [i,j] < .; iv -> a[iv] }", {"a": A}),
    "where the other branch reads outside": ("{ [i] -> i > 0 ? soft(a[i-1]) : a[i] | [i] < [3] }", {"a": A}),
    "in a function": ("float[*] f(float[n] x) { y = soft(x); return y * y; } { [i] -> f(a[i]) }", {"a": A}),
    "in a function that calls itself": (
        "float[*] f(float[*] x) { return dim(x) == 1 ? soft(x) : { [i] -> f(x[i]) }; } f(c)",
        {"c": C},
    ),
    "in a let": ("y = { [i] -> soft(a[i]) }; { [i] -> sum(y[i] * a[i]) }", {"a": A}),
    "named like a function of the library": ("{ [i] -> square(c[i]) }", {"c": C}),
    "a shape of a result": ("shape(widen(b))", {"b": B}),
    "a result that decides a length": ("{ [i] -> 1 | [i] < shape(widen(b)) }", {"b": B}),
    "no cells": ("{ [i] -> soft(a[i]) }", {"a": real(0, 4)}),
    "cells of no elements": ("{ [i] -> widen(a[i]) }", {"a": real(3, 0)}),
    "no cells of no elements": ("{ [i] -> widen(a[i]) }", {"a": real(0, 0)}),
    "no cells along the second axis": ("{ [i,j] -> soft(c[i,j]) }", {"c": real(2, 0, 3)}),
    "no scalar cells": ("{ iv -> smooth(a[iv]) }", {"a": real(0, 4)}),
    "a sum over no cells": ("sum({ [i] -> norm(a[i]) })", {"a": real(0, 4)}),
    "whole numbers": ("{ [i] -> plus(n[i], 1) }", {"n": np.array([1, 2], "int32")}),
}


def kernel(text: str) -> tcjax.Kernel:
    return tcjax.kernel(text, dialect="sac", fns=FNS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_of_cells_is_a_loop_over_them(name: str) -> None:
    text, arguments = PROGRAMS[name]
    expected = evaluate(sac.read(text), arguments, FNS)

    agree(kernel(text)(**arguments), expected)
    agree(kernel(text).interpret(**arguments), expected)
    agree(jax.jit(kernel(text))(**arguments), expected)


MOVABLE = [name for name, (_, arguments) in PROGRAMS.items() if arguments and "numbers" not in name]


@pytest.mark.parametrize("name", MOVABLE)
def test_a_kernel_with_cells_is_mapped(name: str) -> None:
    text, arguments = PROGRAMS[name]
    first, *_ = arguments
    stack = np.stack([arguments[first], arguments[first] * 2, 1 - arguments[first]])
    expected = np.stack([np.asarray(evaluate(sac.read(text), arguments | {first: row}, FNS)) for row in stack])

    found = jax.vmap(lambda row: kernel(text)(**(arguments | {first: row})))(stack)

    agree(found, expected)


@pytest.mark.parametrize("name", MOVABLE)
def test_a_kernel_with_cells_has_the_derivative_of_the_loop(name: str) -> None:
    text, arguments = PROGRAMS[name]
    program = in_double(sac.read(text))
    first, *_ = arguments
    at = arguments[first]
    way = np.random.default_rng(3).uniform(-1, 1, at.shape)
    if np.asarray(evaluate(sac.read(text), arguments, FNS)).dtype.kind != "f":
        return

    def total(x: Any) -> Any:
        return jnp.sum(kernel(text)(**(arguments | {first: x})) ** 2)

    with jax.enable_x64(True):
        ends = [
            float(np.sum(np.asarray(evaluate(program, arguments | {first: np.asarray(at + step * way)}, FNS)) ** 2))
            for step in (1e-6, -1e-6)
        ]
    gradient = jax.grad(total)(at)
    _, tangent = jax.jvp(total, (at,), (way.astype("float32"),))

    assert gradient.shape == at.shape and np.isfinite(gradient).all()
    expected = (ends[0] - ends[1]) / 2e-6
    scale = max(1.0, abs(expected))
    np.testing.assert_allclose(np.sum(np.asarray(gradient) * way), expected, rtol=1e-3, atol=1e-3 * scale)
    np.testing.assert_allclose(tangent, expected, rtol=1e-3, atol=1e-3 * scale)


# ---------------------------------------------------------------- several results


def test_a_function_of_several_results_is_taken_apart() -> None:
    more, total = kernel("float[*], float[*] f(float[n] x) { p, s = pair(x); return (p, s); }")(B)

    np.testing.assert_allclose(more, B + 1, rtol=1e-6)
    np.testing.assert_allclose(total, B.sum(), rtol=1e-6)


def test_a_function_of_several_results_over_cells_gives_several_arrays() -> None:
    found = kernel("p, s = { [i] -> pair(a[i]) }; { [i] -> p[i] * s[i] }")(A)

    np.testing.assert_allclose(found, (A + 1) * A.sum(1, keepdims=True), rtol=1e-5)


def test_several_results_of_different_types() -> None:
    found = kernel("x, y, p = { [i] -> three(a[i]) }; { iv -> p[iv] ? y[iv] : x[iv] }")(A - 0.5)

    np.testing.assert_allclose(found, -np.abs(A - 0.5), rtol=1e-6)


PAIRS = "float[*], float[*] f(float[n,m] a) { p, s = { [i] -> pair(a[i]) }; return (p, s); }"


def test_the_last_expression_may_have_several_results() -> None:
    text = "float, float f(float x) { return (x, 2.0 * x); } f(b[0])"
    expected = evaluate(sac.read(text), {"b": B})

    agree(kernel(text)(b=B), expected)


def test_the_results_over_no_cells_have_their_shapes() -> None:
    more, total = kernel(PAIRS)(real(0, 4))

    assert more.shape == (0, 4) and total.shape == (0,)


def test_the_gradient_of_several_results() -> None:
    def total(a: Any) -> Any:
        more, sums = kernel(PAIRS)(a)
        return jnp.sum(more**2) + jnp.sum(sums**2)

    gradient = jax.grad(total)(A)

    np.testing.assert_allclose(gradient, 2 * (A + 1) + 2 * A.sum(1, keepdims=True), rtol=1e-5)


# ---------------------------------------------------------------- how often, and of what


def test_a_function_is_traced_for_a_cell_and_not_for_each_of_them() -> None:
    seen: list[tuple[int, ...]] = []

    def watched(x: Any) -> Any:
        seen.append(x.shape)
        return x * 2

    found = tcjax.kernel("{ [i] -> f(a[i]) }", fns={"f": watched})(real(50, 3))

    assert found.shape == (50, 3)
    assert set(seen) == {(3,)} and len(seen) < 10


def test_a_literal_reaches_a_function_as_an_array_of_32_bits() -> None:
    seen: list[str] = []

    def watched(x: Any, y: Any, z: Any) -> Any:
        seen.append(f"{x.dtype} {y.dtype} {z.dtype}")
        return x + y

    tcjax.kernel("f(1, 2.5, true)", fns={"f": watched})()

    assert set(seen) == {"int32 float32 bool"}


def test_the_type_of_a_cell_is_kept() -> None:
    found = tcjax.kernel("{ [i] -> f(a[i]) }", fns={"f": lambda x: x * 2})(A.astype("float16"))

    assert found.dtype == jnp.float16
    np.testing.assert_allclose(found, 2 * A.astype("float16"), rtol=1e-3)


def test_a_function_may_give_complex_numbers() -> None:
    found = tcjax.kernel("{ [i] -> f(a[i]) }", fns={"f": lambda x: jnp.fft.fft(x)})(A)

    assert found.dtype == jnp.complex64
    np.testing.assert_allclose(found, np.fft.fft(A), rtol=1e-4, atol=1e-5)


def test_a_python_function_of_a_jitted_one_works() -> None:
    found = tcjax.kernel("{ [i] -> f(a[i]) }", fns={"f": jax.jit(softmax)})(A)

    np.testing.assert_allclose(found, np.exp(A) / np.exp(A).sum(1, keepdims=True), rtol=1e-5)


def test_a_function_of_the_text_hides_a_python_function_or_is_refused() -> None:
    text = "float[*] soft(float[*] x) { return x; } soft(b)"

    try:
        found = kernel(text)(B)
    except tcjax.CompileError as error:
        assert error.kind == "name"
    else:
        np.testing.assert_array_equal(found, B)


# ---------------------------------------------------------------- mistakes


def failing(x: Any) -> Any:
    raise ValueError("no")


def growing(x: Any) -> Any:
    return failing(x)


WRONG: dict[str, tuple[Callable[..., Any], str, tuple[str, ...]]] = {
    "it raises": (failing, "{ [i] -> f(a[i]) }", ("name", "type")),
    "it raises a KeyError": (lambda x: {}["k"], "{ [i] -> f(a[i]) }", ("name", "type")),
    "it raises without a message": (lambda x: [][1:][0], "{ [i] -> f(a[i]) }", ("name", "type")),
    "it asks for a value": (lambda x: x if float(x[0]) > 0 else -x, "{ [i] -> f(a[i]) }", ("name", "type")),
    "it takes another number of arguments": (lambda x, y: x, "{ [i] -> f(a[i]) }", ("name", "type", "rank")),
    "it gives None": (lambda x: None, "{ [i] -> f(a[i]) }", ("name", "type")),
    "it gives text": (lambda x: "text", "{ [i] -> f(a[i]) }", ("name", "type")),
    "it gives a dictionary": (lambda x: {"x": x}, "{ [i] -> f(a[i]) }", ("name", "type")),
    "it gives nothing at all": (lambda x: (), "{ [i] -> f(a[i]) }", ("name", "type", "rank")),
    "it gives two arrays for one": (lambda x: (x, x), "{ [i] -> f(a[i]) + 1 }", ("type", "rank")),
    "it gives one array for two": (lambda x: x, "x, y = { [i] -> f(a[i]) }; x", ("type", "rank")),
    "its cells do not fit": (lambda x: x[:2], "{ [i] -> f(a[i]) + a[i] }", ("shape",)),
    "its cells differ from another partition's": (
        lambda x: x[:2],
        "{ [i] -> f(a[i]) | [i] < [1]; [i] -> a[i] }",
        ("homogeneity",),
    ),
    "its type differs from another partition's": (
        lambda x: x > 0,
        "{ [i] -> f(a[i]) | [i] < [1]; [i] -> a[i] }",
        ("type",),
    ),
    "its cells would differ": (lambda x: x, "{ [i] -> f(take([i], a[0])) | [i] < [3] }", ("homogeneity",)),
    "it does not converge": (lambda x: growing(x), "{ [i] -> f(a[i]) }", ("name", "type")),
    "it calls itself without end": (lambda x: WRONG["it calls itself without end"][0](x), "f(a)", ("name", "type")),
    "it gives another thing than it said": (failing, "f(a)", ("name", "type")),
    "its result decides a length": (
        lambda x: jnp.argmax(x),
        "{ [i] -> i | [i] < [f(a)] }",
        ("static", "homogeneity", "bound", "type"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_python_function_does_wrong_is_a_compile_error(name: str) -> None:
    function, text, kinds = WRONG[name]

    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(text, dialect="sac", fns={"f": function})(a=A)

    assert caught.value.help
    assert caught.value.kind in kinds


@pytest.mark.parametrize("name", ["it raises", "it gives None", "its cells do not fit"])
def test_a_mistake_over_no_cells_is_found_too(name: str) -> None:
    function, text, kinds = WRONG[name]

    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(text, dialect="sac", fns={"f": function})(a=A[:0])

    assert caught.value.kind in kinds
