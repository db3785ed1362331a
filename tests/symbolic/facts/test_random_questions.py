"""Answers to random questions agree with enumeration."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from . import questions
from .asking import facts_of, judged
from .cases import changed_value, compiled
from .enumeration import sample, variables

_RANDOM = st.randoms(use_true_random=False)


@given(_RANDOM)
def test_every_kind_of_answer_agrees_with_the_enumeration(rng: Random) -> None:
    names = questions.NAMES[: rng.choice((1, 2, 2, 3))]
    facts = questions.given(rng, names)

    for case, area in questions.questions(rng, facts, names):
        found = judged(area, case)

        assert found is None, f"{case}: {found}"


@given(_RANDOM)
def test_a_map_that_is_said_to_be_bijective_is_and_one_that_is_said_not_to_be_is_not(rng: Random) -> None:
    for _ in range(4):
        case, area = questions.maps(rng)

        found = judged(area, case)

        assert found is None, f"{case}: {found}"


@given(_RANDOM)
def test_ends_over_fewer_names_hold_every_value(rng: Random) -> None:
    names = questions.NAMES[: rng.choice((1, 2, 3))]
    given_facts = questions.given(rng, names)
    text = questions.show(questions.expression(rng, names, rng.choice((1, 2, 3))))
    gone = [name for name in names if rng.randrange(2)]
    area = sample(given_facts, text, *names, limit=questions.POINTS)
    if not area.points:
        return

    ends = facts_of(given_facts).hull(text, gone)

    if ends is not None:
        for end, holds in zip(map(str, ends), (">=", "<="), strict=True):
            assert not set(variables(end)) & set(gone), end
            assert changed_value(area, f"({text}) {holds} ({text})", f"({text}) {holds} ({end})") is None, (text, end)


@given(_RANDOM)
def test_what_is_said_of_a_split_name_is_said_of_its_parts(rng: Random) -> None:
    names = questions.NAMES[: rng.choice((1, 2, 3))]
    given_facts = questions.given(rng, names)
    factor = rng.choice((1, 2, 3, 4, 8))
    parts = f"io*{factor} + ii"
    text = questions.show(questions.expression(rng, names, 2))
    if not sample(given_facts, text, *names, limit=questions.POINTS).points:
        return
    # The old facts and the equality: `replace` must say the same without the name.
    beside = f"{given_facts}; ii in 0..{factor - 1}; i := {parts}; io ~ -12..30; ii ~ 0..{factor - 1}"
    area = sample(beside, text, *names)

    facts = facts_of(given_facts).replace("i", parts, ii=(0, factor - 1))

    assert "i" not in facts.variables
    for fact in facts.facts:
        holds = compiled(str(fact.condition), area.names)
        assert all(holds(*point) for point in area.points), (given_facts, str(fact.condition))
    lo, hi = facts.bounds(parts)
    values = [value for _, value in area.values(parts)]
    assert all((lo is None or lo <= value) and (hi is None or value <= hi) for value in values)


@given(_RANDOM)
def test_an_answer_from_fewer_facts_holds_where_all_do(rng: Random) -> None:
    names = questions.NAMES[: rng.choice((1, 2, 3))]
    given_facts = questions.given(rng, names)
    text = questions.show(questions.expression(rng, names, 3))
    area = sample(given_facts, text, *names, limit=questions.POINTS)
    if not area.points:
        return
    facts = facts_of(given_facts)
    kept = {fact for fact in facts.facts if rng.randrange(2)}

    fewer = facts.without(lambda fact: fact not in kept)

    assert set(fewer.facts) == kept
    assert changed_value(area, text, str(fewer.simplify(text))) is None
    lo, hi = fewer.bounds(text)
    values = [int(value) for _, value in area.values(text)]
    assert all((lo is None or lo <= value) and (hi is None or value <= hi) for value in values)
