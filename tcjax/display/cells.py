"""Sets of positions on a plane as rectangles."""

from collections.abc import Callable, Iterable
from itertools import groupby, pairwise
from typing import Final

from ..markup import Axis, Rectangle, Span

# Positions tested along each axis of a plane: more would not be visible.
FINEST: Final = 64


def rectangles(cells: Iterable[tuple[int, int]]) -> tuple[Rectangle, ...]:
    """The positions, ``(row, column)``, as few rectangles: runs in a row, joined with equal runs in the rows below."""
    by_row: dict[int, list[int]] = {}
    for row, column in sorted(set(cells)):
        by_row.setdefault(row, []).append(column)
    return joined((((row, row + 1), tuple(_runs(columns))) for row, columns in by_row.items()))


def joined(rows: Iterable[tuple[Span, tuple[Span, ...]]]) -> tuple[Rectangle, ...]:
    """Bands of rows with their contents; equal neighbours are merged."""
    bands: list[tuple[Span, tuple[Span, ...]]] = []
    for (top, bottom), runs in rows:
        if bands and bands[-1][1] == runs and bands[-1][0][1] == top:
            bands[-1] = ((bands[-1][0][0], bottom), runs)
        else:
            bands.append(((top, bottom), runs))
    return tuple((band, run) for band, runs in bands for run in runs)


def where(holds: Callable[[int, int], bool], rows: Axis, columns: Axis) -> tuple[Rectangle, ...]:
    """Where a condition holds; on a large plane it is tested in the middle of each of `FINEST` bands along an axis."""
    bands, steps = _bands(rows), _bands(columns)
    found: list[tuple[Span, tuple[Span, ...]]] = []
    for band in bands:
        row = (band[0] + band[1] - 1) // 2
        marks = [(step, holds(row, (step[0] + step[1] - 1) // 2)) for step in steps]
        runs: list[Span] = []
        for is_in, group in groupby(marks, key=lambda mark: mark[1]):
            spans = [span for span, _ in group]
            if is_in:
                runs.append((spans[0][0], spans[-1][1]))
        found.append((band, tuple(runs)))
    return joined(found)


def _bands(axis: Axis) -> list[Span]:
    count = min(axis.extent, FINEST)
    ends = [axis.lo + axis.extent * n // count for n in range(count + 1)]
    return list(pairwise(ends))


def _runs(columns: list[int]) -> Iterable[Span]:
    start = last = columns[0]
    for column in columns[1:]:
        if column != last + 1:
            yield start, last + 1
            start = column
        last = column
    yield start, last + 1
