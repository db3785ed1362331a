"""A process forked after JAX has started: programs are read, planned and explained, but nothing is computed."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")

CODE = """
import warnings
import jax, numpy as np, tcjax
from tests.keeping.test_forks import in_child

warnings.simplefilter("ignore")
text = "def f(float(N,K) A, float(M,K) B) -> (C) { C(i,j) min=! fabs(A(i,k) - B(j,k)) }"
A = np.ones((4, 3), "float32")
shape = jax.ShapeDtypeStruct((7, 5), "float32")
kernel = tcjax.kernel(text)

def fails(act):
    try:
        act()
    except RuntimeError as error:
        assert "forked" in str(error) and 'get_context("spawn")' in str(error), error
    else:
        raise AssertionError("it was computed")

# Before anything ran a child has what its parent has.
print("before", in_child(lambda: np.testing.assert_array_equal(tcjax.kernel(text)(A, A), np.zeros((4, 4)))))
kernel(A, A)
print("read", in_child(lambda: tcjax.kernel("def g(float(N) A) -> (B) { B(i) = 2 * A(i) }")))
print("plan", in_child(lambda: str(kernel.plan(shape, shape))))
print("explain", in_child(lambda: str(kernel.explain(shape, shape))))
print("interpret", in_child(lambda: np.testing.assert_array_equal(kernel.interpret(A, A), np.zeros((4, 4)))))
print("call", in_child(lambda: fails(lambda: kernel(A, A))))
print("by name", in_child(lambda: fails(lambda: kernel(A=A, B=A))))
print("jit", in_child(lambda: fails(lambda: jax.jit(lambda a: kernel(a, a))(A))))
print("compiled", in_child(lambda: fails(lambda: kernel.explain(A, A, compiled=True))))
print("tune", in_child(lambda: fails(lambda: kernel.tune(A, A))))
np.testing.assert_array_equal(kernel(A, A), np.zeros((4, 4)))
"""


def test_a_child_reads_plans_and_explains_and_says_that_it_cannot_compute() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=300)

    assert dict(line.rsplit(" ", 1) for line in run.stdout.splitlines()) == dict.fromkeys(
        ("before", "read", "plan", "explain", "interpret", "call", "by name", "jit", "compiled", "tune"), "0"
    )
