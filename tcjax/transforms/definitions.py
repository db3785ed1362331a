"""Converts between two forms of a statement: the value of each element, and an accumulation of active points."""

import math
from collections.abc import Sequence
from dataclasses import replace

from .. import ir
from ..ir import Reducer, types
from ..symbolic import Affine, Box, IndexVar

Formula = ir.Define | ir.Accumulate


def is_one_to_one(indices: Sequence[Affine]) -> bool:
    """Whether every point writes its own element, with no data on the left side.

    True if each index follows from a subscript: alone, shifted, scaled, or together with known indices, as `i` and `j`
    in ``(2 * i, i + j)``.
    """
    if any(place.is_data for place in indices):
        return False
    unknown = frozenset[IndexVar]().union(*(place.variables for place in indices))
    while found := unknown & {_told(place, unknown) for place in indices}:
        unknown -= found
    return not unknown


def _told(subscript: Affine, unknown: frozenset[IndexVar]) -> IndexVar | None:
    """The index determined by a subscript's value once all but the `unknown` ones are known."""
    match [(atom, weight) for atom, weight in subscript.terms if atom.index_variables() & unknown]:
        case [(IndexVar() as index, weight)] if weight.constant:
            return index
        case _:
            return None


def as_define(statement: Formula, is_new: bool) -> ir.Define:
    """The statement with its reduction and its old value as part of the value; given ranges become guards.

    The target `is_new` if nothing was written to it before.
    """
    if isinstance(statement, ir.Define):
        if statement.domain.guard is None or not is_new:
            return statement
        nothing = constant(0, statement.target.dtype)
        value = ir.Select(statement.domain.guard, statement.value, nothing, statement.value.dtype)
        return replace(statement, value=value, domain=ir.Domain())
    reducer, value = statement.reducer, statement.value
    guard = statement.domain.guard
    if isinstance(reducer, ir.Monoid):
        assert statement.restart, "a state is no value to go on from"
        dtype = reducer.components(statement.accumulate)[0]
        value = ir.Reduce(reducer, statement.reduction, (), guard, value, None, statement.accumulate, dtype)
        return ir.Define(statement.target, statement.indices, cast(value, statement.target.dtype), span=statement.span)
    dtype = reducer.result(value.dtype, statement.accumulate)
    if statement.reduction:
        value = ir.Reduce(reducer, statement.reduction, (), guard, value, None, statement.accumulate, dtype)
    elif guard is not None:
        nothing = neutral(reducer, dtype)
        assert nothing is not None, f"{reducer.value} of at most one point"
        value = ir.Select(guard, value, nothing, dtype)
    value = cast(value, statement.target.dtype)
    if not statement.restart and not is_new and reducer.operator is not None:
        before = ir.Access(statement.target, statement.indices)
        value = ir.Binary(reducer.operator, before, value, value.dtype)
    return ir.Define(statement.target, statement.indices, value, span=statement.span)


def as_accumulation(statement: Formula) -> ir.Accumulate | None:
    """An accumulation over the active points; ``O(b) = sum[n](b == I(n) ? X(n) : 0)`` is recognised as one, too."""
    found: ir.Accumulate | None = None
    match statement:
        case ir.Accumulate():
            found = statement
        case ir.Define(value=ir.Reduce(reducer, indices, _, guard, body, None, accumulate, dtype) as value):
            if statement.domain.guard is not None or dtype != statement.target.dtype or value.fixed:
                return None
            # A reduction into places that data names would begin with all elements, those not named too.
            if any(subscript.is_data for subscript in statement.indices):
                return None
            domain = replace(statement.domain, guard=guard)
            found = ir.Accumulate(
                *(statement.target, statement.indices, reducer, True, indices, body, accumulate, domain),
                span=statement.span,
            )
            if any(index in value.indices for subscript in statement.indices for index in subscript.variables):
                return None
        case _:
            return None
    while (parts := guarded(found.reducer, found.value)) is not None:
        condition, body = parts
        guard = ir.conjunction((*ir.conjuncts(found.domain.guard), condition))
        found = replace(found, value=body, domain=replace(found.domain, guard=guard))
    return found


def guarded(reducer: Reducer | ir.Monoid, value: ir.Expr) -> tuple[ir.Expr, ir.Expr] | None:
    """The condition under which a value contributes, and the value; None if it always does."""
    nothing = neutral(reducer, value.dtype)
    match value:
        case ir.Select(condition, body, other) if other == nothing:
            return condition, body
        case ir.Select(condition, other, body) if other == nothing and nothing is not None:
            return ir.negated(condition), body
        case _:
            return None


def covers(statement: Formula, box: Box, shape: tuple[int, ...], origin: tuple[int, ...]) -> bool:
    """Whether the left side names every element once."""
    places = [(subscript.base, (subscript - subscript.base).bare) for subscript in statement.indices]
    if len({index for _, index in places}) < len(places):
        return False
    for (base, index), extent, first in zip(places, shape, origin, strict=True):
        if index is None or base.constant is None:
            return False
        if (box[index][0] + base.constant, box[index][1] + base.constant) != (first, first + extent):
            return False
    return True


def neutral(reducer: Reducer | ir.Monoid, dtype: str) -> ir.Const | None:
    """What a reduction gives over no points, where that is a number."""
    if isinstance(reducer, ir.Monoid) or not reducer.continues:
        return None
    if math.isfinite(reducer.nothing):
        return constant(reducer.nothing, dtype)
    return ir.Const(reducer.nothing, dtype) if types.is_float(dtype) else None


def of_nothing(reduce: ir.Reduce) -> ir.Const | None:
    """The value of a reduction of nothing, or of nothing but its identity, where that is a number; None of others."""
    is_empty = reduce.guard == ir.Const(False, "bool") or reduce.body == neutral(reduce.reducer, reduce.body.dtype)
    return neutral(reduce.reducer, reduce.dtype) if is_empty else None


def cast(expr: ir.Expr, dtype: str) -> ir.Expr:
    """The value in another type, or itself where it has that."""
    return expr if expr.dtype == dtype else ir.Cast(expr, dtype)


def constant(value: complex, dtype: str) -> ir.Const:
    """A number of a type."""
    if types.is_complex(dtype):
        return ir.Const(complex(value), dtype)
    assert isinstance(value, (bool, int, float)), f"{value} is no {dtype}"
    kind = bool if dtype == "bool" else int if types.is_integral(dtype) else float
    return ir.Const(kind(value), dtype)
