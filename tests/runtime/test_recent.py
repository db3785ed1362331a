"""What a kernel keeps of earlier calls: enough for the latest ones, and no more."""

import gc
import threading
import tracemalloc
import weakref

import jax
import numpy as np
import pytest

import tcjax
from tcjax.keeping import MOST_SIGNATURES, Recent
from tcjax.runtime import calls

SUM = "def f(float(N) A) -> (B) { B(i) = 2 * A(i) }"
SAC = "{ [i] -> 2 * a[i] | [i] < shape(a) }"


def test_the_key_that_nobody_asked_for_the_longest_goes() -> None:
    recent: Recent[str, int] = Recent(2)

    recent.keep("a", 1)
    recent.keep("b", 2)
    assert recent.get("a") == 1
    recent.keep("c", 3)

    assert (recent.get("a"), recent.get("b"), recent.get("c"), len(recent)) == (1, None, 3, 2)


def test_of_two_values_for_one_key_the_first_stays() -> None:
    recent: Recent[str, int] = Recent()

    assert recent.keep("a", 1) == 1
    assert recent.keep("a", 2) == 1


def test_threads_may_share_one() -> None:
    recent: Recent[int, int] = Recent(8)
    problems: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for number in range(start, start + 2000):
                value = recent.get(number % 20)
                assert value is None or value == number % 20
                assert recent.keep(number % 20, number % 20) == number % 20
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == [] and len(recent) == 8


@pytest.mark.parametrize("text", [SUM, SAC], ids=["tc", "sac"])
def test_plans_of_many_shapes_take_no_more_memory_than_those_of_the_latest(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recent.__init__, "__defaults__", (8,))
    warm, few, many = tcjax.kernel(text), tcjax.kernel(text), tcjax.kernel(text)

    def grown(kernel: tcjax.Kernel, shapes: range) -> int:
        """Bytes still in use after planning for `count` shapes."""
        before = tracemalloc.get_traced_memory()[0]
        for n in shapes:
            kernel.plan(jax.ShapeDtypeStruct((n,), "float32"))
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    tracemalloc.start()
    try:
        grown(warm, range(2, 60))
        eight = grown(few, range(300, 308))
        grown(many, range(300, 308))
        more = grown(many, range(2, 122))
    finally:
        tracemalloc.stop()

    # 120 plans would be fifteen times as much.
    assert more < 3 * eight


def test_a_plan_that_was_forgotten_is_made_again() -> None:
    kernel = tcjax.kernel(SUM)
    first = kernel.plan(jax.ShapeDtypeStruct((1,), "float32"))

    for n in range(2, MOST_SIGNATURES + 3):
        kernel.ranges(jax.ShapeDtypeStruct((n,), "float32"))
    again = kernel.ranges(jax.ShapeDtypeStruct((1,), "float32"))

    assert again == [{"i": (0, 1)}]
    assert str(kernel.plan(jax.ShapeDtypeStruct((1,), "float32"))) == str(first)


def test_what_is_compiled_goes_with_the_function_that_was_jitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_SIGNATURES", 3)
    kernel = tcjax.kernel(SUM)
    first = weakref.ref(kernel._plain.__wrapped__)

    for n in range(1, 9):
        np.testing.assert_array_equal(kernel(np.ones(n, np.float32)), np.full(n, 2, np.float32))
    gc.collect()

    assert first() is None
    assert len(kernel._compiled) == 1


def test_a_kernel_that_threads_call_with_many_shapes_stays_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_SIGNATURES", 2)
    monkeypatch.setattr(Recent.__init__, "__defaults__", (2,))
    kernel = tcjax.kernel(SUM)
    problems: list[BaseException] = []

    def work(shapes: tuple[int, ...]) -> None:
        try:
            for n in shapes:
                np.testing.assert_array_equal(kernel(np.arange(n, dtype=np.float32)), 2 * np.arange(n))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(s,)) for s in ((1, 2, 3, 4), (4, 3, 2, 1), (2, 1, 4, 3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
