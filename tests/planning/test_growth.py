"""How costs grow: the degrees agree with the growth of the planner's own count when a size doubles."""

from math import log2, prod

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, reject, settings

import tcjax
from tcjax import planning
from tcjax.diagnostics import CompileError
from tcjax.planning.cost.growth import in_words
from tcjax.planning.cost.hints import hints_of
from tests.effort import examples
from tests.strategies.programs import Case, programs

# A program, the sizes of its parameters' dimensions, and the degrees of the last statement.
PROGRAMS: dict[str, tuple[str, dict[str, int], dict[str, int]]] = {
    "a product": (
        "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
        {"M": 300, "K": 200, "N": 100},
        {"M": 1, "K": 1, "N": 1},
    ),
    "three matrices": (
        "def f(float(N,N) A, float(N,N) B, float(N,N) C) -> (D) { D(i,l) +=! A(i,j) * B(j,k) * C(k,l) }",
        {"N": 256},
        {"N": 3},
    ),
    "pairs": (
        "def f(float(N,D) x, float(M,D) y) -> (p) { p(i) +=! exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) }",
        {"N": 2048, "M": 1024, "D": 32},
        {"N": 1, "M": 1, "D": 1},
    ),
    "prefixes": (
        "def f(float(N) x) -> (O) { O(i) = sum[j where j <= i](x(j)) where i in 0:N }",
        {"N": 8192},
        {"N": 1},
    ),
    "elements": ("def f(float(N,M) x) -> (O) { O(i,j) = exp(x(i,j)) }", {"N": 512, "M": 256}, {"N": 1, "M": 1}),
    "two sums": (
        "def f(float(N) x, float(M) y) -> (O) { O(i) = x(i) * sum[j](y(j)) }",
        {"N": 2048, "M": 2048},
        {"N": 1, "M": 1},
    ),
    "a convolution": (
        "def f(float(B,C,H) I, float(O,C,K) W) -> (R) { R(b,o,h) +=! I(b,c,h+k) * W(o,c,k) }",
        {"B": 8, "C": 16, "O": 32, "H": 4096, "K": 24},
        {"B": 1, "C": 1, "O": 1, "H": 1, "K": 1},
    ),
    "a halved grid": (
        "def f(float(C,H) I) -> (R) { R(c,h) max=! I(c,2*h+k) where k in 0:2 }",
        {"C": 64, "H": 4096},
        {"C": 1, "H": 1},
    ),
    "pieces": ("def f(float(N) a) -> (B) { B(i) = a(i/4) * a(i%4) where i in 0:N }", {"N": 4096}, {"N": 1}),
    "a square of sizes": (
        "def f(float(H,W) a) -> (B) { B(i) = a(i/W, i%W) * a(i/W, i%W) where i in 0:H*W }",
        {"H": 64, "W": 128},
        {"H": 1, "W": 1},
    ),
    "embeddings": (
        "def f(float(V,D) E, int32(B,L) I) -> (R) { R(b,d) +=! E(I(b,l), d) }",
        {"V": 50, "D": 64, "B": 128, "L": 20},
        {"D": 1, "B": 1, "L": 1},
    ),
    "attention": (
        """def f(float(Q,D) q, float(K,D) k, float(K,E) v) -> (o) {
             o(a,e) = sum[b](exp(sum[d](q(a,d) * k(b,d)) - max[c](sum[d](q(a,d) * k(c,d)))) * v(b,e))
           }""",
        # The scores, which are written twice, are a statement of their own.
        {"Q": 1024, "K": 1024, "D": 128, "E": 64},
        {"Q": 1, "K": 1, "E": 1},
    ),
    "a copy": ("def f(float(N,M) A) -> (B) { B(j,i) = A(i,j) }", {"N": 64, "M": 32}, {}),
    "numbers alone": ("def f(float(8,4) A) -> (B) { B(i) +=! A(i,j) }", {}, {}),
}


