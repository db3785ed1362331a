"""Loops that are scans, of linear maps or by a reducer: which are, and that results equal those step by step.

GPUs run them as scans. Here plans do so on the CPU too, so that the same code runs.
"""

from dataclasses import replace

import jax
import numpy as np
import pytest

import tcjax
from tcjax.planning import recurrences
from tcjax.testing import assert_gradients

LINEAR = """
def linear(float(T,D) a, float(T,D) b) -> (h) {
    h(0,d) = b(0,d)
    for t in 1:T { h(t,d) = a(t,d) * h(t-1,d) + b(t,d) }
}"""
BACKWARDS = """
def backwards(float(T,D) a, float(T,D) b) -> (h) {
    h(T-1,d) = b(T-1,d)
    for t in T-2:-1:-1 { h(t,d) = b(t,d) - h(t+1,d) / (2.0 + a(t,d) * a(t,d)) }
}"""
SELECTIVE = """
def selective(float(T,D) x, float(T,D) delta, float(D,N) A, float(T,N) B, float(T,N) C) -> (y) {
    for t in 0:T {
        h(d,n) = exp(-delta(t,d) * delta(t,d) * A(d,n)) * h(d,n) + delta(t,d) * B(t,n) * x(t,d)
        y(t,d) = sum[n](C(t,n) * h(d,n))
    }
}"""
# `q` needs `p` of the same step and of the one before.
TWO = """
def two(float(T) x) -> (p, q) {
    p(0) = x(0)
    q(0) = 1.0
    for t in 1:T {
        p(t) = x(t) > 0.0 ? 0.5 * p(t-1) + x(t) : -p(t-1)
        q(t) = p(t) * q(t-1) / 4.0 - p(t-1)
    }
}"""
STATE = """
def state(float(T) x) -> (s, y) {
    s() = 1.0
    for t in 0:T {
        s() = 0.9 * s() + x(t)
        y(t) = s() * s()
    }
}"""
# The combining operation is at the end of the step, in a branch, or a reduction of its own.
LARGEST = """
def largest(float(T,D) x, float(T,D) y) -> (h) {
    h(0,d) = x(0,d)
    for t in 1:T { h(t,d) = x(t,d) > 0.5 ? h(t-1,d) : max(y(t,d), max(h(t-1,d), sum[e](x(t,e) * y(t,d)))) }
}"""
SMOOTH = """
def smooth(float(T,D) x, float(T,D) y) -> (h, s) {
    h(T-1,d) = x(T-1,d)
    s() = 0.0
    for t in T-2:-1:-1 {
        h(t,d) = logaddexp(h(t+1,d), x(t,d) * y(t,d))
        s() = 0.5 * s() + sum[d](h(t,d))
    }
}"""
LEAST = """
def least(float(T) x) -> (s, y) {
    s() = x(0)
    for t in 0:T {
        s() min= x(t) - 1.0
        y(t) = s() * s()
    }
}"""
# A shift before combining: in a branch, in a tensor of its own, or as an accumulation.
VITERBI = """
def viterbi(float(T,D) a, float(T,D) b) -> (h, g) {
    h(0,d) = b(0,d)
    g(0,d) = a(0,d)
    for t in 1:T {
        s(d) = h(t-1,d) + a(t,d) * b(t,d)
        h(t,d) = max(s(d) - 0.25, b(t,d)) + a(t,d)
        m(d) = logaddexp(b(t,d) + g(t-1,d), logaddexp(h(t,d), a(t,d)))
        g(t,d) = t % 7 == 0 ? h(t,d) : (a(t,d) > 0.5 ? g(t-1,d) : m(d))
    }
}"""
SHORTEST = """
def shortest(float(T) x, float(T,D) y) -> (s, h) {
    s() = x(0)
    h(T-1,d) = y(0,d)
    for t in T-2:-1:-1 {
        s() += x(t)
        s() min= y(t,0)
        h(t,d) = min(x(t) + h(t+1,d), min(h(t+1,d), s() * y(t,d)))
    }
}"""
SHAPES = {
    VITERBI: ((11, 2), (11, 2)),
    SHORTEST: ((9,), (9, 2)),
    LARGEST: ((50, 3), (50, 3)),
    SMOOTH: ((33, 3), (33, 3)),
    LEAST: ((50,),),
    LINEAR: ((50, 3), (50, 3)),
    BACKWARDS: ((41, 3), (41, 3)),
    SELECTIVE: ((33, 4), (33, 4), (4, 2), (33, 2), (33, 2)),
    TWO: ((50,),),
    STATE: ((50,),),
}


def kernel_of(text: str, monkeypatch: pytest.MonkeyPatch, block: int | None = None) -> tcjax.Kernel:
    """A kernel that runs blocks of steps at once on a CPU too."""
    planned = recurrences._at_once

    def patched(*arguments):
        found = planned(*arguments)
        assert found is not None, text
        return replace(found, platforms=("cpu",), block=min(found.block, block or found.block))

    monkeypatch.setattr(recurrences, "_at_once", patched)
    return tcjax.kernel(text)


