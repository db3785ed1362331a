"""Which runs of statements are computed a few rows at a time."""

import numpy as np

import tcjax
from tcjax.planning import Compute, Plan

CAUSAL = """
def f(float(T,D) Q, float(T,D) K, float(T,E) V) -> (O) {
s(q,k) +=! Q(q,d) * K(k,d)
m(q) max=! s(q,k) where k <= q
p(q,k) = exp(s(q,k) - m(q)) where k <= q
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q) }"""

# The maximum is over all scores.
TIMES_CONDITION = """
def f(float(T,D) Q, float(T,D) K, float(T,E) V) -> (O) {
s(q,k) +=! Q(q,d) * K(k,d)
m(q) max=! s(q,k)
p(q,k) = exp(s(q,k) - m(q)) * float(k <= q)
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q) }"""


def planned(program: str, rows: int) -> Plan:
    array = np.zeros((rows, 64), "float32")
    return tcjax.kernel(program).plan(array, array, array)


def test_a_causal_attention_leaves_out_the_scores_of_later_positions() -> None:
    plan = planned(CAUSAL, 1024)

    [run] = plan.parts.values()
    assert (run.stages, run.spans[0]) == (6, (0, 256))
    assert [part.bound.shapes["s"] for part in run.plans] == [(256, 256), (256, 512), (256, 768), (256, 1024)]


def test_a_small_program_is_computed_as_a_whole() -> None:
    assert not planned(CAUSAL, 128).parts


def test_without_a_condition_there_are_no_parts() -> None:
    assert not planned(CAUSAL.replace(" where k <= q", ""), 1024).parts


def test_a_window_leaves_out_what_lies_beside_it() -> None:
    plan = planned(CAUSAL.replace("k <= q", "k <= q && q < k + 64"), 1024)

    [run] = plan.parts.values()
    shapes = [part.bound.shapes["s"][1] for part in run.plans]
    assert max(shapes) <= run.spans[0][1] + 64


def test_minus_infinity_that_is_added_leaves_out_as_much_as_a_guard() -> None:
    program = """
def f(float(T,D) Q, float(T,D) K, float(T,E) V) -> (O) {
s(q,k) = sum[d](Q(q,d) * K(k,d)) + (k <= q ? 0.0 : -inf)
m(q) max=! s(q,k)
p(q,k) = exp(s(q,k) - m(q))
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q) }"""
    plan = planned(program, 1024)

    [run] = plan.parts.values()
    assert [part.bound.shapes["s"] for part in run.plans] == [(256, 256), (256, 512), (256, 768), (256, 1024)]
    # Scores that are left out must be finite; in the last rows none are.
    stages = [next(s for s in part.stages if isinstance(s, Compute) and s.target == "m") for part in run.plans]
    assert [stage.proviso is not None and {*stage.proviso.named} for stage in stages] == [{"Q", "K"}] * 3 + [False]


def test_weights_of_zero_leave_out_what_only_the_maximum_reads() -> None:
    plan = planned(TIMES_CONDITION, 1024)

    [run] = plan.parts.values()
    assert [part.bound.shapes["s"] for part in run.plans] == [(256, 256), (256, 512), (256, 768), (256, 1024)]
    assert [part.bound.shapes["p"] for part in run.plans] == [(256, 256), (256, 512), (256, 768), (256, 1024)]


def test_what_is_returned_is_computed_whole() -> None:
    plan = planned(TIMES_CONDITION.replace("-> (O)", "-> (O, s)"), 1024)

    assert not plan.parts
