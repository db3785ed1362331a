"""Which extrema are computed by one loop, and which are not."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax.planning.data.groups import Extrema
from tcjax.planning.data.nodes import LoopNest
from tcjax.planning.fusion.ties import search_of
from tests.agreement.nesting import nesting
from tests.planning.test_online import nodes

POINTS = tuple(jax.ShapeDtypeStruct((size, 3), "float32") for size in (512, 8192))
HEAD = "def f(float(N,D) x, float(M,D) y) -> (O, P)"
SQUARE = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"
OTHERS = "sum[c]((x(a,c) - y(b,c)) * (x(a,c) - y(b,c)))"


def searches(text: str, *arrays: object) -> tuple[int, int, int]:
    """Numbers of searches in a program, of their results, and of other nests of extrema."""
    found = list(nodes(tcjax.kernel(text).plan(*(arrays or POINTS))))
    online = [
        node
        for node in found
        if isinstance(node, LoopNest) and not node.is_alone and isinstance(node.whole.group, Extrema)
    ]
    return (
        len({id(node.whole) for node in online}),
        len(online),
        sum(isinstance(node, LoopNest) and node.is_alone for node in found),
    )


TOGETHER = {
    "two statements": f"O(i) min=! {SQUARE}  P(i) argmin=! {SQUARE}",
    "the place first": f"P(i) argmin=! {SQUARE}  O(i) min=! {SQUARE}",
    "indices of other names": f"O(i) = min[j]({SQUARE})  P(a) = argmin[b]({OTHERS})",
    "a name for the distances": f"s(i,j) = {SQUARE}  O(i) min=! s(i,j)  P(i) argmin=! s(i,j)",
    "the negative": f"O(i) = -max[j](-{SQUARE})  P(i) argmax=! -{SQUARE}",
    "the first of an order": f"O(i) = mink[j]({SQUARE}, 0)  P(i) = argmink[j]({SQUARE}, 0)",
    "the first of an order and a place": f"O(i) = maxk[j]({SQUARE}, 0)  P(i) argmax=! {SQUARE}",
    "a guard": f"O(i) min=! {SQUARE} where x(i,0) < y(j,0)  P(i) argmin=! {SQUARE} where x(i,0) < y(j,0)",
    "part of a larger expression": f"O(i) = sqrt(min[j]({SQUARE}))  P(i) = 2 * argmin[j]({SQUARE})",
}


@pytest.mark.parametrize("name", TOGETHER)
def test_a_value_and_its_place_are_one_loop(name: str) -> None:
    assert searches(f"{HEAD} {{ {TOGETHER[name]} }}") == (1, 2, 0)


APART = {
    "the other end": f"O(i) max=! {SQUARE}  P(i) argmin=! {SQUARE}",
    "two values": f"O(i) min=! {SQUARE}  P(i) max=! {SQUARE}",
    "another range": f"O(i) = min[j]({SQUARE})  P(i) = argmin[j in 1:M]({SQUARE})",
    "another guard": f"O(i) = min[j]({SQUARE})  P(i) = argmin[j where x(i,0) < y(j,0)]({SQUARE})",
    "another rank": f"O(i) = mink[j]({SQUARE}, 1)  P(i) = argmink[j]({SQUARE}, 0)",
    "the other side": f"O(i) min=! {SQUARE}  P(j) argmin=! {SQUARE}",
}


@pytest.mark.parametrize("name", APART)
def test_others_are_loops_of_their_own(name: str) -> None:
    found = searches(f"{HEAD} {{ {APART[name]} }}")

    assert found[:2] == (0, 0) and found[2] == 2


def test_what_changes_in_between_is_something_else() -> None:
    text = """
    def f(float(N) x, float(M) y) -> (O, P) {
        t(j) = y(j)
        O(i) min=! x(i) * t(j)
        t(j) += x(j)
        P(i) argmin=! x(i) * t(j)
    }"""
    arrays = [jax.ShapeDtypeStruct((4096,), "float32")] * 2

    assert searches(text, *arrays) == (0, 0, 2)


def test_explain_says_what_the_loop_gives_and_counts_it_once() -> None:
    text = f"{HEAD} {{ {TOGETHER['two statements']} }}"

    statements = tcjax.kernel(text).explain(*POINTS).to_dict()["statements"]

    assert [statement["operation"] for statement in statements] == ["shared search (min)", "shared search (argmin)"]
    assert "one loop over points that are never stored finds the value and its place" in statements[0]["reason"]
    assert [statement["flops"] > 0 for statement in statements] == [True, False]


def test_the_derivative_of_an_extremum_counts_ties_in_the_same_loop() -> None:
    text = f"def f(float(N,D) x, float(M,D) y) -> (O) {{ O(i) min=! {SQUARE} }}"
    (node,) = nodes(tcjax.kernel(text).plan(*POINTS))
    assert isinstance(node, LoopNest)

    extrema = search_of(node.nest, None)

    assert extrema is not None and extrema.ties is not None
    assert [nest.reduce.reducer.value for nest in extrema.results] == ["argmin", "min", "sum"]


@pytest.mark.parametrize(
    "value", ["min[j, d](x(i,d) * y(j,d))", f"mink[j]({SQUARE}, 1)", f"sum[j](fabs({SQUARE}))", f"argmin[j]({SQUARE})"]
)
def test_other_reductions_have_no_ties_to_count(value: str) -> None:
    with nesting():
        plan = tcjax.kernel(f"def f(float(N,D) x, float(M,D) y) -> (O) {{ O(i) = {value} }}").plan(
            np.zeros((5, 3), "float32"), np.zeros((7, 3), "float32")
        )

    nests = [node.nest for node in nodes(plan) if isinstance(node, LoopNest)]
    assert nests and all(search_of(nest, None) is None for nest in nests)
