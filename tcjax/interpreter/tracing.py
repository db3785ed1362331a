"""Traces one element: every read and every intermediate value that it was computed from, point by point."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final

import numpy as np

from .. import ir
from ..ir.printer import show_expr, show_statement
from ..ranges.bound import Bound
from .evaluation import evaluator, subscript
from .interpret import states
from .points import Point, Points, count, listed
from .scalars import Value, conversion
from .scope import Scope
from .statements import left_indices, target_element
from .steps import Step
from .widening import widened

Array = np.ndarray[Any, Any]

# How deep elements of other tensors are followed.
_DEPTH: Final = 4


def trace(
    bound: Bound,
    arrays: Mapping[str, Any],
    initial: Mapping[str, Any],
    foreign: Mapping[str, Callable[..., Any]],
    name: str,
    place: tuple[int, ...],
) -> Step:
    """How the element at `place` of a result was computed; `place` counts from the first stored element."""
    tracer = Tracer(bound, list(states(bound, arrays, initial, foreign)), foreign, frozenset(initial))
    with np.errstate(all="ignore"):
        return tracer.element(name, place, len(bound.function.statements), _DEPTH)


@dataclass(frozen=True, eq=False)
class Tracer:
    """The tensors before the first statement of a function and after each."""

    bound: Bound
    states: Sequence[Mapping[str, Array]]
    foreign: Mapping[str, Callable[..., Any]]
    initial: frozenset[str]
    done: dict[tuple[str, tuple[int, ...], int], Step] = field(default_factory=dict)

    def element(self, name: str, place: tuple[int, ...], before: int, depth: int) -> Step:
        """An element as it is before statement `before`."""
        text = f"{name}[{', '.join(str(p + o) for p, o in zip(place, self.bound.origins[name], strict=True))}]"
        text = text if place else name
        key = (name, place, before)
        if key not in self.done:
            self.done[key] = self.written(name, place, before, depth, text)
            return self.done[key]
        known = self.done[key]
        return Step(text, known.value, note="see above", again=True) if known.parts else known

    def written(self, name: str, place: tuple[int, ...], before: int, depth: int, text: str) -> Step:
        value = self.states[before][name][place]
        for number in reversed(range(before)):
            statement = self.bound.function.statements[number]
            if self.bound.function.around(number):
                if name in [tensor.name for tensor in ir.targets(statement)]:
                    step = self.by_loop(statement, number, place, value, text)
                    if step is not None:
                        return step
                continue
            match statement:
                case ir.Define(target) | ir.Accumulate(target) if target.name == name:
                    step = self.by_statement(statement, number, place, value, text, depth)
                    if step is not None:
                        return step
                case ir.Invoke(targets, callee, arguments) if name in [t.name for t in targets]:
                    inner = {
                        p.name: self.states[number][a.name] for p, a in zip(callee.parameters, arguments, strict=True)
                    }
                    result = callee.returns[[t.name for t in targets].index(name)].name
                    if depth == 0:
                        return Step(text, value)
                    step = trace(self.bound.calls[number], inner, {}, self.foreign, result, place)
                    return Step(text, value, note=f"by {callee.name}", parts=(step,))
                case ir.ApplyForeign(targets, function) if name in [t.name for t in targets]:
                    return Step(text, value, note=f"by the Python function {function}")
                case _:
                    continue
        if name in {p.name for p in self.bound.function.parameters}:
            return Step(text, value)
        return Step(text, value, note="initial value" if name in self.initial else "never written")

    def by_loop(
        self, statement: ir.Statement, number: int, place: tuple[int, ...], value: Value, text: str
    ) -> Step | None:
        """The element as a step of a loop wrote it; None if no step can have."""
        assert isinstance(statement, (ir.Define, ir.Accumulate)), "there are no calls in loops"
        box, origins = self.bound.boxes[number], self.bound.origins[statement.target.name]
        for index, at, origin in zip(statement.indices, place, origins, strict=True):
            ends = box.get(index.bare) if index.bare is not None else None
            if index.constant not in (None, at + origin) or (ends and not ends[0] <= at + origin < ends[1]):
                return None
        loops = ", ".join(str(loop.index) for loop in self.bound.function.around(number))
        return Step(text, value, note=f"by the loop over {loops}", statement=show_statement(statement))

    def by_statement(
        self,
        statement: ir.Define | ir.Accumulate,
        number: int,
        place: tuple[int, ...],
        value: Value,
        text: str,
        depth: int,
    ) -> Step | None:
        """The element as a statement wrote it; None if it did not."""
        name = statement.target.name
        scope = Scope(self.bound, self.bound.boxes[number], self.states[number], self.foreign)
        left = left_indices(statement.indices)
        scope, places, loops = scope.bind(left)
        # A bare index on the left has one value.
        bare = {a.bare: p + o for a, p, o in zip(statement.indices, place, self.bound.origins[name], strict=True)}
        loops = [
            [bare[i]] if i in bare and bare[i] in loop else [] if i in bare else loop
            for i, loop in zip(left, loops, strict=True)
        ]
        element = target_element(statement.target, statement.indices, scope)
        reduction = statement.reduction if isinstance(statement, ir.Accumulate) else ()
        accumulates = isinstance(statement, ir.Accumulate)
        body = widened(statement.value, statement.accumulate) if accumulates else statement.value
        points: list[Point] = []
        for scope.point[places] in product(*loops):  # type: ignore[assignment]
            if element() == place:
                domain = statement.domain
                points += Points(self, scope, left, reduction, domain.ranges, domain.guard, body).collect()
        taken = [point for point in points if point.value is not None]
        goes_on = accumulates and not statement.restart and name in self.states[number]
        if not taken and (not accumulates or goes_on or not points):
            return None
        shown = show_statement(statement)
        if not accumulates:
            steps = (taken[-1].step(number, depth),)
            at = taken[-1].named(left)
            return Step(text, value, note=f"at {at}" if at else "", parts=steps, statement=shown)
        parts: list[Step] = []
        if goes_on:
            before = self.element(name, place, number, max(0, depth - 1))
            parts.append(replace(before, label="before"))
        reducer, accumulate = statement.reducer, statement.accumulate
        several = len({point.left(left) for point in points}) > 1
        more, omitted = listed(points, reducer, body, accumulate, number, depth, several=several)
        at = "" if several or not points else points[0].named(left)
        note = f"{'at ' + at + ': ' if at else ''}{count(points)}"
        return Step(text, value, note=note, parts=(*parts, *more), omitted=omitted, statement=shown)

    def expr(self, expr: ir.Expr, scope: Scope, number: int, depth: int) -> Step:
        """An expression at the scope's point."""
        value = evaluator(expr, scope)()
        text = show_expr(expr)

        def inside(*parts: ir.Expr) -> tuple[Step, ...]:
            return tuple(self.expr(part, scope, number, depth) for part in parts if not _is_plain(part))

        match expr:
            case ir.Access():
                return self.access(expr, value, scope, number, depth)
            case ir.Cast(operand):
                step = self.expr(operand, scope, number, depth)
                same = step.value is not None and conversion(operand.dtype, expr.dtype)(step.value) == step.value
                return step if same and not _is_plain(operand) else Step(text, value, parts=inside(operand))
            case ir.Select(condition, then, otherwise):
                holds = bool(evaluator(condition, scope)())
                return Step(
                    text,
                    value,
                    note="" if holds else "condition is false",
                    parts=inside(condition, then if holds else otherwise),
                )
            case ir.Binary("&&" | "||" as operator, left, right):
                first = bool(evaluator(left, scope)())
                return Step(text, value, parts=inside(left, right) if first == (operator == "&&") else inside(left))
            case ir.Reduce(reducer, indices, ranges, guard, body, _, accumulate):
                points = Points(self, scope, (), indices, ranges, guard, widened(body, accumulate)).collect()
                parts, omitted = listed(
                    points, reducer, widened(body, accumulate), accumulate, number, depth, several=False
                )
                return Step(text, value, note=count(points), parts=tuple(parts), omitted=omitted)
            case _:
                return Step(text, value, parts=inside(*ir.children(expr)))

    def access(self, access: ir.Access, value: Value, scope: Scope, number: int, depth: int) -> Step:
        name = access.tensor.name
        logical = [subscript(affine, scope)() for affine in access.indices]
        shape, origin = scope.tensors[name].shape, self.bound.origins[name]
        stored = tuple(
            max(0, min(at - first, extent - 1)) for at, first, extent in zip(logical, origin, shape, strict=True)
        )
        real = [at + first for at, first in zip(stored, origin, strict=True)]
        text = f"{name}[{', '.join(map(str, real))}]" if real else name
        note = "" if real == logical else f"clamped: {name}[{', '.join(map(str, logical))}] is outside"
        data = [atom.expr for affine in access.indices for atom in ir.data_atoms(affine)]
        parts = [self.expr(part, scope, number, depth) for part in data if not _is_plain(part)]
        if depth > 0 and name not in {p.name for p in self.bound.function.parameters}:
            whole = self.element(name, stored, number, depth - 1)
            return replace(whole, parts=(*parts, *whole.parts), note=", ".join(filter(None, (note, whole.note))))
        return Step(text, value, note=note, parts=tuple(parts))


def _is_plain(expr: ir.Expr) -> bool:
    """Whether the value is not worth showing: a number, an index, a size."""
    return isinstance(expr, (ir.Const, ir.Extent, ir.Index)) or (isinstance(expr, ir.Cast) and _is_plain(expr.operand))


__all__ = ["trace"]