def arrays_of(text: str) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in SHAPES[text]]


def leaves(results: object) -> list[np.ndarray]:
    return [np.asarray(result) for result in jax.tree.leaves(results)]


@pytest.mark.parametrize("block", [None, 8])
@pytest.mark.parametrize("text", SHAPES, ids=lambda text: text.split()[1].partition("(")[0])
def test_steps_at_once_are_what_the_interpreter_says(
    text: str, block: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, arrays = kernel_of(text, monkeypatch, block), arrays_of(text)

    for found, expected in zip(leaves(kernel(*arrays)), leaves(kernel.interpret(*arrays)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert_gradients(kernel, *arrays)


def test_a_batch_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, (a, b) = kernel_of(LINEAR, monkeypatch), arrays_of(LINEAR)

    found = jax.vmap(kernel, (0, None))(np.stack([a, a / 2]), b)

    for one, scale in zip(found, (1, 2), strict=True):
        np.testing.assert_allclose(one, kernel.interpret(a / scale, b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("factors", "begin"),
    # The product of the first two overflows float32; the number that they are applied to is small, or zero.
    [([1e25, 1e25, 1e-25, 1e-25], 1e-30), ([1e25, 1e25, 1e-25, 1e-25], 0.0), ([np.inf, 1, 1, 1], 1.0)],
)
def test_where_a_product_of_factors_would_overflow_steps_go_one_by_one(
    factors: list[float], begin: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = kernel_of(LINEAR, monkeypatch)
    a = np.array([[1], *([f] for f in factors)], np.float32)
    b = np.zeros_like(a)
    b[0] = begin

    np.testing.assert_allclose(kernel(a, b), kernel.interpret(a, b), rtol=1e-5)


def test_numbers_that_are_none_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, (a, b) = kernel_of(LINEAR, monkeypatch), arrays_of(LINEAR)
    b[20, 1] = np.nan
    b[30, 2] = np.inf

    found, expected = np.asarray(kernel(a, b)), kernel.interpret(a, b)

    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert np.isfinite(found[:, 0]).all() and np.isnan(found[20:, 1]).all()


def at_once(text: str, *arrays: np.ndarray, **options: object) -> list[tuple[tuple[str, ...], int] | None]:
    stages = tcjax.kernel(text, **options).plan(*arrays).stages
    found = [stage.steps.at_once for stage in stages if getattr(stage, "steps", None) is not None]
    return [None if each is None else (tuple(name for name, _ in each.order), each.block) for each in found]


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_extrema_of_sums_with_infinite_numbers_are_those_of_steps_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(float(T) a, float(T) b) -> (h) { h(0) = b(0) for t in 1:T { h(t) = max(h(t-1) + a(t), b(t)) } }"
    kernel = kernel_of(text, monkeypatch)
    inf = np.inf
    a = np.array([0, 1, -inf, 1, 2, 3, 3e38, 3e38, -3e38], np.float32)
    for b in (
        [-inf, -inf, -inf, 1, -inf, 0, 0, 0, 0],
        [inf, 1, 2, 3, -inf, 0, 0, 0, 0],
        [1, 2, np.nan, 4, 5, 6, 7, 8, 9],
    ):
        b = np.array(b, np.float32)
        np.testing.assert_allclose(kernel(a, b), kernel.interpret(a, b), rtol=1e-6)
        # Without the overflow.
        np.testing.assert_allclose(kernel(a[:6], b[:6]), kernel.interpret(a[:6], b[:6]), rtol=1e-6)


def test_the_derivative_of_a_logarithm_of_no_exponentials_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(float(T) a, float(T) b) -> (h) { h(0) = b(0) for t in 1:T { h(t) = logaddexp(h(t-1) + a(t), b(t)) } }"
    inf = np.inf
    a = np.array([0.1, 0.2, -inf, 0.4, 0.5], np.float32)
    b = np.array([-inf, -inf, 1, -inf, 0.2], np.float32)

    in_turn = jax.grad(lambda a, b: tcjax.kernel(text)(a, b)[2:].sum(), (0, 1))(a, b)
    together = jax.grad(lambda a, b: kernel_of(text, monkeypatch)(a, b)[2:].sum(), (0, 1))(a, b)

    for one, other in zip(in_turn, together, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_on_gpus_linear_steps_are_done_at_once_all_or_so_many_as_fit() -> None:
    assert at_once(LINEAR, zeros(4096, 64), zeros(4096, 64)) == [(("h",), 4095)]
    assert at_once(TWO, zeros(4096)) == [(("p", "q"), 4095)]
    [(order, block)] = at_once(VITERBI, zeros(4096, 64), zeros(4096, 64))
    assert order == ("h", "g") and block > 1000
    [(order, block)] = at_once(
        SELECTIVE, *(zeros(*s) for s in ((8192, 512), (8192, 512), (512, 16), (8192, 16), (8192, 16)))
    )
    assert order == ("h",) and 16 <= block < 8192


@pytest.mark.parametrize(
    "body",
    [
        "h(t,d) = tanh(h(t-1,d)) + b(t,d)",
        "h(t,d) = h(t-1,d) * h(t-1,d) + b(t,d)",
        "h(t,d) = max(h(t-1,d), b(t,d)) * 2.0",
        "h(t,d) = max(h(t-1,d) * 2.0, b(t,d))",
        "h(t,d) = max(h(t-1,d) + b(t,d), 0.0 - h(t-1,d))",
        "h(t,d) = max(min(h(t-1,d) + 1.0, b(t,d)), 0.0)",
        "h(t,d) = t < 9 ? max(h(t-1,d), b(t,d)) : min(h(t-1,d), b(t,d))",
        "h(t,d) = b(t,d) / (2.0 + h(t-1,d))",
        "h(t,d) = h(t-1,d) > 0.0 ? h(t-1,d) : b(t,d)",
        # From another position: the rows of a step are one system.
        "h(t,d) = h(t-1,D-1-d) + b(t,d)",
        "h(t,d) = sum[e](h(t-1,e)) / D + b(t,d)",
    ],
)
def test_other_steps_are_done_in_turn(body: str) -> None:
    text = f"def f(float(T,D) b) -> (h) {{ h(0,d) = b(0,d) for t in 1:T {{ {body} }} }}"

    assert at_once(text, zeros(4096, 64)) == [None]


def test_the_orders_beyond_one_and_whole_numbers_are_done_in_turn() -> None:
    second = "def f(float(T) b) -> (h) { h(0) = b(0) h(1) = b(1) for t in 2:T { h(t) = h(t-1) + h(t-2) + b(t) } }"
    whole = "def f(int32(T) b) -> (h) { h(0) = b(0) for t in 1:T { h(t) = h(t-1) + b(t) } }"

    assert at_once(second, zeros(4096)) == [None]
    assert at_once(whole, np.zeros(4096, np.int32)) == [None]


def test_whole_numbers_and_truth_values_are_joined_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "def f(int32(T) b) -> (h) { h(0) = b(0) for t in 1:T { h(t) = min(h(t-1), b(t)) } }": np.int32,
        "def f(bool(T) b) -> (h) { h(0) = b(0) for t in 1:T { h(t) = h(t-1) || b(t) } }": np.bool_,
    }
    for text, dtype in texts.items():
        assert at_once(text, np.zeros(4096, dtype)) == [(("h",), 4095)]
    for text, dtype in texts.items():
        array = (np.random.default_rng(0).integers(-9, 50, 31) // 40).astype(dtype)
        kernel = kernel_of(text, monkeypatch)
        np.testing.assert_array_equal(kernel(array), kernel.interpret(array))


def test_equal_numbers_share_as_one_step_after_the_other_does(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(float(T) x) -> (h) { h(0) = x(0) for t in 1:T { h(t) = max(h(t-1), x(t)) } }"
    x = np.array([0, 1, 1, 1, 2, 2, 2], np.float32)
    in_turn = jax.grad(lambda x: tcjax.kernel(text)(x).sum())(x)

    together = jax.grad(lambda x: kernel_of(text, monkeypatch)(x).sum())(x)

    np.testing.assert_array_equal(together, in_turn)


def test_long_rows_are_done_in_turn_where_that_moves_less() -> None:
    assert at_once(LINEAR, zeros(64, 1 << 22), zeros(64, 1 << 22), memory_limit="64GiB") == [None]


def test_the_plan_says_what_a_gpu_does() -> None:
    said = str(tcjax.kernel(LINEAR).plan(zeros(4096, 64), zeros(4096, 64)))

    assert "4095 steps along t, on a GPU all at once: linear_t(" in said


def test_on_a_gpu_a_loop_is_what_remains_where_numbers_could_overflow() -> None:
    kernel, array = tcjax.kernel(LINEAR), jax.ShapeDtypeStruct((4096, 64), np.float32)

    cpu, gpu = (
        jax.jit(kernel).trace(array, array).lower(lowering_platforms=(platform,)).as_text()
        for platform in ("cpu", "cuda")
    )

    # Sums of pairs, of pairs of pairs, and so on.
    halves = ["tensor<2047x64xf32>", "tensor<1023x64xf32>", "tensor<511x64xf32>"]
    assert all(half in gpu for half in halves) and not any(half in cpu for half in halves)
    assert (cpu.count("stablehlo.while"), gpu.count("stablehlo.while")) == (1, 1)
