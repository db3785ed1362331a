"""Layouts of temporaries follow their readers, whatever the text says; results are the interpreter's."""

from collections.abc import Iterator

import jax
import numpy as np
import pytest
from hypothesis import given, settings

import tcjax
from tcjax import planning
from tcjax.planning.fusion import orders
from tests.agreement import comparing
from tests.effort import examples, phases
from tests.strategies.programs import Case, chains
from tests.strategies.random_expressions import Flavour

HEAD = "def f(float(T,D) Q, float(S,D) K, float(S,E) V) -> (O)"
STEPS = """
s(q,k) +=! Q(q,d) * K(k,d)
m(q) max=! s(q,k)
p(q,k) = exp(s(q,k) - m(q))
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e) / l(q)"""
TURNED = STEPS.replace("s(q,k)", "s(k,q)").replace("p(q,k)", "p(k,q)")
SHAPES = (1024, 64), (1000, 64), (1000, 48)


def specs(*shapes: tuple[int, ...]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]


@pytest.fixture
def every_order_is_taken() -> Iterator[None]:
    """The last order is taken at any price, also for small temporaries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "LEAST_SECONDS", 0.0)
        patch.setattr(orders, "FEW_POINTS", 0)
        patch.setattr(orders, "SAVED", -1e9)
        yield


def stored(plan: planning.Plan) -> dict[str, tuple[int, ...]]:
    return {stage.target: stage.shape for stage in plan.stages if isinstance(stage, planning.Compute)}


def test_scores_lie_as_their_readers_walk_through_them_whatever_the_text_says() -> None:
    plain, turned = (tcjax.kernel(f"{HEAD} {{ {text} }}").plan(*specs(*SHAPES)) for text in (STEPS, TURNED))

    assert stored(plain)["s"] == stored(turned)["s"] == (1024, 1000)
    assert planning.plan_price(turned).seconds < 1.02 * planning.plan_price(plain).seconds


def test_a_plan_says_that_axes_lie_otherwise_than_written() -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ {TURNED} }}")

    assert "`s` is stored with its axes in this order" in str(kernel.explain(*specs(*SHAPES)))
    assert "is stored with its axes" not in str(tcjax.kernel(f"{HEAD} {{ {STEPS} }}").explain(*specs(*SHAPES)))


def test_small_temporaries_and_what_is_returned_lie_as_written() -> None:
    returned = HEAD.replace("(O)", "(O, s, p)")

    assert stored(tcjax.kernel(f"{HEAD} {{ {TURNED} }}").plan(*specs((8, 4), (6, 4), (6, 3))))["s"] == (6, 8)
    assert stored(tcjax.kernel(f"{returned} {{ {TURNED} }}").plan(*specs(*SHAPES)))["s"] == (1000, 1024)


def test_what_a_python_function_reads_lies_as_written() -> None:
    text = f"{HEAD} {{ {TURNED.replace('m(q) max=! s(k,q)', 'm = g(s)')} }}"
    kernel = tcjax.kernel(text.replace("m = g(s)", "float(T) m\nm = g(s)"), fns={"g": lambda s: s.max(0)})

    assert stored(kernel.plan(*specs(*SHAPES)))["s"] == (1000, 1024)


# Temporaries that get other orders: with parts, guards, subscripts that are data, and origins.
PROGRAMS = (
    "T(j,i) = exp(A(i,j))\n U(i) +=! T(j,i)\n O(i,j) = T(j,i) / U(i)",
    "T(i,j,k) = A(i,j) * A(i,k)\n U(k,j,i) = T(i,j,k) + 1\n O(j) +=! U(k,j,i) * T(i,j,k)",
    "T(i,j) = A(i,j-1) + A(i,j+1)\n O(j,i) = T(i,j) * T(i,j+1)",
    "T(j,i) = A(i,j) where i > 0\n T(j,i) += 2 where j > 1\n O(i) max=! T(j,i)",
    "T(i,j) = A(i,j) where i > j\n O(j) +=! T(i,j) where T(i,j) < 1",
    "T(i,j) = 2 * A(i,j)\n O(i) = T(i, int(A(i,0)))",
    "S(i,k) +=! A(i,j) * A(k,j)\n O(i,k) = S(k,i) + S(i,i)",
)


@pytest.mark.parametrize("body", PROGRAMS)
def test_results_are_the_interpreters_in_every_order(body: str, every_order_is_taken: None) -> None:
    values = np.random.default_rng(1).normal(size=(4, 5)).astype(np.float32)
    case = Case(f"def f(float(M,N) A) -> (O) {{ {body} }}", {"A": values})

    comparing.values(case)
    comparing.grads(case)


@settings(max_examples=examples(12), phases=phases())
@given(chains())
def test_orders_do_not_change_values(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "LEAST_SECONDS", 0.0)
        patch.setattr(orders, "FEW_POINTS", 0)
        patch.setattr(orders, "SAVED", -1e9)
        comparing.values(case)


@settings(max_examples=examples(6), phases=phases())
@given(chains(Flavour(smooth=True)))
def test_orders_do_not_change_gradients(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "LEAST_SECONDS", 0.0)
        patch.setattr(orders, "FEW_POINTS", 0)
        patch.setattr(orders, "SAVED", -1e9)
        comparing.grads(case)


def test_explanations_know_a_program_whose_temporaries_lie_otherwise(every_order_is_taken: None) -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ {TURNED} }}")
    arguments = [np.ones(shape, np.float32) for shape in ((8, 4), (6, 4), (6, 3))]

    found = kernel.explain(*arguments)

    assert found.to_dict()["statements"] and found._repr_html_()
    np.testing.assert_allclose(jax.vmap(kernel)(*[a[None] for a in arguments])[0], kernel(*arguments), rtol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "A(i,r) +=! T(i,j,k) * B(j,r) * C(k,r)",
        "A(i,r) +=! C(k,r) * T(i,j,k) * B(j,r)",
        "A(i,r) = sum[k](sum[j](T(i,j,k) * B(j,r)) * C(k,r))",
        "A(i,r) = sum[k](C(k,r) * sum[j](B(j,r) * T(i,j,k)))",
        "S(r,i) +=! T(i,j,k) * B(j,r) * C(k,r)\nA(i,r) = S(r,i)",
    ],
)
def test_a_product_with_three_operands_costs_the_same_however_it_is_written(text: str) -> None:
    head = "def f(float(I,J,K) T, float(J,R) B, float(K,R) C) -> (A)"
    shapes = specs((128, 128, 128), (128, 32), (128, 32))
    plain = tcjax.kernel(f"{head} {{ A(i,r) +=! T(i,j,k) * B(j,r) * C(k,r) }}")

    price = planning.plan_price(tcjax.kernel(f"{head} {{ {text} }}").plan(*shapes)).seconds

    assert abs(price / planning.plan_price(plain.plan(*shapes)).seconds - 1) < 0.02
