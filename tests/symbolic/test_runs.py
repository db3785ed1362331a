"""Runs with constant strides are the values of a subscript, in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax.symbolic import Affine, IndexVar, clamp
from tcjax.symbolic.runs import Run, direction, runs_along

I, J = IndexVar("i"), IndexVar("j")
LINE = Affine.of(I) - Affine.of(J).scale(2)


@st.composite
def along(draw: st.DrawFn, depth: int) -> Affine:
    """Floors, remainders and clamps of multiples of ``i - 2*j``."""
    if depth == 0:
        return LINE.scale(draw(st.integers(-3, 3))) + draw(st.integers(-5, 5))
    inner = draw(along(depth - 1))
    match draw(st.sampled_from(("quotient", "remainder", "min", "max", "sum"))):
        case "quotient":
            return inner.quotient(draw(st.integers(1, 7)))
        case "remainder":
            return inner.remainder(draw(st.integers(1, 9)))
        case "sum":
            return inner + draw(along(depth - 1)).scale(draw(st.integers(-2, 2)))
        case kind:
            return clamp(kind, [inner, draw(st.one_of(along(depth - 1), st.integers(-4, 4)))])


@given(st.integers(0, 3).flatmap(along), st.integers(-6, 3), st.integers(-1, 15))
def test_runs_are_the_values_along_the_line(subscript: Affine, lo: int, further: int) -> None:
    line = direction(subscript)
    if line not in (LINE, -LINE):
        # A remainder by 2 drops 2*j.
        return
    sign = 1 if line == LINE else -1

    runs = runs_along(subscript, line, lo, lo + further, 1000)

    assert runs is not None
    found = [run.start + run.stride * n for run in runs for n in range(run.count)]
    points = ({I: sign * value, J: 0} for value in range(lo, lo + further + 1))
    assert found == [subscript.evaluate(lambda atom, at=at: at[atom], {}) for at in points]


@pytest.mark.parametrize(
    ("subscript", "expected"),
    [
        ((Affine.of(I) + 3).remainder(7), (Run(3, 1, 4), Run(0, 1, 3))),
        ((3 - Affine.of(I)).remainder(7), (Run(4, 1, 3), Run(0, 1, 4))),
        (clamp("min", [Affine.of(I) + 2, 6]), (Run(2, 1, 5), Run(6, 0, 2))),
        (clamp("max", [Affine.of(I) - 2, 2 - Affine.of(I)]), (Run(4, -1, 5), Run(1, 1, 2))),
        (Affine.of(I).quotient(3), (Run(0, 0, 3), Run(1, 0, 3), Run(2, 0, 1))),
    ],
)
def test_runs_are_as_long_as_they_can_be(subscript: Affine, expected: tuple[Run, ...]) -> None:
    line = direction(subscript)
    lo, hi = (0, 6) if line == Affine.of(I) else (-6, 0)

    assert line is not None
    assert runs_along(subscript, line, lo, hi, 8) == expected


def test_too_many_runs_are_none() -> None:
    assert runs_along(Affine.of(I).quotient(2), Affine.of(I), 0, 99, 8) is None


def test_indices_that_go_their_own_ways_have_no_direction() -> None:
    assert direction((Affine.of(I) + J).remainder(7) + I) is None
