"""Whether every read and write stays inside its tensor, once every size is a number."""

from collections.abc import Iterator, Mapping

from ..diagnostics import CompileError
from ..symbolic import Box, Condition, Facts, IndexVar, Interval, SizeVar, all_of, any_of, compare
from . import mistakes
from .conditions import Paths
from .rounds import Constraint, Solution, is_solvable, solve


def check_accesses(solution: Solution, left: list[Constraint], box: Box, sizes: Mapping[SizeVar, int]) -> None:
    """Raises `CompileError` for the first access that can be out of range where it is executed (TC0701, TC0702).

    Exact for affine subscripts and affine guards, including floors and remainders; a data-dependent guard is assumed to
    hold anywhere. A data-dependent subscript is clamped: it only needs an element to read.
    """
    checker = _Checker(solution, box, sizes)
    for constraint in solution.reads:
        checker.check(constraint, writes=False)
    for constraint in left:
        if not constraint.subscript.is_data:
            checker.check(constraint, writes=True)


class _Checker:
    def __init__(self, solution: Solution, box: Box, sizes: Mapping[SizeVar, int]) -> None:
        self.solution = solution
        self.box = box
        self.sizes = sizes
        self.facts = Facts.over(box)
        self.paths = Paths(sizes)

    def check(self, constraint: Constraint, *, writes: bool) -> None:
        region = constraint.region
        assert region is not None
        domain = {index: self.box[index] for index in (*self.solution.survey.indices, *constraint.read.inner)}
        if constraint.is_always_inside:
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
        """Raises the error unless the guarded domain has no point outside."""
        found = Facts.over(domain, self.paths.condition(constraint.read.path)).find(outside)
        if not found.empty:
            raise self.mistake(constraint, found.point, writes=writes)

    def mistake(self, constraint: Constraint, point: Mapping[IndexVar, int] | None, *, writes: bool) -> CompileError:
        tightened = next(self.tightenings(constraint), None)
        return mistakes.out_of_range(constraint, self.solution, point, self.sizes, tightened, writes=writes)

    def tightenings(self, constraint: Constraint) -> Iterator[tuple[IndexVar, Interval]]:
        """Ranges that keep the access inside, each for one index with the others unchanged."""
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
