"""`simplify`: equal wherever the given expression is defined, as cheap as expected, and text that reads back."""

from itertools import product

import pytest

from tcjax.symbolic.facts import Prover
from tcjax.symbolic.facts.costs import cost
from tcjax.symbolic.facts.trees import Expr

WINDOW = (-13, -6, -5, -4, -1, 0, 1, 2, 3, 4, 7, 8, 12, 31)


def assert_equal_on_the_domain(facts: Prover, before: Expr, after: Expr) -> None:
    names = sorted(before.variables | after.variables | facts.variables)
    points = 0
    for values in product(WINDOW, repeat=len(names)):
        point = dict(zip(names, values, strict=True))
        try:
            if not all(fact.condition.evaluate(point) for fact in facts.facts):
                continue
            expected = before.evaluate(point)
        except ZeroDivisionError:
            continue
        assert after.evaluate(point) == expected, (str(after), point)
        points += 1
    assert points


@pytest.mark.parametrize(
    "before, cheapest, facts",
    [
        ("x//8*8 + x%8", "x", ()),
        ("(x*8 + y)//4", "x*2", ("0 <= y <= 3",)),
        ("(x*8 + y)//4", "x*2 + y//4", ()),
        ("max(min(x, y), x)", "x", ()),
        ("x - x//3*3", "x % 3", ()),
        ("y*5 - (y + z)//2*10", "((y + z) % 2 - z)*5", ()),
        ("x//4%4*4 + x%4", "x % 16", ()),
        ("x % (n*m) // n", "x // n % m", ("n >= 1", "m >= 1")),
        ("(x + 5)//3 - x//3", "(x%3 + 5)//3", ()),
        ("(x + 1)//2 + x//2", "x", ()),
        ("(x + 3)//4*4 - x", "-x % 4", ()),
        ("x - min(x, y)", "max(0, x - y)", ()),
        ("min(3 - x, 2)", "3 - max(x, 1)", ()),
        ("max(min(x, y), min(x, z))", "min(x, max(y, z))", ()),
        ("min(x//10, y//10)", "min(x, y)//10", ()),
        ("x*y + x*10", "x*(y + 10)", ()),
        ("x - tdiv(x, 3)*3", "tmod(x, 3)", ()),
        ("tdiv(x + 4, 2)", "x//2 + 2", ("x >= 0",)),
        ("select(x < 0, y, z) - y", "select(x < 0, 0, z - y)", ()),
        ("select(x < y, x, y)", "min(x, y)", ()),
        ("select(x == 0, 0, x)", "x", ()),
        ("min(select(x < 0, y, 0), select(x < 0, 1, z))", "select(x < 0, min(y, 1), min(0, z))", ()),
        ("x//8 < 2", "x < 16", ()),
        ("tdiv(x, 2) >= -1", "-3 <= x", ()),
        ("i*n + j < m*n", "i < m", ("n >= 1", "0 <= j", "j < n")),
        ("x*3 + 10 == 0", "false", ()),
        ("x//8 == 3 and x%8 == 4", "x == 28", ()),
        ("0 <= x - y*5 and x - y*5 < 5", "y == x//5", ()),
        ("x < 3 or x == 3", "x <= 3", ()),
        ("x == 1 and x != 2", "x == 1", ()),
        ("x//4 == y//4 and x%4 == y%4", "x == y", ()),
        ("x < tdiv(x, 4)", "x < 0", ()),
        ("y*y == 3", "false", ()),
        ("x > select(x == -1, -1, x)", "false", ()),
    ],
)
def test_the_cheapest_form_is_found(before: str, cheapest: str, facts: tuple[str, ...]) -> None:
    known = Prover().assume(*facts, why="user")

    found = known.simplify(before)

    assert cost(found) <= cost(Expr.of(cheapest)), str(found)
    assert Expr.of(str(found)) == found
    assert_equal_on_the_domain(known, Expr.of(before), found)


@pytest.mark.parametrize(
    "guarded",
    ["y != 0 and x//y > 2", "select(y != 0, x//y, 0)", "y == 0 or x % y == 0", "select(y == 0, 1, x*y//y)"],
)
def test_a_guarded_division_stays_guarded(guarded: str) -> None:
    found = Prover().simplify(guarded)

    assert found.evaluate({"x": 3, "y": 0}) == Expr.of(guarded).evaluate({"x": 3, "y": 0})


@pytest.mark.parametrize(
    "guarded",
    [
        "i < 1 and (i != 0 and 3 % i >= tmod(i, 1))",
        "i != 0 and 3 % i >= 0 and i >= 1",
        "i != 0 and 3 % i >= 1 and j == i",
        "i == 0 or 3 % i == 0 or i < 1",
        "i == 0 or 3 % i == 0 or j != i",
    ],
)
def test_what_a_later_condition_makes_simpler_still_guards_a_division(guarded: str) -> None:
    found = Prover().simplify(guarded)

    assert_equal_on_the_domain(Prover(), Expr.of(guarded), found)


def test_a_number_is_preferred_to_a_name() -> None:
    assert Prover().define("j", equals=3).simplify("j") == Expr.of(3)


def test_the_answer_does_not_depend_on_earlier_questions() -> None:
    texts = ["min(x, y)//4 - min(x//4, y//4)", "max(2 - x*4, 0) + x*4", "(x*128 + y)%1296//36", "x%16//2*2//4"]

    alone = [str(Prover().simplify(text)) for text in texts]
    together = Prover()
    for text in reversed(texts):
        together.simplify(text)

    assert [str(together.simplify(text)) for text in texts] == alone


def test_long_and_deep_texts_come_back() -> None:
    long = " + ".join(f"a{n}*{n}" for n in range(1, 300))
    deep = "x"
    for n in range(2, 40):
        deep = f"min({deep} + {n}, y)"

    for text in (long, deep):
        assert cost(Prover().simplify(text)) <= cost(Expr.of(text))
