"""Donated arguments: results take their memory."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

SIZE = 64
BYTES = SIZE * SIZE * 4


def kernel(text: str) -> tcjax.Kernel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        return tcjax.kernel(text)


STENCIL = kernel("def f(float(N,M) A) -> (C) { C(i,j) += A(i-1,j) + A(i+1,j) + A(i,j-1) where i in 1:N-1, j in 1:M-1 }")
WHOLE = kernel("def f(float(N,M) A, float(N,M) B) -> (C) { C(i,j) = 2*A(i,j) + B(i,j) }")
PRODUCT = kernel("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) += A(m,k) * B(k,n) }")
TWICE = kernel("def f(float(N,M) A) -> (C) { C(i,j) += A(i,j) where i in 0:N, j in 0:M  C(i,j) += A(j,i) }")
ROWS = kernel("def f(float(N,M) A, int32(N) I) -> (C) { C(I(i),j) += A(i,j) where j in 0:M }")


def square(seed: int = 0) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=(SIZE, SIZE)), "float32")


@pytest.mark.parametrize(
    ("run", "inputs"),
    [
        (lambda old, A: STENCIL(A, C=old), 1),
        (lambda old, A: WHOLE(old, A), 1),
        (lambda old, A, B: PRODUCT(A, B, C=old), 2),
        (lambda old, A: TWICE(A, C=old), 1),
        (lambda old, A: ROWS(A, jnp.arange(SIZE, dtype="int32"), C=old), 1),
    ],
    ids=["stencil", "whole", "product", "two statements", "rows by data"],
)
def test_a_result_lies_in_the_donated_array(run: Callable[..., Any], inputs: int) -> None:
    arrays = [square(seed) for seed in range(1, inputs + 1)]
    expected = run(square(), *arrays)

    # Warnings are errors: JAX would warn of a donated array that it cannot use.
    donating = jax.jit(run, donate_argnums=0).lower(square(), *arrays).compile()
    old = square()
    result = donating(old, *arrays)

    assert donating.memory_analysis().alias_size_in_bytes == BYTES
    assert old.is_deleted()
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_a_kernel_itself_can_be_jitted_with_donated_names() -> None:
    donating = jax.jit(STENCIL, donate_argnames=("C",))
    C0 = square(1)
    expected = STENCIL(square(), C=C0)

    result = donating(square(), C=C0)

    assert C0.is_deleted()
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_a_plain_call_takes_nothing_away() -> None:
    C0 = square(1)

    STENCIL(square(), C=C0)

    assert not C0.is_deleted()


def test_an_array_that_is_only_memory_becomes_the_result() -> None:
    step = tcjax.kernel("def f(float(N,M) A) -> (C) { C(i,j) = A(N-1-i,j) + A(i,M-1-j) }")
    into = jax.jit(lambda old, A: step(A), donate_argnums=0, keep_unused=True)
    old, A = square(1), square(2)

    result = into(old, A)

    assert old.is_deleted() and not A.is_deleted()
    np.testing.assert_array_equal(result, step(A))
