"""Decides which named temporaries are stored: one that is cheaper to recompute where it is read is inlined there."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from ... import ir, ranges, transforms
from ...transforms import Step
from ..cost.costs import cost_of
from ..data.nodes import Contract, Convolve, Deviations, LoopNest, has
from ..data.preferences import Preferences
from ..data.price import Price
from ..data.stages import Compute
from .parts import shortened

# Smaller temporaries are not considered: they cost only a few operations.
FEW_ELEMENTS: Final = 1 << 14
# A reduction stays separate unless its readers become this much cheaper; a matrix product even more so if it becomes
# part of a loop nest, whose derivative recomputes it.
WORTH: Final = 0.9
WORTH_PRODUCT: Final = 0.7
# A constant is inlined unless its readers then need another operation, at this many times the price or more.
MOST_OF_NUMBERS: Final = 2
NOISE: Final = 1e-5
# Longer programs keep their temporaries: each costs the planning of its readers.
MOST_STEPS: Final = 64

PlanStep = Callable[[int, Step, bool], Compute]
PriceStage = Callable[[Compute], Price]
# The seconds of statements whose loops are joined where possible.
PriceTogether = Callable[[Sequence[Compute]], float]


@dataclass(frozen=True, slots=True)
class Settled:
    """The statements that are computed, by number, and for each of the others how it is inlined."""

    steps: Mapping[int, Step]
    gone: Mapping[int, "Gone"]


@dataclass(frozen=True, slots=True)
class Gone:
    """The statements that compute a value where they read it, their price that way in seconds, and the price with the
    value stored.
    """

    readers: tuple[int, ...]
    seconds: float
    stored: float


def settle(
    bound: ranges.Bound, preferences: Preferences, plan: PlanStep, price: PriceStage, together: PriceTogether
) -> Settled:
    """The program with temporaries inlined where `plan` says that this is cheaper.

    Statements with an explicitly chosen schedule are kept.
    """
    program = _Program(bound, frozenset(preferences.forms), plan, price, together, preferences.backend.memory)
    return Settled(program.steps, {}) if preferences.stored else program.settled()


class _Program:
    """The statements while temporaries are being inlined."""

    def __init__(
        self,
        bound: ranges.Bound,
        fixed: frozenset[str],
        plan: PlanStep,
        priced: PriceStage,
        together: PriceTogether,
        memory: int | None,
    ) -> None:
        self.bound = bound
        self.fixed = fixed
        self.plan = plan
        self.priced = priced
        self.together = together
        self.memory = memory
        self.statements: Sequence[ir.Statement] = bound.function.statements
        steps = dict(_steps(bound))
        others = {n: statement for n, statement in enumerate(self.statements) if n not in steps}
        returned = [tensor.name for tensor in bound.function.returns]
        self.steps = transforms.fix_extrema(steps, others, returned, bound.shapes, bound.origins)
        self.gone: dict[int, Gone] = {}
        self.kept: dict[int, list[Step]] = {}
        self.returned = {tensor.name for tensor in bound.function.returns}
        self.initial = {tensor.name for tensor in bound.function.initial}
        self.given = {tensor.name for tensor in (*bound.function.parameters, *bound.function.initial)}

    def settled(self) -> Settled:
        """The result when no more temporaries are inlined: each inlining may make another one worthwhile."""
        before = -1
        while before < len(self.gone) and len(self.steps) <= MOST_STEPS:
            before = len(self.gone)
            grown: set[int] = set()
            for number in sorted(self.steps):
                if number in grown:
                    # A chain is merged pairwise: growing it step by step would plan it at every length.
                    continue
                readers = self.readers(number)
                involved = [self.steps[each] for each in (number, *readers)]
                if not readers or involved == self.kept.get(number):
                    continue
                self.kept[number] = involved
                found = self.without(number, readers)
                gone = None if found is None else self.better(number, found)
                if found is not None and gone is not None:
                    self.steps |= found
                    del self.steps[number]
                    grown.update(readers)
                    self.gone[number] = gone
        self.center()
        self.divide()
        return Settled(self.steps, self.gone)

    def center(self) -> None:
        """Inlines means into sums of squared deviations, so that both sums come from one pass.

        Other readers of a mean, in the same statement too, read the stored one.
        """
        for number, step in list(self.steps.items()):
            for name in dict.fromkeys(transforms.centres(step.statement)):
                # No program uses such a name.
                alias = f"{name}'"
                own = self.steps[number]
                own = replace(own, statement=transforms.with_centres(own.statement, name, alias))
                found = self.with_value(number, own, name, alias)
                if found is None or not has(self.planned(number, found).value, Deviations):
                    continue
                if self.price(number, found).seconds < self.price(number, self.steps[number]).seconds:
                    self.steps[number] = found

    def divide(self) -> None:
        """Replaces exponentials of values relative to the logarithm of their sum by quotients.

        XLA stores the exponentials for both parts of a quotient, so that their number is halved. If something else
        reads the logarithm, it stays.
        """
        for number, step in list(self.steps.items()):
            found, names = self.as_quotients(number, step)
            if found is None or self.keeps_logarithm(number, found):
                continue
            steps = {**self.steps, number: found}
            # Nothing reads a row table yet.
            unread = self.unread(steps) - self.unread(self.steps)
            if any(self.target(each) in names for each in steps.keys() - unread):
                continue
            before = sum(self.price(each, self.steps[each]).seconds for each in sorted({number, *unread}))
            after = self.price(number, found).seconds
            self.steps = {each: step for each, step in steps.items() if each not in unread}
            self.gone |= {each: Gone((number,), after, before) for each in sorted(unread)}

    def keeps_logarithm(self, number: int, quotients: Step) -> bool:
        """Whether a sum of values relative to a logarithm is computed in one pass with it, or is shortened by row
        parts.
        """
        statement = self.steps[number].statement
        if has(self.planned(number, quotients).value, LoopNest):
            return True
        is_sum = isinstance(statement, ir.Accumulate) and bool(statement.reduction)
        return is_sum and number in shortened(self.bound, self.steps)

    def unread(self, steps: Mapping[int, Step]) -> frozenset[int]:
        """Those of these statements that nothing reads."""
        found: list[int] = []
        for number in sorted(steps, reverse=True):
            name = self.target(number)
            later = [n for n in range(number + 1, len(self.statements)) if n not in self.gone and n not in found]
            read = any(
                name in transforms.reads(steps[n].statement if n in steps else self.statements[n]) for n in later
            )
            goes_on = any(name in self.targets(n) for n in later)
            if not (read or goes_on or name in self.returned or name in self.fixed or name in self.given):
                found.append(number)
        return frozenset(found)

    def as_quotients(self, number: int, step: Step) -> tuple[Step | None, frozenset[str]]:
        """The step with quotients, None if it has none, and the names of the earlier values that they use."""
        names: set[str] = set()
        tried: set[str] = set()
        while (found := transforms.as_quotients(step)) is None:
            name = next((name for name in transforms.normalisers(step.statement) if name not in tried), None)
            if name is None:
                break
            tried.add(name)
            inner = self.with_value(number, step, name)
            if inner is not None:
                names.add(name)
                step = inner
        return found, frozenset(names)

    def with_value(self, number: int, step: Step, name: str, alias: str | None = None) -> Step | None:
        """A statement with a tensor's reads replaced by its definition, as the last statement before left it.

        With an `alias`, only where the tensor has that name.
        """
        writers = (n for n in range(number - 1, -1, -1) if n not in self.gone and name in self.targets(n))
        writer = next(writers, None)
        whole = self.steps.get(writer) if writer is not None else None
        if writer is None or whole is None:
            return None
        shapes, origins = self.bound.shapes, self.bound.origins
        if name in transforms.reads(whole.statement) or (not self.is_new(writer) and self.needs_before(writer)):
            whole = self.with_value(writer, whole, name)
        known = None if whole is None else transforms.named(whole, shapes[name], origins[name], self.is_new(writer))
        if known is None:
            return None
        read = {access.tensor.name for access in ir.accesses(known.value)}
        written = {target for later in range(writer + 1, number) for target in self.targets(later)}
        if read & {name, *written, self.target(number)}:
            return None
        alias = alias or name
        places = ({**of, alias: of[name]} for of in (shapes, origins))
        return transforms.inlined(step, alias, known, *places)

    def readers(self, number: int) -> tuple[int, ...]:
        """The statements that read the result of this one; none if it must be stored."""
        name = self.target(number)
        if name in self.fixed or name in self.given:
            return ()
        found: list[int] = []
        for later in range(number + 1, len(self.statements)):
            if later in self.gone:
                continue
            goes_on = False
            if name in self.targets(later):
                goes_on = later not in self.steps or self.needs_before(later)
            if goes_on or name in transforms.reads(self.current(later)):
                found.append(later)
            if name in self.targets(later):
                break
        else:
            if name in self.returned:
                return ()
        own = all(later in self.steps and self.target(later) not in self.fixed for later in found)
        return tuple(found) if own else ()

    def without(self, number: int, readers: tuple[int, ...]) -> dict[int, Step] | None:
        """The readers with the statement's definition inlined; None if that is impossible."""
        step, name = self.steps[number], self.target(number)
        shapes, origins = self.bound.shapes, self.bound.origins
        known = transforms.named(step, shapes[name], origins[name], self.is_new(number))
        if known is None:
            return None
        read = {access.tensor.name for access in ir.accesses(known.value)}
        written = {name for later in range(number + 1, readers[-1]) for name in self.targets(later)}
        if read & written or name in read or any(self.target(reader) in read for reader in readers):
            return None
        found: dict[int, Step] = {}
        for reader in readers:
            inner = transforms.inlined(self.steps[reader], name, known, shapes, origins)
            if inner is None:
                return None
            found[reader] = transforms.plain_indices(inner)
        return found

    def better(self, number: int, found: Mapping[int, Step]) -> Gone | None:
        """The savings from computing the statement where it is read; None if there are none."""
        name = self.target(number)
        if self.memory is not None and any(self.needs(reader, step) > self.memory for reader, step in found.items()):
            return None
        statement = self.steps[number].statement
        is_number = _is_number(statement)
        few = prod(self.bound.shapes[name]) < FEW_ELEMENTS
        known = is_number or _is_outer_product(statement) or _is_sparse(statement)
        if few and not known and not self.continues(number, found):
            return None
        before = self.price(number, self.steps[number]).seconds
        before += sum(self.price(reader, self.steps[reader]).seconds for reader in found)
        after = self.seconds(number, [self.planned(reader, step) for reader, step in found.items()])
        given = [number, *found]
        own = prod(self.bound.shapes[name]) * ir.types.width(statement.target.dtype)
        needed = max(own, *(self.needs(each, self.steps[each]) for each in given)) if self.memory is not None else 0
        refused = self.memory is not None and needed > self.memory
        # A temporary that would exceed the memory limit is inlined at any price; a constant needs hardly any memory.
        is_free = is_number and after <= MOST_OF_NUMBERS * before + NOISE
        goes = refused or is_free or after <= self.worth(number, found) * before
        return Gone(tuple(found), after, before) if goes else None

    def seconds(self, number: int, readers: Sequence[Compute]) -> float:
        """The time of statements that compute another one where they read it: as one pass, if they are one.

        If row parts would leave out much of the stored value, no pass is as fast.
        """
        nests = sum(has(reader.value, LoopNest) for reader in readers)
        if nests > 1 and number not in shortened(self.bound, self.steps):
            return self.together(readers)
        return sum(self.priced(reader).seconds for reader in readers)

    def worth(self, number: int, found: Mapping[int, Step]) -> float:
        """The acceptable price of inlining a statement, relative to the price with it stored."""
        statement = self.steps[number].statement
        if not isinstance(statement, ir.Accumulate) and not ir.has_reduction(statement.value):
            return 1.0
        if self.continues(number, found) or self.goes_on(number, found):
            return 1.0
        if not has(self.planned(number, self.steps[number]).value, Contract, Convolve):
            return WORTH
        nests = any(has(self.planned(reader, step).value, LoopNest) for reader, step in found.items())
        return WORTH_PRODUCT if nests else WORTH

    def continues(self, number: int, found: Mapping[int, Step]) -> bool:
        """Whether the only reader continues over another part of the same range: then both are one reduction."""
        if len(found) > 1:
            return False
        ((reader, step),) = found.items()
        before = _reductions(self.steps[number]) + _reductions(self.steps[reader])
        return before > 1 and _reductions(step) < before

    def goes_on(self, number: int, found: Mapping[int, Step]) -> bool:
        """Whether the only reader adds to what it reads: then nothing is computed more than once."""
        name = self.target(number)
        return all(
            self.target(reader) == name and name not in transforms.reads(self.current(reader)) for reader in found
        )

    def planned(self, number: int, step: Step) -> Compute:
        """The plan of a statement in place of this one; its target has content if an earlier writer is left."""
        name = self.target(number)
        before = (n for n in range(number) if n not in self.gone)
        defined = name in self.initial or any(name in self.targets(earlier) for earlier in before)
        return self.plan(number, step, defined)

    def price(self, number: int, step: Step) -> Price:
        return self.priced(self.planned(number, step))

    def needs(self, number: int, step: Step) -> int:
        """The bytes that count towards a memory limit."""
        return cost_of(self.planned(number, step)).temporary

    def current(self, number: int) -> ir.Statement:
        return self.steps[number].statement if number in self.steps else self.statements[number]

    def target(self, number: int) -> str:
        return self.steps[number].statement.target.name

    def targets(self, number: int) -> tuple[str, ...]:
        return tuple(tensor.name for tensor in ir.targets(self.statements[number]))

    def is_new(self, number: int) -> bool:
        """Whether nothing was written to the target of a statement before."""
        name = self.target(number)
        return name not in self.given and not any(name in self.targets(earlier) for earlier in range(number))

    def needs_before(self, number: int) -> bool:
        name = self.target(number)
        step = self.steps[number]
        return transforms.needs_before(step, self.bound.shapes[name], self.bound.origins[name])


