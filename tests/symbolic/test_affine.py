"""Affine expressions agree with integers, and their bounds with enumeration."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax.symbolic import Affine, Facts, IndexVar, Interval, Size, SizeVar, clamp

from .strategies import INDICES, Box, I, J, Sum, boxes, linear_sums, points, sums, value

i, j = Affine.of(I), Affine.of(J)
N = SizeVar("N")


@given(sums(), st.fixed_dictionaries({index: st.integers(-20, 20) for index in INDICES}))
def test_an_expression_evaluates_to_what_the_same_arithmetic_on_ints_gives(
    given_sum: Sum, point: dict[IndexVar, int]
) -> None:
    affine, expected = given_sum

    result = affine.evaluate(lambda atom: point[atom], {})  # type: ignore[index]

    assert result == expected(point)
    assert value(affine, point) == expected(point)


@given(linear_sums(), boxes())
def test_the_bounds_of_a_linear_expression_are_exact(given_sum: Sum, box: Box) -> None:
    affine, expected = given_sum
    values = [expected(point) for point in points(box)]

    bounds = Facts.over({index: Interval.of(*ends) for index, ends in box.items()}).interval(affine)

    assert bounds == Interval.of(min(values), max(values) + 1)


@given(sums(), boxes())
def test_the_bounds_of_any_expression_cover_its_values(given_sum: Sum, box: Box) -> None:
    affine, expected = given_sum
    values = [expected(point) for point in points(box)]

    bounds = Facts.over({index: Interval.of(*ends) for index, ends in box.items()}).interval(affine)

    assert bounds is not None
    assert bounds.lo.evaluate({}) <= min(values)
    assert bounds.hi.evaluate({}) > max(values)


@given(linear_sums(), linear_sums())
def test_equal_expressions_compare_equal_whatever_order_built_them(left: Sum, right: Sum) -> None:
    one, other = left[0] + right[0], right[0] + left[0]

    assert one == other
    assert hash(one) == hash(other)
    assert one - right[0] == left[0]


@given(sums(), sums())
def test_the_variables_of_a_sum_are_among_those_of_its_parts(left: Sum, right: Sum) -> None:
    total = left[0] + right[0]

    assert total.variables <= left[0].variables | right[0].variables


def test_an_empty_range_keeps_the_end_that_makes_a_convolutions_extent() -> None:
    bounds = Facts.over({I: Interval.of(0, 5), J: Interval.of(0, 0)}).interval(i + j)

    assert bounds == Interval.of(0, 4)


def test_a_size_that_may_be_negative_gives_no_bounds() -> None:
    difference = Size.of(N) - 3

    assert Facts.over({I: Interval.of(0, 5)}).interval(i.scale(difference)) is None
    assert Facts.over({I: Interval.of(0, 5)}).interval(i.scale(-Size.of(N))) == Interval(-4 * Size.of(N), Size.of(1))


def test_substituting_a_size_by_zero_makes_floors_and_remainders_zero() -> None:
    affine = i.quotient(N) + i.remainder(N) + 3

    assert affine.substitute_sizes({N: 0}) == Affine.of(3)
    assert affine.evaluate(lambda atom: 7, {N: 0}) == 3


@pytest.mark.parametrize(
    ("affine", "shown"),
    [
        (i.scale(2) + j - 1, "2*i + j - 1"),
        (i.quotient(2), "i // 2"),
        ((i + 1).quotient(N).scale(3), "3*((i + 1) // N)"),
        (i.remainder(4) + N, "i % 4 + N"),
        (-i, "-i"),
        (i.scale(Size.of(N) - 1), "(N - 1)*i"),
        (clamp("min", (i + 1, N)), "min(N, i + 1)"),
    ],
)
def test_an_expression_prints_as_one_would_write_it(affine: Affine, shown: str) -> None:
    assert str(affine) == shown


def test_a_clamp_of_arguments_that_differ_by_a_number_is_decided() -> None:
    assert clamp("max", (i - 1, i + 2)) == i + 2
    assert clamp("min", (i - 1, i + 2, i)) == i - 1


def test_only_a_variable_alone_is_bare() -> None:
    assert i.bare == I
    assert [affine.bare for affine in (i + 1, i.scale(2), i + j, i.quotient(2), Affine.of(3))] == [None] * 5


def test_a_floor_of_multiples_is_a_floor_no_more() -> None:
    i, j = IndexVar("i"), IndexVar("j")

    index = Affine.of(i).scale(4) + Affine.of(j) + 2

    assert (index - Affine.of(j)).quotient(4) == Affine.of(i)
    assert index.quotient(4) == Affine.of(i) + (Affine.of(j) + 2).quotient(4)
    assert index.remainder(4) == (Affine.of(j) + 2).remainder(4)
    assert (Affine.of(i).scale(6) + 9).remainder(3) == Affine.of(0)
