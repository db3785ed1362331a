"""A function as a list of steps in single-assignment form: no calls, no given ranges, a new tensor for every state of a
tensor.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ... import ir, ranges
from ...diagnostics import Code, CompileError
from ...ir import Reducer
from ...symbolic import Affine, IndexVar, Interval, Size, SizeVar
from ..guards import guard_ranges
from ..inlining import reads
from ..substitution import reading
from .arithmetic import compare, constant
from .calls import AS_PASSED, Namer, inlined, passed_on, targets, with_sizes

Place = tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """``for index in lo:hi:step`` around steps, identified by `number` and the index."""

    index: IndexVar
    lo: Affine
    hi: Affine
    step: int
    number: int

    def backwards(self) -> "Loop":
        """The same values, from last to first."""
        apart = abs(self.step)
        reach = (self.hi - 1 - self.lo).quotient(apart).scale(apart)
        lo, hi = (self.lo, self.lo + reach + 1) if self.step > 0 else (self.hi - 1 - reach, self.hi)
        return replace(self, lo=lo, hi=hi, step=-self.step)

    def conditions(self) -> Iterator[ir.Expr]:
        """The conditions on the index besides its interval, if the ends vary."""
        index = ir.Index(self.index)
        if self.lo.variables:
            yield compare("<=", ir.integer(self.lo), index)
        if self.hi.variables:
            yield compare("<", index, ir.integer(self.hi))


@dataclass(frozen=True, slots=True)
class Step:
    """A statement without given ranges, the range of each of its indices, and the loops around it, outermost first.

    `is_partial` says that it continues from its target's elements, which another step wrote.
    """

    statement: ir.Statement
    intervals: Mapping[IndexVar, Interval] = field(default_factory=dict)
    is_partial: bool = False
    loops: tuple[Loop, ...] = ()

    @property
    def formula(self) -> ir.Define | ir.Accumulate:
        """The statement, which must not be a call."""
        assert isinstance(self.statement, (ir.Define, ir.Accumulate)), "there are no calls in loops"
        return self.statement

    @property
    def replaces(self) -> bool:
        """Whether the step discards the old value of every element that it writes."""
        return isinstance(self.formula, ir.Define) or self.formula.restart

    @property
    def fixed(self) -> frozenset[IndexVar]:
        """The indices of the loops."""
        return frozenset(loop.index for loop in self.loops)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a function; `places` are the logical ranges of all tensors' dimensions, `last` the final states."""

    steps: tuple[Step, ...]
    places: Mapping[str, Place]
    last: Mapping[str, ir.Tensor]


def flattened(function: ir.Function, namer: Namer) -> Steps:
    """The steps. Raises `CompileError` (TC0309) for a range without a formula."""
    # Without an initial value, an output starts from the identity.
    flat = replace(inlined(function, namer), initial=())
    known = ranges.infer_ranges(flat)
    for source in passed_on(flat):
        if any(interval is not None and interval.lo != Size.of(0) for interval in known.locals.get(source.name, ())):
            raise CompileError(
                Code.NO_DERIVATIVE,
                f"`{source.name}` is passed to a definition, or back, and does not begin at 0",
                source.span,
                help="write it from 0 on, or write the called definition's statements here",
            )
    # The adjoint may omit the statement that fixes a tensor's position.
    sizes: dict[SizeVar, Size] = {}
    for name, intervals in known.locals.items():
        for dimension, interval in enumerate(intervals):
            if interval is not None:
                sizes |= {SizeVar(f"{name}.{dimension}"): interval.extent, ir.first_of(name, dimension): interval.lo}
    flat = replace(flat, statements=tuple([with_sizes(statement, sizes) for statement in flat.statements]))
    places = {p.name: tuple([Interval(Size.of(0), size) for size in p.shape]) for p in flat.parameters}
    for name, intervals in known.locals.items():
        places[name] = tuple([_formula(interval, flat, name) for interval in intervals])
    return _Versions(flat, known, namer, places).steps()


def _formula(interval: Interval | None, function: ir.Function, what: str) -> Interval:
    if interval is None:
        raise CompileError(
            Code.NO_DERIVATIVE,
            f"the range of `{what}` depends on sizes in a way that has no formula",
            function.span,
            help="give it a range, `where i in 0:N`",
        )
    return interval


