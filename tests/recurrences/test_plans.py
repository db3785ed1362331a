"""How loops are planned: slices at fixed distances, carried rows, and chunks if memory is short."""

import re
from dataclasses import replace

import jax
import numpy as np
import pytest

import tcjax
from tcjax.lowering import lower
from tcjax.lowering.apart import BARRIERS_HOLD
from tcjax.lowering.steps import lies_apart
from tcjax.planning import Plan
from tcjax.planning.data.steps import Lagged, State, Steps, Value, Whole, Window
from tcjax.testing import assert_gradients

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
    # A step stores three rows, a chunk begins with one: the divisor of 4095 nearest to the root of 4095 / 3.
    assert steps_of(LINEAR, a, a, memory_limit="1MiB").chunk == 35


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


def test_a_derivative_of_rows_computes_each_step_again_and_stores_nothing() -> None:
    a = jax.ShapeDtypeStruct((4096, 64), np.float32)
    kernel = tcjax.kernel(LINEAR)

    gradient = jax.jit(jax.grad(lambda a, b: (kernel(a, b) ** 2).sum(), (0, 1))).lower(a, a).compile()

    assert steps_of(LINEAR, zeros(4096, 64), zeros(4096, 64)).again
    # The result and its cotangent.
    assert gradient.memory_analysis().temp_size_in_bytes < 2.1 * 4 * 4096 * 64


AGAIN = {
    "down": DOWN,
    "two tensors, of which one is not returned": """def f(float(T,D) a, float(T,D) b) -> (h) {
        g(0,d) = a(0,d) h(0,d) = b(0,d)
        for t in 1:T { g(t,d) = 0.5 * g(t-1,d) + a(t,d) * h(t-1,wrap(d-1)) h(t,d) = sin(g(t,d)) * b(t,d) } }""",
    "two rows back, along the last dimension": """def f(float(D,T) a, float(D,T) b) -> (h) {
        h(d,0) = a(d,0) h(d,1) = b(d,1)
        for t in 2:T { h(d,t) = a(d,t) * h(d,t-2) + b(d,t-1) * h(d,t-1) * t } }""",
    "some steps of a tensor that is there, and windows": """def f(float(T,D) a, float(T,D) b) -> (h) {
        h(t,d) = a(t,d) * b(t,d)
        for t in 2:T:2 { h(t,d) = h(t-2,d) * a(t,d) + sum[k in 0:3](b(t-k,d)) * a(0,d) } }""",
}


@pytest.mark.parametrize("name", AGAIN)
def test_steps_that_are_computed_again_have_the_derivative_of_the_program(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcjax.planning.recurrences._again", lambda *_: True)
    random = np.random.default_rng(0)
    a, b = (random.uniform(0.4, 1, (4, 6)).astype(np.float32) for _ in range(2))
    kernel = tcjax.kernel(AGAIN[name])

    assert_gradients(kernel, a, b)

    def slope(a: jax.Array) -> jax.Array:
        return jax.grad(lambda a: (kernel(a, b) ** 2).sum())(a).sum()

    ahead = jax.jit(jax.jacfwd(slope))(a)
    np.testing.assert_allclose(jax.jit(jax.grad(slope))(a), ahead, rtol=1e-4, atol=1e-4)


def test_a_derivative_stores_no_pairs_of_points_of_many_steps() -> None:
    text = """
    def transport(float(N,D) x, float(M,D) y) -> (f) {
        c(i,j) = sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))
        f(i) = 0.0 where i in 0:N
        for t in 0:40 {
            g(j) = -0.1 * logsumexp[i]((f(i) - c(i,j)) / 0.1)
            f(i) = -0.1 * logsumexp[j]((g(j) - c(i,j)) / 0.1)
        }
    }"""
    x = jax.ShapeDtypeStruct((1024, 2), np.float32)
    kernel = tcjax.kernel(text)

    gradient = jax.jit(jax.grad(lambda x, y: kernel(x, y).sum(), (0, 1))).lower(x, x).compile()

    # The costs and a few arrays of that size, 4 MiB each; storing all steps would take 320.
    assert gradient.memory_analysis().temp_size_in_bytes < 32 << 20


def test_forward_a_loop_stacks_and_joins_nothing() -> None:
    a = zeros(7, 3)

    text = jax.jit(tcjax.kernel(LINEAR)).lower(a, a).as_text()

    assert re.search(r"\bstablehlo.while\b", text)
    assert "concatenate" not in text


def test_a_gradient_has_one_loop_each_way() -> None:
    a = zeros(7, 3)
    kernel = tcjax.kernel(LINEAR)

    text = jax.jit(jax.grad(lambda a, b: kernel(a, b).sum(), (0, 1))).lower(a, a).as_text()

    assert text.count("stablehlo.while") == 2


def test_what_is_infinite_beside_a_row_before_the_loop_spoils_no_gradient() -> None:
    random = np.random.default_rng(0)
    a, b = random.uniform(0.5, 1, (6, 2)).astype(np.float32), random.normal(size=(6, 2)).astype(np.float32)
    for text, first in ((LINEAR, 0), (DOWN, 5), (LINEAR.replace("h(t-1,d) +", "h(t-1,d) * b(t,d) +"), 0)):
        kernel = tcjax.kernel(text)
        wild = a.copy()
        wild[first] = np.inf, np.nan

        one, two = (jax.grad(lambda a, b, k=kernel: k(a, b).sum(), (0, 1))(x, b) for x in (a, wild))

        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6), one, two)


