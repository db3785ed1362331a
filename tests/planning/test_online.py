"""Which nests are computed in one pass over their scores, and which are not."""

from collections.abc import Iterator

import jax
import pytest

import tcjax
from tcjax.planning import make_plan
from tcjax.planning.data.nodes import LoopNest, Node, operands
from tests.agreement.passing import passing
from tests.agreement.softmaxes import SOFTMAXES

N = 2048
ROWS = tuple(jax.ShapeDtypeStruct((N,), "float32") for _ in range(3))
HEAD = "def f(float(N) x, float(M) y, float(M) v) -> (O)"


def nodes(plan: object) -> Iterator[Node]:
    pending = [stage.value for stage in plan.stages if hasattr(stage, "value")]  # pyright: ignore
    while pending:
        node = pending.pop()
        yield node
        pending += operands(node)


def passes(text: str, *arrays: object) -> tuple[int, int, int]:
    """Numbers of passes in a program, of their results, and of other nests."""
    found = list(nodes(tcjax.kernel(text).plan(*(arrays or ROWS))))
    online = [node for node in found if isinstance(node, LoopNest) and not node.is_alone]
    return (
        len({id(node.whole) for node in online}),
        len(online),
        sum(isinstance(node, LoopNest) and node.is_alone for node in found),
    )


@pytest.mark.parametrize("name", SOFTMAXES)
def test_a_softmax_is_one_pass_however_it_is_written(name: str) -> None:
    formula = SOFTMAXES[name]

    with passing():
        found = passes(formula.text, *formula.arrays())

    assert found[0] == 1 and found[2] == 0


FUSED = {
    "the scores as statements": (
        f"{HEAD} {{ m(i) max=! x(i) * y(j)\n z(i) +=! exp(x(i) * y(j) - m(i))\n"
        " O(i) +=! exp(x(i) * y(j) - m(i)) * v(j) }",
        3,
    ),
    "terms in another order, indices of other names": (
        f"{HEAD} {{ l(a) = logsumexp[b](x(a) * y(b) - v(b))  O(i) = sum[j](v(j) * exp(-l(i) - v(j) + x(i) * y(j))) }}",
        2,
    ),
    "a largest score that nobody else needs": (
        f"{HEAD} {{ O(i) = sum[j](exp(x(i) * y(j) - max[k](x(i) * y(k))) * v(j)) }}",
        1,
    ),
    "a maximum and a logarithm of the same scores": (
        f"{HEAD} {{ m(i) = max[j](x(i) * y(j))  l(i) = logsumexp[j](x(i) * y(j))"
        "  a(i) = sum[j](exp(x(i) * y(j) - m(i)))  O(i) = sum[j](exp(x(i) * y(j) - l(i)) * v(j)) + a(i) }",
        4,
    ),
    "a division inside of the sum": (
        f"{HEAD} {{ m(i) = max[j](x(i) * y(j))  z(i) = sum[j](exp(x(i) * y(j) - m(i)))"
        "  O(i) = sum[j](exp(x(i) * y(j) - m(i)) / z(i) * v(j)) }",
        3,
    ),
    "a guard of data": (
        f"{HEAD} {{ m(i) = max[j where x(i) < y(j)](x(i) * y(j))"
        "  O(i) = sum[j where x(i) < y(j)](exp(x(i) * y(j) - m(i)) * v(j)) }",
        2,
    ),
}


@pytest.mark.parametrize("name", FUSED)
def test_equal_scores_meet(name: str) -> None:
    text, results = FUSED[name]

    assert passes(text) == (1, results, 0)


