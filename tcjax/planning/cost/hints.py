"""Suggestions to the user: better forms of statements, where one is certain to be better.

`HINTS` is the list of rules. Each examines one statement of a plan, and returns a sentence or nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ... import ir, transforms
from ...ir import Reducer
from ...symbolic import IndexVar
from ..data.stages import Compute, Plan
from .growth import Growth, in_words, spaces

Hint = Callable[[Plan, int, Growth], str]


def hints_of(plan: Plan, number: int, growth: Growth) -> tuple[str, ...]:
    """The suggestions for the statement of a stage."""
    if not isinstance(plan.stages[number], Compute):
        return ()
    return tuple(found for hint in HINTS if (found := hint(plan, number, growth)))


@dataclass(frozen=True, slots=True)
class _Reduction:
    """A reduction of a statement as written: `body` over `indices` wherever all `conditions` hold."""

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
    """A conditional that is neutral where it does not hold counts as a condition, and so does a bool that is summed."""
    conditions = ir.conjuncts(guard)
    match body:
        case ir.Select(condition, then, ir.Const(value)) if reducer is Reducer.SUM and value == 0:
            return _Reduction(reducer, indices, (*conditions, *ir.conjuncts(condition)), then)
        case ir.Cast(condition, dtype) if reducer is Reducer.SUM and condition.dtype == "bool":
            return _Reduction(reducer, indices, (*conditions, *ir.conjuncts(condition)), ir.Const(1, dtype))
        case _:
            return _Reduction(reducer, indices, conditions, body)


def _visits(plan: Plan, number: int, *indices: IndexVar) -> bool:
    """Whether the plan computes something for all combinations of the indices' values."""
    stage = plan.stages[number]
    return isinstance(stage, Compute) and any(space.issuperset(indices) for space in spaces(stage))


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
    """``y(index)``, possibly converted to another type."""
    match expr:
        case ir.Cast(operand):
            return _is_vector(operand, index)
        case ir.Access(_, (subscript,)):
            return subscript.bare == index
        case _:
            return False


HINTS: Final[tuple[Hint, ...]] = (_rank,)

__all__ = ["HINTS", "hints_of"]
