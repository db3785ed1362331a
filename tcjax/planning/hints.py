"""What a user can change: better forms of statements, where one is known that surely is.

`HINTS` is the list of them. Each looks at one statement of a plan, and is a sentence or nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Final

from .. import ir, transforms
from ..ir import Reducer
from ..symbolic import Affine, IndexVar
from .growth import Growth, in_words, spaces
from .memory import allowance
from .nodes import (
    Apply,
    CallBuiltin,
    Fill,
    Fold,
    Iota,
    LoopNest,
    Node,
    Read,
    Step,
    Strip,
    Unroll,
    operands,
)
from .stages import Compute, Plan

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


# The running reductions of JAX.
_RUNNING: Final = {
    Reducer.SUM: "cumsum",
    Reducer.PRODUCT: "cumprod",
    Reducer.MIN: "cummin",
    Reducer.MAX: "cummax",
    Reducer.LOGSUMEXP: "cumlogsumexp",
}


def _prefix(plan: Plan, number: int, growth: Growth) -> str:
    """``O(i) +=! x(j) where j <= i``: every prefix anew."""
    for reduction in _reductions(plan, number):
        if not isinstance(reduction.reducer, Reducer) or reduction.reducer not in _RUNNING:
            continue
        for at, condition in enumerate(reduction.conditions):
            ends = _triangle(condition, reduction.indices)
            rest = (*reduction.conditions[:at], *reduction.conditions[at + 1 :], *_moving(reduction))
            if ends is None or any(ends.row in ir.free_indices(part) for part in rest):
                continue
            if _visits(plan, number, ends.row, ends.index):
                running = f"jax.lax.{_RUNNING[reduction.reducer]}"
                way = "" if ends.rising else " with `reverse=True`"
                return (
                    f"{in_words(growth.operations)}: every value of `{ends.row}` begins anew; "
                    f"`{running}` along `{ends.index}`{way}, outside of the kernel, visits each element once"
                )
    return ""


def _moving(reduction: _Reduction) -> Iterator[ir.Expr]:
    """The factors of a sum that change with what it runs over; the others stand in front of it."""
    pending = [reduction.body]
    while pending:
        match pending.pop():
            case ir.Binary("*", left, right) if reduction.reducer is Reducer.SUM:
                pending += [left, right]
            case factor if reduction.reducer is not Reducer.SUM or ir.free_indices(factor) & {*reduction.indices}:
                yield factor
            case _:
                continue


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


def _only_reduced(plan: Plan, number: int, growth: Growth) -> str:
    """A large tensor each of whose elements is read once, by a reduction."""
    stage = plan.stages[number]
    assert isinstance(stage, Compute), "only comprehensions are computed"
    statements = plan.bound.function.statements
    name = stage.target
    size = prod(stage.shape) * ir.types.width(stage.dtype)
    kept = {*plan.parameters, *plan.returns, *plan.initial}
    moved = sum(prod(plan.bound.shapes[t.name]) * ir.types.width(t.dtype) for t in _outside(plan))
    whole = stage.statement.domain.guard is None and all(index.bare is not None for index in stage.statement.indices)
    if plan.scheduled is not None or name in kept or size <= allowance(moved) or not (whole and _is_plain(stage.value)):
        return ""
    written = [n for n, statement in enumerate(statements) if name in (t.name for t in ir.targets(statement))]
    readers = [n for n, statement in enumerate(statements) for tensor in _read(statement) if tensor == name]
    if len(written) != 1 or len(readers) != 1:
        return ""
    reader = plan.stages[readers[0]]
    if not isinstance(reader, Compute) or not _is_reduction(reader.value):
        return ""
    for reduction in _reductions(plan, readers[0]):
        for access in ir.accesses(reduction.body):
            read = {index.bare for index in access.indices}
            points = ir.free_indices(reduction.body).union(reduction.indices)
            if access.tensor.name == name and len(read) == len(access.indices) and read == points:
                return (
                    f"`{name}` has {size >> 20} MiB and `{reader.target}` reads each element once, in a reduction: "
                    f"written there in place of `{name}`, neither the kernel nor its gradient stores it"
                )
    return ""


def _outside(plan: Plan) -> tuple[ir.Tensor, ...]:
    function = plan.bound.function
    return (*function.parameters, *function.returns)


def _read(statement: ir.Statement) -> Iterator[str]:
    match statement:
        case ir.Define(value=value, domain=domain) | ir.Accumulate(value=value, domain=domain):
            parts = [part for part in (value, domain.guard, *domain.exists) if part is not None]
            parts += [data.expr for index in statement.indices for data in ir.data_atoms(index)]
            yield from (access.tensor.name for part in parts for access in ir.accesses(part))
        case ir.Invoke(arguments=arguments) | ir.ApplyForeign(arguments=arguments):
            yield from (argument.name for argument in arguments)


def _is_plain(node: Node) -> bool:
    """Whether a loop can compute it anew: no product of matrices, nothing that is sorted, looked up or called."""
    match node:
        case Read(dimensions=dimensions, views=views):
            return not views and all(isinstance(dimension, Strip) for dimension in dimensions)
        case CallBuiltin(foreign=foreign) if foreign:
            return False
        case Fill() | Iota() | Step() | Apply() | CallBuiltin() | Fold() | Unroll() | LoopNest():
            return all(map(_is_plain, operands(node)))
        case _:
            return False


def _is_reduction(node: Node) -> bool:
    """Whether it is a reduction of single elements, and what is computed of that."""
    match node:
        case Fold() | LoopNest():
            return True
        case Apply() | CallBuiltin():
            return any(map(_is_reduction, operands(node)))
        case _:
            return False


HINTS: Final[tuple[Hint, ...]] = (_prefix, _rank, _only_reduced)

__all__ = ["HINTS", "hints_of"]
