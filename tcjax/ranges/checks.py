"""Whether every read and write stays inside its tensor, once every size is a number."""

from collections.abc import Iterator, Mapping
from typing import Final, assert_never

from .. import ir
from ..diagnostics import CompileError
from ..symbolic import (
    Affine,
    AllOf,
    AnyOf,
    AtLeastZero,
    Condition,
    Facts,
    IndexVar,
    Interval,
    Search,
    SizeVar,
    all_of,
    any_of,
    compare,
)
from . import mistakes
from .bound import Box
from .conditions import test_condition
from .rounds import Constraint, Solution, is_solvable, solve
from .survey import Test


def check_accesses(solution: Solution, left: list[Constraint], box: Box, sizes: Mapping[SizeVar, int]) -> None:
    """Raises `CompileError` for the first access that is not in range wherever it happens (TC0701, TC0702).

    Exact for affine subscripts and affine guards, floors and remainders included; a guard that depends on data
    may hold anywhere. A subscript that depends on data is clamped: it only needs an element to read.
    """
    checker = _Checker(solution, box, sizes, left[0].read.access.tensor.name if left else "")
    for constraint in solution.reads:
        checker.check(constraint, writes=False)
    for constraint in left:
        if not constraint.subscript.is_data:
            checker.check(constraint, writes=True)


SMALL_CORNER: Final = 8


def check_targets(statement: ir.Define, solution: Solution, box: Box, sizes: Mapping[SizeVar, int]) -> None:
    """Raises `CompileError` (TC0704) where two points of an ``=`` write one element.

    Points are compared by pairs: `twins` are the indices of the second.
    """
    if all(index.bare is not None for index in statement.indices):
        return
    indices = solution.survey.indices
    twins = {index: IndexVar(f"{index.name}'", index.tag) for index in indices}
    targets = [index.substitute_sizes(sizes) for index in statement.indices]
    guard = _Checker(solution, box, sizes).condition(solution.survey.guard)
    same = [compare("==", target, _renamed(target, twins)) for target in targets]
    differ = any_of(compare("<", index, twin) for index, twin in twins.items())
    condition = all_of([*same, guard, _renamed_condition(guard, twins), differ])
    found = Search(empty=True)
    # Most collisions have one near the first point, which is quickly found.
    for width in (SMALL_CORNER, None):
        corner = {index: (lo, hi if width is None else min(hi, lo + width)) for index, (lo, hi) in box.items()}
        if found.empty:
            found = Facts.over({name: corner[i] for i in indices for name in (i, twins[i])}).find(condition)
    if not found.empty:
        raise mistakes.shared_target(statement, indices, twins, found.point, sizes)


def _renamed(affine: Affine, names: Mapping[IndexVar, IndexVar]) -> Affine:
    return affine.rewrite(lambda atom: names.get(atom, atom) if isinstance(atom, IndexVar) else atom)


def _renamed_condition(condition: Condition, names: Mapping[IndexVar, IndexVar]) -> Condition:
    match condition:
        case AtLeastZero(affine):
            return AtLeastZero(_renamed(affine, names))
        case AllOf(parts):
            return AllOf(tuple(_renamed_condition(part, names) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(_renamed_condition(part, names) for part in parts))
        case _:
            assert_never(condition)


class _Checker:
    def __init__(self, solution: Solution, box: Box, sizes: Mapping[SizeVar, int], target: str = "") -> None:
        self.solution = solution
        self.target = target
        self.box = box
        self.sizes = sizes
        self.facts = Facts.over(box)
        self.conditions: dict[int, Condition] = {}

    def check(self, constraint: Constraint, *, writes: bool) -> None:
        region = constraint.region
        assert region is not None
        domain = {index: self.box[index] for index in (*self.solution.survey.indices, *constraint.read.inner)}
        if constraint.subscript.is_data:
            if region.extent.constant == 0:
                self.search(constraint, region, all_of(()), domain, writes=writes)
            return
        subscript = constraint.subscript
        values = self.facts.values(subscript, quickly=True)
        if values is not None and _within(values, region):
            return
        outside = any_of([compare("<", subscript, region.lo), compare(">=", subscript, region.hi)])
        self.search(constraint, region, outside, domain, writes=writes)

    def search(
        self, constraint: Constraint, region: Interval, outside: Condition, domain: Box, *, writes: bool
    ) -> None:
        """Raises the mistake unless the guarded domain has no point outside."""
        found = Facts.over(domain, self.condition(constraint.read.path)).find(outside)
        if not found.empty:
            raise self.mistake(constraint, found.point, writes=writes)

    def condition(self, path: Test | None) -> Condition:
        """What must hold for an access to happen; the reads in a chain of conditionals share their tests."""
        parts: list[Condition] = []
        while path is not None:
            if id(path) not in self.conditions:
                self.conditions[id(path)] = test_condition(path, self.sizes)
            parts.append(self.conditions[id(path)])
            path = path.before
        return all_of(reversed(parts))

    def mistake(self, constraint: Constraint, point: Mapping[IndexVar, int] | None, *, writes: bool) -> CompileError:
        tightened = next(self.tightenings(constraint), None)
        error = mistakes.out_of_range(constraint, self.solution, point, self.sizes, tightened, writes=writes)
        if not writes and constraint.read.access.tensor.name == self.target:
            return mistakes.reads_itself(error)
        return error

    def tightenings(self, constraint: Constraint) -> Iterator[tuple[IndexVar, Interval]]:
        """Ranges that keep the access inside, each of one index while the others stay."""
        subscript, region = constraint.subscript, constraint.region
        for index in self.solution.ranges:
            if region is not None and is_solvable(subscript, index):
                others = Facts.over({other: range_ for other, range_ in self.box.items() if other != index})
                interval = solve(subscript, index, region, others)
                if interval is not None:
                    interval = interval.intersect(Interval.of(*self.box[index]))
                    if (interval.extent.constant or 0) > 0:
                        yield index, interval


def _within(values: tuple[int, int], region: Interval) -> bool:
    lo, hi = region.lo.constant, region.hi.constant
    assert lo is not None and hi is not None, region
    return lo <= values[0] and values[1] < hi