def test_an_index_that_says_how_many_steps_ago_hands_that_many_rows_on() -> None:
    text = (
        "def f(float(T,S) x, float(K) a) -> (float(T,S) y) {"
        " for t in 0:T { y(t,s) = x(t,s) + sum[k](a(k) * pad(y(t-1-k,s), 0)) } }"
    )
    x, a = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32), np.array([0.5, -0.25, 0.1], np.float32)

    wanted = np.zeros((12, 2))
    for t in range(9):
        wanted[t + 3] = x[t] + a @ wanted[t : t + 3][::-1]

    assert [(kept.tensor, kept.order) for kept in steps_of(text, x, a).kept] == [("y", 3)]
    np.testing.assert_allclose(tcjax.kernel(text)(x, a), wanted[3:], rtol=1e-5)


def test_of_two_indices_of_a_reduction_the_one_that_says_which_step_is_written_out() -> None:
    text = (
        "def f(float(T,S) x, float(K,S) a) -> (float(T) y) {"
        " for t in 0:T { y(t) = max[k,s where k < t](y(t-1-k) + a(k,s) * x(t,s)) } }"
    )
    x, a = np.random.default_rng(0).normal(size=(2, 6, 6)).astype(np.float32)

    wanted = np.zeros(6)
    for t in range(6):
        wanted[t] = max((wanted[t - 1 - k] + a[k, s] * x[t, s] for k in range(t) for s in range(6)), default=-np.inf)

    assert [(kept.tensor, kept.order) for kept in steps_of(text, x, a).kept] == [("y", 5)]
    np.testing.assert_allclose(tcjax.kernel(text)(x, a), wanted, rtol=1e-5)


def test_rows_of_short_pieces_are_next_to_each_other_while_a_loop_runs() -> None:
    text = "def f(float(S,T) x) -> (float(S,T) y) { for t in 0:T { y(s,t) = x(s,t) + pad(y(s,t-1), 0) } }"
    x = np.arange(12, dtype=np.float32).reshape(3, 4)

    np.testing.assert_array_equal(tcjax.kernel(text)(x), x.cumsum(1))
    assert not lies_apart((8, 4, 16), 1)
    assert lies_apart((8, 4), 1)
    assert not lies_apart((8, 4), 0)


def test_an_element_of_a_step_is_written_where_it_lies() -> None:
    text = "def f(float(N,M) x) -> (y) { for i in 0:N { for j in 0:M { y(i,j) = x(i,j) + sum[k in 0:j](y(i,k)) } } }"
    kernel, x = tcjax.kernel(text), np.ones((7, 9), np.float32)

    # Through a reshape to 63 elements XLA would copy all of them in every step.
    assert "[63]" not in str(jax.make_jaxpr(kernel)(x))
    np.testing.assert_allclose(kernel(x)[0], 2.0 ** np.arange(9))


