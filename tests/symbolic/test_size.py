"""Sizes agree with integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax.symbolic import Size, SizeVar, maximum, minimum

from .strategies import Meaning, size_values, sizes

M, N, K = (Size.of(SizeVar(name)) for name in "MNK")


@given(sizes(), size_values())
def test_a_size_evaluates_to_what_the_same_arithmetic_on_ints_gives(meaning: Meaning, values: dict[str, int]) -> None:
    size, expected = meaning

    result = size.evaluate({SizeVar(name): value for name, value in values.items()})

    assert result == expected(values)


@given(sizes(), size_values())
def test_substituting_numbers_first_collapses_a_size_to_a_number(meaning: Meaning, values: dict[str, int]) -> None:
    size, expected = meaning

    result = size.substitute({SizeVar(name): value for name, value in values.items()})

    assert result == Size.of(expected(values))


@given(sizes(), size_values())
def test_a_size_that_claims_to_be_nonnegative_is_so_for_all_sizes(meaning: Meaning, values: dict[str, int]) -> None:
    size, expected = meaning

    claimed = size.is_nonnegative

    assert not claimed or expected(values) >= 0


@given(sizes(), sizes())
def test_addition_of_sizes_commutes_in_canonical_form(left: Meaning, right: Meaning) -> None:
    one, other = left[0] + right[0], right[0] + left[0]

    assert one == other
    assert hash(one) == hash(other)
    assert one - right[0] == left[0]


@given(sizes(), st.sampled_from("MNK"))
def test_only_the_variables_that_a_size_reports_matter(meaning: Meaning, name: str) -> None:
    size, expected = meaning
    values = dict.fromkeys("MNK", 5)

    changed = values | {name: 11}

    assert SizeVar(name) in size.variables() or expected(values) == expected(changed)


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((N - K) // 2 + 1, "(N - K) // 2 + 1"),
        (20 - N, "20 - N"),
        (N - K + 1, "N - K + 1"),
        (2 * N * M, "2 * M * N"),
        ((N + 4) // 4, "N // 4 + 1"),
        ((3 * K * N) // K, "3 * N"),
        (N * 0, "0"),
        (minimum(N, M), "min(M, N)"),
    ],
)
def test_a_size_prints_as_one_would_write_it(size: Size, shown: str) -> None:
    assert str(size) == shown


@pytest.mark.parametrize(
    ("extremum", "expected"),
    [
        (minimum(N, N + M), N),
        (maximum(N, N + M), N + M),
        (maximum(N, 0), N),
        (minimum(minimum(N, M), N + 1), minimum(M, N)),
        (minimum(minimum(N, M), minimum(M, K)), minimum(K, M, N)),
        (maximum(N - 1, N, N - 2), N),
    ],
)
def test_an_extremum_drops_what_cannot_decide_it(extremum: Size, expected: Size) -> None:
    assert extremum == expected


def test_a_size_of_two_hundred_nested_floors_and_minima_is_handled() -> None:
    size, expected = N, 1000
    for step in range(100):
        size = minimum((size * 3 + 1) // 2, M * step + 900)
        expected = min((expected * 3 + 1) // 2, 7 * step + 900)

    assert size.evaluate({SizeVar("N"): 1000, SizeVar("M"): 7}) == expected


def test_a_floor_of_a_size_by_a_number_that_becomes_zero_is_zero() -> None:
    size = N // K

    assert size.evaluate({SizeVar("N"): 5, SizeVar("K"): 0}) == 0


def test_dividing_by_a_constant_zero_raises() -> None:
    with pytest.raises(ZeroDivisionError):
        _ = N // 0
