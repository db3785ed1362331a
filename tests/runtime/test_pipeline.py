"""The steps from a text to arrays, one by one, without the caches around them."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax.runtime import pipeline
from tcjax.runtime.frontends import Call
from tcjax.runtime.options import Options

TC = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
OPEN = "C(m,n) +=! A(m,k) * B(k,n)"
SAC = "{ [i,j] -> sum({ [k] -> A[i,k] * B[k,j] }) }"

A, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("text", [TC, OPEN, SAC], ids=["tc", "open", "sac"])
def test_the_steps_by_hand_compute_what_the_kernel_does(text: str) -> None:
    call = Call((A.shape, B.shape), ("float32", "float32"))

    frontend = pipeline.read(text, "<text>", 1, Options())
    function = pipeline.elaborate(frontend, call)
    bound = pipeline.bind(frontend, function, call)
    plan = pipeline.plan(frontend, bound, frontend.options.preferences)
    run = jax.jit(lambda A, B: pipeline.lower(frontend, plan, {"A": A, "B": B}, {}))

    np.testing.assert_array_equal(run(A, B)[0], A @ B)
    assert str(plan) == str(tcjax.kernel(text).plan(A, B))


def test_ranges_are_formulas_before_any_call() -> None:
    frontend = pipeline.read(TC, "<text>", 1, Options())
    assert frontend.likely is not None

    found = pipeline.infer(frontend, frontend.likely)

    assert [str(interval) for interval in found.statements[0].intervals.values()] == ["[0, M)", "[0, N)", "[0, K)"]
