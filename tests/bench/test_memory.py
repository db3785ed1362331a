"""The memory contract, as XLA counts: what the nests of the benchmark need, forward and backward."""

import jax
import pytest
from hypothesis import settings

import tcjax
from bench.cases import Case, all_cases
from bench.harness import prepare
from bench.run import build

DEEP = settings().max_examples > 100
# Programs that name an array of all pairs may store it.
NAMING = ("attention", "attention_gradient", "causal_attention", "causal_attention_gradient")
CASES = {case.name: case for case in all_cases("full") if case.group == "nests" and case.family not in NAMING}
# Compiled in every run; `make deep` compiles all.
USUAL = ("rbf", "rbf_gradient", "nearest_gradient", "five_nearest_gradient", "causal_attention_unnamed")


def cases() -> list[object]:
    chosen = [case for case in CASES.values() if DEEP or case.family in USUAL]
    return [pytest.param(case, id=case.name) for case in chosen]


@pytest.mark.parametrize("case", cases())
def test_the_temporaries_of_a_nest_stay_within_the_contract(case: Case) -> None:
    kernel = build(case, tcjax)
    assert callable(kernel)

    candidate = prepare("tcjax", kernel, [jax.numpy.asarray(array) for array in case.arrays()], jitted=True)

    assert candidate.temporary_bytes <= candidate.limit_bytes