def _reductions(step: Step) -> int:
    """The number of reductions in a statement."""
    statement = step.statement
    parts = (statement.value, *ir.conjuncts(statement.domain.guard))
    inside = sum(isinstance(node, ir.Reduce) for part in parts for node in ir.walk(part))
    return inside + (isinstance(statement, ir.Accumulate) and bool(statement.reduction))


def _is_number(statement: ir.Define | ir.Accumulate) -> bool:
    """Whether a value is the same constant for every element, computed without any read."""
    known = ir.Const, ir.Unary, ir.Binary, ir.Call, ir.Cast
    return isinstance(statement, ir.Define) and all(isinstance(node, known) for node in ir.walk(statement.value))


def _is_outer_product(statement: ir.Define | ir.Accumulate) -> bool:
    """Whether each factor of a value has fewer indices than the value: its reader can sum along each separately."""
    if not isinstance(statement, ir.Define) or ir.has_reduction(statement.value):
        return False
    free, factors = ir.free_indices(statement.value), ir.factors(statement.value)
    return len(factors) > 1 and all(ir.free_indices(factor) < free for factor in factors)


def _is_sparse(statement: ir.Define | ir.Accumulate) -> bool:
    """Whether a value is zero except where its indices are equal: a sum over one of them leaves only the other."""
    found = transforms.guarded(ir.Reducer.SUM, statement.value)
    if not isinstance(statement, ir.Define) or found is None:
        return False
    equalities = (part for part in ir.conjuncts(found[0]) if isinstance(part, ir.Binary) and part.operator == "==")
    return any(len(ir.free_indices(part)) > 1 for part in equalities)


def _steps(bound: ranges.Bound) -> Iterator[tuple[int, Step]]:
    for number, statement in enumerate(bound.function.statements):
        if isinstance(statement, (ir.Define, ir.Accumulate)):
            plain = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
            value = transforms.plain_conditions(transforms.without_powers(transforms.plain_calls(plain.value)))
            domain = replace(plain.domain, guard=transforms.plain_guard(plain.domain.guard), exists=())
            plain = transforms.without_means(replace(plain, value=value, domain=domain), bound.boxes[number])
            step = Step(transforms.as_accumulation(plain) or plain, bound.boxes[number])
            yield number, transforms.plain_indices(step)
