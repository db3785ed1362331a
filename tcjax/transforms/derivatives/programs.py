"""The adjoint of a whole program, as a program."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from ... import ir
from ...diagnostics import Code, CompileError
from ...symbolic import Affine, IndexVar, Interval, Size, SizeVar
from ..definitions import is_one_to_one
from .arithmetic import cast, compare, constant, times
from .backward import Backward, Occurrence
from .calls import Namer, apart, names_in, targets
from .clauses import clauses, needed
from .extending import Extending
from .forward import Known, depends
from .hoisting import hoisted, reduction
from .in_place import Remembered, pass_back
from .inversion import Inversion, Receipt, formula, gathered
from .links import is_smooth
from .overwriting import Overwriting
from .points import points
from .scope import Scope
from .spreading import Spreading
from .steps import Step, copied, flattened, whole, zeroed


def adjoint_program(function: ir.Function, wrt: Iterable[str] | None = None) -> ir.Function:
    """The function of the inputs and the cotangents ``d_C`` of the float outputs that gives ``d_A`` for each `wrt`.

    `wrt` are names of float parameters, all of them if None. Outputs that accumulate without ``!`` start from the
    identity. Raises `CompileError`: TC0308 for a name that is not a float parameter, TC0309 if there is no derivative.
    """
    names = _checked(function, wrt)
    namer = Namer(names_in(function))
    smooth = [number for number, tensor in enumerate(function.returns) if is_smooth(tensor.dtype)]
    outputs = {function.returns[number].name: number for number in reversed(smooth)}
    wanted = {f"d_{name}" for name in (*names, *outputs)}
    found = apart(function, wanted, namer)
    namer.taken -= wanted - {parameter.name for parameter in function.parameters}
    returned = {name: found.returns[number] for name, number in sorted(outputs.items(), key=lambda item: item[1])}
    return Adjoint(found, names, returned, namer).function()


def _checked(function: ir.Function, wrt: Iterable[str] | None) -> tuple[str, ...]:
    """The names of `wrt`."""
    real = [p.name for p in function.parameters if is_smooth(p.dtype)]
    given = tuple(real) if wrt is None else (wrt,) if isinstance(wrt, str) else tuple(wrt)
    types = {p.name: p.dtype for p in function.parameters}
    for name in given:
        if name in real:
            continue
        what = (
            f"has no parameter `{name}`"
            if name not in types
            else f"takes `{name}` as {types[name]}, which is not a float"
        )
        choice = ", ".join(f"`{name}`" for name in real)
        help = f"its float parameters are {choice}" if real else "declare a parameter as float"
        raise CompileError(Code.BAD_OPTION, f"`{function.name}` {what}", function.span, help=help)
    if not given or len(set(given)) < len(given):
        what = "names a parameter twice" if given else "names no parameter"
        help = "name each parameter once" if given else "declare a parameter as float, and name it"
        raise CompileError(Code.BAD_OPTION, f"`wrt` {what}", function.span, help=help)
    return given


class Adjoint:
    """Processes the steps from the last to the first, and adds to the cotangent of each operand."""

    def __init__(
        self, source: ir.Function, wrt: tuple[str, ...], outputs: Mapping[str, ir.Tensor], namer: Namer
    ) -> None:
        self.source = source
        self.namer = namer
        self.wrt = {p.name: p for name in wrt for p in source.parameters if p.name == name}
        # Reserve their names first.
        self.results = {name: replace(p, name=namer.new(f"d_{name}")) for name, p in self.wrt.items()}
        cotangents = {name: namer.new(f"d_{name}") for name in outputs}
        flat = flattened(source, namer)
        self.places = dict(flat.places)
        self.moving: dict[str, ir.Tensor] = dict(self.wrt)
        self.note_moving(flat.steps)
        self.forward: list[Step] = []
        for step in flat.steps:
            self.take(step)
        self.in_place = {name for step in self.forward if step.loops for name in targets(step.statement)}
        self.overwriting = Overwriting(self.forward, self.moving)
        self.remembered = Remembered(self.forward)
        self.backward: list[Step] = []
        # The cotangent of each tensor, as accumulated so far.
        self.cotangents: dict[str, ir.Tensor] = {}
        self.inputs: dict[str, ir.Tensor] = {}
        self.declared: list[ir.Tensor] = []
        # Sizes of the cotangents, as formulas in the inputs' sizes.
        self.sizes: dict[SizeVar, Size] = {}
        last = {name: flat.last[output.name] for name, output in outputs.items()}
        for name, output in last.items():
            self.inputs[cotangents[name]] = self.input(cotangents[name], output)
        self.forward[:] = [replace(step, intervals=self.named(step.intervals)) for step in self.forward]
        self.places = {name: tuple(map(self.named_end, place)) for name, place in self.places.items()}
        for name, output in last.items():
            self.start(self.inputs[cotangents[name]], output)

    def function(self) -> ir.Function:
        for run in reversed(list(self.runs())):
            self.reverse(run)
        for name in self.wrt:
            self.finish(name)
        results = tuple(self.results.values())
        steps = needed((*self.remembered, *self.backward), results)
        used = {name for step in steps for name in targets(step.statement)}
        return clauses(
            ir.Function(
                f"{self.source.name}_adjoint",
                (*self.source.parameters, *self.inputs.values()),
                results,
                (),
                (),
                tuple([tensor for tensor in self.declared if tensor.name in used]),
                self.source.free_sizes,
            ),
            steps,
            self.places,
            self.sizes,
        )

    # ---------------------------------------------------------------- forward

    def note_moving(self, steps: Iterable[Step]) -> None:
        """Records which tensors depend on `wrt`; in a loop also through statements further down."""
        number = -1
        while number < len(self.moving):
            number = len(self.moving)
            for step in steps:
                statement = step.statement
                if isinstance(statement, (ir.Define, ir.Accumulate)) and depends(statement.value, self.moving, {}):
                    self.moving.setdefault(statement.target.name, statement.target)

    def take(self, step: Step) -> None:
        """Records which tensors of the step depend on `wrt`."""
        statement = step.statement
        match statement:
            case ir.Define() | ir.Accumulate():
                for part in hoisted(step, self.moving, self.namer, self.places):
                    assert isinstance(part.statement, (ir.Define, ir.Accumulate))
                    self.forward.append(part)
                    if depends(part.statement.value, self.moving, {}):
                        self.moving[part.statement.target.name] = part.statement.target
            case ir.ApplyForeign(found, _, arguments):
                self.forward.append(step)
                if any(argument.name in self.moving for argument in arguments):
                    self.moving |= {target.name: target for target in found if is_smooth(target.dtype)}
            case ir.Invoke():
                raise AssertionError("calls are inlined")

    # ---------------------------------------------------------------- cotangents

    def input(self, name: str, output: ir.Tensor) -> ir.Tensor:
        """The input for the cotangent of an output; an extent that is a formula gets a name."""
        shape: list[Size] = []
        for axis, interval in enumerate(self.places[output.name]):
            extent = interval.extent
            if not _is_sayable(extent):
                known = next((variable for variable, size in self.sizes.items() if size == extent), None)
                if known is None:
                    known = SizeVar(self.namer.new(f"{name}_{axis}"))
                    self.sizes[known] = extent
                extent = Size.of(known)
            shape.append(extent)
        self.places[name] = tuple([Interval(Size.of(0), extent) for extent in shape])
        return ir.Tensor(name, output.dtype, tuple(shape))

    def named(self, intervals: Mapping[IndexVar, Interval]) -> dict[IndexVar, Interval]:
        return {index: self.named_end(interval) for index, interval in intervals.items()}

    def named_end(self, interval: Interval) -> Interval:
        """The range up to a named size, if it ends at the formula that the name stands for."""
        if interval.lo == Size.of(0):
            for variable, size in self.sizes.items():
                if size == interval.hi:
                    return Interval(interval.lo, Size.of(variable))
        return interval

    def start(self, cotangent: ir.Tensor, output: ir.Tensor) -> None:
        """The cotangent of an output, whose elements the input numbers from 0."""
        place = self.places[output.name]
        if output.name not in self.moving:
            return
        if output.name in self.cotangents or any(interval.lo != Size.of(0) for interval in place):
            indices, intervals = whole(output, place)
            shifted = tuple([index - interval.lo for index, interval in zip(indices, place, strict=True)])
            receipt = Receipt(self.cotangent(output.name), indices, (), ir.Access(cotangent, shifted), None)
            self.receive(output.name, [receipt], Scope(intervals))
        else:
            self.cotangents[output.name] = cotangent

    def cotangent(self, name: str) -> ir.Tensor:
        """The tensor in which a cotangent is accumulated; for an output, a copy of the input."""
        known = self.cotangents.get(name)
        if known is not None and known.name not in self.inputs:
            return known
        if name in self.results:
            return self.results[name]
        tensor = self.wrt.get(name) or self.moving[name]
        return replace(tensor, name=self.namer.new(f"d_{name}"))

    def receive(self, name: str, receipts: Iterable[Receipt], scope: Scope) -> None:
        """Adds to the cotangent of a tensor."""
        for receipt in receipts:
            known = self.cotangents.get(name)
            place = self.places[name]
            if known is not None and known.name in self.inputs:
                self.places[receipt.target.name] = place
                self.backward.append(copied(known, receipt.target, place))
                known = self.cotangents[name] = receipt.target
            target = receipt.target if known is None else known
            restart = known is None
            if restart:
                self.places[target.name] = place
                self.cotangents[name] = target
                if not _covers(receipt, scope, place):
                    restart = not self.clear(target, place)
            statement = formula(replace(receipt, target=target), restart=restart)
            self.backward.append(Step(statement, scope.ranges, not restart or target in self.declared))

    def clear(self, target: ir.Tensor, place: tuple[Interval, ...]) -> bool:
        """Sets a tensor to zero before anything is added to it; returns whether that takes a statement."""
        if self.declare(target, place):
            return False
        self.backward.append(zeroed(target, place))
        return True

    def declare(self, target: ir.Tensor, place: tuple[Interval, ...]) -> bool:
        """Declares the extents of a tensor; returns whether that is possible."""
        if any(interval.lo != Size.of(0) or not _is_sayable(interval.hi) for interval in place):
            return False
        self.declared.append(replace(target, shape=tuple([interval.hi for interval in place])))
        return True

    def finish(self, name: str) -> None:
        """The result for a parameter, under its name."""
        result, found = self.results[name], self.cotangents.get(name)
        if found == result:
            return
        self.places[result.name] = self.places[name]
        step = zeroed(result, self.places[name]) if found is None else copied(found, result, self.places[name])
        self.backward.append(step)

    # ---------------------------------------------------------------- backward

    def runs(self) -> Iterator[tuple[Step, ...]]:
        """The steps one by one, those of a loop together."""
        for _, run in groupby(self.forward, key=lambda step: step.loops[0] if step.loops else id(step)):
            yield tuple(run)

    def reverse(self, run: tuple[Step, ...]) -> None:
        """Propagates the cotangents of the steps' targets to what they read."""
        step = run[0]
        statement = step.statement
        match statement:
            case ir.Define() | ir.Accumulate() if self.in_place & set(targets(statement)):
                pass_back(self, run)
            case ir.ApplyForeign(found, name):
                if any(target.name in self.cotangents for target in found):
                    raise CompileError(
                        Code.NO_DERIVATIVE,
                        f"the Python function `{name}` takes whole tensors, so its derivative is no formula",
                        statement.span,
                        help="use `jax.grad`, or write the function in index notation",
                    )
            case ir.Define() | ir.Accumulate():
                if statement.target.name in self.cotangents:
                    self.pass_on(step, statement)
            case ir.Invoke():
                raise AssertionError("calls are inlined")

    def pass_on(self, step: Step, statement: ir.Define | ir.Accumulate) -> None:
        target = statement.target
        cotangent = self.cotangents[target.name]
        scope = Scope(dict(step.intervals))
        occurrences = self.occurrences(statement, cotangent, scope)
        source = self.whole_copy(step, statement)
        if source is not None and source not in self.cotangents and cotangent.name not in self.inputs:
            self.cotangents[source] = cotangent
            return
        self.give(statement, cotangent, occurrences, scope)
        self.forget(step, statement, cotangent)

    def give(
        self,
        statement: ir.Define | ir.Accumulate,
        cotangent: ir.Tensor,
        occurrences: Iterable[Occurrence],
        scope: Scope,
    ) -> None:
        """Adds the receipts of reads to the cotangents of their tensors."""
        inversion = Inversion(scope, self.places, frozenset(ir.left_indices(statement)))
        extending = Extending(inversion, self.namer, self.places)
        by_name: dict[str, list[Occurrence]] = {}
        for occurrence in map(extending.occurrence, occurrences):
            by_name.setdefault(occurrence.access.tensor.name, []).append(occurrence)
        extended = {tensor.name: (key[0], tensor) for key, (tensor, _) in extending.known.items()}
        spreading = Spreading(statement, cotangent, scope, self.namer, self.places)
        for name, found in by_name.items():
            source, tensor = extended.get(name, (name, None))
            into = self.cotangent(name) if tensor is None else replace(tensor, name=self.namer.new(f"d_{name}"))
            found = [spreading.occurrence(each) for each in found]
            inversion.axes |= spreading.axes
            self.backward += spreading.taken()
            self.receive(name, gathered([inversion.receipt(each, into) for each in found]), scope)
            if tensor is not None:
                receipt, around = extending.folded(tensor, self.cotangents[name], self.cotangent(source))
                self.receive(source, [receipt], around)

    def whole_copy(self, step: Step, statement: ir.Define | ir.Accumulate) -> str | None:
        """The tensor that the statement copies as a whole."""
        match statement:
            case ir.Define(target, indices, ir.Access(source, same), ir.Domain((), None)) if indices == same:
                bare = [index.bare for index in indices]
                if None in bare or len(set(bare)) < len(bare) or step.is_partial or source.name not in self.moving:
                    return None
                place = tuple([step.intervals[index] for index in bare if index is not None])
                if source.name in self.wrt:
                    return None
                return source.name if place == self.places[source.name] == self.places[target.name] else None
            case _:
                return None

    def forget(self, step: Step, statement: ir.Define | ir.Accumulate, cotangent: ir.Tensor) -> None:
        """Clears the cotangent of the old value where the step wrote."""
        target = statement.target
        if not step.is_partial or (isinstance(statement, ir.Accumulate) and not statement.restart):
            return
        earlier = [s.statement for s in self.forward if s is not step and target.name in targets(s.statement)]
        if not any(isinstance(s, ir.Define) and depends(s.value, self.moving, {}) for s in earlier):
            return
        if cotangent.name in self.inputs:
            rest = replace(target, name=self.namer.new(f"d_{target.name}"))
            self.places[rest.name] = self.places[target.name]
            self.backward.append(copied(cotangent, rest, self.places[target.name]))
            self.cotangents[target.name] = cotangent = rest
        self.backward.append(self.emptied(step, statement, cotangent))

    def emptied(
        self,
        step: Step,
        statement: ir.Define | ir.Accumulate,
        cotangent: ir.Tensor,
        conditions: Iterable[ir.Expr] = (),
    ) -> Step:
        """Sets a cotangent to zero where the step replaced old values."""
        guard = ir.conjunction(conditions)
        indices, intervals = statement.indices, step.intervals
        if isinstance(statement, ir.Define):
            guard = ir.both(guard, self.replaced(statement))
        else:
            indices, own = _reset(statement, self.places[statement.target.name])
            # Without a point nothing is named.
            gone = {*ir.left_indices(statement)} - step.fixed - {v for index in indices for v in index.variables}
            named = [i for index, i in intervals.items() if index in gone and (i.extent.constant or 0) < 1]
            ends = [(ir.integer(Affine.of(each.lo)), ir.integer(Affine.of(each.hi))) for each in named]
            guard = ir.both(guard, ir.conjunction([compare("<", *pair) for pair in ends]))
            intervals = {**intervals, **own}
        zero = ir.Define(cotangent, indices, constant(0, cotangent.dtype), ir.Domain(guard=guard))
        left = frozenset[IndexVar]().union(*(index.variables for index in indices))
        assert guard is None or ir.free_indices(guard) <= left | step.fixed, "a definition has the indices of its left"
        return Step(zero, {i: ends for i, ends in intervals.items() if i in left | step.fixed}, is_partial=True)

    def replaced(self, statement: ir.Define | ir.Accumulate) -> ir.Expr | None:
        """The condition under which a statement replaces the old value of the element that it names."""
        guard = _inside(statement, self.places[statement.target.name])
        # A restart resets an element whatever the guard.
        return guard if isinstance(statement, ir.Accumulate) else ir.both(guard, statement.domain.guard)

    def occurrences(
        self,
        statement: ir.Define | ir.Accumulate,
        cotangent: ir.Tensor,
        scope: Scope,
        fixed: frozenset[IndexVar] = frozenset(),
    ) -> list[Occurrence]:
        """The receipts of a statement's reads, at one value of each `fixed` index."""
        target, indices = statement.target, statement.indices
        left = tuple(index for index in ir.left_indices(statement) if index not in fixed)
        value = statement.value
        known: Known = {}
        if not depends(value, self.moving, known):
            return []
        backward = Backward(scope, self.moving, known)
        guard = ir.both(_inside(statement, self.places[target.name]), statement.domain.guard)
        if isinstance(statement, ir.Define):
            given = cast(ir.Access(cotangent, indices), value.dtype)
            return list(backward.pull(value, given, left, guard))
        reduce = ir.Reduce(
            statement.reducer,
            statement.reduction,
            (),
            statement.domain.guard,
            value,
            None,
            statement.accumulate,
            value.dtype,
            span=statement.span,
        )
        given = cast(ir.Access(cotangent, indices), value.dtype)
        scattered = not is_one_to_one(indices)
        if not statement.reduction and not scattered:
            return list(backward.pull(value, given, left, guard))

        def keep(name: str, wanted: ir.Reduce) -> ir.Expr:
            if not name:
                return cast(ir.Access(target, indices), wanted.dtype)
            kept = ir.Tensor(self.namer.new(f"{target.name}_{name}"), wanted.dtype, target.shape)
            self.places[kept.name] = self.places[target.name]
            made = reduction(kept, indices, wanted)
            if any(index.is_data for index in indices):
                self.backward.append(zeroed(kept, self.places[kept.name]))
            self.backward.append(Step(made, scope.ranges))
            return ir.Access(kept, indices)

        found = points(reduce, scope, frozenset(left) | fixed, keep, scattered=scattered)
        if found is None:
            return []
        for factor in (found.scale, found.weight):
            given = given if factor is None else times(given, factor)
        condition = ir.both(_inside(statement, self.places[target.name]), found.condition)
        return list(backward.pull(value, given, (*left, *statement.reduction), condition))


