"""The memory contract, as XLA counts: no nest of the benchmark needs more, forward or backward."""

import jax
import pytest

import tcjax
from bench.cases import Case, all_cases
from bench.harness import prepare
from bench.run import build

# Programs that name an array of all pairs may store it.
NAMING = ("attention", "attention_gradient", "causal_attention", "causal_attention_gradient")
CASES = {case.name: case for case in all_cases("full") if case.group == "nests" and case.family not in NAMING}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_temporaries_of_a_nest_stay_within_the_contract(case: Case) -> None:
    kernel = build(case, tcjax)
    assert callable(kernel)

    candidate = prepare("tcjax", kernel, [jax.numpy.asarray(array) for array in case.arrays()], jitted=True)

    assert candidate.temporary_bytes <= candidate.limit_bytes
