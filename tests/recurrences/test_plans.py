"""How loops are planned: slices at fixed distances, rows that are handed on, chunks where memory is short."""

import re
from dataclasses import replace

import jax
import numpy as np

import tcjax
from tcjax.lowering import lower
from tcjax.planning import Plan
from tcjax.planning.data.steps import Lagged, State, Steps, Value, Whole, Window

LINEAR = (
    "def f(float(T,D) a, float(T,D) b) -> (h) { h(0,d) = b(0,d) for t in 1:T { h(t,d) = a(t,d) * h(t-1,d) + b(t,d) } }"
)

DOWN = (
    "def f(float(T,D) a, float(T,D) b) -> (h) { h(T-1,d) = b(T-1,d)"
    " for t in T-2:-1:-1 { z(d) = a(t,d) * h(t+1,d) h(t,d) = tanh(z(d)) + b(t,d) } }"
)


def steps_of(text: str, *arguments: np.ndarray, **options: object) -> Steps:
    [found] = [s.steps for s in tcjax.kernel(text, **options).plan(*arguments).stages if s.steps is not None]
    return found


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_a_linear_recurrence_hands_one_row_on_and_reads_slices() -> None:
    steps = steps_of(LINEAR, zeros(7, 3), zeros(7, 3))

    assert sorted(type(taken).__name__ for _, taken in steps.inputs) == ["Lagged", "Window", "Window"]
    assert [(kept.tensor, kept.dimension, kept.order, kept.held) for kept in steps.kept] == [("h", 0, 1, (0, 1))]
    assert (steps.count, steps.low, steps.backwards, steps.chunk) == (6, 1, False, None)


def test_what_does_not_move_is_there_as_a_whole_and_the_index_as_data() -> None:
    text = (
        "def f(float(T,N) x, float(N,N) W) -> (h) { h(0,n) = x(0,n)"
        " for t in 1:T { h(t,n) = t * sum[m](W(n,m) * h(t-1,m)) } }"
    )

    kinds = {type(taken) for _, taken in steps_of(text, zeros(4, 3), zeros(3, 3)).inputs}

    assert kinds == {Whole, Value, Lagged}


def test_a_temporary_of_a_step_is_not_handed_on_and_a_state_is() -> None:
    text = (
        "def f(float(T) x) -> (y, s) { y(0) = x(0) s() = 0.0"
        " for t in 1:T { z() = y(t-1) * x(t) s() = s() + z() y(t) = z() } }"
    )

    steps = steps_of(text, zeros(5))

    assert {kept.tensor: kept.dimension for kept in steps.kept} == {"y": 0, "s": None}
    assert [taken for _, taken in steps.inputs if isinstance(taken, State)] == [State("s")]


def test_all_earlier_rows_are_the_tensor_as_a_whole() -> None:
    text = "def f(float(T) x) -> (y) { y(0) = x(0) for t in 1:T { y(t) = x(t) + sum[s where s < t](y(s)) } }"

    [kept] = steps_of(text, zeros(5)).kept

    assert kept.dimension is None


def test_a_window_of_what_no_step_writes_moves_along() -> None:
    text = (
        "def f(float(T) x) -> (y) { y(0) = x(0) y(1) = x(1) for t in 2:T { y(t) = y(t-1) + sum[k in 0:3](x(t-2+k)) } }"
    )

    [window] = [taken for _, taken in steps_of(text, zeros(8)).inputs if isinstance(taken, Window)]

    assert (window.begins, window.counts) == (((1, -2),), (3,))


def test_under_a_small_limit_a_derivative_stores_chunks_of_steps() -> None:
    a = zeros(4096, 64)

    assert steps_of(LINEAR, a, a).chunk is None
    assert steps_of(LINEAR, a, a, memory_limit="1MiB").chunk == 63


def test_chunks_of_steps_change_no_gradient() -> None:
    random = np.random.default_rng(0)
    a, b = random.uniform(0.5, 1, (1003, 5)).astype(np.float32), random.normal(size=(1003, 5)).astype(np.float32)
    for text in (LINEAR, DOWN):
        plan = tcjax.kernel(text).plan(a, b)
        stages = tuple(s if s.steps is None else replace(s, steps=replace(s.steps, chunk=50)) for s in plan.stages)
        small = replace(plan, stages=stages)

        def total(plan: Plan, a: np.ndarray, b: np.ndarray) -> jax.Array:
            [h] = lower(plan, {"a": a, "b": b}, {}, {})
            return (h**2).sum()

        one, two = (jax.grad(lambda a, b, p=p: total(p, a, b), (0, 1))(a, b) for p in (plan, small))

        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4), one, two)


def test_forward_a_loop_stacks_and_joins_nothing() -> None:
    a = zeros(7, 3)

    text = str(jax.make_jaxpr(tcjax.kernel(LINEAR))(a, a))

    primal = text.split("jvp_jaxpr")[0]
    assert re.search(r"\b(while|scan)\[", primal)
    assert "concatenate" not in primal


def test_a_gradient_has_one_loop_each_way() -> None:
    a = zeros(7, 3)
    kernel = tcjax.kernel(LINEAR)

    text = str(jax.make_jaxpr(jax.grad(lambda a, b: kernel(a, b).sum(), (0, 1)))(a, a))

    assert text.count("scan[") == 2


def test_what_is_infinite_beside_a_row_before_the_loop_spoils_no_gradient() -> None:
    random = np.random.default_rng(0)
    a, b = random.uniform(0.5, 1, (6, 2)).astype(np.float32), random.normal(size=(6, 2)).astype(np.float32)
    for text, first in ((LINEAR, 0), (DOWN, 5), (LINEAR.replace("h(t-1,d) +", "h(t-1,d) * b(t,d) +"), 0)):
        kernel = tcjax.kernel(text)
        wild = a.copy()
        wild[first] = np.inf, np.nan

        one, two = (jax.grad(lambda a, b, k=kernel: k(a, b).sum(), (0, 1))(x, b) for x in (a, wild))

        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6), one, two)


def test_an_element_of_a_step_is_written_where_it_lies() -> None:
    text = "def f(float(N,M) x) -> (y) { for i in 0:N { for j in 0:M { y(i,j) = x(i,j) + sum[k in 0:j](y(i,k)) } } }"
    kernel, x = tcjax.kernel(text), np.ones((7, 9), np.float32)

    # Through a reshape to 63 elements XLA would copy all of them in every step.
    assert "[63]" not in str(jax.make_jaxpr(kernel)(x))
    np.testing.assert_allclose(kernel(x)[0], 2.0 ** np.arange(9))
