"""The ranges that TC infers, with the values that follow."""

import pytest

from . import inference
from .program import Program, check


@pytest.mark.parametrize("program", inference.WORKED, ids=str)
def test_a_worked_example_of_the_documentation(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", inference.AMBIGUOUS, ids=str)
def test_what_tc_calls_ambiguous_is_decided_where_sizes_are_numbers(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", inference.WHERE, ids=str)
def test_a_clause_says_what_runs(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", inference.SEVERAL, ids=str)
def test_several_statements_write_one_tensor(program: Program) -> None:
    check(program)
