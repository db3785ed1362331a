"""Which temporaries are stored: results are always the interpreter's, and what must be stored is."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

import tcjax
from tcjax import ir, planning
from tcjax.diagnostics import CompileWarning
from tcjax.planning.fusion import temporaries
from tcjax.transforms.inlining import MOST_NODES
from tests.agreement import comparing
from tests.effort import examples, phases
from tests.strategies.programs import Case, chains
from tests.strategies.random_expressions import Flavour

pytestmark = pytest.mark.usefixtures("quickly_compiled")

MANY = 1 << 15
MATRIX = "def f(float(M,N) A) -> (O)"


@pytest.fixture(autouse=True, scope="module")
def every_name_goes() -> Iterator[None]:
    """Inlines small temporaries too, and those that cost more when inlined."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(temporaries, "FEW_ELEMENTS", 0)
        patch.setattr(temporaries, "WORTH", 1e9)
        patch.setattr(
            temporaries._Program, "better", lambda self, number, found: temporaries.Gone(tuple(found), 1.0, 1.0)
        )
        yield


@pytest.fixture
def by_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inlines temporaries where the price says so."""
    monkeypatch.setattr(temporaries, "WORTH", 0.9)
    monkeypatch.setattr(temporaries._Program, "better", BY_PRICE)


BY_PRICE = temporaries._Program.better


def unstored(kernel: tcjax.Kernel, *arguments: Any, **initial: Any) -> list[str]:
    stages = kernel.plan(*arguments, **initial).stages
    return [stage.target for stage in stages if isinstance(stage, planning.Unstored)]


@settings(max_examples=examples(12), phases=phases())
@given(chains())
def test_temporaries_do_not_change_values(case: Case) -> None:
    comparing.values(case)


@settings(max_examples=examples(6), phases=phases())
@given(chains(Flavour(odd=True)))
def test_temporaries_do_not_change_what_infinities_give(case: Case) -> None:
    comparing.odd(case)


@settings(max_examples=examples(8), phases=phases())
@given(chains(Flavour(smooth=True)))
def test_temporaries_do_not_change_gradients(case: Case) -> None:
    comparing.grads(case)


# Programs, and the temporaries that are inlined.
PROGRAMS = {
    "a chain": (f"{MATRIX} {{ T(i,j) = A(i,j)*2\n U(i) +=! T(i,j)\n O(i,j) = U(i)*T(i,j) }}", "TU"),
    "two readers": (f"{MATRIX} {{ T(i,j) = exp(A(i,j))\n U(i) +=! T(i,j)\n O(j) = T(0,j)*U(0) }}", "TU"),
    "an origin that is not 0": (f"{MATRIX} {{ T(i,j) = A(i,j-1)+A(i,j+1)\n O(i,j) = T(i,j)*T(i,j+1) }}", "T"),
    "written in steps": (
        f"{MATRIX} {{ T(i) = A(i,0)\n T(i) = 3*T(i) where A(i,1) > 0\n T(i) += A(i,k)\n O(i) = T(i)+1 }}",
        "TTT",
    ),
    "rewritten between": (
        f"{MATRIX} {{ S(i) = A(i,0)\n T(i) = S(i)*2\n S(i) = A(i,1)\n O(i) = T(i)+S(i) }}",
        "STS",
    ),
    "a part": (f"{MATRIX} {{ T(i) = A(i,0)\n T(i) = 3*A(i,1) where i in 1:3\n O(i) = T(i)*T(i) }}", ""),
    "guards and logic": (
        f"{MATRIX} {{ B(i) any=! A(i,j) > 1\n C(i) all=! A(i,j) < 2 where B(i)\n O(j) +=! A(i,j) where C(i) || B(i) }}",
        "BC",
    ),
    "positions": (f"{MATRIX} {{ J(i) argmin=! A(i,j) where j in 1:3\n O(i) = A(i,J(i))*J(i) }}", "J"),
    "order statistics": (f"{MATRIX} {{ T(i,j) = 2*A(i,j)\n O(i,r) = mink[j](T(i,j), r) where r in 0:2 }}", "T"),
    "a mean and a logarithm": (
        f"{MATRIX} {{ S(i) mean=! A(i,k) where A(i,k) > 0\n L(i) logsumexp=! A(i,k)\n O(i) = L(i)+S(i) }}",
        "SL",
    ),
    "its own elements": (f"{MATRIX} {{ T(i) = A(i,0)\n T(i) = T(i)*T(i)+1\n O(i) = T(i)\n O(i) += O(i)*T(i) }}", "TTO"),
    "sixteen bits": (
        "def f(half(M,N) A) -> (O) { S(i) +=! A(i,j)\n T(i) = S(i)/N\n"
        " V(i) +=! (A(i,j)-T(i))*A(i,j)\n O(i) = V(i)+S(i) }",
        "STV",
    ),
    "eight bits": (
        "def f(int8(M,N) A) -> (O) { T(i) = A(i,0)\n T(i) *= A(i,j)\n T(i) += A(i,j)\n O(i) = T(i)*2 }",
        "",
    ),
    "complex numbers": (
        "def f(complex64(M,N) A) -> (O) { S(i) *=! A(i,j) where j > i\n T(i) = S(i) where i > 1\n O(i) = T(i)*1i }",
        "ST",
    ),
    "another definition": (
        "def g(float(P) X) -> (Y) { Y(p) = X(p)*2 }\n"
        f"{MATRIX} {{ T(i) = exp(A(i,0))\n U = g(T)\n V(i) = U(i)*3\n O(i) = V(i)+T(i) }}",
        "V",
    ),
    "nothing to reduce": (f"{MATRIX} {{ T(i) max=! A(i,j) where j > 100\n O(i) = T(i)+1 }}", "T"),
}


@pytest.mark.parametrize(("text", "gone"), PROGRAMS.values(), ids=PROGRAMS)
def test_results_are_the_interpreters(text: str, gone: str) -> None:
    values = np.random.default_rng(1).normal(size=(4, 5)) * 2
    dtype = text.split("def f(")[1].split("(")[0]
    dtype = {"float": "float32", "half": "float16"}.get(dtype, dtype)
    case = Case(text, {"A": values.astype(dtype)})

    comparing.values(case)

    assert unstored(case.kernel, *case.arguments.values()) == list(gone)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_empty_extents_are_the_interpreters(shape: tuple[int, int]) -> None:
    text = f"{MATRIX} {{ T(i,j) = A(i,j)*2\n U(i) max=! T(i,j)\n V(i) +=! T(i,j)\n O(i) = U(i)+V(i) }}"
    case = Case(text, {"A": np.ones(shape, np.float32)})

    comparing.values(case)

    assert unstored(case.kernel, case.arguments["A"]) == ["T", "U", "V"]


# A scatter starts from zeros and reads positions that have a name.
SCATTERS = {
    "from zeros": ("T(b) = 0.0 where b in 0:4\n T(I(n)) += X(n)\n O(b) = T(b)*2", ["T"]),
    "from ones": ("T(b) = 1.0 where b in 0:4\n T(I(n)) += X(n)\n O(b) = T(b)*2", []),
    "a place": ("J(n) = I(n)/2\n T(n) = X(n)*X(n)\n O(J(n)) +=! T(n)", ["J", "T"]),
    "a read": ("T(n) = X(n)*2\n O(n) = T(I(n)-3)", ["T"]),
    "a read of a part": ("T(n) = X(n-1)*2\n O(n) = T(I(n)-3)", []),
}


@pytest.mark.parametrize(("body", "gone"), SCATTERS.values(), ids=SCATTERS)
def test_places_that_data_decide_are_the_interpreters(body: str, gone: list[str]) -> None:
    returns = "float(9) O" if "O(J" in body else "O"
    rng = np.random.default_rng(2)
    arguments = {"X": rng.normal(size=9).astype(np.float32), "I": rng.integers(0, 4, 9, np.int32)}
    case = Case(f"def f(float(N) X, int32(N) I) -> ({returns}) {{ {body} }}", arguments)

    comparing.values(case)
    comparing.grads(case)

    assert unstored(case.kernel, *arguments.values()) == gone


def test_what_is_returned_is_stored() -> None:
    A = np.ones((4, 5), np.float32)
    last = tcjax.kernel("def f(float(M,N) A) -> (O, T) { T(i) +=! A(i,j)\n O(i) = T(i)\n T(i) = A(i,0) }")

    assert unstored(tcjax.kernel("def f(float(M,N) A) -> (O, T) { T(i) +=! A(i,j)\n O(i) = T(i) }"), A) == []
    assert unstored(last, A) == ["T"]
    np.testing.assert_array_equal(last(A)[0], A.sum(1))
    np.testing.assert_array_equal(last(A)[1], A[:, 0])


def test_what_a_caller_may_give_is_stored() -> None:
    with pytest.warns(CompileWarning, match="TC1201"):
        kernel = tcjax.kernel("def f(float(M,N) A) -> (T) { U(i) = A(i,0)\n T(i) += U(i)\n T(i) *= 2.0 }")
    A = np.arange(20.0, dtype=np.float32).reshape(4, 5)

    assert unstored(kernel, A) == ["U"]
    np.testing.assert_array_equal(kernel(A, T=np.ones(4, np.float32)), 2 * (A[:, 0] + 1))


def test_what_a_python_function_reads_whole_is_stored() -> None:
    kernel = tcjax.kernel(
        "def f(float(M,N) A) -> (O) { T(i) = A(i,0)*2\n float(M) U\n U = g(T)\n O(i) = U(i)+T(i) }",
        fns={"g": lambda t: jnp.cumsum(t)},
    )
    A = np.arange(20.0, dtype=np.float32).reshape(4, 5)

    assert unstored(kernel, A) == []
    np.testing.assert_allclose(kernel(A), 2 * (np.cumsum(A[:, 0]) + A[:, 0]))


ATTENTION = """def f(float(M,D) q, float(N,D) k, float(N,E) v) -> (O) {
    s(i,j) +=! q(i,d)*k(j,d)
    m(i) max=! s(i,j)
    p(i,j) = exp(s(i,j)-m(i))
    l(i) +=! p(i,j)
    o(i,e) +=! p(i,j)*v(j,e)
    O(i,e) = o(i,e)/l(i)
}"""


def operands() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Queries, keys and values, and their attention in float64."""
    rng = np.random.default_rng(5)
    q, k, v = (rng.normal(size=shape).astype(np.float32) for shape in [(4, 3), (6, 3), (6, 2)])
    scores = q.astype(np.float64) @ k.T.astype(np.float64)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return q, k, v, weights / weights.sum(1, keepdims=True) @ v


