"""In reverse mode of loops: what the steps overwrite, and which values are still available afterwards."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ... import ir
from ...ir import Reducer
from ...symbolic import Affine, Condition, Facts, IndexVar, Interval, compare, rewritten, unconditional
from .calls import targets
from .forward import depends
from .steps import Step


@dataclass(frozen=True, slots=True)
class Element:
    """An element at a point of a step: of `tensor`, where the `conditions` hold in addition to those of the step."""

    tensor: str
    indices: tuple[Affine, ...]
    conditions: tuple[Condition, ...] = ()


@dataclass(slots=True)
class Overwriting:
    """Which steps overwrite elements that others wrote or read; `moving` tensors are those of interest."""

    steps: Sequence[Step]
    moving: Mapping[str, ir.Tensor]
    known: dict[tuple[int, int], bool] = field(default_factory=dict)

    def position(self, step: Step) -> int:
        return next(number for number, other in enumerate(self.steps) if other is step)

    def is_lost(self, step: Step) -> bool:
        """Whether the step overwrites a value that an earlier step read and whose derivative may need it."""
        return next(self.readers(step), None) is not None

    def readers(self, step: Step) -> Iterator[tuple[Step, Element, bool]]:
        """The steps that read, before a step, what it writes; and whether they read the value from just before this
        step.

        If each step of a loop writes different elements, a step never reads what later ones write (TC0708). Reads by
        the step of its own element are handled separately (`updates`).
        """
        own, left = self.position(step), written(step)
        for number, other in enumerate(self.steps):
            if not self.moves(other):
                continue
            shared = common(other, step)
            if number > own and not shared:
                break
            is_later = bool(shared) and names_each(left.indices, frozenset(shared))
            if (is_later and number >= own) or (number == own and not shared):
                continue
            for read in _read(other, left.tensor):
                if not are_apart(other, read, step, left, shared if is_later else ()):
                    yield other, read, is_later

    def is_awaited(self, step: Step) -> bool:
        """Whether a step above it in its loop reads the old values of its elements."""
        return any(is_later for _, _, is_later in self.readers(step))

    def tells(self, step: Step) -> bool:
        """Whether every reader of the overwritten values uses the subscripts at which the step writes."""
        left = written(step)
        free = frozenset[IndexVar]().union(*(index.variables for index in left.indices)) - step.fixed
        return all(
            is_later and read.indices == left.indices and all(o.intervals.get(i) == step.intervals[i] for i in free)
            for o, read, is_later in self.readers(step)
        )

    def stays(self, step: Step) -> bool:
        """Whether the step's results are still there after all steps."""
        own, left = self.position(step), written(step)
        if not names_each(left.indices, step.fixed):
            return False
        for number, other in enumerate(self.steps):
            if other is step or left.tensor not in targets(other.statement):
                continue
            if (number > own or common(other, step)) and not are_apart(other, written(other), step, left):
                return False
        return True

    def is_shared(self, step: Step) -> bool:
        """Whether other steps of its loop write the same elements, or their cotangents."""
        if not names_each(written(step).indices, step.fixed):
            return True
        inside = [other for other in self.steps if other is not step and common(other, step)]
        if any(self.meets(other, step) for other in inside):
            return True
        # A constant result, `acc(p) = 0.0`, passes no value on, but may still clear the cotangent.
        still = [other for other in inside if not self.moves(other)]
        return self.moves(step) and any(self.overlaps(other, step) and self.empties(other) for other in still)

    def empties(self, step: Step) -> bool:
        """Whether the step sets the cotangent of its elements to zero, in the loop: an earlier step wrote them too."""
        if not step.replaces:
            return False
        return (self.is_shared(step) and not self.begins(step)) or (self.in_turn(step) and self.replaces(step))

    def in_turn(self, step: Step) -> bool:
        """Whether the cotangents of the step's elements change from one step of the loop to the next."""
        is_strided = any(abs(loop.step) != 1 for loop in step.loops)
        return self.is_shared(step) or updates(step) or is_strided or self.is_awaited(step)

    def begins(self, step: Step) -> bool:
        """Whether the step writes its elements before any other step of its loops does."""
        left, own = written(step), self.position(step)
        if not names_each(left.indices, step.fixed):
            return False
        for number, other in enumerate(self.steps):
            shared = common(other, step)
            if not shared or not self.meets(other, step):
                continue
            same = {a.bare for a, b in zip(left.indices, written(other).indices, strict=True) if a == b}
            if number < own or not same.issuperset(shared):
                return False
        return True

    def replaces(self, step: Step) -> bool:
        """Whether steps before its loop write the same elements."""
        before = self.steps[: self.position(step)]
        return any(not common(other, step) and self.meets(other, step) for other in before)

    def meets(self, other: Step, step: Step) -> bool:
        """Whether another step writes a value with a derivative to one of the step's elements."""
        return self.moves(other) and self.overlaps(other, step)

    def overlaps(self, other: Step, step: Step) -> bool:
        """Whether another step writes one of the step's elements."""
        left = written(step)
        if other is step or left.tensor not in targets(other.statement):
            return False
        return not are_apart(other, written(other), step, left)

    def moves(self, step: Step) -> bool:
        """Whether the step passes a derivative on."""
        statement = step.statement
        return isinstance(statement, (ir.Define, ir.Accumulate)) and depends(statement.value, self.moving, {})


