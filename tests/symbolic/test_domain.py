"""A search finds a point exactly when enumeration finds one."""

from hypothesis import given

from tcjax.symbolic import FALSE, TRUE, Affine, Condition, IndexVar, all_of, any_of, clamp, compare, find_point

from .strategies import Box, I, J, boxes, conditions, holds, points

i, j = Affine.of(I), Affine.of(J)
LARGE = 10**9


@given(boxes(), conditions())
def test_a_search_finds_a_point_exactly_when_there_is_one(box: Box, condition: Condition) -> None:
    exists = any(holds(condition, point) for point in points(box))

    found = find_point(box, condition)

    assert found.empty == (not exists)
    assert (found.point is not None) == exists


@given(boxes(), conditions())
def test_a_found_point_lies_in_the_box_and_satisfies_the_condition(box: Box, condition: Condition) -> None:
    point = find_point(box, condition).point

    assert point is None or all(lo <= point[index] < hi for index, (lo, hi) in box.items())
    assert point is None or holds(condition, point)


def test_a_box_with_an_empty_range_has_no_point() -> None:
    assert find_point({I: (0, 5), J: (3, 3)}, TRUE).empty


def test_nothing_satisfies_a_condition_without_alternatives() -> None:
    assert find_point({I: (0, 5)}, FALSE).empty
    assert find_point({I: (0, 5)}, TRUE).point == {I: 0}


def test_a_contradiction_between_two_variables_is_proved_in_a_huge_box() -> None:
    box = {I: (0, LARGE), J: (0, LARGE)}

    found = find_point(box, all_of([compare("<", i, j), compare("<", j, i)]))

    assert found.empty


def test_a_parity_contradiction_is_proved_in_a_huge_box() -> None:
    box = {I: (0, LARGE), J: (0, LARGE)}

    found = find_point(box, compare("==", i.scale(2), j.scale(4) + 1))

    assert found.empty


def test_a_remainder_contradiction_is_proved_in_a_huge_box() -> None:
    condition = all_of([compare("==", i.remainder(6), 1), compare("==", i.remainder(3), 2)])

    assert find_point({I: (0, LARGE)}, condition).empty


def test_a_point_is_found_in_a_huge_box() -> None:
    condition = all_of([compare("==", i.remainder(1000), 999), compare(">=", i.quotient(7), 100_000)])

    point = find_point({I: (0, LARGE)}, condition).point

    assert point is not None
    assert point[I] % 1000 == 999
    assert point[I] // 7 >= 100_000


def test_a_clamp_inside_a_remainder_is_decided() -> None:
    condition = compare("==", clamp("min", (i, j)).remainder(5), 4)

    assert find_point({I: (0, 100), J: (0, 4)}, condition).empty
    assert find_point({I: (0, 100), J: (0, 5)}, condition).point == {I: 4, J: 4}


def test_what_is_not_in_the_box_may_hold() -> None:
    stranger = Affine.of(IndexVar("x"))

    found = find_point({I: (0, 5)}, all_of([compare("<", stranger, 0), compare(">=", i, 3)]))

    assert found.point == {I: 3}


def test_a_long_chain_of_alternatives_is_decided() -> None:
    steps = [any_of([compare("<", i, k), compare(">", i, k)]) for k in range(200)]

    assert find_point({I: (0, 200)}, all_of(steps)).empty
    assert find_point({I: (0, 201)}, all_of(steps)).point == {I: 200}
