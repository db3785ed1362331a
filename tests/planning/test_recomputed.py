"""Values that are stored although XLA would compute them again wherever they are read."""

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
