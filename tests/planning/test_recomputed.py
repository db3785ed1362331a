"""Values that are stored although XLA would recompute them wherever they are read."""

import numpy as np

import tcjax
from tcjax.planning import Compute

RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(512, 500)).astype(np.float32)


def stages_of(taps: int, text: str) -> list[Compute]:
    weights = RNG.normal(size=taps).astype(np.float32)
    plan = tcjax.kernel(f"def f(float(H,W) I, float(P) g) -> (O) {{ {text} }}").plan(IMAGE, weights)
    return [stage for stage in plan.stages if isinstance(stage, Compute)]


def test_a_window_that_a_window_reads_is_stored() -> None:
    rows, columns = stages_of(11, "R(h,x) +=! I(h,x+j) * g(j)  O(y,x) +=! R(y+i,x) * g(i)")

    assert rows.apart and not columns.apart


def test_what_is_computed_before_a_statement_is_stored_too() -> None:
    (whole,) = stages_of(11, "O(y,x) +=! I(y+i,x+j) * g(i) * g(j)")

    assert [part.apart for part in whole.before] == [True] and not whole.apart


def test_a_window_that_is_read_once_is_not() -> None:
    rows, _ = stages_of(11, "R(h,x) +=! I(h,x+j) * g(j)  O(y) max=! R(y,x)")

    assert not rows.apart


def test_rows_that_data_choose_are_added_up_once_for_what_repeats_their_sum() -> None:
    x, weight = RNG.normal(size=(1000, 32)).astype(np.float32), RNG.normal(size=(1000, 30, 32)).astype(np.float32)
    near, slope = RNG.integers(0, 1000, (1000, 30)).astype(np.int32), RNG.normal(size=(30, 32)).astype(np.float32)
    text = "o(m,h) +=! x(n(m,k),h) * w(m,k,h)  p(m,q,h) = o(m,h) * v(q,h)"
    head = "def f(float(N,H) x, int32(M,K) n, float(M,K,H) w, float(Q,H) v)"

    repeated = tcjax.kernel(f"{head} -> (p) {{ {text} }}").plan(x, near, weight, slope)
    # The readers of a result are not known: a gradient may recompute it too.
    result = tcjax.kernel(f"{head} -> (o) {{ {text} }}").plan(x, near, weight, slope)

    assert [stage.apart for stage in repeated.stages if isinstance(stage, Compute)] == [True, False]
    assert next(stage.apart for stage in result.stages if isinstance(stage, Compute))


def test_a_short_window_that_is_a_result_is_not() -> None:
    (result,) = stages_of(3, "O(h,x) +=! I(h,x+j) * g(j)")

    assert not result.apart
