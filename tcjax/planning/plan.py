"""How each statement of a bound function is computed, and why."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod

from .. import ir, ranges, transforms
from ..keeping import cached_property
from ..symbolic import Box
from ..transforms import Step
from .assembling import assemblies
from .branches import is_risky
from .choice import MOST_GROWTH, SMALL_SPACE
from .cost.costs import cost_of
from .cost.memory import allowance
from .cost.prices import price
from .data.assembly import Overlay
from .data.nodes import Apply, Fill, Iota, Node, Read, Strip, holds_data, operands
from .data.preferences import DEFAULT, Preferences
from .data.price import NOTHING, Price
from .data.stages import Call, CallForeign, Compute, Plan, Proviso, Stage, Unstored
from .formulas import plan_formula
from .fusion.orders import cheapest_orders
from .fusion.parts import in_parts
from .fusion.provisos import WORTH, placed, tensors, tests, tests_of_order
from .fusion.rare import as_rare
from .fusion.recomputed import stored_apart
from .fusion.shares import with_shares
from .fusion.sharing import share
from .fusion.softmax import fuse
from .fusion.tables import without_unread
from .fusion.temporaries import settle
from .printer import operations_of
from .recurrences import plan_loops
from .reductions import fixed


def make_plan(bound: ranges.Bound, preferences: Preferences = DEFAULT) -> Plan:
    """Chooses the operation for each statement, and which repeated reductions are stored."""
    if bound.function.loops:
        limit = preferences.backend.memory
        most = allowance(given_bytes(bound)) if limit is None else limit
        return plan_loops(bound, lambda part, _: make_plan(part, preferences), most)
    known = _Known()
    if preferences.stored or preferences.forms:
        return _planned(bound, preferences, known).in_parts
    most = _most_stored(bound, preferences)
    bound, known.tables = transforms.with_row_tables(bound, most)
    without: set[transforms.CommonForm] = set()
    while True:
        wide, names = transforms.named_in_common(bound, most, without)
        found = _planned(wide, preferences, known)
        # A value that is computed where it is read needs no name.
        gone = [names[s.target] for s in found.plan.stages if isinstance(s, Unstored) and s.target in names]
        if not gone:
            break
        without.update(gone)

    def ordered(orders: transforms.Orders) -> _Planned:
        return _planned(transforms.reordered_bound(wide, orders), preferences, known)

    orders = cheapest_orders(found.plan, found.priced, lambda orders: ordered(orders).plan)
    plan = without_unread((ordered(orders) if orders else found).in_parts, known.tables)
    if not names and not orders:
        return plan
    return replace(plan, stages=tuple(_told(stage, names, orders) for stage in plan.stages))


def _most_stored(bound: ranges.Bound, preferences: Preferences) -> int:
    """The maximum size in bytes of an automatically named value."""
    if preferences.backend.memory is not None:
        return preferences.backend.memory
    return max(SMALL_SPACE, MOST_GROWTH * given_bytes(bound))


def given_bytes(bound: ranges.Bound) -> int:
    """The bytes of arguments and results together."""
    tensors = (*bound.function.parameters, *bound.function.returns)
    return sum(prod(bound.shapes[tensor.name]) * ir.types.width(tensor.dtype) for tensor in tensors)


def _told(stage: Stage, names: Collection[str], orders: Collection[str]) -> Stage:
    """The stage, with a note for a repeated reduction, and for axes with another memory order than written."""
    if not isinstance(stage, Compute):
        return stage
    said = stage.decided
    if stage.target in names:
        said = (*said, "it occurs more than once in the program, and is computed once")
    if stage.target in orders:
        name = ir.plain_name(stage.target)
        said = (*said, f"`{name}` is stored with its axes in this order: it is faster to compute and to read")
    return stage if said == stage.decided else replace(stage, decided=said)


@dataclass(frozen=True, slots=True)
class _Planned:
    """The plan of all statements as a whole, with runs of them `in_parts` where that is cheaper."""

    plan: Plan
    steps: Mapping[int, Step]
    preferences: Preferences
    known: "_Known"

    @property
    def in_parts(self) -> Plan:
        return in_parts(self.plan, self.steps, self.preferences, self.plan_steps)

    def priced(self, orders: transforms.Orders, tensors: Collection[str]) -> float:
        """The seconds of the statements with these tensors, each on its own, with permuted axes."""
        planner = _Planner(transforms.reordered_bound(self.plan.bound, orders), self.preferences, self.known)
        total = 0.0
        for number, step in self.steps.items():
            if not {step.statement.target.name, *transforms.reads(step.statement)}.isdisjoint(tensors):
                given = self.plan.stages[number]
                defined = isinstance(given, Compute) and given.store.keeps
                stage = planner.plan(number, transforms.reordered(step, orders), defined)
                total += planner.price(stage).seconds
        return total

    def plan_steps(self, part: ranges.Bound, steps: Mapping[int, Step]) -> Plan:
        """The plan of the statements of one part."""
        planner = _Planner(part, self.preferences, _Known(tables=self.known.tables))
        names = [step.statement.target.name for step in steps.values()]
        stages: list[Stage] = [planner.plan(n, step, names[n] in names[:n]) for n, step in steps.items()]
        return _assembled(part, stages, steps, planner)


def _planned(bound: ranges.Bound, preferences: Preferences, known: "_Known") -> _Planned:
    function = bound.function
    planner = _Planner(bound, preferences, known)
    settled = settle(bound, preferences, planner.plan, planner.price, planner.together)
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
    return _Planned(_assembled(bound, stages, settled.steps, planner), settled.steps, preferences, known)


def _assembled(bound: ranges.Bound, stages: list[Stage], steps: Mapping[int, Step], planner: "_Planner") -> Plan:
    """The plan of these stages, with those joined that form one array or one pass."""
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
    return Plan(function.name, *names, initial, with_shares(stored_apart(fused, names[1])), bound, groups)


@dataclass(slots=True)
class _Known:
    """Plans of statements by their place in the text and everything they depend on, and the prices of plans by
    identity.

    A plan is kept with its price, so that its `id` is not reused. `tables` are the row tables.
    """

    plans: dict[tuple[object, ...], Compute] = field(default_factory=dict)
    prices: dict[int, tuple[Compute, Price]] = field(default_factory=dict)
    tables: transforms.Tables = field(default_factory=dict)


class _Planner:
    """Plans the statements of a function, each form of one once; `known` are plans of this function in other forms."""

    def __init__(self, bound: ranges.Bound, preferences: Preferences, known: _Known) -> None:
        self.bound = bound
        self.preferences = preferences
        self.known = known
        self.last: dict[tuple[int, bool], tuple[Step, Compute]] = {}

    def price(self, stage: Compute) -> Price:
        """The cost of a statement of this program."""
        known = self.known.prices.get(id(stage))
        if known is None:
            known = self.known.prices[id(stage)] = stage, price(stage, shapes=self.bound.shapes)
        return known[1]

    def together(self, stages: Sequence[Compute]) -> float:
        """The seconds of several statements; those that share the scores of a softmax count as one pass."""
        initial = [tensor.name for tensor in self.bound.function.initial]
        fused = (stage for stage in fuse(stages, initial, self.preferences) if isinstance(stage, Compute))
        return sum(price(stage, shapes=self.bound.shapes).seconds for stage in fused)

    def plan(self, number: int, step: Step, defined: bool) -> Compute:
        """The planned statement; if it is `defined`, its target may have content."""
        last = self.last.get((number, defined))
        if last is None or last[0] is not step:
            key = self.key(step, defined)
            if key not in self.known.plans:
                self.known.plans[key] = self.cheaper(step, defined)
            last = self.last[number, defined] = step, self.known.plans[key]
        return last[1]

    def key(self, step: Step, defined: bool) -> tuple[object, ...]:
        """Everything that the plan of a statement depends on, and its place in the text: equal statements differ."""
        statement = step.statement
        names = {statement.target.name, *transforms.reads(statement)}
        places = tuple((name, self.bound.shapes[name], self.bound.origins[name]) for name in sorted(names))
        return statement, statement.span, frozenset(step.box.items()), step.fixed, defined, places

    def cheaper(self, step: Step, defined: bool) -> Compute:
        """The statement in its cheapest form: with nested sums merged, with a part of it computed before."""
        if self.preferences.stored or step.statement.target.name in self.preferences.forms:
            return next(self.ways(step, defined)).stage
        step = transforms.windowed(transforms.plain_extrema(step))
        step = _placed(step, self.bound.shapes, self.bound.origins)
        flat = transforms.flattened(step.statement)
        pieces = transforms.in_pieces(step)
        divided = transforms.as_quotients_of_sums(step.statement)
        statements = (replace(step, statement=each) for each in (flat, divided) if each is not None)
        others = (*statements, pieces)
        forms = (step, *(form for form in others if form is not None))
        found = self.kept([way for form in forms for way in self.ways(form, defined)])
        otherwise = min(found, key=lambda way: way.seconds) if len(found) > 1 else found[0]
        found += [way for form in forms for way in self.provided(form, defined, otherwise)]
        if len(found) == 1:
            return found[0].stage
        first, second, *_ = sorted(found, key=lambda way: way.seconds)
        own, other = first.stage.runner_up, (operations_of(second.stage), second.price - first.price)
        best = replace(first.stage, runner_up=other if own is None or other[1] < own[1] else own)
        if id(first.stage) in self.known.prices:
            self.known.prices[id(best)] = best, self.price(first.stage)
        return best

    def ways(
        self, step: Step, defined: bool, shapes: transforms.Shapes | None = None, lows: transforms.Shapes | None = None
    ) -> Iterator["_Way"]:
        """One form of a statement as a whole, and with parts of it computed before.

        `shapes` and `lows` (their first elements) are those of the tensors that it reads; by default the program's.
        """
        shapes, lows = shapes or self.bound.shapes, lows or self.bound.origins
        own, solved = self.solved(step, shapes, lows)
        yield self.whole(own, solved, defined, shapes, lows)
        number = len(shapes) - len(self.bound.shapes)
        name = f"{step.statement.target.name}{ir.MARK}part{number or ''}"
        for first, second in transforms.apart(own, name, shapes, lows, is_new=not defined):
            wide = {**shapes, name: tuple(size.constant or 0 for size in first.statement.target.shape)}
            begin = {**lows, name: _lows(first, second)}
            before = self.first(first, wide, begin)
            for way in self.ways(second, defined, wide, begin):
                stage = replace(way.stage, before=(*before, *way.stage.before), decided=(*solved, *way.stage.decided))
                yield self.way(stage, wide)

    def first(self, step: Step, shapes: transforms.Shapes, lows: transforms.Shapes) -> tuple[Compute, ...]:
        """The computations before a statement: if data chooses what it reads, these may be preceded by others."""
        if not ir.looks_up(step.statement.value) or not isinstance(step.statement, ir.Accumulate):
            return (self.compute(step, step.box, False, shapes, lows),)
        best = min(self.kept(list(self.ways(step, False, shapes, lows))), key=lambda way: way.seconds).stage
        return (*best.before, replace(best, before=()))

    def kept(self, found: list["_Way"]) -> list["_Way"]:
        """The ways within the memory contract; if there are none, those that store the least before."""
        if len(found) == 1:
            return found
        most = self.preferences.backend.memory
        most = allowance(given_bytes(self.bound)) if most is None else most
        found = [way for way in found if way.before <= most] or found
        return [way for way in found if cost_of(way.stage).temporary <= most] or found

    def whole(
        self, step: Step, solved: tuple[str, ...], defined: bool, shapes: transforms.Shapes, lows: transforms.Shapes
    ) -> "_Way":
        """The statement in one piece; `solved` are its indices that became data."""
        found = self.compute(step, step.box, defined, shapes, lows)
        return self.way(replace(found, decided=(*solved, *found.decided)) if solved else found, shapes)

    def way(self, stage: Compute, shapes: transforms.Shapes) -> "_Way":
        """The statement planned this way; `shapes` are those of its operands."""
        known = shapes is self.bound.shapes
        return _Way(stage, lambda: self.price(stage) if known else price(stage, shapes=shapes))

    def provided(self, step: Step, defined: bool, otherwise: "_Way") -> Iterator["_Way"]:
        """Forms for finite values, if these cost much less than `otherwise`.

        They have guards for factors that may be zero, and omit exponentials of minus infinity.
        """
        if any(isinstance(node, ir.Foreign) for node in ir.nodes_of(step.statement)):
            # A Python function may close over values that JAX traces: it cannot be an operand of one of two ways.
            return
        yield from self.in_order(step, defined, otherwise)
        for form in (transforms.without_truths(step.statement), transforms.without_lows(step.statement)):
            if form is not None:
                counted = replace(step, statement=form.statement)
                yield from self.on_condition(counted, form.finite, defined, otherwise)
        if (expanded := transforms.multiplied_out(step)) is not None:
            target = ir.tensor_name(step.statement.target)
            why = f"`{target}` is multiplied out: no sum runs over all of its indices at once"
            for way in self.on_condition(*expanded, defined, otherwise):
                stage = replace(way.stage, decided=(why, *way.stage.decided))
                yield _Way(stage, partial(_known, way.price))

    def on_condition(
        self, step: Step, finite: tuple[ir.Expr, ...], defined: bool, otherwise: "_Way"
    ) -> Iterator["_Way"]:
        """A form for finite values, with the tests for them."""
        checks = [self.test(test) for test in tests(step, finite, self.bound.shapes, self.bound.origins)]
        tested = sum((check.price for check in checks), NOTHING)
        rare = as_rare(otherwise.stage)
        proviso = Proviso(tuple(check.stage for check in checks), rare, tensors(finite))
        form = transforms.plain_indices(transforms.with_own_indices(step))
        name = step.statement.target.name
        own, _ = self.solved(form, self.bound.shapes, self.bound.origins)
        counted = placed(own, finite, self.bound.shapes[name], self.bound.origins[name])
        places = None if counted is None else self.test(counted)
        if places is not None and places.price < tested:
            proviso, tested = replace(proviso, placed=places.stage), places.price
        for way in self.ways(form, defined):
            both = way.price + tested
            if both.seconds <= WORTH * otherwise.seconds:
                yield _Way(replace(way.stage, proviso=proviso if checks else None), partial(_known, both))

    def in_order(self, step: Step, defined: bool, otherwise: "_Way") -> Iterator["_Way"]:
        """A form for non-decreasing pointers, which divide an axis into rows."""
        bound = self.bound
        found = transforms.by_rows(step, bound.shapes, bound.origins, self.known.tables)
        if found is None:
            return
        tests = [self.test(each).stage for each in tests_of_order(step, found.disordered)]
        proviso = Proviso(tuple(tests), as_rare(otherwise.stage), found.pointers, of_order=True)
        form = replace(step, statement=found.statement)
        if not is_risky(found.statement.value):
            # A position without a row has no place. It must not be computed where a derivative could be NaN.
            form = _placed(form, bound.shapes, bound.origins)
        for way in self.ways(form, defined):
            if way.seconds < otherwise.seconds:
                yield _Way(replace(way.stage, proviso=proviso), partial(_known, way.price))

    def test(self, step: Step) -> "_Way":
        """A statement whose result is a single number that no other statement reads."""
        name = step.statement.target.name
        shapes, origins = {**self.bound.shapes, name: ()}, {**self.bound.origins, name: ()}
        return self.way(self.compute(step, step.box, False, shapes, origins), shapes)

    def solved(self, step: Step, shapes: transforms.Shapes, lows: transforms.Shapes) -> tuple[Step, tuple[str, ...]]:
        name = step.statement.target.name
        statement, notes = transforms.solve(step.statement, step.box, shapes[name], lows[name])
        return (_placed(replace(step, statement=statement), shapes, lows), notes) if notes else (step, ())

    def compute(
        self, step: Step, box: Box, defined: bool, shapes: transforms.Shapes, origins: transforms.Shapes
    ) -> Compute:
        found = plan_formula(step.statement, box, shapes, origins, defined=defined, preferences=self.preferences)
        if not step.fixed:
            return found
        why = f"`{ir.plain_name(found.target)}` cancels in every result: no derivative passes through it"
        return replace(found, value=fixed(found.value), decided=(*found.decided, why))


@dataclass(frozen=True)
class _Way:
    """A plan of a statement, and its price, which is asked for where there is another one."""

    stage: Compute
    priced: Callable[[], Price]

    @cached_property
    def price(self) -> Price:
        return self.priced()

    @property
    def seconds(self) -> float:
        return self.price.seconds

    @property
    def before(self) -> int:
        """The bytes of the arrays computed before."""
        return sum(prod(part.shape) * ir.types.width(part.dtype) for part in self.stage.before)


def _placed(step: Step, shapes: transforms.Shapes, lows: transforms.Shapes) -> Step:
    """The statement without the conditions that hold wherever a point has a position in the target."""
    name = step.statement.target.name
    found = transforms.placed(step.statement, shapes[name], lows[name])
    return step if found is step.statement else replace(step, statement=found)


def _lows(first: Step, second: Step) -> tuple[int, ...]:
    """The first element of the array computed before: where the second step reads it, or the first one writes it."""
    target = first.statement.target.name
    read = next(access for access in ir.accesses(second.statement.value) if access.tensor.name == target)
    pairs = zip(read.indices, first.statement.indices, strict=True)
    bare = [(second if own.bare else first, own.bare or other.bare) for own, other in pairs]
    return tuple(step.box[index][0] if index else 0 for step, index in bare)


def _widened(step: Step, planner: _Planner) -> Compute | None:
    """A statement that writes a box, computed along the whole axes of its target; None if that is not as safe.

    It is if every read is in bounds, and no derivative depends on the data: values outside the box may be infinite.
    """
    statement, bound = step.statement, planner.bound
    name = statement.target.name
    box = dict(step.box)
    for index, origin, extent in zip(statement.indices, bound.origins[name], bound.shapes[name], strict=True):
        if index.bare is None:
            return None
        box[index.bare] = (origin, origin + extent)
    wide = planner.compute(planner.solved(step, bound.shapes, bound.origins)[0], box, True, bound.shapes, bound.origins)
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


def _known(price: Price) -> Price:
    return price
