"""Every spelling of every kernel: its values, and its gradients against differences of the reference."""

import pytest

from tests.translated import CASES
from tests.translated.case import Case
from tests.translated.comparing import called, close, differentiated, interpreted, single

SPELLINGS = [pytest.param(case, spelling, id=f"{case.name}-{spelling}") for case in CASES for spelling in case.programs]
SMOOTH = [parameter for parameter in SPELLINGS if parameter.values[0].smooth]


@pytest.mark.parametrize(("case", "spelling"), SPELLINGS)
def test_values(case: Case, spelling: str):
    arguments = {name: single(value) for name, value in case.arguments.items()}
    close(called(case, spelling, arguments), case.expected(), case.tolerance)


@pytest.mark.parametrize(("case", "spelling"), SPELLINGS)
def test_the_interpreter_agrees(case: Case, spelling: str):
    close(interpreted(case, spelling), case.expected(), case.tolerance)


@pytest.mark.parametrize(("case", "spelling"), SMOOTH)
def test_gradients(case: Case, spelling: str):
    differentiated(case, spelling)
