"""The chosen form of a division, computed as its name says, is right at every point."""

from itertools import product

import pytest

from tcjax.symbolic.facts import Prover
from tcjax.symbolic.facts.emission import Emission, Form, emission, index_width
from tcjax.symbolic.facts.trees import Binary, Expr, tdiv, tmod


def computed(form: Emission, op: str, dividend: int, divisor: int) -> int:
    quotient = op in ("//", "tdiv")
    match form.form:
        case Form.SHIFT:
            return dividend >> form.shift
        case Form.MASK:
            return dividend & ((1 << form.shift) - 1)
        case Form.TRUNCATING:
            return tdiv(dividend, divisor) if quotient else tmod(dividend, divisor)
        case Form.BIASED:
            biased = dividend + form.bias * divisor
            assert biased >= 0
            return tdiv(biased, divisor) - form.bias if quotient else tmod(biased, divisor)
        case Form.FLOOR:
            return dividend // divisor if quotient else dividend % divisor


@pytest.mark.parametrize(
    "ends, divisor, expected",
    [
        ((-20, 20), (8, 8), {"//": Form.SHIFT, "%": Form.MASK, "tdiv": Form.TRUNCATING, "tmod": Form.TRUNCATING}),
        ((0, 20), (8, 8), {"//": Form.SHIFT, "%": Form.MASK, "tdiv": Form.SHIFT, "tmod": Form.MASK}),
        ((0, 20), (1, 6), {"//": Form.TRUNCATING, "%": Form.TRUNCATING}),
        ((-20, 0), (-6, -1), {"//": Form.TRUNCATING, "%": Form.TRUNCATING}),
        ((-20, 20), (6, 6), {"//": Form.BIASED, "%": Form.BIASED}),
        ((-20, 20), (2, 6), {"//": Form.BIASED, "%": Form.BIASED}),
        ((-20, 20), (-6, 6), {"//": Form.FLOOR, "%": Form.FLOOR, "tdiv": Form.TRUNCATING}),
    ],
)
def test_the_form_is_right_everywhere(
    ends: tuple[int, int], divisor: tuple[int, int], expected: dict[str, Form]
) -> None:
    facts = Prover().define("n", *ends).define("d", *divisor)
    for op, form in expected.items():
        division = Binary(op, Expr.of("n"), Expr.of("d"))

        found = emission(facts, division)

        assert found.form is form
        for n, d in product(range(ends[0], ends[1] + 1), range(divisor[0], divisor[1] + 1)):
            if d:
                assert computed(found, op, n, d) == division.evaluate({"n": n, "d": d})


def test_an_exact_division_truncates_whatever_the_signs() -> None:
    assert emission(Prover(), "(6*x)//6").form is Form.TRUNCATING
    assert emission(Prover(), "x//6").form is Form.FLOOR


def test_a_bias_must_fit() -> None:
    facts = Prover().define("n", -(2**30), 2**31 - 1)

    assert emission(facts, "n//6").form is Form.FLOOR
    assert emission(facts, "n//6", width=64).form is Form.BIASED


@pytest.mark.parametrize(
    "text, expected",
    [
        ("i*j", 32),
        ("i*j*8", 64),
        ("i*j*8 - i*j*8", 64),
        ("i*8*j//8", 64),
        ("i*j*i*j*i", None),
        ("k + 1", None),
        ("i % 7", 32),
    ],
)
def test_indices_are_as_wide_as_their_widest_part(text: str, expected: int | None) -> None:
    facts = Prover().define("i", 0, 2**15).define("j", 0, 2**15)

    assert index_width(facts, text) == expected


def test_a_branch_is_measured_where_it_is_taken() -> None:
    facts = Prover().define("i", 0, None)

    assert index_width(facts, "select(i < 100, i*i, 0)") is None  # the condition reads `i` itself
    assert index_width(facts.define("i", 0, 2**20), "select(i < 100, i*i, 0)") == 32