class _Versions:
    """Each statement that changes a tensor writes a new version, initialised with a copy."""

    def __init__(
        self, function: ir.Function, known: ranges.SymbolicRanges, namer: Namer, places: dict[str, Place]
    ) -> None:
        self.function = function
        self.known = known
        self.namer = namer
        self.places = places
        self.current: dict[str, ir.Tensor] = {p.name: p for p in function.parameters}
        self.declared = {tensor.name for tensor in function.declared}
        self.extended = self.declared | function.growing.keys()
        self.found: list[Step] = []
        # The loops whose indices are added to a tensor that each of their steps rewrites.
        self.grows = self.named()
        self.spread = {name: loops for name in self.grows if (loops := self.anew(name))}

    def steps(self) -> Steps:
        for number, (statement, solved) in enumerate(zip(self.function.statements, self.known.statements, strict=True)):
            match statement:
                case ir.Define() | ir.Accumulate():
                    intervals = {
                        index: _formula(interval, self.function, str(index))
                        for index, interval in solved.intervals.items()
                    }
                    if statement.domain.loops or statement.target.name in self.grows:
                        self.in_loops(number, statement, intervals)
                    else:
                        self.formula(statement, intervals)
                case ir.ApplyForeign(targets, _, arguments):
                    given = tuple([self.current[argument.name] for argument in arguments])
                    self.found.append(Step(replace(statement, arguments=given)))
                    self.current |= {target.name: target for target in targets}
                case ir.Invoke():
                    raise AssertionError("calls are inlined")
        return Steps(tuple(self.found), self.places, self.current)

    def formula(self, statement: ir.Define | ir.Accumulate, intervals: Mapping[IndexVar, Interval]) -> None:
        plain = guard_ranges(replace(statement, domain=ir.Domain()) if statement.domain == AS_PASSED else statement)
        plain = reading(replace(plain, domain=replace(plain.domain, exists=())), self.current)
        target, before = statement.target, self.current.get(statement.target.name)
        is_first = before is None or self.covers(plain, intervals, self.places[before.name])
        if before is not None and is_first:
            target = replace(target, name=self.namer.new(f"{target.name}_next"))
            self.places[target.name] = self.places[before.name]
        elif before is not None:
            target = replace(target, name=self.namer.new(f"{target.name}_next"))
            self.places[target.name] = self.places[before.name]
            self.found.append(copied(before, target, self.places[target.name]))
        elif target.name in self.extended and not self.covers(plain, intervals, self.places[target.name]):
            # Elements that no statement writes are zero, in the whole shape.
            self.found.append(zeroed(target, self.places[target.name]))
        plain = replace(plain, target=target)
        if isinstance(plain, ir.Accumulate) and (is_first or before is None or _replaces(plain)):
            plain = replace(plain, restart=True)
        if isinstance(plain, ir.Accumulate) and not plain.restart and plain.reducer is not Reducer.SUM:
            assert before is not None
            plain = self.joined(plain, before, intervals)
        is_partial = any(target.name in targets(step.statement) for step in self.found)
        self.found.append(Step(as_reduction(plain), intervals, is_partial))
        self.current[statement.target.name] = target

    # ---------------------------------------------------------------- loops

    def named(self) -> tuple[str, ...]:
        """The tensors that loops write."""
        run = (self.function.statements[n] for loop in self.function.loops for n in range(loop.first, loop.last))
        return tuple(dict.fromkeys(name for statement in run for name in targets(statement)))

    def anew(self, name: str) -> tuple[IndexVar, ...]:
        """The indices of the loops in which each step writes a tensor before it reads it, and nothing else reads it."""
        function = self.function
        touching = [n for n, s in enumerate(function.statements) if name in {*targets(s), *reads(s)}]
        first = function.statements[touching[0]]
        around = function.around(touching[0])
        if name in [tensor.name for tensor in function.returns] or not around:
            return ()
        assert isinstance(first, (ir.Define, ir.Accumulate))
        if any(name in _places_read(function.statements[number]) for number in touching):
            # With a loop's index on the left, the places would be those of a row for each step.
            return ()
        if name in reads(first) or not all(loop.holds(number) for loop in around for number in touching):
            return ()
        indices = tuple(loop.index for loop in around)
        lefts = frozenset[IndexVar]().union(*(index.variables for index in first.indices))
        intervals = {i: e for i, e in self.known.statements[touching[0]].intervals.items() if e is not None}
        if lefts & {*indices} or not lefts <= intervals.keys() or any(i not in intervals for i in indices):
            return ()
        plain = guard_ranges(_outside(first))
        return indices if self.covers(plain, intervals, self.places[name]) else ()

    def in_loops(
        self, number: int, statement: ir.Define | ir.Accumulate, intervals: Mapping[IndexVar, Interval]
    ) -> None:
        """The statement of a step: it continues to write the existing tensor."""
        loops = loops_around(self.function, number)
        name = statement.target.name
        if name not in self.current:
            self.begin(statement.target, intervals)
        target = self.current[name]
        plain = reading(guard_ranges(_outside(statement)), self.current)
        plain = replace(plain, target=target, domain=replace(plain.domain, exists=(), loops=()))
        if self.spread:
            plain = _spread(plain, {self.current[n].name: own for n, own in self.spread.items() if n in self.current})
        if isinstance(plain, ir.Accumulate) and _replaces(plain):
            plain = replace(plain, restart=True)
        if isinstance(plain, ir.Accumulate) and not plain.restart and plain.reducer is not Reducer.SUM:
            plain = self.joined(plain, target, intervals)
            if loops:
                plain = self.in_each(plain, loops)
        self.found.append(Step(as_reduction(plain), intervals, True, loops))

    def in_each(self, joined: ir.Define, loops: tuple[Loop, ...]) -> ir.Define:
        """The statement after the partial reduction that it joins, with one per step."""
        step = self.found.pop()
        assert isinstance(step.statement, ir.Accumulate)
        name, indices = step.statement.target.name, tuple(loop.index for loop in loops)
        around = tuple([step.intervals[index] for index in indices])
        self.places[name] = (*around, *self.places[name])
        shape = tuple([interval.extent for interval in self.places[name]])
        part = replace(step.statement.target, shape=shape)
        alone = _spread(replace(step.statement, target=part), {name: indices})
        self.found.append(replace(step, statement=alone, loops=loops))
        found = _spread(reading(joined, {name: part}), {name: indices})
        assert isinstance(found, ir.Define)
        return found

    def begin(self, target: ir.Tensor, intervals: Mapping[IndexVar, Interval]) -> None:
        """The tensor that loops begin to write: one for all their steps, where each rewrites it."""
        name = target.name
        self.current[name] = target
        if name in self.spread:
            self.places[name] = (*(intervals[index] for index in self.spread[name]), *self.places[name])
            shape = tuple([interval.extent for interval in self.places[name]])
            self.current[name] = replace(target, shape=shape)
        elif name in self.declared:
            before = len(self.found)
            while before and self.found[before - 1].loops:
                before -= 1
            self.found.insert(before, zeroed(target, self.places[name]))

    def covers(
        self, statement: ir.Define | ir.Accumulate, intervals: Mapping[IndexVar, Interval], place: Place
    ) -> bool:
        """Whether the statement gives every element a new value."""
        bare = [index.bare for index in statement.indices]
        if None in bare or len(set(bare)) < len(bare):
            return False
        if isinstance(statement, ir.Define) and statement.domain.guard is not None:
            return False
        if isinstance(statement, ir.Accumulate) and not statement.restart and not _replaces(statement):
            return False
        return all(index is not None and intervals[index] == p for index, p in zip(bare, place, strict=True))

    def joined(self, statement: ir.Accumulate, before: ir.Tensor, intervals: Mapping[IndexVar, Interval]) -> ir.Define:
        """``T(i) *= e`` as ``T(i) = T(i) * part(i)``, after ``part(i) *=! e``."""
        target, indices = statement.target, statement.indices
        bare = [index.bare for index in indices]
        if None in bare or len(set(bare)) < len(bare) or statement.reducer.operator is None:
            name = next(name for name, tensor in self.current.items() if tensor is before)
            raise CompileError(
                Code.NO_DERIVATIVE,
                f"`{name}` goes on by `{statement.reducer.value}`, which has no derivative here",
                statement.span,
                help="accumulate into a tensor of its own with `!`, and join the two in a statement after that",
            )
        part = replace(target, name=self.namer.new(f"{target.name}_part"))
        self.places[part.name] = tuple([intervals[index] for index in bare if index is not None])
        alone = replace(statement, target=part, restart=True)
        self.found.append(Step(alone, intervals))
        operator = statement.reducer.operator
        value = ir.Binary(operator, ir.Access(before, indices), ir.Access(part, indices), target.dtype)
        return ir.Define(target, indices, value)


