"""Range inference with numbers: every size, range and extent of a call, and a check of every access."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from .. import ir
from ..diagnostics import Code, CompileError, Span
from ..symbolic import Box, Facts, IndexVar, Interval, Size, SizeVar
from . import mistakes
from .assumptions import Assumption, check_assumptions
from .bound import Bound
from .checks import check_accesses
from .coverage import Coverage
from .limits import check_array, check_points
from .pairs import check_own_reads, check_targets
from .recurrences import check_order
from .rounds import Place, Solution, left_constraints, solve_statement
from .sizes import as_variable, bind_sizes
from .survey import Comprehension
from .targets import declared_place, found_place, grown_place, joined_place, settled_place

Shape = tuple[int, ...]
ForeignShapes = Callable[[str, tuple[ir.Tensor, ...], tuple[Shape, ...]], tuple[Shape, ...]]

# Index variables are int32.
LARGEST_EXTENT: Final = 2**31 - 1


def bind(
    function: ir.Function,
    shapes: Mapping[str, Shape],
    sizes: Mapping[str, int] | None = None,
    initial: Mapping[str, Shape] | None = None,
    foreign: ForeignShapes | None = None,
    assumptions: Sequence[Assumption] = (),
    *,
    limited: bool = True,
) -> Bound:
    """The result of range inference for a call with arguments of these `shapes` (by parameter name).

    `sizes` are given by keyword, `initial` are the shapes of the initial values passed for `function.initial`.
    `foreign` returns the result shapes of a Python function, given its name, the argument tensors and their shapes;
    only functions with an `ir.ApplyForeign` need it. `assumptions` about the sizes are checked. With `limited`, sizes
    beyond any array or loop are an error (TC0604); without it, an extent may mean "arbitrarily long". Raises
    `CompileError` for every mistake of section 4 to 7 (TC04xx, TC05xx, TC06xx, TC07xx).
    """
    known = bind_sizes(function, shapes, sizes, assumptions)

    def binder_of(settled: Mapping[str, Place] | None) -> _Binder:
        coverage = Coverage(function, shapes, assumptions)
        return _Binder(function, dict(known), initial or {}, foreign, coverage, limited, settled)

    binder = binder_of(_settled(function, binder_of(None)) if function.growing else {})
    for number, statement in enumerate(function.statements):
        binder.step(number, statement)
    bound = binder.finish()
    check_assumptions(function, assumptions, bound.sizes)
    return replace(bound, assumptions=tuple(map(str, assumptions))) if assumptions else bound


def _settled(function: ir.Function, draft: "_Binder") -> dict[str, Place]:
    """The positions of tensors that grow: the hull of all writes."""
    for number, statement in enumerate(function.statements):
        draft.step(number, statement)
    return {name: replace(draft.places[name], written=False, open=frozenset()) for name in draft.growing}


class _Binder:
    """What is known about the tensors between two statements.

    `settled` are the positions of tensors that grow; None while these are being inferred: then nothing is checked.
    """

    def __init__(
        self,
        function: ir.Function,
        sizes: dict[SizeVar, int],
        initial: Mapping[str, Shape],
        foreign: ForeignShapes | None,
        coverage: Coverage,
        limited: bool,
        settled: Mapping[str, Place] | None,
    ) -> None:
        self.function = function
        self.growing = function.growing
        self.is_draft = settled is None
        self.solved: dict[int, tuple[Solution, Box]] = {}
        self.coverage = coverage
        self.limited = limited
        self.sizes = sizes
        self.foreign = foreign
        self.declared = {tensor.name for tensor in function.declared}
        self.boxes: list[Box] = []
        self.reasons: list[Mapping[IndexVar, str]] = []
        self.calls: dict[int, Bound] = {}
        self.places = {tensor.name: declared_place(tensor, sizes, written=True) for tensor in function.parameters}
        for tensor in function.parameters:
            self.check_array(tensor, _extents(self.places[tensor.name]), tensor.span)
        self.places |= {tensor.name: declared_place(tensor, sizes) for tensor in function.declared}
        for tensor in function.initial:
            if tensor.name in initial:
                self.start(tensor, initial[tensor.name])
        self.places |= settled or {}
        for tensor in dict.fromkeys(target for s in function.statements for target in ir.targets(s)):
            # A condition in a step may refer to the extents of a tensor that a later step writes.
            if settled and tensor.name in settled:
                self.learn_shape(tensor, _extents(settled[tensor.name]))

    def start(self, tensor: ir.Tensor, shape: Shape) -> None:
        """Records the shape of an initial value."""
        if len(shape) != tensor.rank:
            raise CompileError(
                Code.ARGUMENT_RANK,
                f"`{tensor.name}` has rank {tensor.rank}, its initial value has the shape {shape}",
                tensor.span,
                help=f"pass an initial value of rank {tensor.rank} for `{tensor.name}`",
            )
        self.coverage.start(tensor, shape)
        if tensor.name not in self.declared:
            self.places[tensor.name] = Place(tuple(Interval.of(0, extent) for extent in shape), written=False)
            return
        self.learn_shape(tensor, shape)
        wanted = _extents(self.places[tensor.name])
        if wanted != shape:
            raise CompileError(
                Code.OUTPUT_SIZE,
                f"`{tensor.name}` is declared with the shape {wanted}, its initial value has the shape {shape}",
                tensor.span,
                help=f"pass an initial value of shape {wanted} for `{tensor.name}`",
            )

    def step(self, number: int, statement: ir.Statement) -> None:
        box: Box = {}
        reasons: Mapping[IndexVar, str] = {}
        match statement:
            case ir.Define() | ir.Accumulate():
                box, reasons = self.comprehend(number, statement)
            case ir.Invoke(targets, function, arguments):
                self.coverage.read_whole(arguments)
                shapes = [_extents(self.places[argument.name]) for argument in arguments]
                names = [parameter.name for parameter in function.parameters]
                bound = bind(
                    function, dict(zip(names, shapes, strict=True)), foreign=self.foreign, limited=self.limited
                )
                self.calls[number] = bound
                for target, result in zip(targets, function.returns, strict=True):
                    self.write_whole(statement, target, bound.shapes[result.name])
            case ir.ApplyForeign(targets, name, arguments, frame, varying):
                self.coverage.read_whole(arguments)
                assert self.foreign is not None, "a Python function's shapes need the callback"
                given = tuple(_extents(self.places[argument.name]) for argument in arguments)
                varies = varying or (False,) * len(given)
                lead = next((shape[:frame] for shape, v in zip(given, varies, strict=True) if v), ())
                cells = tuple(shape[frame:] if v else shape for shape, v in zip(given, varies, strict=True))
                for target, shape in zip(targets, self.foreign(name, arguments, cells), strict=True):
                    self.write_whole(statement, target, (*lead, *shape))
        self.boxes.append(box)
        self.reasons.append(reasons)

    def comprehend(self, number: int, statement: Comprehension) -> tuple[Box, Mapping[IndexVar, str]]:
        """Solves a statement, fixes its target and checks its accesses."""
        name = statement.target.name
        solution = self.solve(statement)
        if self.learn_free_sizes(statement, solution):
            solution = self.solve(statement)
        box = self.numbers(statement, solution)
        if self.is_draft:
            self.grow(statement, solution)
            return box, solution.reasons
        self.solved[number] = solution, box
        if name in self.places:
            check_own_reads(self.function, statement, solution, box, self.places[name], self.sizes)
        given = self.places.get(name)
        found = found_place(statement, solution, self.sizes)
        if given is not None and name in self.growing:
            place = replace(given, written=True)
        else:
            place = settled_place(self.function, statement, solution, given, found, declared=name in self.declared)
        self.require_known(place.intervals, statement)
        self.check_array(statement.target, _extents(place), statement.span)
        for dimension, extent in enumerate(_extents(place)):
            if extent > LARGEST_EXTENT:
                interval = place.intervals[dimension]
                assert interval is not None
                raise mistakes.too_large(statement, f"dimension {dimension} of `{name}`", interval)
        # A new target gets its extents from the writes.
        left = [] if given is None else left_constraints(statement, place, solution.survey, self.sizes)
        check_accesses(solution, left, box, self.sizes)
        if isinstance(statement, ir.Define):
            check_targets(statement, solution, box, self.sizes)
        self.places[name] = place
        self.learn_shape(statement.target, _extents(place))
        self.coverage.read(number, statement, solution, box)
        self.coverage.write(statement, solution, place, declared=name in self.declared)
        return box, solution.reasons

    def grow(self, statement: Comprehension, solution: Solution) -> None:
        """Extends the target, if it grows, by what the statement writes."""
        target = statement.target
        given = self.places.get(target.name)
        if target.name not in self.growing:
            found = found_place(statement, solution, self.sizes)
            place = settled_place(
                self.function, statement, solution, given, found, declared=target.name in self.declared
            )
            self.places[target.name] = place
            self.learn_shape(target, _extents(place))
        else:
            found = grown_place(statement, solution, self.sizes)
            for dimension, interval in enumerate(found.intervals):
                if interval is None and (given is None or dimension in given.open):
                    raise mistakes.unbound_target(self.function, statement, dimension)
            if given is not None:
                found = joined_place(given, found, self.growing[target.name], Facts())
            self.places[target.name] = found

    def solve(self, statement: Comprehension) -> Solution:
        solution = solve_statement(statement, self.places, self.sizes, Facts())
        if solution.unsolved:
            raise mistakes.unbound_index(self.function, statement, solution)
        return solution

    def learn_free_sizes(self, statement: Comprehension, solution: Solution) -> bool:
        """Infers sizes that are still unknown from what the statement writes; returns whether there was one."""
        place = self.places.get(statement.target.name)
        if place is None or place.written:
            return False
        found = found_place(statement, solution, self.sizes)
        before = len(self.sizes)
        for size, values in zip(statement.target.shape, found.intervals, strict=True):
            variable = as_variable(size)
            last = None if values is None else values.hi.constant
            if variable in self.function.free_sizes and last is not None:
                self.sizes.setdefault(variable, max(0, last))
        self.refresh()
        return len(self.sizes) > before

    def numbers(self, statement: Comprehension, solution: Solution) -> Box:
        """The ranges as numbers. Raises TC0404 for an unknown size, TC0602 for a negative extent."""
        box: dict[IndexVar, tuple[int, int]] = {}
        self.require_known(solution.ranges.values(), statement)
        for index, interval in solution.ranges.items():
            assert interval is not None
            lo, hi = interval.lo.constant, interval.hi.constant
            assert lo is not None and hi is not None
            if hi < lo:
                raise mistakes.negative_extent(solution, statement, index, interval)
            if hi - lo > LARGEST_EXTENT:
                raise mistakes.too_large(statement, f"`{index}`", interval)
            box[index] = (lo, hi)
        if self.limited:
            check_points(statement, box)
        return box

    def check_array(self, tensor: ir.Tensor, shape: Shape, span: Span) -> None:
        if self.limited:
            check_array(tensor, shape, span)

    def require_known(self, intervals: Iterable[Interval | None], statement: ir.Statement) -> None:
        """Raises TC0404 if a range or an extent still contains a variable."""
        for interval in intervals:
            if interval is None or not interval.is_constant:
                ends = () if interval is None else (interval.lo, interval.hi)
                unknown = {variable for end in ends for variable in end.variables()}
                raise mistakes.unbound_size(statement.span, unknown or self.missing_sizes())

    def write_whole(self, statement: ir.Statement, target: ir.Tensor, shape: Shape) -> None:
        """The target of a call: it starts at 0, unless it exists already."""
        self.check_array(target, shape, statement.span)
        place = self.places.get(target.name)
        if place is None:
            place = Place(tuple(Interval.of(0, extent) for extent in shape))
        wanted = _extents(place)
        if wanted != shape:
            raise mistakes.call_output_size(statement, target, shape, wanted)
        self.places[target.name] = Place(place.intervals)
        self.learn_shape(target, shape)

    def learn_shape(self, tensor: ir.Tensor, shape: Shape) -> None:
        """Records the sizes of a tensor's dimensions that were unknown."""
        for size, extent in zip(tensor.shape, shape, strict=True):
            variable = as_variable(size)
            if variable is not None:
                self.sizes.setdefault(variable, extent)
        if tensor.name in self.places:
            for dimension, first in enumerate(_origin(self.places[tensor.name])):
                self.sizes.setdefault(ir.first_of(tensor.name, dimension), first)
        self.refresh()

    def refresh(self) -> None:
        self.places = {name: place.substitute(self.sizes) for name, place in self.places.items()}

    def missing_sizes(self) -> list[SizeVar]:
        return [size for size in self.function.free_sizes if size not in self.sizes]

    def finish(self) -> Bound:
        missing = self.missing_sizes()
        if missing:
            raise mistakes.unbound_size(self.function.span, missing)
        check_order(self.function, self.solved, self.sizes)
        unread = self.coverage.unread()
        for each in unread:
            for number, index in each.indices:
                self.reasons[number] = {**self.reasons[number], index: f"{self.reasons[number][index]}; {each.note}"}
        return Bound(
            function=self.function,
            sizes=self.sizes,
            boxes=tuple(self.boxes),
            origins={name: _origin(place) for name, place in self.places.items()},
            shapes={name: _extents(place) for name, place in self.places.items()},
            calls=self.calls,
            reasons=tuple(self.reasons),
            unread=unread,
        )


def _extents(place: Place) -> Shape:
    return tuple(_number(interval and interval.extent) for interval in place.intervals)


def _origin(place: Place) -> Shape:
    return tuple(_number(interval and interval.lo) for interval in place.intervals)


def _number(size: Size | None) -> int:
    assert size is not None and size.constant is not None, "every size is known here"
    return size.constant
