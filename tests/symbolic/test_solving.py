"""`solve`: every point of the interval satisfies the condition, and no larger interval does."""

from itertools import product

import pytest

from tcjax.symbolic.facts import Prover
from tcjax.symbolic.facts.trees import Expr

REACH = range(-60, 61)


def inside(interval: object, value: int, point: dict[str, int]) -> bool:
    if interval == "empty":
        return False
    assert isinstance(interval, tuple)
    low, high = (end.evaluate(point) if isinstance(end, Expr) else end for end in interval)
    return (low is None or low <= value) and (high is None or value <= high)


@pytest.mark.parametrize(
    "condition",
    [
        "2*i + 3 < 17",
        "7 - 3*i <= 20",
        "4*i == 12",
        "4*i == 13",
        "i // 8 > -3",
        "i // -8 <= 3",
        "i // 8 == 3",
        "tdiv(i, 4) >= -2",
        "tdiv(i, 4) == 0",
        "min(i, 9) < 5",
        "max(5, i*4) < 0",
        "i*i <= 50",
        "0 <= i + 2 and 3*i <= 20",
        "i < 3 or i - 1 < 5",
        "8 // i >= 2",
        "select(i < 5, i, 5) >= 3",
    ],
)
def test_the_interval_is_where_the_condition_holds(condition: str) -> None:
    found = Prover().solve(condition, "i")

    read = Expr.of(condition)
    for value in REACH:
        if "// i" in condition and value == 0:
            continue
        assert inside(found, value, {}) == bool(read.evaluate({"i": value})), (found, value)


@pytest.mark.parametrize("condition", ["2*i + k < n", "3*i - k >= n", "i // 4 + k <= n", "k - i*5 > n - 1"])
def test_bounded_names_are_taken_at_their_worst_and_free_names_stay(condition: str) -> None:
    facts = Prover().define("k", -1, 3)

    found = facts.solve(condition, "i")

    read = Expr.of(condition)
    for n, value in product(range(-6, 9), REACH):
        holds = all(read.evaluate({"i": value, "k": k, "n": n}) for k in range(-1, 4))
        assert inside(found, value, {"n": n}) == holds, (found, n, value)


def test_names_between_ends_of_other_names_are_taken_at_their_worst() -> None:
    facts = Prover().define("n", 0, None).define("k", 0, "n - 1")

    assert facts.solve("i + k < m", "i") == (None, Expr.of("m - n"))


def test_a_symbolic_weight_needs_a_sign() -> None:
    assert Prover().define("n", 1, None).solve("i*n < m*n", "i") == (None, Expr.of("m - 1"))
    assert Prover().solve("i*n < m*n", "i") == "empty"


@pytest.mark.parametrize(
    "condition, expected", [("x < x", "empty"), ("x <= x", (None, None)), ("x % 4 < 9", (None, None))]
)
def test_what_is_decided_needs_no_ends(condition: str, expected: object) -> None:
    assert Prover().solve(condition, "x") == expected


def test_of_two_intervals_the_larger_is_taken() -> None:
    facts = Prover().define("x", 0, 20)

    low, high = facts.solve("x < 3 or x >= 9", "x")

    assert (low, high) in {(9, None), (9, 20)}


def test_a_value_for_which_the_condition_has_no_value_elsewhere_is_kept() -> None:
    facts = Prover().define("i", 0, 1).define("j", 0, 2)

    # With i = 0 the division has no value unless j = 0, and there the condition holds.
    assert facts.solve("j == 0 or i < 2 % i", "i") == (0, 0)