def loops_around(function: ir.Function, number: int) -> tuple[Loop, ...]:
    """The loops around a statement, outermost first."""
    statement = function.statements[number]
    assert isinstance(statement, (ir.Define, ir.Accumulate)), "there are no calls in loops"
    given = {range_.index: range_ for range_ in statement.domain.ranges}
    return tuple(
        Loop(loop.index, given[loop.index].lo, given[loop.index].hi, loop.step, loop.first)
        for loop in function.around(number)
    )


def _outside(statement: ir.Define | ir.Accumulate) -> ir.Define | ir.Accumulate:
    """The statement without the ranges of the loops around it."""
    domain = statement.domain
    kept = tuple(range_ for range_ in domain.ranges if range_.index not in domain.loops)
    return replace(statement, domain=replace(domain, ranges=kept))


def _spread(
    statement: ir.Define | ir.Accumulate, loops: Mapping[str, tuple[IndexVar, ...]]
) -> ir.Define | ir.Accumulate:
    """The statement with the loops' indices before the subscripts of tensors."""

    def expr(node: ir.Expr) -> ir.Expr:
        node = ir.rebuild(node, expr)
        if isinstance(node, ir.Access) and node.tensor.name in loops:
            return replace(node, indices=(*map(Affine.of, loops[node.tensor.name]), *node.indices))
        return node

    found = ir.rebuild_statement(statement, expr)
    own = loops.get(statement.target.name, ())
    return replace(found, indices=(*map(Affine.of, own), *found.indices))


