"""Splits runs of statements by rows, if a condition leaves less work in most rows than in all.

In the rows ``a <= q < b`` of a causal attention, ``k <= q`` implies ``k < b``: scores, weights and sums of these rows
use smaller matrices, and almost half of the whole is never computed. `transforms.narrowed` gives the part of a
statement for some rows, `rows` the statements that share rows; this module forms the parts of a run, and decides
whether they cost less than the whole.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
from typing import Final

from ... import ir, ranges, transforms
from ...symbolic import Facts, IndexVar
from ...transforms import Step
from ..cost.costs import plan_cost
from ..cost.memory import ALWAYS
from ..cost.prices import plan_price, run_price
from ..data.machine import CPU
from ..data.preferences import Preferences
from ..data.stages import Parts, Plan
from .rows import Run, Span, runs_of

# The numbers of parts tried for a run, and the minimum number of rows in each.
COUNTS: Final = (4, 8)
FEWEST_ROWS: Final = 32
# Parts are compiled separately: the maximum number of statements in all,
MOST_STATEMENTS: Final = 80
# and the minimum savings: seconds per call for each, and the share of the run for all of them.
SAVED: Final = 1.6e-4
WORTH: Final = 0.85

Places = tuple[Span, ...]
PlanSteps = Callable[[ranges.Bound, Mapping[int, Step]], Plan]


def in_parts(plan: Plan, steps: Mapping[int, Step], preferences: Preferences, plan_steps: PlanSteps) -> Plan:
    """The plan with its runs split into parts where that costs less; `plan_steps` plans the statements of one."""
    if preferences.stored or preferences.forms or preferences.backend.forms:
        # A schedule was measured for the whole statement.
        return plan
    runs = list(runs_of(plan.bound, steps))
    if not runs or plan_price(plan).seconds < COUNTS[0] * SAVED:
        return plan
    joined = {first + n for first, assembly in plan.assemblies.items() for n in range(assembly.stages)}
    found = [_Split.of(plan.bound, run, COUNTS[0]) for run in runs if joined.isdisjoint(run.steps)]
    done: set[int] = set()
    for split in sorted(found, key=lambda split: split.saved, reverse=True):
        if split.saved > 0 and done.isdisjoint(split.run.steps):
            cheaper = _cheapest(plan, split, preferences, plan_steps)
            if cheaper is not plan:
                done |= set(split.run.steps)
                plan = cheaper
    return plan


def shortened(bound: ranges.Bound, steps: Mapping[int, Step]) -> frozenset[int]:
    """The statements of runs that have less work when split by rows."""
    splits = (_Split.of(bound, run, COUNTS[0]) for run in runs_of(bound, steps))
    return frozenset(number for split in splits if split.saved > 0 for number in split.run.steps)


def _cheapest(plan: Plan, split: "_Split", preferences: Preferences, plan_steps: PlanSteps) -> Plan:
    """The plan with the run in the cheapest number of parts, or unchanged if the whole costs least."""
    run = split.run
    first, last = min(run.steps), max(run.steps)
    own = run_price(plan, run.steps).seconds
    others = plan_price(plan).seconds - own
    room = max(ALWAYS // 2, plan_cost(plan).temporary)
    if preferences.backend.memory is not None:
        room = preferences.backend.memory
    found, before, least = plan, own, WORTH * own
    # Only a share of a run's price is proportional to its points: the measured savings are extrapolated.
    each, points = own / (split.points + split.saved), split.points + split.saved
    # Every statement of a part is at least one kernel.
    begin = len(run.steps) * (CPU.dispatch + CPU.fork)
    for count in COUNTS:
        more = count - (len(found.parts[first].spans) if first in found.parts else 0)
        if count != len(split.spans):
            finer = _Split.of(plan.bound, run, count)
            if not finer.parts or each * (split.points - finer.points) < more * (SAVED + begin):
                # The approximate savings.
                break
            split = finer
        plans = [plan_steps(part.bound(plan.bound), part.steps) for part in split.parts]
        # XLA may hold the temporaries of all parts at once.
        if sum(plan_cost(part).temporary for part in plans) > room:
            continue
        dimensions = {name: run.dimensions[name] for name in plans[0].returns}
        parts = Parts(last + 1 - first, run.row(first), split.spans, tuple(plans), dimensions)
        candidate = replace(plan, parts={**plan.parts, first: parts})
        seconds = plan_price(candidate).seconds - others
        if seconds > min(least, before - more * SAVED):
            break
        each, points = (before - seconds) / (points - split.points), split.points
        found, before = candidate, seconds
    return found


@dataclass(frozen=True, slots=True)
class _Split:
    """A run in parts (none if it has too few rows), the number of points that they visit, and how many fewer than the
    whole.
    """

    run: Run
    spans: tuple[Span, ...] = ()
    parts: "tuple[_Part, ...]" = ()
    points: int = 0
    saved: int = 0

    @staticmethod
    def of(bound: ranges.Bound, run: Run, count: int) -> "_Split":
        lo, hi = run.span
        if hi - lo < count * FEWEST_ROWS or count * len(run.steps) > MOST_STATEMENTS:
            return _Split(run)
        spans = tuple(pairwise(lo + (hi - lo) * number // count for number in range(count + 1)))
        parts = tuple(_part(bound, run, span) for span in spans)
        whole, left = sum(map(_points, run.steps.values())), sum(_points(s) for p in parts for s in p.steps.values())
        return _Split(run, spans, parts, left, whole - left if left < WORTH * whole else 0)


def _points(step: Step) -> int:
    """The number of points visited by a statement and its reductions."""
    statement = step.statement

    def points(indices: frozenset[IndexVar]) -> int:
        return prod(max(0, step.box[index][1] - step.box[index][0]) for index in indices)

    left = frozenset[IndexVar]().union(*(subscript.variables for subscript in statement.indices))
    own = left.union(statement.reduction) if isinstance(statement, ir.Accumulate) else left
    inside = [node for node in ir.walk(statement.value) if isinstance(node, ir.Reduce)]
    return points(own) + sum(points(_visited(node)) for node in inside)


def _visited(reduce: ir.Reduce) -> frozenset[IndexVar]:
    """The indices of the points visited by a reduction: loop-invariant factors are moved out of a sum."""
    if reduce.reducer is not ir.Reducer.SUM or reduce.guard is not None:
        return ir.free_indices(reduce).union(reduce.indices)
    spaces = (ir.free_indices(factor) for factor in ir.factors(reduce.body))
    return frozenset(reduce.indices).union(*(space for space in spaces if not space.isdisjoint(reduce.indices)))


@dataclass(frozen=True, slots=True)
class _Part:
    """The statements of a run for some rows, with the positions and extents of their targets."""

    run: Run
    steps: Mapping[int, Step]
    places: Mapping[str, Places]

    def bound(self, whole: ranges.Bound) -> ranges.Bound:
        """The part as a function of its operands that returns the targets read later on."""
        statements = tuple(step.statement for step in self.steps.values())
        tensors = {statement.target.name: statement.target for statement in statements}
        read = {access.tensor.name: access.tensor for statement in statements for access in ir.accesses_of(statement)}
        parameters = tuple(tensor for name, tensor in read.items() if name not in tensors)
        returns = tuple(tensor for name, tensor in tensors.items() if name in self.run.living)
        places = {tensor.name: _whole(whole, tensor.name) for tensor in parameters} | dict(self.places)
        return ranges.Bound(
            function=ir.Function(whole.function.name, parameters, returns, statements, span=whole.function.span),
            sizes=whole.sizes,
            boxes=tuple(step.box for step in self.steps.values()),
            origins={name: tuple(lo for lo, _ in place) for name, place in places.items()},
            shapes={name: tuple(hi - lo for lo, hi in place) for name, place in places.items()},
            reasons=tuple({} for _ in statements),
        )


def _part(bound: ranges.Bound, run: Run, rows: Span) -> _Part:
    """The run for some rows: first the points that each statement must visit for its result, then the elements that
    these read.
    """
    contents = transforms.Contents()
    steps: dict[int, Step] = {}
    values: dict[str, transforms.Named] = {}
    needs = _Needs(bound, run, rows, values)
    for number, step in run.steps.items():
        name, row = step.statement.target.name, run.row(number)
        place = needs.whole(name)
        shape, origin = tuple(hi - lo for lo, hi in place), tuple(lo for lo, _ in place)
        own = replace(step, box={**step.box, row: rows})
        is_new = run.is_new(number)
        steps[number], rests = transforms.narrowed(own, row, contents, (shape, origin), is_new)
        contents = contents.after(step, rests, transforms.peak_of(own, shape, origin, is_new))
        known = transforms.named(own, shape, origin, is_new) if run.is_one(name) else None
        if known is not None and run.dimensions.keys().isdisjoint(a.tensor.name for a in ir.accesses(known.value)):
            values[name] = known
    found = {number: needs.step(number, steps[number]) for number in sorted(steps, reverse=True)}
    ordered = (found[number] for number in sorted(found))
    return _Part(run, dict(enumerate(ordered)), needs.read)


def _whole(bound: ranges.Bound, name: str) -> Places:
    ends = zip(bound.origins[name], bound.shapes[name], strict=True)
    return tuple((first, first + extent) for first, extent in ends)


@dataclass(slots=True)
class _Needs:
    """The elements of each target of a run that are read, from its last statement to its first.

    `values` are the definitions of targets that depend on nothing else in the run.
    """

    bound: ranges.Bound
    run: Run
    rows: Span
    values: Mapping[str, transforms.Named]
    read: dict[str, Places] = field(default_factory=dict)

    def step(self, number: int, step: Step) -> Step:
        """The statement for the elements that are read."""
        name = step.statement.target.name
        row = self.run.row(number)
        box = dict(step.box)
        if name in self.run.living or name not in self.read:
            self.add(name, self.whole(name))
        for subscript, (lo, hi) in zip(step.statement.indices, self.read[name], strict=True):
            index = (subscript - subscript.base).bare
            base = subscript.base.constant
            if index is None or base is None or index == row:
                continue
            first, last = box[index]
            alone = sum(index in other.variables for other in step.statement.indices) == 1
            if alone and max(first, lo - base) < min(last, hi - base):
                box[index] = max(first, lo - base), min(last, hi - base)
        found = transforms.beyond_others(replace(step, box=box), self.read, self.values)
        self.take(found)
        return found

    def take(self, step: Step) -> None:
        """Adds the elements that a statement reads."""
        facts = Facts.over({index: span for index, span in step.box.items() if span[0] < span[1]})
        for access in ir.accesses_of(step.statement):
            name = access.tensor.name
            if name in self.run.dimensions:
                ends = [facts.values(subscript) for subscript in access.indices]
                pairs = zip(ends, self.whole(name), strict=True)
                self.add(name, tuple(own if pair is None else (pair[0], pair[1] + 1) for pair, own in pairs))

    def add(self, name: str, places: Places) -> None:
        """Adds the elements in a box, clipped to the tensor."""
        whole = self.whole(name)
        inside = [(max(a, lo), min(b, hi)) for (a, b), (lo, hi) in zip(places, whole, strict=True)]
        found = whole if any(a >= b for a, b in inside) else tuple(inside)
        known = self.read.get(name, found)
        self.read[name] = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(found, known, strict=True))

    def whole(self, name: str) -> Places:
        """All elements of a target in these rows."""
        dimension = self.run.dimensions[name]
        return tuple(self.rows if d == dimension else span for d, span in enumerate(_whole(self.bound, name)))
