"""The points of a statement: its loops, its conditions, and one of its points to show."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from .. import ir, planning, ranges
from ..symbolic import Affine, AllOf, AnyOf, AtLeastZero, Box, Condition, IndexVar, all_of
from ..symbolic.affine import Atom

Point = Mapping[IndexVar, int]

# Values of an index that are tried to find one that takes part.
_MOST_TRIES: Final = 1000


@dataclass(frozen=True)
class Points:
    """A statement whose sizes are known.

    `left` are the indices of its left side, `loops` those that it reduces over: its own, or those of its largest inline
    reduction. `condition` is what must hold at a point, as far as it depends on indices alone.
    """

    statement: ir.Define | ir.Accumulate
    stage: planning.Compute | None
    bound: ranges.Bound
    box: Box
    left: tuple[IndexVar, ...]
    loops: tuple[IndexVar, ...]
    condition: Condition

    @property
    def own(self) -> tuple[IndexVar, ...]:
        """The indices of the statement itself, without those of inline reductions."""
        reduction = self.statement.reduction if isinstance(self.statement, ir.Accumulate) else ()
        return (*self.left, *(index for index in reduction if index in self.box))

    @property
    def is_empty(self) -> bool:
        """Whether an index has no values."""
        return any(lo >= hi for lo, hi in self.box.values())

    def extent(self, index: IndexVar) -> int:
        lo, hi = self.box[index]
        return hi - lo

    def holds(self, point: Point) -> bool:
        """Whether a point takes part."""
        return _holds(self.condition, point, self.bound)

    def value(self, affine: Affine, point: Point) -> int | None:
        """A subscript at a point; None where it depends on data."""
        if affine.is_data or not affine.variables <= point.keys():
            return None
        return affine.evaluate(lambda atom: _at(atom, point), self.bound.sizes)

    def middle(self) -> dict[IndexVar, int]:
        """A value of each index: the middle of its range, or a nearby one where the middle is excluded."""
        point = {index: (lo + max(lo, hi - 1)) // 2 for index, (lo, hi) in self.box.items()}
        own = {index: point[index] for index in self.left}
        if self.holds(own):
            return point
        for index in self.left:
            lo, hi = self.box[index]
            for value in sorted(range(lo, hi), key=lambda value: abs(value - point[index]))[:_MOST_TRIES]:
                if self.holds({**own, index: value}):
                    return {**point, index: value}
        return point


def points_of(plan: planning.Plan) -> Iterator[tuple[str, Points]]:
    """Every formula statement, as text and as points; a call is replaced by the statements of its definition."""
    return ((text, part) for text, part in walked(plan) if isinstance(part, Points))


def walked(plan: planning.Plan) -> Iterator[tuple[str, Points | planning.Call]]:
    """The same with the loops, each before what it computes in a step."""
    for number, stage in enumerate(plan.stages):
        match stage:
            case planning.Compute():
                statement = plan.bound.function.statements[number]
                if isinstance(statement, (ir.Define, ir.Accumulate)):
                    yield ir.show_written(statement), _points(statement, stage, plan.bound, number)
            case planning.Call(plan=inner, steps=steps, diagonals=diagonals):
                if steps is not None:
                    end = steps.low + steps.apart * (steps.count - 1) + 1
                    yield f"for {steps.index} in {steps.low}:{end}", stage
                elif diagonals is not None:
                    yield f"for {', '.join(map(str, diagonals.indices))}", stage
                yield from walked(inner)
            case _:
                continue


def _points(statement: ir.Define | ir.Accumulate, stage: planning.Compute, bound: ranges.Bound, number: int) -> Points:
    box = bound.boxes[number]
    left = tuple(dict.fromkeys(v for index in statement.indices for v in _ordered(index) if v in box))
    guards = [ranges.effective_guard(statement)]
    loops: tuple[IndexVar, ...] = ()
    if isinstance(statement, ir.Accumulate):
        loops = tuple(index for index in statement.reduction if index in box)
    reduces = [n for n in ir.walk(statement.value) if isinstance(n, ir.Reduce) and all(i in box for i in n.indices)]
    if not loops and reduces:
        largest = max(reduces, key=lambda node: prod(max(0, box[i][1] - box[i][0]) for i in node.indices))
        loops = largest.indices
        guards.append(ranges.effective_guard(largest))
    condition = all_of(ir.condition_of(guard) for guard in guards if guard is not None)
    return Points(statement, stage, bound, box, left, loops, condition)


def _ordered(affine: Affine) -> list[IndexVar]:
    return sorted(affine.variables, key=lambda index: (index.name, index.tag))


def _holds(condition: Condition, point: Point, bound: ranges.Bound) -> bool:
    match condition:
        case AtLeastZero(affine):
            if affine.is_data or not affine.variables <= point.keys():
                return True
            return affine.evaluate(lambda atom: _at(atom, point), bound.sizes) >= 0
        case AllOf(parts):
            return all(_holds(part, point, bound) for part in parts)
        case AnyOf(parts):
            return any(_holds(part, point, bound) for part in parts)


def _at(atom: Atom, point: Point) -> int:
    assert isinstance(atom, IndexVar), "data has no value here"
    return point[atom]


def variables(condition: Condition) -> frozenset[IndexVar]:
    """The indices that a condition depends on, apart from data."""
    match condition:
        case AtLeastZero(affine):
            return frozenset() if affine.is_data else affine.variables
        case AllOf(parts) | AnyOf(parts):
            return frozenset[IndexVar]().union(*map(variables, parts))
