"""Reverse mode of loops: the adjoint of steps that update a tensor in place, with one cotangent tensor for all of them.

``for t in 1:T { h(t,d) = a(t,d) * h(t-1,d) }`` gives ``for t in T-1:0:-1 { d_h(t-1,d) += a(t,d) * d_h(t,d) }``,
followed by ``d_a(t,d) = d_h(t,d) * h(t-1,d)`` for all steps at once, since no step needs these sums.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ... import ir
from ...diagnostics import Code, CompileError
from ...ir import Reducer
from ...symbolic import Affine, IndexVar
from ..inlining import reads
from .arithmetic import add, choose, constant
from .backward import Occurrence
from .calls import targets
from .inversion import Inversion, Receipt, formula, gathered
from .overwriting import names_each, updates
from .pulling import are_told, pulled
from .scope import Scope
from .steps import Place, Step, copied, zeroed

if TYPE_CHECKING:
    from .programs import Adjoint

Formula = ir.Define | ir.Accumulate


@dataclass(frozen=True, slots=True)
class Remembered:
    """The steps of a program, with extra steps, by position, that save what later ones overwrite."""

    steps: Sequence[Step]
    before: dict[int, list[Step]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Step]:
        for number, step in enumerate(self.steps):
            yield from self.before.get(number, ())
            yield step

    def put(self, position: int, step: Step) -> None:
        """Adds a step before the one at this position."""
        found = self.before.setdefault(position, [])
        if step not in found:
            found.append(step)


def pass_back(adjoint: "Adjoint", run: tuple[Step, ...]) -> None:
    """Propagates the cotangents from the last step of a loop to its first one.

    Also used for a single step outside loops that updates a tensor written by loops.
    """
    _Backwards(adjoint, run).pass_back()


@dataclass(slots=True)
class _Part:
    """The adjoint of one step: the receipts of its reads, and the statements before and after these.

    `told` is the step's statement, with its guard reading the values from before the step.
    """

    step: Step
    told: Formula
    scope: Scope
    occurrences: list[Occurrence]
    before: list[Step]
    behind: list[Step]

    @property
    def statement(self) -> Formula:
        return self.step.formula

    def is_own(self, found: Occurrence) -> bool:
        """Whether the read is of the element that the step writes."""
        return found.access == ir.Access(self.statement.target, self.statement.indices)


class _Backwards:
    def __init__(self, adjoint: "Adjoint", run: tuple[Step, ...]) -> None:
        self.adjoint = adjoint
        self.overwriting = adjoint.overwriting
        self.run = run
        self.written = {name for step in run for name in targets(step.statement)}
        self.lost = {name for step in run if self.overwriting.is_lost(step) for name in targets(step.statement)}
        self.live = self.found_live()
        # The tensors whose cotangents begin with these steps, and the steps that come before.
        self.begun: list[str] = []
        self.before: list[Step] = []
        self.behind: list[tuple[_Part, list[Occurrence]]] = []
        # The values that steps read before another step overwrote them, by step and tensor: the writer, and the saved
        # copy.
        self.kept: dict[tuple[int, str], tuple[ir.Access, ir.Access]] = {}
        # The receipts of the elements of a tensor that gathers them where they were written.
        self.pulled: dict[str, list[tuple[Receipt, Scope]]] = {}

    def pass_back(self) -> None:
        adjoint = self.adjoint
        for name in sorted(self.written & self.live):
            if name not in adjoint.cotangents or name in self.receiving():
                self.cotangent(name)
        earlier = adjoint.backward
        parts = [self.part(step, step.formula) for step in reversed(self.run)]
        self.pull(parts)
        adjoint.backward = []
        for part in parts:
            first = len(adjoint.backward)
            self.add_pulled(part.step, ())
            adjoint.backward += part.before
            if part.statement.target.name in self.live:
                self.give(part)
            adjoint.backward += part.behind
            loops = tuple([loop.backwards() for loop in part.step.loops])
            adjoint.backward[first:] = [replace(made, loops=loops) for made in adjoint.backward[first:]]
        for name in self.begun:
            self.begin(name, adjoint.backward)
        self.keep_extents(adjoint.backward)
        adjoint.backward = [*earlier, *self.before, *adjoint.backward]
        for step, others in self.writers_before():
            self.add_pulled(step, others)
        for part, occurrences in self.behind:
            step, statement = part.step, part.statement
            cotangent = adjoint.cotangents[statement.target.name]
            adjoint.give(statement, cotangent, occurrences, part.scope)
            if step.replaces and self.overwriting.replaces(step):
                conditions = (test for loop in step.loops for test in loop.conditions())
                adjoint.backward.append(adjoint.emptied(step, statement, cotangent, conditions))

    # ---------------------------------------------------------------- collecting

    def pull(self, parts: list[_Part]) -> None:
        """Finds the tensors whose elements gather their cotangent: those of which steps read several elements."""
        found: dict[str, list[tuple[_Part, Occurrence]]] = {}
        for part in parts:
            for occurrence in part.occurrences:
                if occurrence.access.tensor.name in self.written and not part.is_own(occurrence):
                    found.setdefault(occurrence.access.tensor.name, []).append((part, occurrence))
        for name, each in found.items():
            if len({occurrence.access.indices for _, occurrence in each}) < 2 or not self.can_pull(name):
                continue
            if any(self.overwriting.is_shared(part.step) or self.lost & {*_needed(read)} for part, read in each):
                continue
            receipts = [(self.at_all_steps(part, occurrence), part.scope) for part, occurrence in each]
            if all(are_told(receipt.indices) for receipt, _ in receipts):
                self.pulled[name] = receipts
        for part in parts:
            if self.changes(part) and any(o.access.tensor.name in self.pulled for o in part.occurrences):
                self.keep_cotangent(part)

    def can_pull(self, name: str) -> bool:
        """Whether each step writes different elements, and it is known which ones, here and before."""
        for step in self.overwriting.steps[: self.overwriting.position(self.run[-1]) + 1]:
            if name in targets(step.statement) and self.overwriting.moves(step):
                if step.loops and (any(abs(loop.step) != 1 for loop in step.loops)):
                    return False
                if self.overwriting.is_shared(step) or not are_told(step.formula.indices):
                    return False
                if step in self.run and self.overwriting.is_lost(step):
                    return False
        return True

    def changes(self, part: _Part) -> bool:
        """Whether the cotangent of the written value differs from that of the old value."""
        own = [occurrence for occurrence in part.occurrences if part.is_own(occurrence)]
        if not own:
            return False
        given = ir.Access(self.adjoint.cotangents[part.statement.target.name], part.statement.indices)
        return len(own) > 1 or own[0].value != given or own[0].guard is not None

    def at_all_steps(self, part: _Part, occurrence: Occurrence) -> Receipt:
        """The receipt of a read at all steps."""
        adjoint, step = self.adjoint, part.step
        left = ir.left_indices(part.statement)
        occurrence = self.in_parallel(part, occurrence)
        inversion = Inversion(part.scope, adjoint.places, frozenset((*left, *step.fixed)))
        return inversion.receipt(occurrence, self.cotangent(occurrence.access.tensor.name))

    def in_parallel(self, part: _Part, occurrence: Occurrence) -> Occurrence:
        """The occurrence with new indices in place of the loops' indices."""
        loops = part.step.loops
        moving = ir.conjunction([test for loop in loops for test in loop.conditions()])
        bound = (*(loop.index for loop in loops), *occurrence.bound)
        return replace(occurrence, bound=bound, guard=ir.both(moving, occurrence.guard))

    def keep_cotangent(self, part: _Part) -> None:
        """Names the cotangent of a step's result if the step then changes it to that of the old value."""
        adjoint, step, statement = self.adjoint, part.step, part.statement
        cotangent = adjoint.cotangents[statement.target.name]
        place = adjoint.places[cotangent.name]
        kept = replace(cotangent, name=adjoint.namer.new(cotangent.name))
        adjoint.places[kept.name] = place
        new = ir.Access(kept, statement.indices)
        old = ir.Access(cotangent, statement.indices)
        part.before.append(Step(ir.Define(kept, statement.indices, old), step.intervals, True))
        part.occurrences = [_with(each, old, new) for each in part.occurrences]
        for name, receipts in self.pulled.items():
            own = [o for o in part.occurrences if o.access.tensor.name == name and not part.is_own(o)]
            rest = [(r, scope) for r, scope in receipts if scope is not part.scope]
            self.pulled[name] = rest + [(self.at_all_steps(part, o), part.scope) for o in own]

    def writers_before(self) -> Iterator[tuple[Step, list[Step]]]:
        """The earlier steps that wrote gathering elements, each with the steps that rewrite some of these."""
        steps = self.overwriting.steps
        first = self.overwriting.position(self.run[0])
        last = first + len(self.run)
        for number, step in enumerate(steps[:first]):
            if {*targets(step.statement)} & self.pulled.keys() and self.overwriting.moves(step):
                yield step, [other for other in steps[number + 1 : last] if self.overwriting.meets(step, other)]

    def add_pulled(self, step: Step, others: Sequence[Step]) -> None:
        """Adds the gathered receipts of the elements that a step wrote."""
        for receipt, scope in self.pulled.get(targets(step.statement)[0], ()):
            made = pulled(receipt, scope, step, others)
            if made is not None:
                self.adjoint.backward.append(replace(made, loops=()))

    # ---------------------------------------------------------------- cotangents

    def found_live(self) -> set[str]:
        """The tensors whose cotangents may be nonzero."""
        found = set(self.adjoint.cotangents)
        number = -1
        while number < len(found):
            number = len(found)
            for step in self.run:
                if found & {*targets(step.statement)} and self.overwriting.moves(step):
                    found |= {name for name in reads(step.statement) if name in self.adjoint.moving}
        return found

    def receiving(self) -> set[str]:
        """The tensors whose cotangents the steps change."""
        found: set[str] = set()
        for step in self.run:
            names = {*targets(step.statement)}
            if self.overwriting.is_shared(step) or self.overwriting.replaces(step):
                found |= names
            if names & self.live and self.overwriting.moves(step):
                found |= {*reads(step.statement)}
        return found

    def cotangent(self, name: str) -> ir.Tensor:
        """The tensor in which the steps accumulate a cotangent."""
        adjoint = self.adjoint
        known, target = adjoint.cotangents.get(name), adjoint.cotangent(name)
        if known != target:
            place = adjoint.places[target.name] = adjoint.places[name]
            adjoint.cotangents[name] = target
            if known is None:
                self.begun.append(name)
            else:
                self.before.append(copied(known, target, place))
        return target

    def begin(self, name: str, steps: list[Step]) -> None:
        """Sets a cotangent to zero before the steps, unless each of them first writes its own part."""
        target, place = self.adjoint.cotangents[name], self.adjoint.places[name]
        own = [number for number, step in enumerate(steps) if target.name in targets(step.statement)]
        if own and all(_fills(steps[number], steps[own[0]], place) for number in own):
            first = steps[own[0]]
            assert isinstance(first.statement, ir.Accumulate)
            steps[own[0]] = replace(first, statement=replace(first.statement, restart=True))
        else:
            self.before.append(zeroed(target, place))

    def keep_extents(self, steps: list[Step]) -> None:
        """Declares the extents of cotangents whose subscripts may be out of bounds unless a guard or boundary is
        considered.
        """
        for name in self.written & self.live | self.receiving():
            target = self.adjoint.cotangents.get(name)
            if target is None or target.name in self.adjoint.inputs or target in self.adjoint.declared:
                continue
            own = [step for step in steps if target.name in targets(step.statement)]
            if any(index.bare is None and index.variables for step in own for index in step.formula.indices):
                self.adjoint.declare(target, self.adjoint.places[target.name])

    # ---------------------------------------------------------------- one step

    def part(self, step: Step, statement: Formula) -> _Part:
        """The receipts of a step's reads, and the statements that restore what it overwrote, if needed."""
        adjoint, target, left = self.adjoint, statement.target, statement.indices
        found = _Part(step, statement, Scope(dict(step.intervals)), [], [], [])
        result, guard = ir.Access(target, left), statement.domain.guard
        own, is_lost = updates(step), self.overwriting.is_lost(step)
        old: ir.Access | None = None
        if own or is_lost:
            # If steps write different elements, nothing is restored: later steps read them. Earlier readers use the
            # copy.
            is_kept = is_lost and bool(step.loops) and names_each(left, step.fixed)
            changes = guard is not None and result in ir.accesses(guard)
            old, restore = self.remember(step, statement, is_kept or changes)
            if own and isinstance(statement, ir.Accumulate):
                # A restart where data names elements resets others, too.
                is_reset = statement.restart and any(index.is_data for index in left)
                if is_reset or statement.reducer is not Reducer.SUM:
                    raise _needed_twice(statement)
            if is_kept and not self.overwriting.tells(step):
                raise _written_twice(statement)
            if is_kept:
                is_lost = False
                pair = result, old
                self.kept |= {(id(other), target.name): pair for other, _, _ in self.overwriting.readers(step)}
            if is_lost:
                (found.before if own else found.behind).append(restore)
        if target.name not in self.live:
            return found
        adjoint.backward = []
        occurrences = adjoint.occurrences(statement, adjoint.cotangents[target.name], found.scope, step.fixed)
        found.before += adjoint.backward
        # Values overwritten by the step itself come before those overwritten by a later one.
        copies = [pair for (reader, _), pair in self.kept.items() if reader == id(step)]
        if old is not None and own and not is_lost:
            copies.insert(0, (result, old))
        value = statement.value
        for access, before in copies:
            occurrences = [_with(each, access, before) for each in occurrences]
            value = ir.replaced(value, access, before)
            guard = None if guard is None else ir.replaced(guard, access, before)
        found.told = replace(statement, domain=replace(statement.domain, guard=guard))
        if isinstance(statement, ir.Define) and value.dtype == target.dtype and self.overwriting.stays(step):
            # The result is available, so the derivative need not recompute it: ``1 - h(t) * h(t)`` for
            # ``h(t) = tanh(…)``.
            occurrences = [_with(each, value, result) for each in occurrences]
        found.occurrences = occurrences
        return found

    def give(self, part: _Part) -> None:
        """Adds to the cotangents of a step's reads, except those that no step needs; they follow after the loop."""
        adjoint, step, statement, scope = self.adjoint, part.step, part.statement, part.scope
        target, left = statement.target, statement.indices
        cotangent = adjoint.cotangents[target.name]
        axes = frozenset(ir.left_indices(statement)) - step.fixed
        inversion = Inversion(scope, adjoint.places, axes, fixed=step.fixed)
        stays = self.overwriting.in_turn(step)
        own: list[Receipt] = []
        inside: list[Receipt] = []
        behind: list[Occurrence] = []
        for occurrence in part.occurrences:
            name, is_own = occurrence.access.tensor.name, part.is_own(occurrence)
            if name in self.pulled and not is_own:
                continue
            if stays or name in self.written or self.lost & {*_needed(occurrence)}:
                receipt = inversion.receipt(occurrence, self.cotangent(name))
                (own if is_own else inside).append(receipt)
            else:
                behind.append(self.in_parallel(part, occurrence))
        for receipt in gathered(inside):
            adjoint.backward.append(Step(formula(receipt, restart=False), scope.ranges, True))
        if own:
            guard = adjoint.replaced(part.told)
            value = None if step.replaces else ir.Access(cotangent, left)
            for receipt in gathered(own):
                value = add(value, _inline(receipt, guard))
            if value is not None and value != ir.Access(cotangent, left):
                domain = ir.Domain(guard=guard)
                adjoint.backward.append(Step(ir.Define(cotangent, left, value, domain), scope.ranges, True))
        elif self.overwriting.empties(step):
            adjoint.backward.append(adjoint.emptied(step, part.told, cotangent))
        if not stays:
            self.behind.append((part, behind))

    def remember(self, step: Step, statement: Formula, everywhere: bool) -> tuple[ir.Access, Step]:
        """Saves what a step overwrites, `everywhere` or only where it does; returns the read of the saved value, and
        the step that restores it.
        """
        adjoint, target, indices = self.adjoint, statement.target, statement.indices
        guard = statement.domain.guard if isinstance(statement, ir.Define) and not everywhere else None
        scope, place = Scope(dict(step.intervals)), adjoint.places[target.name]
        is_data = any(index.is_data for index in indices)
        if is_data:
            indices, guard = tuple([Affine.of(scope.new(IndexVar("i"), ends)) for ends in place]), None
        free = list(dict.fromkeys(i for index in indices for i in sorted(index.variables - step.fixed, key=str)))
        axes = (*(loop.index for loop in step.loops), *free)
        room = tuple([scope.ranges[axis] for axis in axes])
        shape = tuple([interval.extent for interval in room])
        before = ir.Tensor(adjoint.namer.new(f"{target.name}_before"), target.dtype, shape)
        adjoint.places[before.name] = room
        old, domain = ir.Access(before, tuple(map(Affine.of, axes))), ir.Domain(guard=guard)
        position = self.overwriting.position(step)
        first = next(other for other in adjoint.forward if target.name in targets(other.statement))
        if step.loops and first.loops[:1] == step.loops[:1]:
            adjoint.remembered.put(self.overwriting.position(self.run[0]), zeroed(target, place))
        noted = ir.Define(before, old.indices, ir.Access(target, indices), domain)
        adjoint.remembered.put(position, Step(noted, scope.ranges, True, step.loops))
        restore = Step(ir.Define(target, indices, old, domain), scope.ranges, True)
        around = tuple([Affine.of(loop.index) for loop in step.loops])
        return replace(old, indices=(*around, *statement.indices)) if is_data else old, restore


