"""Run-time checks - out-of-bounds subscripts, division by zero, NaN - as statements that find the first failing point.

The statements are ordinary index notation: they are planned and computed on the program's own tensors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final, assert_never

from .. import ir
from ..diagnostics import Span
from ..ranges import Bound
from ..symbolic import Affine, Box, IndexVar
from .findings import Finding, Kind, Path, Words, findings, listed
from .guards import guard_ranges
from .specialize import specialize

# The number for "no failing point".
NOWHERE: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RuntimeCheck:
    """A possible failure at the points of `axes` (index, first value, extent), which are numbered row-major."""

    kind: Kind
    words: Words
    axes: tuple[tuple[IndexVar, int, int], ...]
    span: Span

    def said(self) -> str:
        """The message, as a format of the values of the indices in order, then of the offending one."""
        places: dict[IndexVar | None, str] = {index: f"{{{n}}}" for n, (index, _, _) in enumerate(self.axes)}
        at = ", ".join(f"{index} = {place}" for index, place in places.items())
        places[None] = f"{{{len(self.axes)}}}"
        said = "".join(
            part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else places.get(part, str(part))
            for part in self.words
        )
        return f"at {at} {said}" if at else said


@dataclass(frozen=True, slots=True)
class Inspection:
    """A program whose results are, for each check in turn, the first failing point, and the offending value there."""

    bound: Bound
    checks: tuple[RuntimeCheck, ...]


def inspect(bound: Bound, *, nan: bool = False, slopes: bool = False) -> Inspection:
    """The program that checks the data of a call.

    With `nan`, it also checks for NaN in targets; with `slopes`, for points where the slope of a function is infinite.
    """
    inspector = _Inspector(bound, nan, slopes)
    number, function = 0, bound.function
    while number < len(function.statements):
        around = function.around(number)
        if around:
            inspector.loop(around[0])
            number = around[0].last
        else:
            inspector.step(number, function.statements[number])
            number += 1
    return inspector.finish()


class _Inspector:
    def __init__(self, bound: Bound, nan: bool, slopes: bool) -> None:
        self.bound = bound
        self.nan = nan
        self.slopes = slopes
        self.statements: list[ir.Statement] = []
        self.boxes: list[Box] = []
        self.calls: dict[int, Bound] = {}
        self.results: list[ir.Tensor] = []
        # The first elements and extents of its temporaries.
        self.places: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self.checks: list[RuntimeCheck] = []
        self.loops: list[ir.Loop] = []

    def loop(self, outer: ir.Loop) -> None:
        """The statements of a loop; its reads are checked after it, when all steps are available.

        Values rewritten by every step are no longer available then: they are not checked.
        """
        function, shift = self.bound.function, len(self.statements) - outer.first
        numbers = range(outer.first, outer.last)
        for loop in function.loops:
            if outer.first <= loop.first and loop.last <= outer.last:
                self.loops.append(replace(loop, first=loop.first + shift, last=loop.last + shift))
        written: set[str] = set()
        for number in numbers:
            self.put(function.statements[number], self.bound.boxes[number])
            written |= {tensor.name for tensor in ir.targets(function.statements[number])}
        gone = written - function.recurrent
        for number in numbers:
            statement = function.statements[number]
            assert isinstance(statement, (ir.Define, ir.Accumulate)), "there are no calls in loops"
            plain = guard_ranges(specialize(statement, self.bound.sizes))
            for finding in findings(plain, self.bound, slopes=self.slopes):
                parts = (finding.wrong, finding.value, *finding.path.guards)
                if gone.isdisjoint(access.tensor.name for part in parts for access in ir.accesses(part)):
                    self.look(finding, self.bound.boxes[number])
        for number in numbers if self.nan else ():
            for target in ir.targets(function.statements[number]):
                self.look_for_nan(target, function.statements[number].span)

    def step(self, number: int, statement: ir.Statement) -> None:
        """A statement after its checks; NaN is checked after it."""
        box = self.bound.boxes[number]
        match statement:
            case ir.Define() | ir.Accumulate():
                plain = guard_ranges(specialize(statement, self.bound.sizes))
                for finding in findings(plain, self.bound, slopes=self.slopes):
                    self.look(finding, box)
                if isinstance(plain, ir.Define):
                    self.look_for_meetings(plain, box)
                self.put(statement, box)
                if self.nan:
                    self.look_for_nan(statement.target, statement.span)
            case ir.Invoke(targets, function, _):
                inner = inspect(self.bound.calls[number], nan=self.nan, slopes=self.slopes)
                results = inner.bound.function.returns
                added = tuple(replace(t, name=self.fresh(n)) for n, t in enumerate(results))
                whole = replace(inner.bound.function, returns=(*function.returns, *results))
                self.calls[len(self.statements)] = replace(inner.bound, function=whole)
                self.put(replace(statement, targets=(*targets, *added), function=whole), box)
                self.results += added
                self.checks += inner.checks
            case ir.ApplyForeign(targets):
                self.put(statement, box)
                for target in targets if self.nan else ():
                    self.look_for_nan(target, statement.span)
            case _:
                assert_never(statement)

    def put(self, statement: ir.Statement, box: Box) -> None:
        self.statements.append(statement)
        self.boxes.append(box)

    def fresh(self, more: int = 0) -> str:
        return f"check {len(self.results) + more}"

    def look_for_nan(self, target: ir.Tensor, span: Span) -> None:
        if not (ir.types.is_float(target.dtype) or ir.types.is_complex(target.dtype)):
            return
        origin, shape = self.bound.origins[target.name], self.bound.shapes[target.name]
        indices = tuple(IndexVar(f"i{d}") for d in range(len(shape)))
        box = {i: (lo, lo + extent) for i, lo, extent in zip(indices, origin, shape, strict=True)}
        element = ir.Access(target, tuple(map(Affine.of, indices)))
        wrong = ir.Binary("!=", element, element, "bool")
        words = (f"{target.name}[", *listed(indices), "] is NaN")
        self.look(Finding("nan", words, Path(indices), wrong, ir.Const(0, "int32"), span), box)

    def look_for_meetings(self, statement: ir.Define, box: Box) -> None:
        """The number of points that write each element, and the points that are not alone, for a ``unique`` promise."""
        if not any(index.is_data and index.variables for index in statement.indices):
            return
        name = statement.target.name
        # Programs do not use such names.
        counts = ir.Tensor(f"points of {name} {len(self.results)}", "int32", statement.target.shape)
        one, domain = ir.Const(1, "int32"), replace(statement.domain, exists=())
        self.put(ir.Accumulate(counts, statement.indices, ir.Reducer.SUM, True, (), one, "int32", domain), box)
        self.places[counts.name] = self.bound.origins[name], self.bound.shapes[name]
        found = ir.Access(counts, statement.indices)
        wrong = ir.Binary("<", one, found, "bool")
        ends = zip(statement.indices, *self.places[counts.name], strict=True)
        inside = [test for index, first, extent in ends if index.is_data for test in _within(index, first, extent)]
        guards = (*ir.conjuncts(statement.domain.guard), *inside)
        shown = listed([index.bare or str(index) for index in statement.indices])
        words = (f"this writes {name}[", *shown, "], which ", None, " points write")
        path = Path(ir.left_indices(statement), guards)
        self.look(Finding("meeting", words, path, wrong, found, statement.span), box)

    def look(self, finding: Finding, box: Box) -> None:
        """Two statements: the first failing point, and the offending value there."""
        expressions = (finding.wrong, finding.value, *finding.path.guards)
        used = frozenset[IndexVar]().union(*map(ir.free_indices, expressions))
        indices = tuple(index for index in finding.path.indices if index in used)
        axes = tuple((index, box[index][0], box[index][1] - box[index][0]) for index in indices)
        if any(box[index][0] >= box[index][1] for index in finding.path.indices):
            return
        if prod(extent for *_, extent in axes) >= NOWHERE:
            # Points beyond int32 have no number: they are not checked.
            return
        inside = {index: box[index] for index in box if index in used or index not in finding.path.indices}
        number = _number(axes)
        first = ir.Tensor(self.fresh(), "int32", ())
        domain = ir.Domain((), ir.conjunction(finding.path.guards))
        nothing = ir.Const(NOWHERE, "int32")
        where = ir.Select(finding.wrong, number, nothing, "int32")
        self.put(ir.Accumulate(first, (), ir.Reducer.MIN, True, indices, where, "int32", domain), inside)
        self.results.append(first)
        value = ir.Tensor(self.fresh(), "int32", ())
        here = ir.Binary("==", number, ir.Access(first, ()), "bool")
        shown = ir.Select(here, finding.value, ir.Const(0, "int32"), "int32")
        self.put(ir.Accumulate(value, (), ir.Reducer.SUM, True, indices, shown, "int32", domain), inside)
        self.results.append(value)
        self.checks.append(RuntimeCheck(finding.kind, finding.words, axes, finding.span))

    def finish(self) -> Inspection:
        scalars = {tensor.name: () for tensor in self.results}
        function = replace(
            self.bound.function, statements=tuple(self.statements), returns=tuple(self.results), loops=tuple(self.loops)
        )
        origins = scalars | {name: first for name, (first, _) in self.places.items()}
        shapes = scalars | {name: extents for name, (_, extents) in self.places.items()}
        bound = replace(
            self.bound,
            function=function,
            boxes=tuple(self.boxes),
            origins={**self.bound.origins, **origins},
            shapes={**self.bound.shapes, **shapes},
            calls=self.calls,
            reasons=tuple({} for _ in self.statements),
        )
        return Inspection(bound, tuple(self.checks))


def _within(index: Affine, first: int, extent: int) -> tuple[ir.Expr, ir.Expr]:
    """The condition that data names an element: elsewhere nothing is written."""
    return ir.within(ir.integer(index), ir.Const(first, "int32"), ir.Const(first + extent, "int32"))


def _number(axes: Sequence[tuple[IndexVar, int, int]]) -> ir.Expr:
    """The row-major number of a point."""
    number: ir.Expr = ir.Const(0, "int32")
    for index, lo, extent in axes:
        place = ir.Binary("-", ir.Index(index), ir.Const(lo, "int32"), "int32")
        number = ir.Binary("+", ir.Binary("*", number, ir.Const(extent, "int32"), "int32"), place, "int32")
    return number


__all__ = ["NOWHERE", "Inspection", "RuntimeCheck", "inspect"]
