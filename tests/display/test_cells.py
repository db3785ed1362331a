"""Positions as rectangles: the same positions, each once."""

from hypothesis import given
from hypothesis import strategies as st

from tcjax.display.cells import FINEST, rectangles, where
from tcjax.markup import Axis, Rectangle

CELLS = st.sets(st.tuples(st.integers(-3, 8), st.integers(-3, 8)))


def places(found: tuple[Rectangle, ...]) -> list[tuple[int, int]]:
    return [(i, j) for (top, bottom), (left, right) in found for i in range(top, bottom) for j in range(left, right)]


@given(CELLS)
def test_rectangles_hold_every_place_once(cells: set[tuple[int, int]]) -> None:
    found = places(rectangles(cells))

    assert sorted(found) == sorted(cells)


def test_a_block_is_one_rectangle() -> None:
    assert rectangles([(i, j) for i in range(2, 5) for j in range(7)]) == (((2, 5), (0, 7)),)


@given(CELLS)
def test_on_a_small_plane_every_place_is_asked(cells: set[tuple[int, int]]) -> None:
    found = where(lambda i, j: (i, j) in cells, Axis("i", -3, 9), Axis("j", -3, 9))

    assert sorted(places(found)) == sorted(cells)


def test_a_large_plane_is_asked_in_bands() -> None:
    asked: list[tuple[int, int]] = []

    found = where(lambda i, j: bool(asked.append((i, j))) or j <= i, Axis("i", 0, 1000), Axis("j", 0, 1000))

    assert len(asked) == FINEST**2
    assert abs(len(places(found)) - 500_500) < 10_000