def _fills(step: Step, first: Step, place: Place) -> bool:
    """Whether the step adds to the elements that the first one writes, which no other loop step does."""
    statement = step.statement
    if not isinstance(statement, ir.Accumulate) or step.loops != first.loops:
        return False
    indices = statement.indices
    bare = [index.bare for index in indices]
    if indices != first.formula.indices or None in bare or len(set(bare)) < len(bare):
        return False
    ends = zip(bare, place, strict=True)
    return names_each(indices, step.fixed) and all(i is not None and step.intervals[i] == p for i, p in ends)


def _inline(receipt: Receipt, guard: ir.Expr | None) -> ir.Expr:
    """The value that an element receives, under the `guard`."""
    known, value = ir.conjuncts(guard), receipt.value
    rest = ir.conjunction([test for test in ir.conjuncts(receipt.guard) if test not in known])
    if receipt.reduction:
        kind = ir.types.accumulator(value.dtype)
        return ir.Reduce(Reducer.SUM, receipt.reduction, (), rest, value, None, kind, value.dtype)
    return value if rest is None else choose(rest, value, constant(0, value.dtype))


def _with(occurrence: Occurrence, given: ir.Expr, other: ir.Expr) -> Occurrence:
    """The occurrence with a given expression replaced."""
    guard = None if occurrence.guard is None else ir.replaced(occurrence.guard, given, other)
    access = ir.rebuild(occurrence.access, lambda part: ir.replaced(part, given, other))
    assert isinstance(access, ir.Access)
    return replace(occurrence, access=access, value=ir.replaced(occurrence.value, given, other), guard=guard)


def _needed(occurrence: Occurrence) -> Iterator[str]:
    """The tensors on which a receipt's value and position depend."""
    guard = () if occurrence.guard is None else (occurrence.guard,)
    for part in (*ir.children(occurrence.access), occurrence.value, *guard):
        yield from (access.tensor.name for access in ir.accesses(part))


def _written_twice(statement: Formula) -> CompileError:
    name = statement.target.name
    return CompileError(
        Code.NO_DERIVATIVE,
        f"a step of the loop writes `{name}` again after it read it, and the derivative needs what it read",
        statement.span,
        help=f"write the first value of `{name}` to a tensor of another name",
    )


def _needed_twice(statement: ir.Accumulate) -> CompileError:
    name = statement.target.name
    return CompileError(
        Code.NO_DERIVATIVE,
        f"`{name}` goes on from its own value by `{statement.reducer.value}`, whose derivative needs both",
        statement.span,
        help=f"write `{name}` from a tensor of another name",
    )
