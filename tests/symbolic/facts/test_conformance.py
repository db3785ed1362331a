"""The tables: their own answers agree with enumeration, and so does the engine, tightly."""

import pytest

from .asking import flaw
from .cases import CASES, mistake
from .scoreboard import tally

QUESTIONS = tuple(dict.fromkeys(case.question for case in CASES))


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answers_of_the_tables_are_those_of_the_enumeration(question: str) -> None:
    wrong = {str(case): mistake(case) for case in CASES if case.question == question}

    assert {case: words for case, words in wrong.items() if words} == {}


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_answer_is_unsound_and_none_fails(question: str) -> None:
    found = {str(case): flaw(case) for case in CASES if case.question == question}

    assert {case: str(one) for case, one in found.items() if one and one.kind != "LOOSE"} == {}


@pytest.mark.parametrize(("tier", "share"), [(1, 0.98), (2, 0.90)])
def test_answers_are_as_tight_as_the_tables(tier: int, share: float) -> None:
    asked = tuple(case for case in CASES if case.tier == tier)

    counts, flaws = tally(asked)

    assert counts[tier, "tight"] >= share * len(asked), "\n".join(f"{case} | {one}" for case, one in flaws)
