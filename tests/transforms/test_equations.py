"""An index that a guard equates with data is that data: ``where b == I(n)`` is a scatter, however it is written."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute

N, B, D = 60, 20, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)).astype(np.float32)
# Some are outside.
I, J = (RNG.integers(-2, B + 2, N).astype(np.int32) for _ in range(2))


def kernel_of(text: str) -> tcjax.Kernel:
    return tcjax.kernel(f"def f(float(N,D) X, int(N) I, int(N) J) -> (O) {{ {text} }}")


def places(text: str) -> tuple[int, ...]:
    """The dimensions with subscripts that are data."""
    (stage,) = kernel_of(text).plan(X, I, J).stages
    assert isinstance(stage, Compute)
    return stage.store.open


SOLVED = (
    "O(b,d) +=! X(n,d) where b == I(n), b in 0:3",
    "O(b,d) +=! X(n,d) where b == I(n), b in 0:20",
    "O(b,d) +=! X(n,d) where I(n) == b && X(n,0) > 0, b in 0:20",
    "O(b,d) +=! X(n,d) where I(n) - b == 2, b in 0:20",
    "O(b,d) +=! X(n,d) where b == I(n), b in 3:20",
    "O(b,d) +=! X(n,d) * b where b == I(n), b in 0:20",
    "O(b) +=! X(n,d) where b == I(n), b in 0:20",
    "O(d,b) = sum[n where b == I(n)](X(n,d)) where b in 0:20",
    "O(b,d) = sum[n](b == I(n) ? X(n,d) : 0) where b in 0:20",
    "O(b,d) +=! b == I(n) ? X(n,d) : 0 where b in 0:20",
    "O(b,d) max=! X(n,d) where b == I(n), b in 0:20",
    "O(b,d) mean=! X(n,d) where b == I(n), b in 0:20",
    "O(b,d) logsumexp=! X(n,d) where b == I(n), b in 0:20",
    "O(b,d) *=! X(n,d) where b == I(n), b in 0:20",
    "O(b) = any[n where b == I(n)](X(n,0) > 0) where b in 0:20",
    "O(b,c) +=! X(n,0) where b == I(n), c == J(n), b in 0:20, c in 0:20",
)
# An order, distinct points, an index that is also elsewhere on the left, a condition with more than equalities, values
# where it does not hold.
UNSOLVED = (
    "O(b,d) argmax=! X(n,d) where b == I(n), b in 0:20",
    "O(b,n) = b == I(n) ? X(n,0) : 0 where b in 0:20",
    "O(b,b+d) +=! X(n,d) where b == I(n), b in 0:20",
    "O(b,d) +=! X(n,d) where b == I(n) || b == J(n), b in 0:20",
    "O(b,d) +=! b == I(n) ? X(n,d) : 1 where b in 0:20",
    # A factor is a guard if the others are finite: for so few points a product is cheaper than checking.
    "O(b,d) +=! X(n,d) * (b == I(n) ? 1 : 0) where b in 0:20",
)


@pytest.mark.parametrize("text", [*SOLVED, *UNSOLVED])
def test_the_values_are_those_of_the_interpreter(text: str) -> None:
    kernel = kernel_of(text)
    np.testing.assert_allclose(kernel(X, I, J), kernel.interpret(X, I, J), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("text", SOLVED)
def test_an_equality_says_where_values_go(text: str) -> None:
    assert places(text)
    assert "every value goes to its place" in str(kernel_of(text).explain(X, I, J))


@pytest.mark.parametrize("text", UNSOLVED)
def test_what_no_equality_decides_stays_a_condition(text: str) -> None:
    assert not places(text)


@pytest.mark.parametrize("text", [SOLVED[1], SOLVED[4], SOLVED[8]])
def test_the_derivative_gathers(text: str) -> None:
    kernel = kernel_of(text)
    value, back = jax.vjp(lambda X: kernel(X, I, J), X)
    way = RNG.normal(size=value.shape).astype(np.float32)
    first = 3 if "3:20" in text else 0
    inside = (first <= I) & (I < B)
    rows = way[np.clip(I, first, B - 1) - (first if value.shape[0] < B else 0)]
    np.testing.assert_array_equal(back(jnp.asarray(way))[0], np.where(inside[:, None], rows, 0))


ONE_LEFT = (
    "O(n,d) +=! X(n,d) * X(m,d) where m == J(n)",
    "O(n) +=! X(m,d) where J(n) - m == 1",
    "O(n,d) = sum[m](m == J(n) ? X(m,d) : 0)",
    "O(n,d) max=! X(m,d) where m == J(n), m in 2:15",
    "O(d) +=! X(n,d) * X(m,d) where m == J(n)",
    "O(n,d) mean=! X(m,d) where m == J(n) && X(m,0) > 0",
)


@pytest.mark.parametrize("text", ONE_LEFT)
def test_data_that_decide_a_reduction_index_leave_one_point(text: str) -> None:
    kernel = kernel_of(text)
    assert "data decide `m`" in str(kernel.explain(X, I, J))
    np.testing.assert_allclose(kernel(X, I, J), kernel.interpret(X, I, J), rtol=2e-5, atol=2e-5)


def test_of_few_places_the_price_decides() -> None:
    few = kernel_of("O(b) +=! X(n,d) where b == I(n), b in 0:2")
    stage = few.plan(X, I, J).stages[0]
    assert isinstance(stage, Compute) and stage.runner_up is not None
    many = jax.ShapeDtypeStruct((1 << 17, 32), jnp.float32), *(jax.ShapeDtypeStruct((1 << 17,), jnp.int32),) * 2
    stage = kernel_of("O(b,d) +=! X(n,d) where b == I(n), b in 0:4").plan(*many).stages[0]
    assert isinstance(stage, Compute) and stage.store.open == (0,)
