"""Loops: whether the elements that a step reads were written by an earlier one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .. import ir
from ..symbolic import (
    FALSE,
    Affine,
    Box,
    Condition,
    IndexVar,
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
from .pairs import perhaps, search, twins_of
from .rounds import Solution
from .survey import Comprehension, Read

Solved = Mapping[int, tuple[Solution, Box]]


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A read in a loop, and the condition that a later step writes what it reads.

    `reads` and `writes` are statement numbers, `common` the loops around both, `twins` the names of the indices at the
    later step.
    """

    reads: int
    writes: int
    read: Read
    common: tuple[ir.Loop, ...]
    twins: Mapping[IndexVar, IndexVar]
    condition: Condition


def check_order(function: ir.Function, solved: Solved, sizes: Mapping[SizeVar, int]) -> None:
    """Raises `CompileError` (TC0708) if a step of a loop reads an element that a later step writes.

    A write further down in the same step is later, too, unless a statement above has written the element. What steps
    write without the loop's index on the left holds the latest values, whichever statement writes it. Writes of the
    statement itself in the same step are checked in `pairs`.
    """
    for each in _meetings(function, {number: solution for number, (solution, _) in solved.items()}, sizes):
        (own, box), (_, there) = solved[each.reads], solved[each.writes]
        indices, twins = (*own.survey.indices, *each.read.inner), each.twins
        points = {**{index: box[index] for index in indices}, **{twins[i]: there[i] for i in twins}}
        found = search(each.condition, points)
        if not found.empty:
            reads, writes = function.statements[each.reads], function.statements[each.writes]
            assert isinstance(reads, Comprehension) and isinstance(writes, Comprehension)
            raise mistakes.read_before_step(function, reads, writes, each.read, each.common, twins, found.point, sizes)


def undecided_steps(
    function: ir.Function, solved: Mapping[int, Solution], sizes: Mapping[SizeVar, Size]
) -> Iterator[ir.Access]:
    """The reads in loops for which it depends on sizes whether a later step writes what they read."""
    for each in _meetings(function, solved, sizes):
        if _may_hold(each.condition, solved[each.reads], solved[each.writes], each.twins):
            yield each.read.access


def _meetings(
    function: ir.Function, solved: Mapping[int, Solution], sizes: Mapping[SizeVar, SizeLike]
) -> Iterator[_Meeting]:
    """Each read of a tensor that statements of its loops write, unless it is certainly written before."""
    for reader, writer in _pairs(function):
        reads, writes = function.statements[reader], function.statements[writer]
        assert isinstance(reads, Comprehension) and isinstance(writes, Comprehension)
        common = tuple(loop for loop in function.around(reader) if loop.holds(writer))
        if not {loop.index for loop in common} <= _on_left(writes):
            continue
        if _is_overwritten(function, writer, common, solved, sizes):
            continue
        own, other = solved[reader], solved[writer]
        twins = twins_of(other.survey.indices)
        paths = Paths(sizes)
        written = [index.substitute_sizes(sizes).substitute(twins) for index in writes.indices]
        guard = rewritten(paths.condition(other.survey.guard), lambda affine: affine.substitute(twins))  # noqa: B023
        for read in own.survey.reads:
            if read.access.tensor != writes.target:
                continue
            below = writer > reader and not _written_above(function, reader, read.access, common)
            later = _later(common, twins, or_same=below)
            taken = [index.substitute_sizes(sizes) for index in read.access.indices]
            same = [perhaps("==", index, target) for index, target in zip(taken, written, strict=True)]
            condition = all_of([*same, later, paths.condition(read.path), guard])
            if condition != FALSE:
                yield _Meeting(reader, writer, read, common, twins, condition)


def _is_overwritten(
    function: ir.Function,
    writer: int,
    loops: tuple[ir.Loop, ...],
    solved: Mapping[int, Solution],
    sizes: Mapping[SizeVar, SizeLike],
) -> bool:
    """Whether a statement that each step of the loops repeats in place may write what the writer does."""
    writes = function.statements[writer]
    assert isinstance(writes, Comprehension)
    steps = {loop.index for loop in loops}
    for number in range(loops[0].first, loops[0].last):
        other = function.statements[number]
        if not isinstance(other, Comprehension) or other.target != writes.target:
            continue
        if number == writer or steps <= _on_left(other):
            continue
        twins = twins_of(solved[number].survey.indices)
        here, there = ([index.substitute_sizes(sizes) for index in each.indices] for each in (writes, other))
        same = [perhaps("==", a, b.substitute(twins)) for a, b in zip(here, there, strict=True)]
        if _may_hold(all_of(same), solved[writer], solved[number], twins):
            return True
    return False


def _on_left(statement: Comprehension) -> frozenset[IndexVar]:
    return frozenset[IndexVar]().union(*(index.variables for index in statement.indices))


def _may_hold(condition: Condition, own: Solution, other: Solution, twins: Mapping[IndexVar, IndexVar]) -> bool:
    """Whether a condition on points of two statements is not refuted, where `twins` are the other one's indices."""
    ranges = {twin: interval for i, twin in twins.items() if (interval := other.ranges[i]) is not None}
    return own.facts.with_ranges(ranges).assume(unconditional(condition)).contradiction is None


def _pairs(function: ir.Function) -> Iterator[tuple[int, int]]:
    """Pairs of statements in one loop where the first reads what the second writes."""
    for number, statement in enumerate(function.statements):
        around = function.around(number)
        if not around or not isinstance(statement, Comprehension):
            continue
        read = {access.tensor.name for access in ir.accesses_of(statement)}
        for other in range(around[0].first, around[0].last):
            if any(target.name in read for target in ir.targets(function.statements[other])):
                yield number, other


def _written_above(function: ir.Function, reader: int, access: ir.Access, loops: tuple[ir.Loop, ...]) -> bool:
    """Whether a statement above the reader, in the same step or before the loops, writes every element that is read."""
    steps = {loop.index for loop in loops}
    own = function.statements[reader]
    assert isinstance(own, Comprehension)
    for number, above in enumerate(function.statements[:reader]):
        before = number < loops[0].first or set(loops) <= set(function.around(number))
        if not before or not isinstance(above, Comprehension) or above.target != access.tensor:
            continue
        pairs = zip(above.indices, access.indices, strict=True)
        whole = all(left == read or (left.bare is not None and left.bare not in steps) for left, read in pairs)
        if whole and above.domain.guard in (None, own.domain.guard):
            return True
    return False


def _later(loops: tuple[ir.Loop, ...], twins: Mapping[IndexVar, IndexVar], *, or_same: bool) -> Condition:
    """The condition that the twins' step comes after that of the loops' indices."""
    same: list[Condition] = []
    found: list[Condition] = []
    for loop in loops:
        twin = Affine.of(twins[loop.index])
        found.append(all_of([*same, compare(">" if loop.step > 0 else "<", twin, loop.index)]))
        same.append(compare("==", twin, loop.index))
    return any_of([*found, all_of(same)] if or_same else found)