def test_exponentials_of_rows_around_are_written_out_in_loops() -> None:
    """Dynamic time warping: rows are carried, and nothing is copied in a step."""
    warping = "c(i-1,j-1) - logsumexp[p in 0:2, q in 0:2 where p + q > 0](-R(i-p,j-q))"
    text = (
        "def f(float(N,M) c) -> (R) { R(i,j) = i == 0 && j == 0 ? 0.0 : inf where i in 0:N+1, j in 0:M+1"
        f" for i in 1:N+1 {{ for j in 1:M+1 {{ R(i,j) = {warping} }} }} }}"
    )
    kernel, c = tcjax.kernel(text), np.random.default_rng(0).uniform(0, 1, (4, 5)).astype(np.float32)

    assert str(kernel.plan(c)).count("logaddexp") == 2 and steps_of(text, c).kept[0].order == 1

    np.testing.assert_allclose(kernel(c), kernel.interpret(c), rtol=1e-5)
    assert_gradients(kernel, c)


def _diagonals(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rows = np.zeros((len(y), *y.shape))
    rows[0] = y
    for step in range(1, len(y)):
        rows[step, step] = x + rows[step - 1, step - 1]
        rows[step, :step] = x * rows[step - 1, :step]
    return rows


def test_a_step_that_updates_a_tensor_in_two_places_does_not_copy_it() -> None:
    kernel = tcjax.kernel(
        "def f(float(X) x, float(L,X) y) -> (float(L,L,X) P) { P(0,m,i) = y(m,i) "
        "for l in 1:L { P(l,l,i) = x(i) + P(l-1,l-1,i) P(l,m,i) = x(i) * P(l-1,m,i) where m in 0:l } }"
    )
    random = np.random.default_rng(0)
    x, along = (random.uniform(0.5, 1.0, 150) for _ in range(2))
    y = random.normal(size=(12, 150))
    cotangent = random.normal(size=(12, 12, 150))
    given = x.astype(np.float32), y.astype(np.float32)

    forward = jax.jit(kernel).lower(*given).compile()
    back = jax.jit(jax.grad(lambda x, y: (kernel(x, y) * cotangent.astype(np.float32)).sum())).lower(*given).compile()

    np.testing.assert_allclose(forward(*given), _diagonals(x, y), rtol=1e-4, atol=1e-5)
    moved = (_diagonals(x + 1e-6 * along, y) - _diagonals(x - 1e-6 * along, y)) / 2e-6
    np.testing.assert_allclose(np.vdot(back(*given), along), np.vdot(moved, cotangent), rtol=1e-3)
    result = 4 * cotangent.size
    if BARRIERS_HOLD:
        assert forward.memory_analysis().temp_size_in_bytes < result // 2
    assert back.memory_analysis().temp_size_in_bytes < 6 * result


def test_a_loop_that_adds_at_places_of_its_own_choice_has_a_gradient() -> None:
    kernel = tcjax.kernel(
        "def f(float(N) x, float(K) start) -> (c) { float(K) total c(k) = start(k) for t in 0:3 {"
        " which(i) = argmin[k](abs(x(i) - c(k))) total(which(i)) +=! x(i) c(k) = 0.5 * c(k) + 0.1 * total(k) } }"
    )
    x, start = np.array([0.1, 0.4, 1.1, 2.3, 2.9]), np.array([0.2, 2.6])

    def centres(x: np.ndarray) -> np.ndarray:
        found = start
        for _ in range(3):
            which = np.abs(x[:, None] - found).argmin(1)
            found = 0.5 * found + 0.1 * np.bincount(which, x, len(found))
        return found

    given = x.astype(np.float32), start.astype(np.float32)
    slope = jax.grad(lambda *arrays: (kernel(*arrays) ** 2).sum())(*given)

    ends = [[(centres(x + sign * along) ** 2).sum() for sign in (1, -1)] for along in 1e-6 * np.eye(len(x))]
    np.testing.assert_allclose(slope, [(high - low) / 2e-6 for high, low in ends], rtol=1e-4)
    assert "which" in str(kernel.explain(*given))
