"""``O(b) +=! X(n) where b == I(n)`` is ``O(I(n)) +=! X(n)``: an index that a guard equates with data is that data."""

from dataclasses import replace

from .. import ir
from ..ir import Reducer
from ..ranges import Box
from ..symbolic import Affine, IndexVar
from .substitution import substitute

Formula = ir.Define | ir.Accumulate

# An element for each of so few values of an index costs less than to bring each value to its place.
FEW = 16
# Their values may meet in any order, and a scatter gives those that meet nowhere the identity.
_UNORDERED = {Reducer.SUM: 0, Reducer.PRODUCT: 1, Reducer.MIN: float("inf"), Reducer.MAX: -float("inf")}
_MEETING = frozenset([*_UNORDERED, Reducer.MEAN, Reducer.LOGSUMEXP, Reducer.ANY, Reducer.ALL])


def solve(
    statement: Formula, box: Box, shape: tuple[int, ...], origin: tuple[int | Affine, ...]
) -> tuple[Formula, tuple[str, ...]]:
    """The statement with the data in the place of each left index that they decide, and what was found, in words.

    Such an index has all values of its dimension, which has the given extent and first element. Given ranges must have
    become guards before.
    """
    found = _as_accumulation(statement)
    if found is None or found.reducer not in _MEETING:
        return statement, ()
    solved, notes = found, list[str]()
    for place, (subscript, extent, first) in enumerate(zip(found.indices, shape, origin, strict=True)):
        index = subscript.bare
        others = (*solved.indices[:place], *solved.indices[place + 1 :])
        if index is None or any(index in other.variables for other in others):
            continue
        if box[index] == (first, first + extent) and extent > FEW:
            before, solved = solved, _solved(solved, index)
            if solved is not before:
                notes.append(f"`{index}` is `{solved.indices[place]}`: every value goes to its place")
    return (solved, tuple(notes)) if notes else (statement, ())


def _solved(statement: ir.Accumulate, index: IndexVar) -> ir.Accumulate:
    """The statement without the index, if its guard says which data it is."""
    parts = ir.conjuncts(statement.domain.guard)
    for part in parts:
        value = _equal(part, index)
        if value is None or not value.is_data:
            continue
        guard = ir.conjunction(other for other in parts if other is not part)
        reduction = tuple(each for each in statement.reduction if each not in value.variables)
        if len(reduction) == len(statement.reduction):
            # Data of the left side alone: no points meet.
            continue
        return substitute(replace(statement, domain=replace(statement.domain, guard=guard)), {index: value}, reduction)
    return statement


def _equal(condition: ir.Expr, index: IndexVar) -> Affine | None:
    """What the index is where an equality holds; None where that is not said."""
    match condition:
        case ir.Binary("==", left, right) if left.dtype == right.dtype == "int32":
            difference = ir.affine_of(left) - ir.affine_of(right)
            by = next((weight.constant for atom, weight in difference.terms if atom == index), 0)
            value = difference - Affine.of(index).scale(by) if by == 1 or by == -1 else None
            return None if value is None or index in value.variables else value.scale(-1 if by == 1 else 1)
        case _:
            return None


def _as_accumulation(statement: Formula) -> ir.Accumulate | None:
    """An accumulation whose points are those that count: ``O(b) = sum[n](b == I(n) ? X(n) : 0)`` is one too."""
    found: ir.Accumulate | None = None
    match statement:
        case ir.Accumulate():
            found = statement
        case ir.Define(value=ir.Reduce(reducer, indices, _, guard, body, None, accumulate, dtype) as value):
            if statement.domain.guard is not None or dtype != statement.target.dtype:
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
    nothing = _UNORDERED.get(found.reducer) if isinstance(found.reducer, Reducer) else None
    match found.value:
        case ir.Select(condition, then, ir.Const(other)) if other == nothing:
            guard = ir.conjunction((*ir.conjuncts(found.domain.guard), condition))
            return replace(found, value=then, domain=replace(found.domain, guard=guard))
        case _:
            return found