APART = {
    "other scores": "m(i) = max[j](x(i) * y(j))  O(i) = sum[j](exp(x(i) + y(j) - m(i)) * v(j))",
    "a scaled difference": "m(i) = max[j](x(i) * y(j))  O(i) = sum[j](exp((x(i) * y(j) - m(i)) * v(j)))",
    "the other sign": "m(i) = max[j](x(i) * y(j))  O(i) = sum[j](exp(m(i) - x(i) * y(j)) * v(j))",
    "a sum of both": "m(i) = max[j](x(i) * y(j))  O(i) = sum[j](exp(x(i) * y(j) + m(i)) * v(j))",
    "a minimum": "m(i) = min[j](x(i) * y(j))  O(i) = sum[j](exp(x(i) * y(j) - m(i)) * v(j))",
    "another guard": "m(i) = max[j](x(i) * y(j))  O(i) = sum[j where j <= i](exp(x(i) * y(j) - m(i)) * v(j))",
    "another range": "m(i) = max[j](x(i) * y(j))  O(i) = sum[j in 1:M](exp(x(i) * y(j) - m(i)) * v(j))",
    "the statistic of another row": "m(i) = max[j](x(i) * y(j))  O(i) = sum[j](exp(x(i) * y(j) - m(N-1-i)) * v(j))",
    "the statistic in the weight": "m(i) = max[j](x(i) * y(j))  O(i) = sum[j](exp(x(i) * y(j) - m(i)) * (v(j) - m(i)))",
    "a statistic that changed": (
        "m(i) = max[j](x(i) * y(j))  m(i) += 1.0  O(i) = sum[j](exp(x(i) * y(j) - m(i)) * v(j))"
    ),
    "a weight that comes later": (
        "m(i) = max[j](x(i) * y(j))  w(j) = v(j) * m(j)  O(i) = sum[j](exp(x(i) * y(j) - m(i)) * w(j))"
    ),
}


@pytest.mark.parametrize("name", APART)
def test_other_scores_stay_nests_of_their_own(name: str) -> None:
    found = passes(f"{HEAD} {{ {APART[name]} }}")

    assert found[0] == 0 and found[2] > 0


def test_other_notations_have_the_same_pass() -> None:
    sac = "{ [i] -> sum({ [j] -> exp(x[i] * y[j] - maxval({ [k] -> x[i] * y[k] })) * v[j] }) }"

    @tcjax.kernel
    def python(x: "float(N)", y: "float(M)", v: "float(M)"):
        m[i] = max[j](x[i] * y[j])
        O[i] += exp(x[i] * y[j] - m[i]) * v[j]
        return O

    for kernel in (tcjax.kernel(sac), python):
        assert any(isinstance(node, LoopNest) and not node.is_alone for node in nodes(kernel.plan(*ROWS)))


def test_scores_that_have_a_name_are_computed_in_the_pass_where_that_costs_less() -> None:
    text = f"{HEAD} {{ s(i,j) = x(i) * y(j)  m(i) = max[j](s(i,j))  O(i) = sum[j](exp(s(i,j) - m(i)) * v(j)) }}"

    assert passes(text) == (1, 2, 0)


@pytest.mark.parametrize("shared", ["h", "h / 4"])
def test_groups_of_heads_have_the_pass_that_heads_have(shared: str) -> None:
    text = f"""def f(float(H,T,D) Q, float(L,T,D) K, float(L,T,E) V) -> (out) {{
        score(h,q,k) = sum[d](Q(h,q,d) * K({shared},k,d)) / sqrt(D)
        total(h,q) = logsumexp[k where k <= q](score(h,q,k))
        out(h,q,e) = sum[k where k <= q](exp(score(h,q,k) - total(h,q)) * V({shared},k,e)) }}"""
    heads = 8 if shared == "h" else 2
    shapes = (8, 2048, 64), (heads, 2048, 64), (heads, 2048, 64)

    assert passes(text, *(jax.ShapeDtypeStruct(shape, "float32") for shape in shapes)) == (1, 2, 0)


def test_explain_says_what_the_pass_gives_and_counts_it_once() -> None:
    statements = tcjax.kernel(FUSED["the scores as statements"][0]).explain(*ROWS).to_dict()["statements"]

    operations = [statement["operation"] for statement in statements]
    assert operations == ["online softmax (max)", "online softmax (sum)", "online softmax (sum)"]
    assert "computed once for the largest and 2 sums" in statements[0]["reason"]
    assert [statement["flops"] > 0 for statement in statements] == [True, False, False]


def test_a_block_fits_in_the_memory_that_there_is() -> None:
    text = FUSED["the scores as statements"][0]

    small, usual = (tcjax.kernel(text, memory_limit=limit).explain(*ROWS).to_dict() for limit in ("256KiB", None))

    assert small["temporary_bytes"] <= 256 << 10 < usual["temporary_bytes"]


def test_a_nest_with_a_form_of_its_own_stays_one() -> None:
    from tcjax.planning import Preferences

    plan = tcjax.kernel(FUSED["a largest score that nobody else needs"][0]).plan(*ROWS)

    chosen = make_plan(plan.bound, Preferences(forms={"O": None}))

    assert not any(isinstance(node, LoopNest) and not node.is_alone for node in nodes(chosen))
