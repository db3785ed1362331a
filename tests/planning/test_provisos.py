"""Plans for finite factors: when they are chosen, what they cost, and how they are shown."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax import planning
from tcjax.planning import Compute
from tcjax.planning.data.nodes import Unroll, below

N, D, B = 4096, 8, 64
HEAD = f"def f(float(N,D) X, float(N) y, int(N) I, int(N,D) K) -> (float({B},D) O)"
SHAPES = (
    jax.ShapeDtypeStruct((N, D), np.float32),
    jax.ShapeDtypeStruct((N,), np.float32),
    jax.ShapeDtypeStruct((N,), np.int32),
    jax.ShapeDtypeStruct((N, D), np.int32),
)
ONE_HOT = "O(b,d) +=! float(I(n) == b) * X(n,d)"


def stage_of(text: str, head: str = HEAD) -> Compute:
    stage = tcjax.kernel(f"{head} {{ {text} }}").plan(*SHAPES).stages[-1]
    assert isinstance(stage, Compute)
    return stage


def test_only_the_factors_that_a_zero_may_meet_are_looked_at() -> None:
    cases = {
        ONE_HOT: ("X",),
        "O(b,d) +=! float(I(n) == b) * X(n,d) * y(n)": ("X", "y"),
        "O(b,d) +=! (I(n) == b ? X(n,d) : 0.0) * y(n)": ("y",),
        "O(b,d) +=! (I(n) == b ? X(n,d) : 0.0) * (y(n) > 0.0 ? y(n) : 0.0)": ("X", "y"),
        "O(b,d) = sum[n](float(I(n) == b) * X(n,d)) / y(0)": ("X",),
    }
    for text, named in cases.items():
        proviso = stage_of(text).proviso
        assert proviso is not None and {*proviso.named} == {*named}, text


@pytest.mark.parametrize(
    "text",
    [
        "O(b,d) +=! float(I(n) == b) * 2.0 where d in 0:4",
        "O(b,d) +=! (I(n) == b ? 1.5 : 0.0) * n where d in 0:4",
        "O(b,d) +=! (I(n) == b ? X(n,d) : 0.0) * float(K(n,d))",
    ],
)
def test_numbers_are_finite(text: str) -> None:
    stage = stage_of(text)
    assert stage.proviso is None and stage.store.open == (0,)


def test_an_integer_zero_leaves_out_whatever_it_meets() -> None:
    stage = stage_of("O(b,d) +=! int(I(n) == b) * K(n,d)", HEAD.replace("float(64,D)", "int(64,D)"))
    assert stage.proviso is None and stage.store.open == (0,)


def test_what_a_condition_does_not_decide_stays_a_factor() -> None:
    for text in ("O(b,d) +=! X(n,d) * y(n) where b in 0:64", "O(b,d) max=! float(I(n) == b) * X(n,d)"):
        assert stage_of(text).proviso is None


def test_the_price_has_the_tests_and_the_memory_is_that_of_both_ways() -> None:
    stage = stage_of(ONE_HOT)
    assert stage.proviso is not None and stage.runner_up is not None
    plain = stage_of("O(b,d) +=! X(n,d) where I(n) == b")
    assert stage.proviso.placed is not None
    places = planning.price(stage.proviso.placed).seconds
    assert planning.price(stage).seconds == pytest.approx(planning.price(plain).seconds + places)
    assert places < sum(planning.price(test).seconds for test in stage.proviso.tests)
    assert planning.price(stage).seconds < planning.price(stage.proviso.otherwise).seconds
    assert planning.cost_of(stage).temporary >= planning.cost_of(stage.proviso.otherwise).temporary


def test_a_finite_result_tells_where_every_value_is_part_of_it() -> None:
    whole = "float(I(n) == b) * X(n,d)"
    for text in (ONE_HOT, f"O(b,d) +=! {whole} * y(n)", f"O(b,d) +=! {whole} * (y(n) > 0.0 ? y(n) : 0.0)"):
        proviso = stage_of(text).proviso
        assert proviso is not None and proviso.placed is not None, text
    # Elements of `w` without a position are in no result, nor are rows that the inner sum does not select.
    head = f"def f(float(N,D) X, float({B}) w, int(N) I) -> (O)"
    shapes = (SHAPES[0], jax.ShapeDtypeStruct((B,), np.float32), SHAPES[2])
    for text in (f"O(b,d) +=! {whole} * w(b)", "O(n,d) = sum[m](float(I(n) == m) * X(m,d))"):
        stage = tcjax.kernel(f"{head} {{ {text} }}").plan(*shapes).stages[-1]
        assert isinstance(stage, Compute) and stage.proviso is not None and stage.proviso.placed is None, text


def test_what_costs_less_is_asked() -> None:
    # A row needs one position; single values need one each, and then a sum of floats is the faster loop.
    assert (rows := stage_of(ONE_HOT).proviso) is not None and rows.placed is not None
    values = stage_of("O(b) +=! float(I(n) == b) * y(n)", HEAD.replace("(float(64,D) O)", "(float(64) O)"))
    assert values.proviso is not None and values.proviso.placed is None


def test_what_is_computed_before_keeps_the_memory_contract_where_it_can() -> None:
    head = "def f(float(E,D) T, int(B,L) I) -> (O)"
    text = "C(b,e) +=! 1.0 where I(b,l) == e, e in 0:E  O(b,d) +=! C(b,e) * T(e,d)"
    shapes = (jax.ShapeDtypeStruct((4096, 64), np.float32), jax.ShapeDtypeStruct((2048, 32), np.int32))
    stage = tcjax.kernel(f"{head} {{ {text} }}").plan(*shapes).stages[-1]
    assert isinstance(stage, Compute) and stage.proviso is not None
    assert not stage.before and not stage.proviso.otherwise.before


def test_both_ways_are_shown() -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ {ONE_HOT} }}")
    plan = str(kernel.plan(*SHAPES))
    assert "O: float32[64, 8], where X is finite" in plan and "otherwise:" in plan
    explained = str(kernel.explain(*SHAPES))
    assert "  provided   `X` is finite; otherwise " in explained
    assert "every value goes to its place" in explained


def test_a_python_function_is_called_in_one_way() -> None:
    text = "O(b,d) +=! float(I(n) == b) * g(X(n,d))"
    kernel = tcjax.kernel(f"{HEAD} {{ {text} }}", fns={"g": lambda x: 2 * x})
    (stage,) = kernel.plan(*SHAPES).stages
    assert isinstance(stage, Compute) and stage.proviso is None


def test_the_way_that_hardly_ever_runs_is_planned_to_compile_soon() -> None:
    # Nine unrolled terms compile nine times as long as a loop; only the usual case must run fast.
    kernel = tcjax.kernel("""
def f(float(N,C,H,W) I, float(C,3,3) K) -> (O) {
    O(n,f,h,w) +=! I(n,c,h+i,w+j) * K(c,i,j) * (f == c ? 1.0 : 0.0) where f in 0:C
}""")
    shapes = [jax.ShapeDtypeStruct(shape, np.float32) for shape in ((4, 64, 56, 56), (64, 3, 3))]
    stage = kernel.plan(*shapes).stages[0]
    assert isinstance(stage, Compute) and stage.proviso is not None

    rolled = [
        [node.rolled for node in below(value) if isinstance(node, Unroll)]
        for value in (stage.value, stage.proviso.otherwise.value)
    ]

    assert rolled == [[False], [True]]
    assert "rolled sum for i in 0:3" in str(kernel.plan(*shapes))
