"""Numbers of any length: read up to a thousand digits, computed with, and printed."""

import pytest

from tcjax import CompileError
from tcjax.symbolic import Facts
from tcjax.symbolic.facts.trees import Expr, digits

LONG = "9" * 999


@pytest.mark.parametrize(
    "value",
    [0, 7, -7, 10**3999, 10**4000, -(10**4000), 10**9000 + 5, -(7**20_000), 10**12_000 - 1],
    ids=lambda value: str(value.bit_length()),
)
def test_a_number_is_printed_however_long(value: int) -> None:
    text = digits(value)
    found = 0
    for start in range(0, len(text.lstrip("-")), 1000):
        part = text.lstrip("-")[start : start + 1000]
        found = found * 10 ** len(part) + int(part)

    assert (-found if text.startswith("-") else found) == value
    assert text.lstrip("-") == "0" or not text.lstrip("-").startswith("0")


def test_a_text_has_numbers_of_a_thousand_digits_at_most() -> None:
    Facts().assume(f"n < {'9' * 1000}")

    with pytest.raises(CompileError) as caught:
        Facts().assume(f"n < {'9' * 1001}")

    assert caught.value.code == "TC0107"


def test_products_of_long_numbers_are_simplified_proved_and_shown() -> None:
    product = "*".join([LONG] * 6)
    facts = Facts().assume(f"n >= {LONG}").assume(f"n <= {LONG} + 1")
    value = int(LONG) ** 6

    assert facts.simplify(product).evaluate({}) == value
    assert len(str(facts.simplify(f"{product} * n"))) > 5000
    assert repr(facts) and str(Expr.of(f"({product}) * n"))
    assert facts.bounds(f"{product} * n") == (value * int(LONG), value * (int(LONG) + 1))
    assert facts.prove(f"{product} * n > {LONG}")
    assert not facts.prove(f"n == {LONG}")
    assert facts.solve(f"n < {product}", "n") != "empty"


def test_a_contradiction_of_long_numbers_is_told() -> None:
    facts = Facts().assume(f"n < {LONG}").assume(f"n > {'*'.join([LONG] * 6)}")

    assert facts.contradiction is not None