@pytest.mark.parametrize("options", [{}, {"checked": True}, {"deterministic": True}, {"memory_limit": "1MiB"}])
def test_attention_whose_rows_have_names_is_right_with_every_option(options: dict[str, Any]) -> None:
    kernel = tcjax.kernel(ATTENTION, **options)
    q, k, v, expected = operands()

    assert unstored(kernel, q, k, v) == ["s", "m", "p", "l", "o"]
    np.testing.assert_allclose(kernel(q, k, v), expected, rtol=1e-5, atol=1e-6)


def test_attention_whose_rows_have_names_is_right_in_every_transformation() -> None:
    kernel = tcjax.kernel(ATTENTION)
    q, k, v, expected = operands()

    mapped = jax.vmap(kernel, in_axes=(0, None, None))(np.stack([q, 2 * q, q]), k, v)
    exported = jax.export.deserialize(jax.export.export(jax.jit(kernel))(q, k, v).serialize()).call(q, k, v)
    scheduled = kernel.with_schedule(kernel.schedule())

    np.testing.assert_allclose(mapped[2], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(exported, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scheduled(q, k, v), expected, rtol=1e-5, atol=1e-6)
    comparing.grads(Case(ATTENTION, {"q": q, "k": k, "v": v}))


def test_a_schedule_stores_what_has_a_name() -> None:
    kernel = tcjax.kernel(f"{MATRIX} {{ T(i,j) = exp(A(i,j))\n O(i,j) = T(i,j)*2 }}")
    scheduled = kernel.with_schedule(kernel.schedule().tile("O", "i", "j", 2, 2))
    A = np.ones((4, 6), np.float32)

    assert unstored(scheduled, A) == []
    np.testing.assert_allclose(scheduled(A), 2 * np.exp(A), rtol=1e-6)


def test_plans_and_explanations_name_the_readers() -> None:
    kernel = tcjax.kernel(f"{MATRIX} {{ T(i,j) = exp(A(i,j))\n U(i) +=! T(i,j)\n O(i) = T(i,0)/U(i) }}")
    A = np.ones((4, 6), np.float32)

    assert "T: float32[4, 6] is not stored: U, O compute it" in str(kernel.plan(A))
    assert "never stored: `U`, `O` compute it where they read it" in str(kernel.explain(A))
    assert "U: float32[4] is not stored: O computes it" in str(kernel.plan(A))


def test_an_explanation_says_where_a_name_costs_the_same() -> None:
    kernel = tcjax.kernel(f"{MATRIX} {{ T(i,j) = exp(A(i,j))\n O(i,j) = T(i,j)*2 }}")

    told = kernel.explain(np.ones((4, 6), np.float32)).to_dict()["statements"][0]

    assert told["seconds"] == told["runner_up"]["seconds"]
    assert told["reason"] == "never stored: `O` computes it where it reads it, which costs the same"


@pytest.mark.usefixtures("by_price")
def test_an_explanation_says_that_a_name_costs_less_only_where_it_does() -> None:
    statements = "T(i,j) = exp(A(i)*A(j))\n O(i) +=! T(i,j)\n P(j) +=! T(i,j)\n Q(j) +=! T(j,i)*T(i,j)"
    limited = tcjax.kernel(f"def f(float(M) A) -> (O, P, Q) {{ {statements} }}", memory_limit=10_000)
    free = tcjax.kernel(f"{MATRIX} {{ T(i,j) = exp(A(i,j))\n O(i,j) = T(i,j)*2 }}")

    dearer = limited.explain(np.ones(300, np.float32)).to_dict()["statements"][0]
    cheaper = free.explain(np.ones((300, 300), np.float32)).to_dict()["statements"][0]

    assert dearer["seconds"] > dearer["runner_up"]["seconds"]
    assert dearer["reason"] == "never stored: `O`, `P`, `Q` compute it where they read it"
    assert cheaper["seconds"] < cheaper["runner_up"]["seconds"]
    assert cheaper["reason"] == "never stored: `O` computes it where it reads it, which costs less"


# How each name is defined by the previous one, so that inlining grows exponentially.
GROWTH = {
    "twice": "T{n}(i)*T{n}(99-i)",
    "neighbours": "T{n}(i) + (i > 0 ? T{n}(i-1) : 0.0)",
    "in each other": "abs(abs(abs(abs(abs(abs(T{n}(i)))))))",
    "opposites": "-(-(-(-T{n}(i)+1)))",
}


@pytest.mark.parametrize("step", GROWTH.values(), ids=GROWTH)
def test_a_long_chain_of_names_stays_short(step: str) -> None:
    names = "\n".join(f"T{n + 1}(i) = {step.format(n=n)}" for n in range(30))
    kernel = tcjax.kernel(f"def f(float(N) A) -> (O) {{ T0(i) = A(i)\n {names}\n O(i) = T30(i) }}")

    plan = kernel.plan(np.ones(100, np.float32))

    computed = [stage.statement for stage in plan.stages if isinstance(stage, planning.Compute)]
    assert 1 <= len(computed) < 31
    assert all(sum(1 for _ in ir.walk(statement.value)) <= MOST_NODES for statement in computed)


def test_longer_programs_store_what_has_a_name() -> None:
    names = "\n".join(f"T{n + 1}(i) = T{n}(i)+1" for n in range(temporaries.MOST_STEPS))
    kernel = tcjax.kernel(f"def f(float(N) A) -> (O) {{ T0(i) = A(i)\n {names}\n O(i) = T3(i) }}")

    assert unstored(kernel, np.ones(100, np.float32)) == []


def test_what_would_need_more_than_a_limit_of_memory_is_stored(by_price: None) -> None:
    body = "T(i,k) = exp(A(i,k))\n U(k,j) = exp(B(k,j))\n O(i,j) +=! T(i,k)*U(k,j)"
    text = f"def f(float(M,K) A, float(K,N) B) -> (O) {{ {body} }}"
    A = jax.ShapeDtypeStruct((256, 256), np.float32)

    assert unstored(tcjax.kernel(text, memory_limit="1MiB"), A, A) == ["T", "U"]
    assert unstored(tcjax.kernel(text, memory_limit="300KiB"), A, A) == ["T"]


def test_few_elements_stay_where_the_price_decides(monkeypatch: pytest.MonkeyPatch, by_price: None) -> None:
    monkeypatch.setattr(temporaries, "FEW_ELEMENTS", 1 << 14)
    kernel = tcjax.kernel(f"{MATRIX} {{ T(i,j) = A(i,j)*2\n O(i) +=! T(i,j) }}")

    assert unstored(kernel, jax.ShapeDtypeStruct((64, 64), np.float32)) == []
    assert unstored(kernel, jax.ShapeDtypeStruct((1024, 1024), np.float32)) == ["T"]


def test_few_weights_that_are_a_product_are_one(monkeypatch: pytest.MonkeyPatch, by_price: None) -> None:
    monkeypatch.setattr(temporaries, "FEW_ELEMENTS", 1 << 14)
    head = "def f(float(H,W) I, float(R) k, float(S) l) -> (O)"
    body = "T(r,s) = k(r)*l(s)\n O(h,w) +=! I(h+r,w+s)*T(r,s)"
    kernel = tcjax.kernel(f"{head} {{ {body} }}")
    shapes = [jax.ShapeDtypeStruct(shape, np.float32) for shape in ((1024, 1024), (5,), (5,))]

    assert unstored(kernel, *shapes) == ["T"]
    assert unstored(tcjax.kernel(f"{head} {{ {body.replace('*l(s)', '+l(s)')} }}"), *shapes) == []


def test_a_product_of_matrices_that_two_read_is_computed_once(by_price: None) -> None:
    text = "T(i,j) +=! A(i,k)*A(k,j)\n U(i) max=! T(i,j)\n O(i) = sum[j](T(i,j)) + U(i)"
    kernel = tcjax.kernel(f"def f(float(N,N) A) -> (O) {{ {text} }}")

    assert "T" not in unstored(kernel, jax.ShapeDtypeStruct((1024, 1024), np.float32))


def test_what_somebody_chose_a_form_for_is_stored() -> None:
    kernel = tcjax.kernel(f"{MATRIX} {{ T(i) = max[j](abs(A(i,j)-A(0,j)))\n O(i) = T(i)*2 }}")
    bound = kernel.plan(np.ones((4, 5), np.float32)).bound

    plan = planning.make_plan(bound, planning.Preferences(forms={"T": None}))
    stored = planning.make_plan(bound, planning.Preferences(stored=True))

    assert not any(isinstance(stage, planning.Unstored) for stage in plan.stages)
    assert not any(isinstance(stage, planning.Unstored) for stage in stored.stages)


def test_a_statement_is_planned_once_however_often_its_program_is(monkeypatch: pytest.MonkeyPatch) -> None:
    cheaper = planning.plan._Planner.cheaper
    planned: list[object] = []

    def counting(self: Any, step: Any, defined: bool) -> planning.Compute:
        planned.append(self.key(step, defined))
        return cheaper(self, step, defined)

    monkeypatch.setattr(planning.plan._Planner, "cheaper", counting)
    # A common subexpression that got a name is inlined again, because that costs less.
    text = "U(i) = A(i,0)*2\nO(i) = sum[j](A(i,j)) + U(i)\nP(i) = sum[j](A(i,j)) * U(i)"
    kernel = tcjax.kernel(f"def f(float(M,N) A) -> (O, P) {{ {text} }}")

    plan = kernel.plan(jax.ShapeDtypeStruct((512, 512), np.float32))

    assert len(plan.stages) >= 3
    assert len(planned) == len(set(planned))