def plan_of(text: str, sizes: dict[str, int]) -> planning.Plan:
    kernel = tcjax.kernel(text)
    arguments = [
        jax.ShapeDtypeStruct(
            tuple(int(size.evaluate(named(sizes))) for size in parameter.shape), jnp.dtype(parameter.dtype)
        )
        for parameter in kernel.ir().parameters
    ]
    return kernel.plan(*arguments)


def named(sizes: dict[str, int]) -> dict[tcjax.symbolic.SizeVar, int]:
    return {tcjax.symbolic.SizeVar(name): value for name, value in sizes.items()}


def last(plan: planning.Plan) -> tuple[planning.Compute, planning.Growth]:
    stage = plan.stages[-1]
    assert isinstance(stage, planning.Compute)
    return stage, planning.growth_of(plan)[len(plan.stages) - 1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_degrees_are_those_of_the_count(name: str) -> None:
    text, sizes, degrees = PROGRAMS[name]

    _, growth = last(plan_of(text, sizes))

    assert {str(size): degree for size, degree in growth.operations.items()} == degrees
    for size in sizes:
        # At large sizes, where the fastest-growing part of the computation dominates.
        counts = [planning.cost_of(last(plan_of(text, {**sizes, size: n * sizes[size]}))[0]).flops for n in (16, 32)]
        grown = log2(counts[1] / counts[0]) if counts[0] else 0
        assert grown == pytest.approx(degrees.get(size, 0), abs=0.2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bytes_are_those_of_the_result(name: str) -> None:
    text, sizes, _ = PROGRAMS[name]

    stage, growth = last(plan_of(text, sizes))

    for size, variable in zip(sizes, named(sizes), strict=True):
        larger, _ = last(plan_of(text, {**sizes, size: 2 * sizes[size]}))
        ratio = prod(larger.shape) / prod(stage.shape)
        assert log2(ratio) == pytest.approx(growth.stored.get(variable, 0), abs=0.05)


def test_a_size_that_is_the_smaller_of_two_counts_as_both() -> None:
    kernel = tcjax.kernel("{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }")

    (growth,) = planning.growth_of(kernel.plan(jnp.ones((6, 5)), jnp.ones((5, 4)))).values()

    assert in_words(growth.operations) == "linear in a.0, a.1, b.0 and b.1"
    assert in_words(growth.stored) == "linear in a.0 and b.1"


def test_where_data_say_what_is_written_all_of_it_is() -> None:
    kernel = tcjax.kernel("def f(float(N,D) X, int32(N) I) -> (float(B,D) R) { R(I(n),d) +=! X(n,d) }")

    (growth,) = planning.growth_of(kernel.plan(jnp.ones((6, 5)), jnp.zeros(6, int), B=3)).values()

    assert in_words(growth.stored) == "linear in B and D"


def test_the_statements_of_a_definition_grow_with_its_own_sizes() -> None:
    mm = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
    kernel = tcjax.load(f"{mm} def f(float(P,P) X) -> (s) {{ Y = mm(X, X) s +=! Y(i,j) }}").f

    product, total = kernel.explain(jnp.ones((8, 8))).to_dict()["statements"]

    assert (product["inside"], product["growth"]) == ("mm", {"K": 1, "M": 1, "N": 1})
    assert (total["growth"], total["stored_growth"]) == ({"P": 2}, {})


def test_degrees_in_words() -> None:
    assert in_words({"N": 2, "D": 1, "K": 1, "P": 5}) == "of degree 5 in P, quadratic in N, linear in D and K"


@settings(max_examples=examples(20))
@given(programs())
def test_every_statement_of_a_random_program_has_degrees(case: Case) -> None:
    try:
        plan = case.kernel.plan(**case.arguments, **case.initial)
    except CompileError:
        reject()

    growth = planning.growth_of(plan)

    assert growth.keys() == {n for n, stage in enumerate(plan.stages) if isinstance(stage, planning.Compute)}
    for number, found in growth.items():
        assert {*found.operations.values(), *found.stored.values()} <= set(range(1, 20))
        assert all(isinstance(hint, str) for hint in hints_of(plan, number, found))
