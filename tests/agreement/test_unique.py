"""``=`` with data on the left: ``where unique J(i)`` promises distinct targets; a scalar tensor is one row."""

import warnings
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcjax

from ..effort import examples, phases

PROGRAMS = {
    "elements": "def f(float(N) x, int32(N) J) -> (float(M) O) { O(J(i)) = x(i) * x(i) where unique J(i) }",
    "some": "def f(float(N) x, int32(N) J) -> (float(M) O) { O(J(i)) = x(i) where unique J(i), x(i) > 0 }",
    "rows": "def f(float(N) x, int32(N) J) -> (float(M,N) O) { O(J(i), k) = x(i) * x(k) where unique J(i) }",
    "columns": "def f(float(N) x, int32(N) J) -> (float(N,M) O) { O(k, J(i)) = x(i) * x(k) where unique J(i) }",
    "both": """def f(float(N) x, int32(N) J) -> (float(M,M) O) {
        O(J(i), J(k)) = x(i) * x(k) where unique J(i), unique J(k) }""",
    "over what was": """def f(float(N) x, int32(N) J) -> (float(M) O) {
        O(i) = x(0) where i in 0:M
        O(J(i)) = 2.0 * x(i) where unique J(i)
        O(1) = 5.0 }""",
    "updated": """def f(float(N) x, int32(N) J) -> (float(M) O) {
        O(i) = 1.0 * x(0) where i in 0:M
        O(J(i)) = x(i) * O(J(i)) where unique J(i) }""",
    "blocks": """def f(float(N) x, int32(N) J) -> (float(M) O) {
        O(2*J(i) + k) = x(i) * k where unique 2*J(i) + k, k in 0:2 }""",
    "one row": "def f(float(N) x, int32(N) J) -> (float(M,N) O) { O(J(0), k) = x(k) }",
}


@settings(max_examples=examples(15), phases=phases())
@given(st.sampled_from(sorted(PROGRAMS)), st.permutations(range(-1, 6)), st.integers(1, 6))
def test_values_and_gradients_are_the_interpreters(name: str, places: list[int], count: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        program = tcjax.kernel(PROGRAMS[name])
        # No element is so close to 0 that a finite-difference step changes whether it takes part.
        x, J = np.linspace(-1.0, 2.1, count).astype(np.float32), np.array(places[:count], np.int32)

        np.testing.assert_allclose(program(x, J, M=5), program.interpret(x, J, M=5), rtol=1e-6)

        weights = np.cos(np.arange(np.size(program(x, J, M=5)))).astype(np.float32)
        found = jax.grad(lambda x: (program(x, J, M=5).ravel() * weights).sum())(x)
        step = 1e-2
        for number in range(count):
            moved = [x + sign * step * (np.arange(count) == number).astype(np.float32) for sign in (1, -1)]
            up, down = (np.sum(program.interpret(each, J, M=5).ravel() * weights) for each in moved)
            np.testing.assert_allclose(found[number], (up - down) / (2 * step), atol=2e-3)
        adjoint = program.adjoint(wrt=("x",))
        np.testing.assert_allclose(adjoint(x, J, weights.reshape(np.shape(program(x, J, M=5)))), found, atol=1e-5)


def test_a_scalar_tensor_is_a_row_number() -> None:
    program = tcjax.kernel("def f(float(N) x, int32 j) -> (float(N,M) O) { O(i, j()) = x(i) }")

    found: Any = program(np.ones(2, np.float32), np.int32(1), M=3)

    np.testing.assert_array_equal(found, [[0, 1, 0], [0, 1, 0]])


def test_statements_write_in_the_order_of_the_program() -> None:
    program = tcjax.kernel("""def f(float(N) x, int32(N) J) -> (float(M) O) {
        O(J(i)) = x(i) where unique J(i)
        O(0) = 7.0
        O(J(i)) += x(i) }""")

    np.testing.assert_array_equal(program(np.ones(2, np.float32), np.array([0, 2], np.int32), M=3), [8, 0, 2])


def test_a_checked_kernel_tells_where_the_promise_is_broken() -> None:
    program = tcjax.kernel(PROGRAMS["elements"], checked=True)
    x = np.ones(3, np.float32)

    program(x, np.array([2, 0, 1], np.int32), M=4)
    with pytest.raises(tcjax.DataError, match=r"at i = 1 this writes .* which 2 points write"):
        program(x, np.array([2, 0, 0], np.int32), M=4)


def test_without_a_promise_the_help_shows_it() -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel("def f(float(N) x, int32(N) J) -> (float(M) O) { O(J(i)) = x(i) }")

    assert caught.value.code == "TC0704"
    assert "`where unique J(i)`" in caught.value.help


def test_a_promise_about_no_subscript_is_refused() -> None:
    with pytest.raises(tcjax.CompileError, match="the promise has no effect"):
        tcjax.kernel("def f(float(N) x, int32(N) J) -> (float(M) O) { O(J(i)) = x(i) where unique J(i) + 1 }")


def test_a_tensor_may_still_be_called_unique() -> None:
    program = tcjax.kernel("def f(float(N) unique) -> (O) { O(i) = unique(i) where unique(i) > 2.0 }")

    np.testing.assert_array_equal(program(np.array([1.0, 3.0], np.float32)), [0, 3])


@pytest.mark.parametrize("notation", ["tc", "python"])
def test_the_promise_is_written_back(notation: str) -> None:
    program = tcjax.kernel(PROGRAMS["rows"])

    assert {"tc": "unique J(i)", "python": "with unique(J[i]):"}[notation] in program.to(notation)
