"""Splits a sum over a choice of several positions: ``sum[j]((j == i ? a : j == k ? b : 0) * x(j))``."""

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, IndexVar
from .definitions import Formula, is_one_to_one
from .inlining import Step
from .joining import placed
from .substitution import substitute_expr

# More positions than this are not written out.
MOST_PLACES: Final = 8


def by_choices(statement: Formula) -> Formula:
    """The statement with a sum for each position at which a factor of a sum is nonzero.

    The results agree if the other factors are finite: terms with a zero factor are dropped or added.
    """
    if isinstance(statement, ir.Accumulate):
        total = _whole(statement)
        taken_apart = None if total is None else _apart(total)
        if taken_apart is None:
            return statement
        domain = replace(statement.domain, guard=None)
        return ir.Define(statement.target, statement.indices, taken_apart, domain, span=statement.span)

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        return (_apart(expr) or expr) if isinstance(expr, ir.Reduce) else expr

    return replace(statement, value=visit(statement.value))


def with_own_indices(step: Step) -> Step:
    """The step with distinct indices for several reductions over the same ones."""
    box, seen = dict(step.box), set[IndexVar]()

    def visit(expr: ir.Expr) -> ir.Expr:
        if not isinstance(expr, ir.Reduce):
            return ir.rebuild(expr, visit)
        own = {index: placed(index, box[index], box) for index in expr.indices if index in seen}
        seen.update(expr.indices)
        values = {index: Affine.of(other) for index, other in own.items()}
        guard = None if expr.guard is None else substitute_expr(expr.guard, values)
        indices = tuple(own.get(index, index) for index in expr.indices)
        expr = replace(expr, indices=indices, body=substitute_expr(expr.body, values), guard=guard)
        return ir.rebuild(expr, visit)

    statement = replace(step.statement, value=visit(step.statement.value))
    return replace(step, statement=statement, box=box)


def _whole(statement: ir.Accumulate) -> ir.Reduce | None:
    """The sum that makes up each element of the statement, if it is nothing else."""
    if statement.reducer is not Reducer.SUM or not statement.restart or not statement.reduction:
        return None
    if statement.value.dtype != statement.target.dtype or not is_one_to_one(statement.indices):
        return None
    guard, kind = statement.domain.guard, statement.accumulate
    return ir.Reduce(Reducer.SUM, statement.reduction, (), guard, statement.value, None, kind, statement.target.dtype)


def _apart(total: ir.Reduce) -> ir.Expr | None:
    """A sum for each position of the first factor that has several; None if there is no such factor."""
    if total.reducer is not Reducer.SUM or not ir.types.is_float(total.body.dtype):
        return None
    factors = list(ir.factors(total.body))
    for number, factor in enumerate(factors):
        if not isinstance(factor, ir.Select):
            continue
        places = list(_places(factor, ()))
        few = 1 < len(places) <= MOST_PLACES
        if few and all(any(_is_place(part, total.indices) for part in conditions) for conditions, _ in places):
            sums = [
                replace(total, body=ir.multiply([*factors[:number], _only(*place), *factors[number + 1 :]]))
                for place in places
            ]
            return reduce(lambda a, b: ir.Binary("+", a, b, total.dtype, span=total.span), sums[1:], sums[0])
    return None


def _places(expr: ir.Expr, taken: tuple[ir.Expr, ...]) -> Iterator[tuple[tuple[ir.Expr, ...], ir.Expr]]:
    """The conditions under which a choice has each of its nonzero values."""
    match expr:
        case ir.Select(condition, first, second):
            yield from _places(first, (*taken, *ir.conjuncts(condition)))
            yield from _places(second, (*taken, ir.Unary("!", condition, "bool")))
        case ir.Const(value) if value == 0:
            return
        case _:
            yield taken, expr


def _is_place(condition: ir.Expr, indices: tuple[IndexVar, ...]) -> bool:
    """Whether the condition leaves a single value of an index of the sum."""
    match condition:
        case ir.Binary("==", left, right) if left.dtype == right.dtype == "int32":
            difference = ir.affine_of(left) - ir.affine_of(right)
            return any(difference.weight(index).constant in (1, -1) for index in indices)
        case _:
            return False


def _only(conditions: tuple[ir.Expr, ...], value: ir.Expr) -> ir.Expr:
    """The value under all of the conditions, zero elsewhere."""
    every = ir.conjunction(conditions)
    assert every is not None
    return ir.Select(every, value, ir.Const(0.0, value.dtype), value.dtype)
