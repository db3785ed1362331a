"""Range inference with symbols: the ranges of a function before any call."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final

from .. import ir
from ..symbolic import Affine, AtLeastZero, Facts, IndexVar, Interval, Size, SizeVar
from . import mistakes
from .pairs import undecided_own_reads
from .recurrences import undecided_steps
from .rounds import Place, Solution, solve_statement
from .sizes import as_variable
from .survey import Comprehension
from .targets import declared_place, found_place, grown_place, joined_place


@dataclass(frozen=True, slots=True)
class StatementRanges:
    """The interval of each index of a statement, None if it depends on sizes in a way without a formula.

    `reasons` gives the origin of each, in words: a read, or a given range. Both are empty for a call.
    """

    intervals: Mapping[IndexVar, Interval | None]
    reasons: Mapping[IndexVar, str]

    def show(self, index: IndexVar) -> str:
        """``[0, N)``, or a note that it depends on sizes."""
        return _show(self.intervals[index])

    def __str__(self) -> str:
        return "\n".join(f"{index} in {self.show(index)} from {self.reasons[index]}" for index in self.intervals)


@dataclass(frozen=True, slots=True)
class SymbolicRanges:
    """A function's ranges as formulas of its sizes.

    `statements` is in order; `locals` has, for each written tensor, the logical indices of its elements per dimension;
    `calls` are the callees' ranges in their own sizes, by statement number. A call is legal only if none of `needs` is
    negative: extents of ranges, and margins of unguarded accesses. For the `undecided` reads, it depends on sizes
    whether their statement writes what they read, which is an error (TC0708); for the `untimely` ones, whether a later
    step of a loop does; these are computed on demand.
    """

    function: ir.Function
    statements: tuple[StatementRanges, ...]
    locals: Mapping[str, tuple[Interval | None, ...]]
    calls: Mapping[int, "SymbolicRanges"] = field(default_factory=dict)
    needs: tuple[Size, ...] = ()
    undecided: tuple[ir.Access, ...] = ()
    solutions: Mapping[int, Solution] = field(default_factory=dict, repr=False)
    sizes: Mapping[SizeVar, Size] = field(default_factory=dict, repr=False)

    def extents(self, name: str) -> tuple[Size | None, ...]:
        """The extents of a written tensor, None where they depend on sizes."""
        return tuple(None if interval is None else interval.extent for interval in self.locals[name])

    def untimely(self) -> Iterator[ir.Access]:
        """The reads in loops for which it depends on sizes whether a later step writes what they read."""
        return undecided_steps(self.function, self.solutions, self.sizes)

    def __str__(self) -> str:
        tensors = [f"{name}({', '.join(map(_show, intervals))})" for name, intervals in self.locals.items()]
        return "\n".join([*map(str, self.statements), *tensors])


def infer_ranges(function: ir.Function, facts: Facts | None = None) -> SymbolicRanges:
    """The range of every index of every statement, as formulas of the parameters' sizes.

    `facts` about the sizes make formulas shorter. Raises `CompileError` if no sizes could help: TC0401 for an index
    that nothing bounds, TC0708 for a statement that reads what it writes.
    """
    inference = _Inference(function, facts or Facts())
    if function.growing:
        draft = _Inference(function, facts or Facts(), is_draft=True)
        draft.run()
        inference.settle(draft)
    inference.run()
    written = {name: place.intervals for name, place in inference.places.items() if name in inference.written}
    needs = tuple(size for size in inference.needs if not inference.facts.at_least_zero(size))
    return SymbolicRanges(
        function,
        tuple(inference.statements),
        written,
        inference.calls,
        needs,
        tuple(inference.undecided),
        inference.solutions,
        inference.sizes,
    )


# Longer extents keep their own name (``B.0``) in the formulas of later statements.
NAMED_EXTENT_LIMIT: Final = 100


class _Inference:
    """What is known about the tensors between two statements."""

    def __init__(self, function: ir.Function, facts: Facts, *, is_draft: bool = False) -> None:
        self.function = function
        self.growing = function.growing
        self.is_draft = is_draft
        self.settled: set[str] = set()
        # The writes to each tensor that grows, and the extents of ranges, which are not negative.
        self.found: dict[str, list[Place]] = {}
        self.extents: list[Size] = []
        self.facts = facts
        self.sizes: dict[SizeVar, Size] = {}
        self.written: set[str] = set()
        self.statements: list[StatementRanges] = []
        self.solutions: dict[int, Solution] = {}
        self.calls: dict[int, SymbolicRanges] = {}
        self.needs: dict[Size, None] = {}
        self.undecided: list[ir.Access] = []
        self.declared = {tensor.name for tensor in function.declared}
        # If an initial value is passed, it has the extents ``C.0``.
        self.places = {tensor.name: declared_place(tensor, {}) for tensor in (*function.initial, *function.declared)}
        self.places |= {tensor.name: declared_place(tensor, {}, written=True) for tensor in function.parameters}

    def run(self) -> None:
        """Processes all statements in order."""
        for number, statement in enumerate(self.function.statements):
            self.step(number, statement)

    def settle(self, draft: "_Inference") -> None:
        """Takes the positions of growing tensors from a draft."""
        for statement in self.function.statements:
            for target in ir.targets(statement):
                if target.name in self.growing and target.name not in self.settled:
                    self.write(target, draft.grown(target.name))
                    self.places[target.name] = replace(self.places[target.name], written=False)
                    self.settled.add(target.name)
        self.written.clear()

    def step(self, number: int, statement: ir.Statement) -> None:
        match statement:
            case ir.Define() | ir.Accumulate():
                self.statements.append(self.comprehend(statement, number))
                return
            case ir.Invoke(targets, function, arguments):
                callee = self.calls[number] = infer_ranges(function)
                sizes = self.callee_sizes(function, arguments)
                self.needs.update(
                    dict.fromkeys(need.substitute(sizes) for need in callee.needs if need.variables() <= sizes.keys())
                )
                for target, result in zip(targets, function.returns, strict=True):
                    intervals = callee.locals.get(result.name) or declared_place(result, {}).intervals
                    self.write(target, Place(tuple(_from_zero(interval, sizes) for interval in intervals)))
            case ir.ApplyForeign(targets, _, _):
                for target in targets:
                    self.write(target, declared_place(target, self.sizes))
        self.statements.append(StatementRanges({}, {}))

    def comprehend(self, statement: Comprehension, number: int) -> StatementRanges:
        solution = solve_statement(statement, self.places, self.sizes, self.facts)
        if self.function.around(number):
            self.solutions[number] = solution
        if solution.unsolved:
            raise mistakes.unbound_index(self.function, statement, solution)
        if self.is_draft and statement.target.name in self.growing:
            self.grow(statement, solution)
            return StatementRanges(solution.ranges, solution.reasons)
        self.need(solution)
        place = self.places.get(statement.target.name)
        if place is not None:
            self.undecided += undecided_own_reads(self.function, statement, solution, place, self.sizes, self.facts)
        self.write(statement.target, found_place(statement, solution, self.sizes))
        return StatementRanges(solution.ranges, solution.reasons)

    def grow(self, statement: Comprehension, solution: Solution) -> None:
        """Extends a growing tensor by what a statement writes."""
        self.extents += [interval.extent for interval in solution.ranges.values() if interval is not None]
        found = self.found.setdefault(statement.target.name, [])
        found.append(grown_place(statement, solution, self.sizes))
        self.places[statement.target.name] = self.grown(statement.target.name)

    def grown(self, name: str) -> Place:
        """The positions of a growing tensor's elements, as known so far."""
        facts = self.facts.assume(*(AtLeastZero(Affine.of(extent)) for extent in self.extents))
        return reduce(lambda one, other: joined_place(one, other, self.growing[name], facts), self.found[name])

    def need(self, solution: Solution) -> None:
        """Records the quantities that must not be negative for the statement to be legal, if they have formulas."""
        for interval in solution.ranges.values():
            if interval is not None:
                self.needs[interval.extent] = None
        for constraint in solution.reads:
            if constraint.region is None or constraint.read.path is not None:
                continue
            values = None if constraint.subscript.is_data else solution.facts.interval(constraint.subscript)
            if values is not None:
                self.needs[values.lo - constraint.region.lo] = None
                self.needs[constraint.region.hi - values.hi] = None

    def write(self, target: ir.Tensor, found: Place) -> None:
        """The first statement fixes where a tensor's elements are, unless a declaration does."""
        self.written.add(target.name)
        place = self.places.get(target.name)
        if place is not None and (place.written or target.name in self.declared | self.settled):
            self.places[target.name] = replace(place, written=True)
            return
        intervals: list[Interval | None] = []
        for size, interval in zip(target.shape, found.intervals, strict=True):
            variable = as_variable(size)
            if interval is not None:
                self.sizes[ir.first_of(target.name, len(intervals))] = interval.lo
            if variable is not None and interval is not None:
                if len(str(interval.extent)) > NAMED_EXTENT_LIMIT:
                    interval = Interval(interval.lo, interval.lo + variable)
                elif variable not in interval.extent.variables():
                    self.sizes[variable] = interval.extent
            intervals.append(interval)
        self.places[target.name] = replace(found, intervals=tuple(intervals), open=frozenset())

    def callee_sizes(self, function: ir.Function, arguments: tuple[ir.Tensor, ...]) -> dict[SizeVar, Size]:
        """The callee's sizes in terms of the caller's."""
        sizes: dict[SizeVar, Size] = {}
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            for size, interval in zip(parameter.shape, self.places[argument.name].intervals, strict=True):
                variable = as_variable(size)
                if variable is not None and interval is not None:
                    sizes.setdefault(variable, interval.extent)
        return sizes


def _from_zero(interval: Interval | None, sizes: Mapping[SizeVar, Size]) -> Interval | None:
    """A callee's dimension as the caller sees it; None if its extent needs a size that the arguments do not give."""
    if interval is None or not interval.extent.variables() <= sizes.keys():
        return None
    return Interval(Size.of(0), interval.extent.substitute(sizes))


def _show(interval: Interval | None) -> str:
    return "depends on sizes" if interval is None else str(interval)
