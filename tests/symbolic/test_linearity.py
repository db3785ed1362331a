"""`linear`: weights and rest, or None."""

import pytest

from tcjax.symbolic.facts import Prover
from tcjax.symbolic.facts.trees import Expr


@pytest.mark.parametrize(
    "text, names, expected",
    [
        ("2*i + 3*j + n", ["i", "j"], (2, 3, "n")),
        ("a*4 + (a + 1) + b*6 + 7", ["a"], (5, "b*6 + 8")),
        ("a*b + 7", ["a"], ("b", 7)),
        ("b*7", ["a"], (0, "b*7")),
        ("b*7", [], ("b*7",)),
        ("128 - c", ["c"], (-1, 128)),
        ("((a*b + c)*8 + d + 1)*2", ["a", "c", "d"], ("b*16", 16, 2, 2)),
        ("i//4*4 + i%4", ["i"], (1, 0)),
        ("(4*i + 8)//4", ["i"], (1, 2)),
        ("(i + 1)//2 + i//2", ["i"], (1, 0)),
    ],
)
def test_weights_then_the_rest(text: str, names: list[str], expected: tuple[int | str, ...]) -> None:
    found = Prover().linear(text, names)

    assert found is not None and len(found) == len(names) + 1
    for part, wanted in zip(found, expected, strict=True):
        assert part == wanted if isinstance(wanted, int) else Prover().prove(f"{part} == {wanted}")


@pytest.mark.parametrize("text", ["a*b", "a*a", "a*4*(a + 1)", "a//2", "a % 3 + b", "min(a, 1)", "select(a < 1, a, b)"])
def test_what_is_not_linear_is_none(text: str) -> None:
    assert Prover().linear(text, ["a", "b"]) is None


def test_facts_may_make_it_linear() -> None:
    facts = Prover().define("j", 0, 3)

    assert facts.linear("(4*i + j)//4*2 + j", ["i", "j"]) == (2, 1, 0)


def test_the_rest_is_an_expression_or_an_integer() -> None:
    found = Prover().linear("i*n + m", ["i"])

    assert found == (Expr.of("n"), Expr.of("m"))