def _replaces(statement: ir.Accumulate) -> bool:
    """Whether a reduction that cannot continue from a value replaces it everywhere."""
    reducer = statement.reducer
    return isinstance(reducer, Reducer) and not reducer.continues and statement.domain.guard is None


def _places_read(statement: ir.Statement) -> set[str]:
    """The tensors whose values say which elements a statement writes."""
    indices = statement.indices if isinstance(statement, (ir.Define, ir.Accumulate)) else ()
    places = (atom.expr for index in indices for atom in ir.data_atoms(index))
    return {access.tensor.name for place in places for access in ir.accesses(place)}


def as_reduction(statement: ir.Define | ir.Accumulate) -> ir.Define | ir.Accumulate:
    """``O(i) = sum[k](e)`` as ``O(i) +=! e``."""
    match statement:
        case ir.Define(target, indices, ir.Reduce() as reduce, ir.Domain((), None)) if reduce.rank is None:
            if reduce.dtype != target.dtype or {None} & {i.bare for i in indices} or len(set(indices)) < len(indices):
                return statement
            if reduce.reducer.gives_position or reduce.ranges:
                return statement
            if not ir.free_indices(reduce.body).issuperset(reduce.indices):
                return statement
            domain = ir.Domain(guard=reduce.guard)
            return ir.Accumulate(
                target, indices, reduce.reducer, True, reduce.indices, reduce.body, reduce.accumulate, domain
            )
        case _:
            return statement


def whole(tensor: ir.Tensor, place: Place) -> tuple[tuple[Affine, ...], dict[IndexVar, Interval]]:
    """An index for each dimension, and its range."""
    indices = ir.letters(tensor.rank)
    return tuple(map(Affine.of, indices)), dict(zip(indices, place, strict=True))


def copied(source: ir.Tensor, target: ir.Tensor, place: Place) -> Step:
    indices, intervals = whole(target, place)
    return Step(ir.Define(target, indices, ir.Access(source, indices)), intervals)


def zeroed(target: ir.Tensor, place: Place) -> Step:
    indices, intervals = whole(target, place)
    return Step(ir.Define(target, indices, constant(0, target.dtype)), intervals)
