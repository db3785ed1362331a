"""What a user can change: better forms of statements, where one is known that surely is.

`HINTS` is the list of them. Each looks at one statement of a plan, and is a sentence or nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ... import ir, transforms
from ...ir import Reducer
from ...symbolic import Affine, IndexVar
from ..data.stages import Compute, Plan
from .growth import Growth, in_words, spaces

Hint = Callable[[Plan, int, Growth], str]


def hints_of(plan: Plan, number: int, growth: Growth) -> tuple[str, ...]:
    """What a user can change about the statement of a stage."""
    if not isinstance(plan.stages[number], Compute):
        return ()
    return tuple(found for hint in HINTS if (found := hint(plan, number, growth)))


@dataclass(frozen=True, slots=True)
class _Reduction:
    """A reduction of a statement as it was written: `body` over `indices` wherever all `conditions` hold."""

    reducer: Reducer | ir.Monoid
    indices: tuple[IndexVar, ...]
    conditions: tuple[ir.Expr, ...]
    body: ir.Expr


def _reductions(plan: Plan, number: int) -> Iterator[_Reduction]:
    statement = plan.bound.function.statements[number]
    assert isinstance(statement, (ir.Define, ir.Accumulate)), "only comprehensions are computed"
    statement = transforms.guard_ranges(statement)
    if isinstance(statement, ir.Accumulate):
        yield _reduction(statement.reducer, statement.reduction, statement.domain.guard, statement.value)
    for node in ir.walk(statement.value):
        if isinstance(node, ir.Reduce):
            yield _reduction(node.reducer, node.indices, node.guard, node.body)


def _reduction(
    reducer: Reducer | ir.Monoid, indices: tuple[IndexVar, ...], guard: ir.Expr | None, body: ir.Expr
) -> _Reduction:
    """A ternary that adds nothing where it does not hold is a condition too, as is a truth value that is counted."""
    conditions = ir.conjuncts(guard)
    match body:
        case ir.Select(condition, then, ir.Const(value)) if reducer is Reducer.SUM and value == 0:
            return _Reduction(reducer, indices, (*conditions, *ir.conjuncts(condition)), then)
        case ir.Cast(condition, dtype) if reducer is Reducer.SUM and condition.dtype == "bool":
            return _Reduction(reducer, indices, (*conditions, *ir.conjuncts(condition)), ir.Const(1, dtype))
        case _:
            return _Reduction(reducer, indices, conditions, body)


def _visits(plan: Plan, number: int, *indices: IndexVar) -> bool:
    """Whether the plan does something for all combinations of the indices' values."""
    stage = plan.stages[number]
    return isinstance(stage, Compute) and any(space.issuperset(indices) for space in spaces(stage))


def _prefix(plan: Plan, number: int, growth: Growth) -> str:
    """``O(i) +=! x(j) where j <= i``: every prefix anew."""
    for reduction in _reductions(plan, number):
        if isinstance(reduction.reducer, ir.Monoid) or not reduction.reducer.continues or reduction.reducer.takes_bool:
            continue
        for at, condition in enumerate(reduction.conditions):
            ends = _triangle(condition, reduction.indices)
            rest = (*reduction.conditions[:at], *reduction.conditions[at + 1 :], *_moving(reduction))
            if ends is None or any(ends.row in ir.free_indices(part) for part in rest):
                continue
            if _visits(plan, number, ends.row, ends.index):
                running = f"jax.lax.cum{reduction.reducer.value}"
                way = "" if ends.rising else " with `reverse=True`"
                return (
                    f"{in_words(growth.operations)}: every value of `{ends.row}` begins anew; "
                    f"`{running}` along `{ends.index}`{way}, outside of the kernel, visits each element once"
                )
    return ""


def _moving(reduction: _Reduction) -> Iterator[ir.Expr]:
    """The factors of a sum that change with what it runs over; the others stand in front of it."""
    if reduction.reducer is not Reducer.SUM:
        yield reduction.body
        return
    yield from (part for part in ir.factors(reduction.body) if ir.free_indices(part) & {*reduction.indices})


@dataclass(frozen=True, slots=True)
class _Triangle:
    """``index <= row`` and the like, or ``index >= row`` where it is not `rising`."""

    index: IndexVar
    row: IndexVar
    rising: bool


def _triangle(condition: ir.Expr, indices: tuple[IndexVar, ...]) -> _Triangle | None:
    found = _slope(condition)
    if found is None:
        return None
    match found.terms:
        case ((IndexVar() as a, _), (IndexVar() as b, _)) if (a in indices) != (b in indices):
            index, row = (a, b) if a in indices else (b, a)
            weights = dict(found.terms)
            if weights[index].constant == 1 and weights[row].constant == -1:
                return _Triangle(index, row, rising=False)
            if weights[index].constant == -1 and weights[row].constant == 1:
                return _Triangle(index, row, rising=True)
            return None
        case _:
            return None


def _slope(condition: ir.Expr) -> Affine | None:
    """What the condition says is not negative, or positive, if it is affine."""
    match condition:
        case ir.Binary("<" | "<=", left, right):
            found = ir.affine_of(right) - ir.affine_of(left)
        case ir.Binary(">" | ">=", left, right):
            found = ir.affine_of(left) - ir.affine_of(right)
        case _:
            return None
    return None if found.is_data else found


def _rank(plan: Plan, number: int, growth: Growth) -> str:
    """``O(i) +=! 1 where y(j) <= x(i)``: all pairs are compared."""
    for reduction in _reductions(plan, number):
        match reduction:
            case _Reduction(Reducer.SUM, (index,), (ir.Binary("<" | "<=" | ">" | ">=", left, right),), body):
                sides = [side for side in (left, right) if _is_vector(side, index)]
                others = [side for side in (left, right) if index not in ir.free_indices(side)]
                if len(sides) != 1 or len(others) != 1 or ir.free_indices(body) or any(ir.accesses(body)):
                    continue
                rows = ir.free_indices(others[0])
                if rows and _visits(plan, number, index, *rows):
                    tensor = next(ir.accesses(sides[0])).tensor.name
                    return (
                        f"{in_words(growth.operations)}: all pairs are compared; outside of the kernel, "
                        f"`jnp.searchsorted(jnp.sort({tensor}), ...)` finds each count in a sorted `{tensor}`"
                    )
            case _:
                continue
    return ""


def _is_vector(expr: ir.Expr, index: IndexVar) -> bool:
    """``y(index)``, maybe of another type."""
    match expr:
        case ir.Cast(operand):
            return _is_vector(operand, index)
        case ir.Access(_, (subscript,)):
            return subscript.bare == index
        case _:
            return False


HINTS: Final[tuple[Hint, ...]] = (_prefix, _rank)

__all__ = ["HINTS", "hints_of"]
