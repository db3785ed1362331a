"""Programs of other systems: their values, their gradients against differences, and other spellings of them."""

import pytest

from tests.translated import PROGRAMS
from tests.translated.case import Case
from tests.translated.comparing import called, close, differentiated, interpreted, single

OTHERS = [
    pytest.param(case, spelling, id=f"{case.name}-{spelling}")
    for case in PROGRAMS
    for spelling in case.programs
    if spelling != "text"
]


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.name)
def test_programs(case: Case):
    arguments = {name: single(value) for name, value in case.arguments.items()}

    results = differentiated(case, "text") if case.smooth else called(case, "text", arguments)

    close(results, case.expected(), case.tolerance)
    close(interpreted(case, "text"), case.expected(), case.tolerance)


@pytest.mark.parametrize(("case", "spelling"), OTHERS)
def test_other_spellings(case: Case, spelling: str):
    arguments = {name: single(value) for name, value in case.arguments.items()}

    close(called(case, spelling, arguments), case.expected(), case.tolerance)
