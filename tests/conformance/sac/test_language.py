"""The notation of SaC."""

import pytest

from . import language
from .case import Case, check

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.parametrize("case", language.LEXIS, ids=str)
def test_a_text_is_read(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.BODIES, ids=str)
def test_a_body_and_a_bound_end_where_they_should(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.STATEMENTS, ids=str)
def test_definitions_come_before_the_expression(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.SELECTIONS, ids=str)
def test_a_selection_has_many_spellings(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.PRECEDENCE, ids=str)
def test_operators_bind_as_in_sac(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.DIVISION, ids=str)
def test_integers_divide_as_in_c(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.ELEMENTWISE, ids=str)
def test_an_operator_works_on_equal_shapes_and_scalars(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.LAZY, ids=str)
def test_what_is_not_needed_is_not_evaluated(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.LITERALS, ids=str)
def test_a_literal_takes_the_type_of_its_partner(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.CASTS, ids=str)
def test_a_cast_converts(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.PROMOTION, ids=str)
def test_operands_are_joined(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.SHAPES + language.PARTS, ids=str)
def test_a_function_of_shapes_and_parts(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.ORDER, ids=str)
def test_a_function_of_order(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.BUILDING, ids=str)
def test_a_function_that_builds(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", language.FOLDS, ids=str)
def test_a_fold_is_over_all_elements(case: Case) -> None:
    check(case)
