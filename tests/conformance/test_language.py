"""The meaning of the language's texts."""

import pytest

from . import language
from .program import Program, check

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.parametrize("program", language.SPELLING, ids=str)
def test_a_way_to_write_it_is_read(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", language.PRECEDENCE, ids=str)
def test_operators_bind_as_in_tc(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", language.DIVISION, ids=str)
def test_integers_divide_towards_minus_infinity(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", language.CASTS, ids=str)
def test_a_cast_converts_as_in_c(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", language.JOINED, ids=str)
def test_operands_are_joined(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", language.TYPES, ids=str)
def test_a_value_has_the_type_that_its_parts_give_it(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", language.STATEMENTS, ids=str)
def test_statements_run_in_order(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", language.FUNCTIONS, ids=str)
def test_the_functions_are_cudas(program: Program) -> None:
    check(program)