def _reset(
    statement: ir.Accumulate, place: tuple[Interval, ...]
) -> tuple[tuple[Affine, ...], dict[IndexVar, Interval]]:
    """The elements that a restart resets: along a dimension where data names them, all.

    With the ranges of the indices that run over such dimensions.
    """
    taken = {index.name for index in ir.left_indices(statement)}
    free = (index for index in ir.letters(len(statement.indices) + len(taken)) if index.name not in taken)
    own = {dimension: next(free) for dimension, index in enumerate(statement.indices) if index.is_data}
    indices = tuple(Affine.of(own[d]) if d in own else index for d, index in enumerate(statement.indices))
    return indices, {index: place[dimension] for dimension, index in own.items()}


def _inside(statement: ir.Define | ir.Accumulate, place: tuple[Interval, ...]) -> ir.Expr | None:
    """The condition that data names an existing element: other writes are dropped, whereas reads are clamped."""
    guard: ir.Expr | None = None
    for subscript, interval in zip(statement.indices, place, strict=True):
        if subscript.is_data:
            value = ir.integer(subscript)
            guard = ir.both(guard, compare("<=", ir.integer(Affine.of(interval.lo)), value))
            guard = ir.both(guard, compare("<", value, ir.integer(Affine.of(interval.hi))))
    return guard


def _covers(receipt: Receipt, scope: Scope, place: tuple[Interval, ...]) -> bool:
    """Whether the receipt's left side names every element exactly once."""
    bare = [index.bare for index in receipt.indices]
    if None in bare or len(set(bare)) < len(bare):
        return False
    return all(index is not None and scope.ranges[index] == p for index, p in zip(bare, place, strict=True))


def _is_sayable(size: Size) -> bool:
    """Whether a declaration can express it: a number or a name."""
    match size.terms:
        case (((SizeVar(name),), 1),):
            return "." not in name
        case _:
            return size.constant is not None and size.constant >= 0
