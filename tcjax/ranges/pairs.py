"""Two points of a statement that meet in an element: both write it, or one reads what the other writes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from .. import ir
from ..symbolic import (
    FALSE,
    TRUE,
    Affine,
    AllOf,
    AnyOf,
    AtLeastZero,
    Box,
    Condition,
    Facts,
    IndexVar,
    Search,
    Size,
    SizeLike,
    SizeVar,
    all_of,
    any_of,
    compare,
    rewritten,
    unconditional,
)
from . import mistakes
from .conditions import Paths
from .rounds import Place, Ranges, Solution, left_constraints
from .survey import Comprehension, Read

# Most pairs that meet include a point near the first, which is found quickly.
SMALL_CORNER: Final = 8

# An error at these and all larger sizes is reported: a program for smaller ones only would state them as numbers.
ORDINARY_SIZE: Final = 8

# Number of values tried from each end of a coordinate's range when its formula is sought.
STEPS: Final = ((2, 0), (1, 1), (4, 4))


def check_targets(statement: ir.Define, solution: Solution, box: Box, sizes: Mapping[SizeVar, int]) -> None:
    """Raises `CompileError` (TC0704) if two points of an ``=`` write one element."""
    if all(index.bare is not None for index in statement.indices):
        return
    indices = solution.survey.indices
    twins = _apart(statement, indices)
    targets = [index.substitute_sizes(sizes) for index in statement.indices]
    guard = Paths(sizes).condition(solution.survey.guard)
    same = [part for target in targets for part in _meets(target, twins)]
    differ = any_of(compare("<", index, twin) for index, twin in twins.items())
    found = _search(
        all_of([*same, guard, rewritten(guard, lambda affine: affine.substitute(twins)), differ]), indices, twins, box
    )
    if not found.empty:
        raise mistakes.shared_target(statement, indices, twins, found.point, sizes)


def _meets(target: Affine, twins: Mapping[IndexVar, IndexVar]) -> Iterator[Condition]:
    """The conditions that the left side's subscripts are equal at two points; with a promise, data is equal only at the
    same points.
    """
    if target.is_data:
        yield from (compare("==", index, twins[index]) for index in target.variables if index in twins)
    else:
        yield compare("==", target, target.substitute(twins))


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A read of the target, and the condition that its point meets another one that writes the element.

    `indices` are those around the read, `twins` the names of the statement's indices at the other point.
    """

    read: Read
    indices: tuple[IndexVar, ...]
    twins: Mapping[IndexVar, IndexVar]
    condition: Condition


def check_own_reads(
    function: ir.Function,
    statement: Comprehension,
    solution: Solution,
    box: Box,
    place: Place,
    sizes: Mapping[SizeVar, int],
) -> None:
    """Raises `CompileError` (TC0708) if a point reads an element of the target that another point writes.

    A point may read the element that it writes itself. A data-dependent subscript may be any element. `place` is the
    position of the target's elements.
    """
    for meeting in _meetings(statement, solution, sizes):
        found = _search(meeting.condition, meeting.indices, meeting.twins, box)
        if not found.empty:
            point = None if found.point is None else {index: Size.of(value) for index, value in found.point.items()}
            inside = _stays_inside(statement, solution, place, sizes, solution.facts)
            raise mistakes.read_while_written(
                function, statement, meeting.read, meeting.twins, point, sizes, solution.ranges, inside=inside
            )


def undecided_own_reads(
    function: ir.Function,
    statement: Comprehension,
    solution: Solution,
    place: Place,
    sizes: Mapping[SizeVar, Size],
    facts: Facts,
) -> Iterator[ir.Access]:
    """The reads of the target for which it depends on sizes whether other points write what they read.

    Raises `CompileError` (TC0708) for one that conflicts for all but very small sizes. `facts` are those about sizes.
    """
    for meeting in _meetings(statement, solution, sizes):
        ordinary = [AtLeastZero(Affine.of(size) - ORDINARY_SIZE) for size in _sizes(meeting, solution.ranges)]
        point = _general_point(meeting, solution.ranges, facts.assume(*ordinary))
        if point is not None:
            inside = _stays_inside(statement, solution, place, sizes, solution.facts.assume(*ordinary))
            raise mistakes.read_while_written(
                function, statement, meeting.read, meeting.twins, point, sizes, solution.ranges, inside=inside
            )
        ranges, twins = solution.ranges, meeting.twins
        there = {twins[i]: interval for i, interval in ranges.items() if i in twins and interval is not None}
        if solution.facts.with_ranges(there).assume(unconditional(meeting.condition)).contradiction is None:
            yield meeting.read.access


def _meetings(statement: Comprehension, solution: Solution, sizes: Mapping[SizeVar, SizeLike]) -> Iterator[_Meeting]:
    """Each read of the target, except reads of the very element being written.

    A point meets another if it reads what the other writes and does not write it itself. An operator with ``!`` writes
    every element that its left side names, wherever its guard holds.
    """
    paths = Paths(sizes)
    indices = solution.survey.indices
    twins = _apart(statement, indices)
    written = [index.substitute_sizes(sizes) for index in statement.indices]
    there = [index.substitute(twins) for index in written]
    restarts = isinstance(statement, ir.Accumulate) and statement.restart
    guard = paths.condition(None if restarts else solution.survey.guard)
    writes = rewritten(guard, lambda affine: affine.substitute(twins))
    for read in solution.survey.reads:
        if read.access.tensor.name != statement.target.name:
            continue
        taken = [index.substitute_sizes(sizes) for index in read.access.indices]
        same = [perhaps("==", index, other) for index, other in zip(taken, there, strict=True)]
        apart = any_of(compare("!=", index, own) for index, own in zip(taken, written, strict=True))
        differ = any_of(perhaps("!=", own, other) for own, other in zip(written, there, strict=True))
        condition = all_of([*same, apart, differ, paths.condition(read.path), writes])
        if condition != FALSE:
            yield _Meeting(read, (*indices, *read.inner), twins, condition)


