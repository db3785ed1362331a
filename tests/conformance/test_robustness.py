"""Any text and any arguments give an answer, or a `CompileError` with help."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.diagnostics import CompileError, CompileWarning
from tests.work import with_at_most

from . import robustness
from .program import kernel, real

# Function calls for a text, three times as many as the longest of these needs.
MOST_CALLS = 6_000_000

PRODUCT = kernel("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) += A(m,k) * B(k,n) }")
A, B, C = real(2, 3), real(3, 4), real(2, 4)


@pytest.mark.parametrize("make", [tcjax.kernel, tcjax.load])
@pytest.mark.parametrize("text", robustness.TEXTS.values(), ids=robustness.TEXTS)
def test_a_text_is_a_program_or_refused(text: str, make: Callable[[str], object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        try:
            with_at_most(MOST_CALLS, lambda: make(text))
        except CompileError as error:
            assert error.help and str(error)


@pytest.mark.parametrize("source", [123, 1.5, b"def f", ["def f"], object()])
def test_what_is_no_text_is_refused(source: Any) -> None:
    for make in (tcjax.kernel, tcjax.load):
        with pytest.raises(CompileError):
            make(source)


def test_a_program_too_deep_for_the_stack_is_refused_at_the_call() -> None:
    deep = kernel(robustness.clauses(robustness.listed("i != {}", 400)))

    with pytest.raises(CompileError) as caught:
        deep(real(3))

    assert caught.value.code == "TC0103"


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("def f(float(N) A) -> (B) { B(i) = A(i / 4000000000) }", (real(3),)),
        ("def f(float(N) A) -> (B) { B(i) +=! A(j) * i where i in 0:4000000000 }", (real(3),)),
        ("def f(float(N) A) -> (B) { B(4000000000 * i) = A(i) }", (real(3),)),
    ],
)
def test_more_elements_than_an_int32_counts_are_refused(text: str, arguments: tuple[np.ndarray, ...]) -> None:
    with pytest.raises(CompileError) as caught:
        kernel(text)(*arguments)

    assert caught.value.code == "TC0604"


@pytest.mark.parametrize(
    "arguments",
    [
        (A.astype("float64"), B.astype("float64")),
        (A.tolist(), B.tolist()),
        (jnp.asarray(A), B),
        (np.asfortranarray(A), B[:, ::1]),
        (memoryview(A), B),
        ([jnp.asarray(row) for row in A], tuple(map(tuple, B.tolist()))),
    ],
)
def test_whatever_becomes_an_array_may_be_passed(arguments: tuple[Any, Any]) -> None:
    np.testing.assert_allclose(PRODUCT(*arguments), A @ B, rtol=1e-5)


def test_arguments_may_be_named() -> None:
    np.testing.assert_allclose(PRODUCT(B=B, A=A), A @ B, rtol=1e-5)
    np.testing.assert_allclose(PRODUCT(A, B=B, C=C.tolist()), A @ B + C, rtol=1e-5)
    assert kernel("def f(float self, float args) -> (b) { b = self - args }")(args=1, self=3) == 2


@pytest.mark.parametrize(
    ("type_", "number"), [("uint8", 300), ("uint8", -1), ("int8", 128), ("int32", 2**31), ("int32", 10**30)]
)
def test_a_number_that_its_type_does_not_hold_is_refused(type_: str, number: int) -> None:
    identity = kernel(f"def f({type_}(N) a) -> (b) {{ b(i) = a(i) }}")

    with pytest.raises(CompileError) as caught:
        identity([number])

    assert caught.value.code == "TC0305"


def test_python_numbers_take_the_declared_type_under_jit_too() -> None:
    identity = kernel("def f(float a) -> (b) { b = a }")

    assert identity(3) == jax.jit(identity)(3) == 3.0
    assert kernel("def f(int32(N) a) -> (b) { b(i) = a(i) }")([]).dtype == jnp.int32


def test_a_kernel_is_a_function_to_jax() -> None:
    def total(a: Any, b: Any) -> Any:
        return PRODUCT(a, b).sum()

    np.testing.assert_allclose(jax.jit(PRODUCT)(A, B), A @ B, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(total, 1)(A, B), np.outer(A.sum(0), np.ones(4)), rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(PRODUCT, (0, None))(np.stack([A, -A]), B), [A @ B, -A @ B], rtol=1e-5)
    np.testing.assert_allclose(jax.jvp(PRODUCT, (A, B), (A, 0 * B))[1], A @ B, rtol=1e-5)
    assert jax.eval_shape(PRODUCT, A, B).shape == (2, 4)
    np.testing.assert_allclose(jax.jit(lambda a, c: PRODUCT(a, B, C=c))(A, C), A @ B + C, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: jax.jit(PRODUCT)(A, A), "TC0601"),
        (lambda: jax.jit(PRODUCT)(A.astype("int32"), B), "TC0305"),
        (lambda: jax.grad(lambda a: PRODUCT(a).sum())(A), "TC0503"),
        (lambda: jax.vmap(PRODUCT)(A, B[:2]), "TC0502"),
        (lambda: jax.vmap(PRODUCT)(np.stack([A, A]), np.stack([A, A])), "TC0601"),
        (lambda: jax.eval_shape(PRODUCT, B, A), "TC0601"),
        (lambda: jax.jit(lambda c: PRODUCT(A, B, C=c))(A), "TC0603"),
    ],
)
def test_mistakes_are_compile_errors_under_transformations_too(call: Callable[[], Any], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        call()

    assert caught.value.code == code
