"""Conditions compared with conditions: at every point, the prover agrees with Python."""

from itertools import product

import pytest

from tcjax import CompileError
from tcjax.symbolic import Facts

LEAVES = ("a < b", "b > a", "a <= b", "a % 2 == 0", "not a < b", "a < b and b < 3", "true")
SHAPES = (
    "({p}) == ({q})",
    "({p}) != ({q})",
    "not (({p}) == ({q}))",
    "(({p}) == ({q})) == ({q})",
    "(({p}) != ({q})) != (({q}) != ({p}))",
    "({p}) == ({q}) == ({p})",
    "({p}) != ({q}) or ({p}) == ({q})",
    "not ({p}) or ({q}) == (a < 4)",
    "select({p}, ({q}) == (a < 2), ({q}) != (a < 2))",
    "select(({p}) == ({q}), a, b) <= max(a, b)",
)
POINTS = [dict(zip("ab", point, strict=True)) for point in product(range(4), repeat=2)]


def value(text: str, point: dict[str, int]) -> object:
    names = {"true": True, "false": False, "select": lambda c, a, b: a if c else b, "max": max}
    return eval(text, {"__builtins__": {}}, {**names, **point})


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_proved_holds_at_every_point_and_the_rest_fails_at_one(shape: str) -> None:
    facts = Facts().define("a", 0, 3).define("b", 0, 3)
    wrong: list[str] = []

    for p, q in product(LEAVES, repeat=2):
        text = shape.format(p=p, q=q)
        values = [value(text, point) for point in POINTS]
        if facts.prove(text) != all(values):
            wrong.append(f"prove {text}")
        simpler = str(facts.simplify(text))
        if [value(simpler, point) for point in POINTS] != values:
            wrong.append(f"simplify {text}: {simpler}")

    assert wrong == []


@pytest.mark.parametrize("shape", SHAPES[:5])
def test_a_fact_may_compare_conditions(shape: str) -> None:
    for p, q in product(LEAVES[:6], repeat=2):
        text = shape.format(p=p, q=q)
        held = [point for point in POINTS if value(text, point)]
        facts = Facts().define("a", 0, 3).define("b", 0, 3).assume(text)

        assert (facts.contradiction is None) == bool(held), text
        for asked in ("a < b", "a >= b", "a == b", "a != 2"):
            # Leaving out part of a fact only weakens answers.
            assert not facts.prove(asked) or all(value(asked, point) for point in held), (text, asked)


def test_equal_conditions_of_unbounded_names_are_equal() -> None:
    assert Facts().prove("(n < m) == (m > n)")
    assert Facts().prove("(n < m) != (n >= m)")
    assert not Facts().prove("(n < m) == (n <= m)")
    assert Facts().assume("n < m").prove("(n < m) == (n <= m)")


@pytest.mark.parametrize(
    "text", ["(a < b) < (b < a)", "a == (a < b)", "(a < b) + 1 == 2", "a < b == true", "min(a < b, a) == a"]
)
def test_a_condition_is_no_number(text: str) -> None:
    with pytest.raises(CompileError) as caught:
        Facts().prove(text)

    assert caught.value.kind == "type"


def test_equalities_inside_of_each_other_end_in_time() -> None:
    text = "a < b"
    for _ in range(40):
        text = f"({text}) == (b < a)"

    with pytest.raises(CompileError, match="nests too deeply"):
        Facts().prove(text)
