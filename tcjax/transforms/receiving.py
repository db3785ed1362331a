"""Left sides that fold back at an end of a dimension, as what each element receives.

``O(clamp(i - 1)) +=! A(i)`` is ``O(p) = (p < N - 1 ? A(p + 1) : 0) + (p == 0 ? A(0) : 0)``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .. import ir
from ..symbolic import Affine, Box, IndexVar
from ..symbolic.runs import Run, Runs, direction, runs_along
from .definitions import constant
from .subscripts import Known
from .substitution import substitute
from .turns import turn

# More pieces of a line, or more points that meet in one element, are left to a scatter.
MOST_RUNS: Final = 5
MOST_TERMS: Final = 16


def receive(
    statement: ir.Define | ir.Accumulate, box: Box, shape: Sequence[int], origin: Sequence[int], *, filled: bool
) -> tuple[ir.Define | ir.Accumulate, Box]:
    """The statement over the elements that it writes, if a left side consists of a few straight lines; and their
    ranges.

    Sizes must be numbers, and given ranges guards. `filled` says that elements it does not name are zero anyway.
    """
    if not isinstance(statement, ir.Accumulate) or statement.reducer is not ir.Reducer.SUM:
        return statement, box
    if statement.value.dtype != statement.accumulate or statement.value.dtype == "bool":
        return statement, box
    statement, box = turn(statement, box)
    terms = 1
    for dimension, (extent, first) in enumerate(zip(shape, origin, strict=True)):
        line = _line(statement, dimension, box)
        if line is None:
            continue
        terms *= sum(run.count if run.stride == 0 else 1 for run in line.runs)
        if terms > MOST_TERMS or not (filled or not statement.restart or _covers(line.runs, first, extent)):
            break
        statement, box = _received(statement, dimension, line, box, (first, first + extent))
    return statement, box


@dataclass(frozen=True, slots=True)
class _Line:
    """A sum of indices that occur only on this left side, and the elements it names from `lo` on.

    It is solved for `index`, whose weight is `sign`.
    """

    index: IndexVar
    sign: int
    sum: Affine
    lo: int
    runs: Runs


def _line(statement: ir.Accumulate, dimension: int, box: Box) -> _Line | None:
    subscript = statement.indices[dimension]
    others = (index.variables for n, index in enumerate(statement.indices) if n != dimension)
    if subscript.is_linear or subscript.is_data or subscript.variables & frozenset[IndexVar]().union(*others):
        return None
    line = direction(subscript)
    if line is None or any(box[index][0] >= box[index][1] for index in subscript.variables):
        return None
    ends = Known.over(box).bounds(line)
    runs = None if ends is None else runs_along(subscript, line, *ends, MOST_RUNS)
    if ends is None or runs is None or any(abs(run.stride) > 1 for run in runs):
        return None
    signs = {index: weight.constant for index, weight in line.terms if isinstance(index, IndexVar)}
    found = [(box[i][1] - box[i][0], sign, i) for i, sign in signs.items() if sign is not None and abs(sign) == 1]
    if not found:
        return None
    _, sign, index = max(found, key=lambda each: each[0])
    return _Line(index, sign, line, ends[0], runs)


def _covers(runs: Runs, first: int, extent: int) -> bool:
    """Whether every element is named."""
    missing = first
    for lo, last in sorted((min(run.start, run.last), max(run.start, run.last)) for run in runs):
        if lo > missing:
            return False
        missing = max(missing, last + 1)
    return missing >= first + extent


def _received(
    statement: ir.Accumulate, dimension: int, line: _Line, box: Box, ends: tuple[int, int]
) -> tuple[ir.Accumulate, Box]:
    place = IndexVar(f"{line.index.name}'", line.index.tag)
    while place in box:
        place = IndexVar(place.name, place.tag + 1)
    around = {place if index == line.index else index: ends if index == line.index else box[index] for index in box}
    rest = line.sum - Affine.of(line.index).scale(line.sign)
    left = list(statement.indices)
    left[dimension] = Affine.of(place)
    guards = ir.conjuncts(statement.domain.guard)
    own = [part for part in guards if line.index in ir.free_indices(part)]
    outer = ir.conjunction([part for part in guards if part not in own])
    inner = replace(statement, indices=(), domain=replace(statement.domain, guard=ir.conjunction(own)))
    simplify = Known.over(around).simplify
    total: ir.Expr | None = None
    for condition, position in _positions(line, place, ends):
        value = (position - rest).scale(line.sign)
        moved = substitute(inner, {line.index: value}, statement.reduction, simplify)
        tests = [*condition, *(_within(value, box[line.index]) if rest.terms else ())]
        test = ir.conjunction([*tests, *ir.conjuncts(moved.domain.guard)])
        term = moved.value
        if test is not None:
            term = ir.Select(test, term, constant(0, term.dtype), term.dtype)
        total = term if total is None else ir.Binary("+", total, term, term.dtype)
    assert total is not None, "a line has a point"
    lost = tuple(sorted((index for index in rest.variables), key=str))
    domain = replace(statement.domain, guard=outer)
    reduction = (*lost, *statement.reduction)
    return replace(statement, indices=tuple(left), value=total, reduction=reduction, domain=domain), around


def _positions(line: _Line, place: IndexVar, ends: tuple[int, int]) -> Iterator[tuple[list[ir.Expr], Affine]]:
    """The points where the line names an element: the conditions on the element, and the position on the line."""
    at = line.lo
    for run in line.runs:
        yield from _of_run(run, at, place, ends)
        at += run.count


def _of_run(run: Run, at: int, place: IndexVar, ends: tuple[int, int]) -> Iterator[tuple[list[ir.Expr], Affine]]:
    if run.stride == 0:
        for number in range(run.count):
            test = ir.Binary("==", ir.Index(place), ir.Const(run.start, "int32"), "bool")
            yield [test], Affine.of(at + number)
        return
    reached = min(run.start, run.last), max(run.start, run.last) + 1
    tests = _within(Affine.of(place), (max(reached[0], ends[0]), min(reached[1], ends[1])), ends)
    yield tests, (Affine.of(place) - run.start).scale(run.stride) + at


def _within(value: Affine, ends: tuple[int, int], known: tuple[int, int] | None = None) -> list[ir.Expr]:
    """The conditions that a value is in a range, except known ones."""
    lo, hi = ends
    low, high = ir.within(ir.integer(value), ir.Const(lo, "int32"), ir.Const(hi, "int32"))
    return [*([low] if known is None or lo > known[0] else []), *([high] if known is None or hi < known[1] else [])]
