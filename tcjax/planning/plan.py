"""How each statement of a bound function is computed, and why."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from .. import ir, ranges, transforms
from ..transforms import Step
from .assembly import Overlay, assemblies
from .choice import MOST_GROWTH, SMALL_SPACE
from .formulas import plan_formula
from .nodes import Apply, Fill, Iota, Node, Read, Strip, holds_data, operands
from .online import fuse
from .parts import in_parts
from .preferences import DEFAULT, Preferences
from .prices import price
from .printer import operations_of
from .provisos import WORTH, placed, tensors, tests
from .recomputed import stored_apart
from .reductions import fixed
from .sharing import share
from .stages import Call, CallForeign, Compute, Plan, Proviso, Stage, Unstored
from .temporaries import settle

# More places than this are never cheaper as a condition for each of them.
FEW_PLACES: Final = 16


def make_plan(bound: ranges.Bound, preferences: Preferences = DEFAULT) -> Plan:
    """Chooses the operation for each statement, and which of the reductions that the program repeats are stored."""
    if preferences.stored or preferences.forms:
        return _planned(bound, preferences)
    most = _most_stored(bound, preferences)
    without: set[transforms.CommonForm] = set()
    while True:
        wide, names = transforms.named_in_common(bound, most, without)
        plan = _planned(wide, preferences)
        # What is computed where it is read needs no name.
        gone = [names[s.target] for s in plan.stages if isinstance(s, Unstored) and s.target in names]
        if not gone:
            return replace(plan, stages=tuple(_told(stage, names) for stage in plan.stages)) if names else plan
        without.update(gone)


def _most_stored(bound: ranges.Bound, preferences: Preferences) -> int:
    """The bytes that a value may have to which nobody gave a name."""
    if preferences.backend.memory is not None:
        return preferences.backend.memory
    tensors = (*bound.function.parameters, *bound.function.returns)
    given = sum(prod(bound.shapes[tensor.name]) * ir.types.width(tensor.dtype) for tensor in tensors)
    return max(SMALL_SPACE, MOST_GROWTH * given)


def _told(stage: Stage, names: Collection[str]) -> Stage:
    """The stage; of a reduction that the program repeats it says so."""
    if not isinstance(stage, Compute) or stage.target not in names:
        return stage
    return replace(stage, decided=(*stage.decided, "the program has it more than once, and it is computed once"))


def _planned(bound: ranges.Bound, preferences: Preferences) -> Plan:
    function = bound.function
    planner = _Planner(bound, preferences)
    settled = settle(bound, preferences, planner.plan)
    defined = {tensor.name for tensor in function.initial}
    stages: list[Stage] = []
    for number, statement in enumerate(function.statements):
        match statement:
            case ir.Define(target) | ir.Accumulate(target) if number in settled.gone:
                gone = settled.gone[number]
                reading = (ir.targets(function.statements[reader]) for reader in gone.readers)
                readers = tuple(dict.fromkeys(tensor.name for tensors in reading for tensor in tensors))
                shape = bound.shapes[target.name]
                prices = gone.seconds, gone.stored
                stages.append(Unstored(target.name, target.dtype, shape, readers, *prices, statement))
                continue
            case ir.Define(target) | ir.Accumulate(target):
                stages.append(planner.plan(number, settled.steps[number], target.name in defined))
            case ir.Invoke(targets, _, arguments):
                stages.append(Call(_names(targets), make_plan(bound.calls[number], preferences), _names(arguments)))
            case ir.ApplyForeign(targets, name, arguments, frame, varying):
                results = tuple((tensor.dtype, bound.shapes[tensor.name]) for tensor in targets)
                stages.append(CallForeign(_names(targets), name, _names(arguments), results, frame, varying))
        defined.update(_names(ir.targets(statement)))
    plan = _assembled(bound, stages, settled.steps, planner)

    def plan_steps(part: ranges.Bound, steps: Mapping[int, Step]) -> Plan:
        planner = _Planner(part, preferences)
        names = [step.statement.target.name for step in steps.values()]
        stages: list[Stage] = [planner.plan(n, step, names[n] in names[:n]) for n, step in steps.items()]
        return _assembled(part, stages, steps, planner)

    return in_parts(plan, settled.steps, preferences, plan_steps)


def _assembled(bound: ranges.Bound, stages: list[Stage], steps: Mapping[int, Step], planner: "_Planner") -> Plan:
    """The plan of these stages: with those as one that make one array, or one pass."""
    function, preferences = bound.function, planner.preferences
    initial = {tensor.name: tensor.dtype for tensor in function.initial}
    names = _names(function.parameters), _names(function.returns)
    groups = assemblies(stages)
    for number, assembly in groups.items():
        if isinstance(assembly.whole, Overlay):
            wide = _widened(steps[number + 1], planner)
            if wide is not None:
                stages[number + 1] = wide
                whole = replace(assembly.whole, everywhere=True)
                groups[number] = replace(assembly, whole=whole)
    fused = share(fuse(stages, initial, preferences), initial, preferences)
    return Plan(function.name, *names, initial, stored_apart(fused, names[1]), bound, groups)


class _Planner:
    """Plans the statements of a function, each form of one once."""

    def __init__(self, bound: ranges.Bound, preferences: Preferences) -> None:
        self.bound = bound
        self.preferences = preferences
        self.known: dict[tuple[int, bool], tuple[Step, Compute]] = {}

    def plan(self, number: int, step: Step, defined: bool = True) -> Compute:
        """The statement; its target may have content where it is `defined`."""
        known = self.known.get((number, defined))
        if known is None or known[0] is not step:
            known = self.known[number, defined] = step, self.cheaper(step, defined)
        return known[1]

    def cheaper(self, step: Step, defined: bool) -> Compute:
        """The statement in the form that costs least: with sums in sums as one, with a part of it computed before."""
        if self.preferences.stored or step.statement.target.name in self.preferences.forms:
            return next(self.ways(step, defined)).stage
        step = transforms.windowed(transforms.plain_extrema(step))
        flat = transforms.flattened(step.statement)
        pieces = transforms.in_pieces(step)
        forms = (step, *(() if flat is None else (replace(step, statement=flat),)))
        forms = (*forms, *(() if pieces is None else (pieces,)))
        found = [way for form in forms for way in self.ways(form, defined)]
        otherwise = min(found, key=lambda way: way.seconds)
        found += [way for form in forms for way in self.provided(form, defined, otherwise)]
        if len(found) == 1:
            return found[0].stage
        first, second, *_ = sorted(found, key=lambda way: way.seconds)
        own, other = first.stage.runner_up, (operations_of(second.stage), second.seconds - first.seconds)
        return replace(first.stage, runner_up=other if own is None or other[1] < own[1] else own)

    def ways(
        self, step: Step, defined: bool, shapes: transforms.Shapes | None = None, lows: transforms.Shapes | None = None
    ) -> Iterator["_Way"]:
        """One form of a statement as a whole, and with parts of it computed before.

        `shapes` and `lows`, where they begin, are those of the tensors that it reads; the program's, if not given.
        """
        shapes, lows = shapes or self.bound.shapes, lows or self.bound.origins
        own, solved = self.solved(step)
        yield self.whole(own, solved, defined, shapes, lows)
        if _has_few_places(step, own):
            yield self.whole(step, (), defined, shapes, lows)
        # No program names a tensor so.
        name = step.statement.target.name + "~" * (1 + len(shapes) - len(self.bound.shapes))
        for first, second in transforms.apart(own, name, shapes, lows, is_new=not defined):
            wide = {**shapes, name: tuple(size.constant or 0 for size in first.statement.target.shape)}
            begin = {**lows, name: _lows(first, second)}
            before = self.compute(first, first.box, False, wide, begin)
            for way in self.ways(second, defined, wide, begin):
                stage = replace(way.stage, before=(before, *way.stage.before), decided=(*solved, *way.stage.decided))
                yield _Way.of(stage, wide)

    def whole(
        self, step: Step, solved: tuple[str, ...], defined: bool, shapes: transforms.Shapes, lows: transforms.Shapes
    ) -> "_Way":
        """The statement in one piece; `solved` says which of its indices became data."""
        found = self.compute(step, step.box, defined, shapes, lows)
        return _Way.of(replace(found, decided=(*solved, *found.decided)), shapes)

    def provided(self, step: Step, defined: bool, otherwise: "_Way") -> Iterator["_Way"]:
        """A form with guards for factors that may be zero, where that costs much less than `otherwise`."""
        found = transforms.without_truths(step.statement)
        if found is None or any(isinstance(node, ir.Foreign) for node in ir.walk(step.statement.value)):
            # A Python function may use values that JAX traces: no operand of one of two ways.
            return
        checks = [self.test(test) for test in tests(step, found.finite)]
        seconds = sum(check.seconds for check in checks)
        proviso = Proviso(tuple(check.stage for check in checks), otherwise.stage, tensors(found.finite))
        form = replace(step, statement=found.statement)
        name = step.statement.target.name
        own, _ = self.solved(form)
        counted = placed(own, found.finite, self.bound.shapes[name], self.bound.origins[name])
        places = None if counted is None else self.test(counted)
        if places is not None:
            proviso, seconds = replace(proviso, placed=places.stage), places.seconds
        for way in self.ways(form, defined):
            if way.seconds + seconds <= WORTH * otherwise.seconds:
                yield _Way(replace(way.stage, proviso=proviso if checks else None), way.seconds + seconds)

    def test(self, step: Step) -> "_Way":
        """A statement whose result is one number that no other statement reads."""
        name = step.statement.target.name
        shapes, origins = {**self.bound.shapes, name: ()}, {**self.bound.origins, name: ()}
        return _Way.of(self.compute(step, step.box, False, shapes, origins), shapes)

    def solved(self, step: Step) -> tuple[Step, tuple[str, ...]]:
        name = step.statement.target.name
        statement, notes = transforms.solve(step.statement, step.box, self.bound.shapes[name], self.bound.origins[name])
        return (replace(step, statement=statement), notes) if notes else (step, ())

    def compute(
        self, step: Step, box: ranges.Box, defined: bool, shapes: transforms.Shapes, origins: transforms.Shapes
    ) -> Compute:
        found = plan_formula(step.statement, box, shapes, origins, defined=defined, preferences=self.preferences)
        if not step.fixed:
            return found
        why = f"`{found.target}` cancels in every result: no derivative passes it"
        return replace(found, value=fixed(found.value), decided=(*found.decided, why))


@dataclass(frozen=True, slots=True)
class _Way:
    """A plan of a statement, and its price in seconds."""

    stage: Compute
    seconds: float

    @staticmethod
    def of(stage: Compute, shapes: transforms.Shapes) -> "_Way":
        return _Way(stage, price(stage, shapes=shapes).seconds)


def _has_few_places(step: Step, solved: Step) -> bool:
    """Whether an element for each value of the indices that became data is an alternative to places for the values."""
    before, after = (frozenset(subscript.bare for subscript in own.statement.indices) for own in (step, solved))
    lost = [step.box[index] for index in before - after if index is not None]
    return bool(lost) and prod(hi - lo for lo, hi in lost) <= FEW_PLACES


def _lows(first: Step, second: Step) -> tuple[int, ...]:
    """The first element of what is computed before: where the second step reads it, or the first one writes it."""
    target = first.statement.target.name
    read = next(access for access in ir.accesses(second.statement.value) if access.tensor.name == target)
    pairs = zip(read.indices, first.statement.indices, strict=True)
    bare = [(second if own.bare else first, own.bare or other.bare) for own, other in pairs]
    return tuple(step.box[index][0] if index else 0 for step, index in bare)


def _widened(step: Step, planner: _Planner) -> Compute | None:
    """A statement that writes a box, computed along the whole axes of its target; None where that is not as safe.

    It is where every read stays inside its tensor, and no derivative depends on the data: what lies beside the box may
    be infinite.
    """
    statement, bound = step.statement, planner.bound
    name = statement.target.name
    box = dict(step.box)
    for index, origin, extent in zip(statement.indices, bound.origins[name], bound.shapes[name], strict=True):
        if index.bare is None:
            return None
        box[index.bare] = (origin, origin + extent)
    wide = planner.compute(planner.solved(step)[0], box, True, bound.shapes, bound.origins)
    pending: list[Node] = [wide.value]
    while pending:
        node = pending.pop()
        match node:
            case Read(dimensions=dimensions):
                if any(not isinstance(d, Strip) or d.low or d.high for d in dimensions):
                    return None
            case Apply("*", factors) if sum(map(holds_data, factors)) > 1:
                return None
            case Apply("+" | "-" | "*" | "neg" | "min" | "max" | "cast") | Fill() | Iota():
                pending.extend(operands(node))
            case _:
                return None
    return wide


def _names(tensors: Iterable[ir.Tensor]) -> tuple[str, ...]:
    return tuple(tensor.name for tensor in tensors)
