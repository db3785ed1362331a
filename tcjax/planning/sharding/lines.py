"""Which elements the points of a cut index read along a dimension, as runs of elements on a line of places.

Where a subscript is a function of one sum of indices, that sum numbers the places. It is shifted and reversed so that
most places are the elements themselves: for ``wrap(i - 1)``, place -1 is the last element and every other place is the
element of that number.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from ...symbolic import Affine, Box, IndexVar
from ...symbolic.runs import Run, direction, runs_along
from ...transforms import Known

# A subscript with more runs than this is not treated as a line.
MOST_RUNS = 16


@dataclass(frozen=True, slots=True)
class Stretch:
    """`count` places from `place` on, which hold the elements of a run, or, if `run` is None, a constant."""

    place: int
    count: int
    run: Run | None

    @property
    def end(self) -> int:
        return self.place + self.count

    @property
    def is_place(self) -> bool:
        """Whether the elements are those of their places, if there are any."""
        run = self.run
        return run is None or (run.start == self.place and (run.stride == 1 or self.count == 1))

    def part(self, lo: int, hi: int) -> "Stretch":
        """The part at the places ``lo:hi``, which must lie in it."""
        run = None if self.run is None else self.run.part(lo - self.place, hi - lo)
        return Stretch(lo, hi - lo, run)


Stretches = tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """`place` is a sum of indices, in which the cut index has this `weight`; `stretches` say what is at each place.

    Elements are numbered from the first of the dimension.
    """

    place: Affine
    weight: int
    stretches: Stretches

    @property
    def step(self) -> int:
        """The distance between elements that adjacent values of the index read; 0 if it is not constant."""
        longest = max(self.stretches, key=lambda s: s.count if s.run is not None else 0, default=None)
        return 0 if longest is None or longest.run is None else abs(longest.run.stride * self.weight)


def line_of(subscript: Affine, index: IndexVar, box: Box, first: int, extent: int, *, filled: bool) -> Line | None:
    """The line of a subscript with a cut index, or None.

    Places out of bounds are left out; with `filled` they hold a constant.
    """
    line = None if subscript.is_data else direction(subscript)
    ends = None if line is None else Known.over(box).bounds(line)
    if line is None or ends is None:
        return None
    runs = runs_along(subscript, line, *ends, MOST_RUNS)
    weight = line.weight(index).constant
    if runs is None or not weight:
        return None
    place, stretches = ends[0], []
    for run in runs:
        own = Run(run.start - first, run.stride if run.count > 1 else 0, run.count)
        stretches += _within(Stretch(place, run.count, own), extent, filled)
        place += run.count
    return _straight(Line(line, weight, tuple(stretches)))


def _within(stretch: Stretch, extent: int, filled: bool) -> Iterator[Stretch]:
    """The parts that are in bounds; with `filled`, also the parts that are not, as constants."""
    run = stretch.run
    assert run is not None, "elements are given"
    if run.stride == 0:
        kept = range(stretch.count if 0 <= run.start < extent else 0)
    elif run.stride > 0:
        kept = range(max(0, -(run.start // run.stride)), max(0, (extent - 1 - run.start) // run.stride + 1))
    else:
        kept = range(max(0, -((extent - 1 - run.start) // -run.stride)), max(0, run.start // -run.stride + 1))
    lo = min(kept.start, stretch.count)
    hi = max(lo, min(kept.stop, stretch.count))
    for start, stop, inside in ((0, lo, False), (lo, hi, True), (hi, stretch.count, False)):
        if start < stop and (inside or filled):
            part = stretch.part(stretch.place + start, stretch.place + stop)
            yield part if inside else replace(part, run=None)


def _straight(line: Line) -> Line:
    """The line, shifted and reversed so that in its longest run each place is the element of that number."""
    steady = [s for s in line.stretches if s.run is not None and (abs(s.run.stride) == 1 or s.count == 1)]
    if not steady:
        return line
    longest = max(steady, key=lambda s: s.count)
    assert longest.run is not None
    sign = longest.run.stride or 1
    shift = longest.run.start - sign * longest.place
    moved = []
    for stretch in line.stretches[::sign]:
        run = stretch.run
        if sign < 0 and run is not None:
            run = Run(run.last, -run.stride, run.count)
        first = stretch.place if sign > 0 else stretch.end - 1
        moved += _freed(Stretch(sign * first + shift, stretch.count, run))
    return Line(line.place.scale(sign) + shift, sign * line.weight, merged(tuple(moved), ()) or ())


def _freed(stretch: Stretch) -> Iterator[Stretch]:
    """Splits off an end element that is at its own place: it belongs to the adjacent stretch."""
    run = stretch.run
    if run is not None and run.stride != 1 and stretch.count > 1:
        if run.start == stretch.place:
            yield stretch.part(stretch.place, stretch.place + 1)
            stretch = stretch.part(stretch.place + 1, stretch.end)
        elif run.last == stretch.end - 1:
            yield stretch.part(stretch.place, stretch.end - 1)
            stretch = stretch.part(stretch.end - 1, stretch.end)
    yield stretch


def merged(first: Stretches, second: Stretches) -> Stretches | None:
    """The union of both; None if they disagree at a place."""
    cuts = sorted({end for s in (*first, *second) for end in (s.place, s.end)})
    found: list[Stretch] = []
    for lo, hi in pairwise(cuts):
        parts = {s.part(lo, hi) for s in (*first, *second) if s.place <= lo and hi <= s.end}
        if len(parts) > 1:
            return None
        for part in parts:
            joint = _joint(found[-1], part) if found else None
            found[len(found) - (joint is not None) :] = [joint or part]
    return tuple(found)


def _joint(a: Stretch, b: Stretch) -> Stretch | None:
    """Two stretches as one, if the second continues the first."""
    if a.end != b.place:
        return None
    if a.run is None or b.run is None:
        return Stretch(a.place, a.count + b.count, None) if a.run is b.run else None
    stride = a.run.stride if a.count > 1 else b.run.start - a.run.start
    if stride != 1 and (a.run.last == a.end - 1 or b.run.start == b.place):
        # Keep elements that are at their own places in a run of such elements.
        return None
    if b.run.start != a.run.start + stride * a.count or (b.count > 1 and b.run.stride != stride):
        return None
    return Stretch(a.place, a.count + b.count, Run(a.run.start, stride, a.count + b.count))


def over(stretches: Stretches, lo: int, hi: int) -> Iterator[Stretch]:
    """What is at the places ``lo:hi``."""
    for stretch in stretches:
        start, stop = max(lo, stretch.place), min(hi, stretch.end)
        if start < stop:
            yield stretch.part(start, stop)
