"""Programs as SaC's users write them."""

import pytest

from . import practice
from .case import Case, check

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.parametrize("case", practice.PRODUCTS, ids=str)
def test_a_product(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", practice.STATISTICS, ids=str)
def test_a_statistic(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", practice.TABLES, ids=str)
def test_a_table(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", practice.STENCILS, ids=str)
def test_a_stencil(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", practice.PICTURES, ids=str)
def test_a_picture(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", practice.LIBRARY, ids=str)
def test_a_function_of_the_library_written_out(case: Case) -> None:
    check(case)