def common(one: Step, other: Step) -> tuple[IndexVar, ...]:
    """The indices of the loops around both."""
    return tuple(a.index for a, b in zip(one.loops, other.loops, strict=False) if a == b)


def written(step: Step) -> Element:
    """The element that the step writes."""
    statement = step.statement
    assert isinstance(statement, (ir.Define, ir.Accumulate))
    return Element(statement.target.name, statement.indices)


def updates(step: Step) -> bool:
    """Whether the step reads the element that it writes."""
    left = written(step)
    return any(read.indices == left.indices for read in _read(step, left.tensor, results=False))


def names_each(indices: tuple[Affine, ...], fixed: frozenset[IndexVar]) -> bool:
    """Whether subscripts name different elements at each value of the `fixed` indices."""
    alone = {atom for index in indices if len(index.terms) == 1 for atom, _ in index.terms}
    return fixed <= alone


def are_apart(one: Step, first: Element, other: Step, second: Element, same: tuple[IndexVar, ...] = ()) -> bool:
    """Whether two elements never coincide at points of the steps where the `same` indices agree."""
    twins = {index: IndexVar(f"{index.name}'", index.tag) for index in other.intervals}
    ranges: dict[IndexVar, Interval] = {**one.intervals, **{twins[i]: ends for i, ends in other.intervals.items()}}
    conditions = [*around(one), *first.conditions, *(compare("==", index, twins[index]) for index in same)]
    conditions += [_renamed(each, twins) for each in (*around(other), *second.conditions)]
    for a, b in zip(first.indices, second.indices, strict=True):
        if not a.is_data and not b.is_data:
            conditions.append(compare("==", a, b.substitute(twins)))
    facts = Facts.over(ranges).assume(*map(unconditional, conditions))
    return facts.contradiction is not None


def _renamed(condition: Condition, names: Mapping[IndexVar, IndexVar]) -> Condition:
    return rewritten(condition, lambda affine: affine.substitute(names))


def around(step: Step) -> Iterator[Condition]:
    """The conditions at the points of a step."""
    statement = step.statement
    assert isinstance(statement, (ir.Define, ir.Accumulate))
    for loop in step.loops:
        yield from map(ir.condition_of, loop.conditions())
    if isinstance(statement, ir.Define) and statement.domain.guard is not None:
        yield ir.condition_of(statement.domain.guard)


def _read(step: Step, tensor: str, *, results: bool = True) -> Iterator[Element]:
    """The elements of a tensor that the derivative of a step may need; for a reduction, its result too."""
    statement = step.statement
    if not isinstance(statement, (ir.Define, ir.Accumulate)):
        return
    guard = statement.domain.guard
    for part in ir.parts_of(statement):
        yield from _inside(part, tensor, () if guard is None or part is guard else (ir.condition_of(guard),))
    if results and isinstance(statement, ir.Accumulate) and statement.reducer is not Reducer.SUM:
        own = written(step)
        if own.tensor == tensor:
            yield own


def _inside(expr: ir.Expr, tensor: str, conditions: tuple[Condition, ...]) -> Iterator[Element]:
    if isinstance(expr, ir.Reduce) and expr.guard is not None:
        conditions = (*conditions, ir.condition_of(expr.guard))
    if isinstance(expr, ir.Access) and expr.tensor.name == tensor:
        yield Element(tensor, expr.indices, conditions)
    for child in ir.children(expr):
        yield from _inside(child, tensor, conditions)