def _stays_inside(
    statement: Comprehension,
    solution: Solution,
    place: Place,
    sizes: Mapping[SizeVar, SizeLike],
    facts: Facts,
) -> bool:
    """Whether the left side and the reads of the target are inside it, except conditional or data-dependent ones."""
    own = [each for each in solution.reads if each.read.access.tensor.name == statement.target.name]
    for constraint in (*left_constraints(statement, place, solution.survey, sizes), *own):
        if constraint.read.path is not None or constraint.subscript.is_data:
            continue
        values, region = facts.interval(constraint.subscript), constraint.region
        if values is None or region is None:
            return False
        if not (facts.at_least_zero(values.lo - region.lo) and facts.at_least_zero(region.hi - values.hi)):
            return False
    return True


def _apart(statement: Comprehension, indices: tuple[IndexVar, ...]) -> dict[IndexVar, IndexVar]:
    """Names for the indices at another point of the statement; the loops around it are at the same step."""
    return twins_of(tuple(index for index in indices if index not in statement.domain.loops))


def twins_of(indices: tuple[IndexVar, ...]) -> dict[IndexVar, IndexVar]:
    """Names for indices at another point."""
    return {index: IndexVar(f"{index.name}'", index.tag) for index in indices}


def perhaps(operator: str, one: Affine, other: Affine) -> Condition:
    """The comparison of values at two points; data may differ between them and have any value."""
    return TRUE if one.is_data or other.is_data else compare(operator, one, other)


def _search(
    condition: Condition, indices: tuple[IndexVar, ...], twins: Mapping[IndexVar, IndexVar], box: Box
) -> Search:
    """A search for a pair of points where the condition holds."""
    own = {index: ends for index, ends in box.items() if index in indices}
    return search(condition, {**own, **{twins[index]: own[index] for index in indices if index in twins}})


def search(condition: Condition, box: Box) -> Search:
    """A search for a point of the box where the condition holds."""
    found = Search(empty=True)
    for width in (SMALL_CORNER, None):
        if found.empty:
            corner = {i: (lo, hi if width is None else min(hi, lo + width)) for i, (lo, hi) in box.items()}
            found = Facts.over(corner).find(condition)
    return found


# ---------------------------------------------------------------- with symbols


def _general_point(meeting: _Meeting, ranges: Ranges, facts: Facts) -> dict[IndexVar, Size] | None:
    """A pair of points, as formulas in the sizes, that conflicts unless a size is very small, as proved from `facts`.

    The pair is first searched for with numbers, near the ends of the ranges. Each of its coordinates is expressed as a
    distance from the nearer end; then it is proved that this pair conflicts for all sizes.
    """
    indices, twins = meeting.indices, meeting.twins
    intervals = {index: interval for index in indices if (interval := ranges.get(index)) is not None}
    if len(intervals) < len(indices) or facts.contradiction is not None:
        return None
    sample = {size: 2 * ORDINARY_SIZE + 3 * number for number, size in enumerate(_sizes(meeting, ranges))}
    box: dict[IndexVar, tuple[int, int]] = {}
    for index, interval in intervals.items():
        box[index] = interval.lo.evaluate(sample), interval.hi.evaluate(sample)
    sampled = rewritten(meeting.condition, lambda affine: affine.substitute_sizes(sample))
    everywhere = [(name, index) for index in indices for name in (index, twins.get(index, index))]
    found = None
    for first, last in STEPS:
        near = [any_of([compare("<", n, box[i][0] + first), compare(">=", n, box[i][1] - last)]) for n, i in everywhere]
        found = found or _search(all_of([sampled, *near]), indices, twins, box).point
    if found is None:
        return None
    point: dict[IndexVar, Size] = {}
    for name, index in everywhere:
        (lo, hi), value, ends = box[index], found[name], intervals[index]
        point[name] = ends.lo + (value - lo) if value - lo < hi - value else ends.hi - (hi - value)
        inside = point[name] - ends.lo, ends.hi - 1 - point[name]
        if not all(map(facts.at_least_zero, inside)):
            return None
    there = rewritten(unconditional(meeting.condition), lambda affine: affine.substitute(point))
    return point if _holds(there, facts) else None


def _sizes(meeting: _Meeting, ranges: Ranges) -> list[SizeVar]:
    """The sizes that a conflict depends on, in a fixed order."""
    found: set[SizeVar] = set()

    def note(size: Size) -> Size:
        found.update(size.variables())
        return size

    rewritten(meeting.condition, lambda affine: affine.rewrite(Affine.of, note))
    for index in meeting.indices:
        interval = ranges.get(index)
        if interval is not None:
            found.update(interval.lo.variables() | interval.hi.variables())
    return sorted(found, key=str)


def _holds(condition: Condition, facts: Facts) -> bool:
    match condition:
        case AllOf(parts):
            return all(_holds(part, facts) for part in parts)
        case AnyOf(parts):
            return any(_holds(part, facts) for part in parts)
        case _:
            return facts.prove(condition)


__all__ = ["check_own_reads", "check_targets", "perhaps", "search", "twins_of", "undecided_own_reads"]
