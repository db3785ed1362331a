"""The points of a reduction, one by one, as shown in a trace."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Final

from .. import ir
from ..symbolic import IndexVar
from .evaluation import condition, evaluator, stack
from .reductions import reduce_values
from .scalars import Value
from .scope import Scope
from .steps import Step, show_value

if TYPE_CHECKING:
    from .tracing import Tracer

# Number of first and last points of a long reduction that are shown.
FIRST: Final = 4
_LAST: Final = 2


@dataclass(frozen=True, eq=False)
class Point:
    """One point of a reduction: the indices, and the value, None if it is inactive."""

    points: "Points"
    at: tuple[int, ...]
    place: int
    value: Value | None

    def named(self, indices: Sequence[IndexVar]) -> str:
        slots = self.points.scope.slots
        return ", ".join(f"{index} = {self.at[slots[index]]}" for index in indices)

    def left(self, indices: Sequence[IndexVar]) -> tuple[int, ...]:
        return tuple(self.at[self.points.scope.slots[index]] for index in indices)

    def step(self, number: int, depth: int) -> Step:
        points = self.points
        points.scope.point[: len(self.at)] = self.at
        if self.value is None:
            guards = () if points.guard is None else (points.tracer.expr(points.guard, points.scope, number, 0),)
            return Step("takes no part", None, parts=guards)
        return points.tracer.expr(points.body, points.scope, number, depth)


class Points:
    """The points of a box around an expression."""

    def __init__(
        self,
        tracer: "Tracer",
        scope: Scope,
        left: Sequence[IndexVar],
        indices: Sequence[IndexVar],
        ranges: Sequence[ir.Range],
        guard: ir.Expr | None,
        body: ir.Expr,
    ) -> None:
        self.tracer, self.left, self.indices, self.body = tracer, tuple(left), tuple(indices), body
        self.guard = guard
        self.scope, self.places, self.loops = scope.bind(indices)
        self.takes_part = condition(ranges, guard, self.scope)
        self.evaluate = evaluator(body, self.scope)

    def collect(self) -> list[Point]:
        found: list[Point] = []
        point, own = self.scope.point, self.places
        for place, point[own] in enumerate(product(*self.loops)):  # type: ignore[assignment]
            value = self.evaluate() if self.takes_part is None or self.takes_part() else None
            found.append(Point(self, tuple(point[: own.stop]), place, value))
        return found


def listed(
    points: Sequence[Point],
    reducer: ir.Reducer | ir.Monoid,
    body: ir.Expr,
    accumulate: str,
    number: int,
    depth: int,
    *,
    several: bool,
) -> tuple[list[Step], int]:
    """Steps for the first and the last points, and for the first NaN; and the number of points omitted."""
    wanted = set(range(min(FIRST, len(points)))) | set(range(max(0, len(points) - _LAST), len(points)))
    odd = (n for n, p in enumerate(points) if p.value is not None and Step("", p.value).oddity)
    wanted |= set(list(odd)[:1])
    steps: list[Step] = []
    for n in sorted(wanted):
        point = points[n]
        indices = (*point.points.left, *point.points.indices) if several else point.points.indices
        step = point.step(number, depth)
        before = [p for p in points[: n + 1] if p.value is not None]
        note = step.note
        if before and point.value is not None and len(points) > 1 and not reducer.is_ranked:
            values = stack([p.value for p in before], body.dtype, accumulate)
            running = reduce_values(reducer, values, [p.place for p in before], accumulate)
            note = ", ".join(filter(None, (note, f"so far {show_value(running)}")))
        steps.append(replace(step, label=point.named(indices), note=note))
    return steps, len(points) - len(steps)


def count(points: Sequence[Point]) -> str:
    skipped = sum(point.value is None for point in points)
    word = "1 point" if len(points) == 1 else f"{len(points)} points"
    return f"{word}, {skipped} without a part" if skipped else word
