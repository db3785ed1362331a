"""Every hand-written form, and the TC program, of every benchmark case computes the same numbers."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import tcjax
from bench.cases import Case, all_cases, kernels
from bench.harness import disagreement
from bench.run import build

CASES = {case.name: case for case in all_cases("tiny")}


@pytest.fixture(params=CASES.values(), ids=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def expected_results(case: Case):
    arrays = [array.astype(np.float64) if array.dtype == np.float32 else array for array in case.arrays()]
    return case.reference(*arrays)


def test_the_tc_program_agrees_with_numpy(case: Case) -> None:
    kernel = build(case, tcjax)
    assert not isinstance(kernel, Exception) and kernel is not None

    result = kernel(*case.arrays())

    assert disagreement(case, result, expected_results(case)) <= case.tolerance


def test_every_hand_written_form_agrees_with_numpy(case: Case) -> None:
    expected = expected_results(case)

    errors = {name: disagreement(case, jax.jit(form)(*case.arrays()), expected) for name, form in case.forms.items()}

    assert max(errors.values()) <= case.tolerance, errors


def test_every_size_has_every_family() -> None:
    families = [{case.family for case in all_cases(size)} for size in ("tiny", "small", "full")]

    assert families[0] == families[1] == families[2]
    assert len(families[0]) >= 20


def test_case_names_are_unique() -> None:
    names = [case.name for case in all_cases("full")]

    assert len(names) == len(set(names))


def test_a_case_of_the_kernel_table_and_of_another_group_is_one_case_of_both() -> None:
    by_name = {case.name: case for case in all_cases("full")}

    assert by_name["min_plus/512x512x512"].groups == ("nests", "kernels")
    assert by_name["jacobi/4096x4096"].groups == ("kernels",)


@pytest.mark.parametrize("size", ["tiny", "small", "full"])
def test_each_kernel_of_the_table_has_its_gradient(size: str) -> None:
    names = [case.name for case in all_cases(size) if "kernels" in case.groups]

    assert names == [name for forward in names[::2] for name in (forward, forward.replace("/", "_gradient/", 1))]
    assert len(names) == 2 * len(kernels.ROWS)
