"""A kernel without references is freed, with everything that was planned, traced and compiled for it."""

import gc
import warnings
import weakref
from collections.abc import Callable

import jax
import jax.extend
import numpy as np
import pytest

import tcjax

DOUBLE = "def f(float(N) A) -> (B) { B(i) = 2 * A(i) }"
NEAREST = "def f(float(N,K) A, float(M,K) B) -> (C) { C(i,j) min=! fabs(A(i,k) - B(j,k)) }"
V = np.arange(5, dtype=np.float32)
A, B = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)


def called() -> tcjax.Kernel:
    kernel = tcjax.kernel(NEAREST)
    kernel(A, B)
    return kernel


def with_a_limit() -> tcjax.Kernel:
    # JAX keeps traced functions, which hold what is checked here.
    kernel = tcjax.kernel(NEAREST, memory_limit="1GiB")
    kernel(A, B)
    return kernel


def with_a_limit_differentiated() -> tcjax.Kernel:
    kernel = tcjax.kernel(NEAREST, memory_limit="1GiB")
    jax.grad(lambda a: kernel(a, B).sum())(A)
    return kernel


def within_another_function() -> tcjax.Kernel:
    kernel = tcjax.kernel(DOUBLE)
    jax.jit(lambda v: kernel(v) + 1)(V)
    return kernel


def transformed() -> tcjax.Kernel:
    kernel = tcjax.kernel(NEAREST)
    jax.grad(lambda a: jax.vmap(kernel)(a[None], B[None]).sum())(A)
    return kernel


def checked() -> tcjax.Kernel:
    kernel = tcjax.kernel("def f(float(N) A, int32(M) I) -> (B) { B(i) = A(I(i)) }", checked=True)
    kernel(V, np.array([1, 2], np.int32))
    return kernel


def with_a_function() -> tcjax.Kernel:
    kernel = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = g(A(i)) }", fns={"g": lambda x: x + 1})
    kernel(V)
    return kernel


def explained() -> tcjax.Kernel:
    kernel = tcjax.kernel(DOUBLE)
    assert str(kernel.explain(V, compiled=True))
    return kernel


def exported() -> tcjax.Kernel:
    kernel = tcjax.kernel(DOUBLE)
    kernel.export("float32[N]")
    return kernel


def tuned() -> tcjax.Kernel:
    kernel = tcjax.kernel(DOUBLE).tune(V, seconds=0.1, progress=False)
    kernel(V)
    return kernel


def refused() -> tcjax.Kernel:
    kernel = tcjax.kernel(NEAREST)
    with pytest.raises(tcjax.CompileError):
        kernel(A, B[:, :2])
    return kernel


def of_arrays() -> tcjax.Kernel:
    kernel = tcjax.kernel("{ [i] -> 2 * a[i] | [i] < shape(a) }")
    kernel(V)
    return kernel


WAYS = (
    called,
    with_a_limit,
    with_a_limit_differentiated,
    within_another_function,
    transformed,
    checked,
    with_a_function,
    explained,
    exported,
    tuned,
    refused,
    of_arrays,
)


@pytest.mark.parametrize("make", WAYS, ids=lambda make: make.__name__)
def test_a_kernel_that_nobody_holds_is_gone(make: Callable[[], tcjax.Kernel]) -> None:
    kernel = weakref.ref(make())

    gc.collect()

    assert kernel() is None


def test_what_was_traced_with_a_limit_outlives_the_kernel() -> None:
    traced = jax.make_jaxpr(tcjax.kernel(DOUBLE, memory_limit="1GiB"))(V)
    gc.collect()

    (found,) = jax.jit(jax.extend.core.jaxpr_as_fun(traced))(V)

    np.testing.assert_array_equal(found, 2 * V)


def test_a_warning_that_is_not_said_in_one_thread_leaves_the_filters_of_all_alone() -> None:
    before = list(warnings.filters)

    tcjax.kernel(DOUBLE).check(1)
    tcjax.kernel(DOUBLE).tune(V, seconds=0.1, progress=False)

    assert warnings.filters == before
