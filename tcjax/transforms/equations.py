"""Solves guards that equate an index with data: ``O(b) +=! X(n) where b == I(n)`` becomes ``O(I(n)) +=! X(n)``."""

from dataclasses import replace

from .. import ir
from ..symbolic import Affine, Box, IndexVar
from .definitions import as_accumulation
from .substitution import substitute

Formula = ir.Define | ir.Accumulate


def solve(
    statement: Formula, box: Box, shape: tuple[int, ...], origin: tuple[int | Affine, ...]
) -> tuple[Formula, tuple[str, ...]]:
    """The statement with such indices replaced by their data, and what was found, in words.

    An index of the left side must run over its whole dimension, which has the given extent and first element. Given
    ranges must already be guards.
    """
    found = as_accumulation(statement)
    if found is None or isinstance(found.reducer, ir.Monoid) or not found.reducer.commutative:
        return statement, ()
    if any(box[index][0] >= box[index][1] for index in found.reduction):
        # A point without data names no element; the statement gives such elements the neutral value.
        return statement, ()
    solved, notes = found, list[str]()
    for index in found.reduction:
        before, solved = solved, _chosen(solved, index, box)
        if solved is not before:
            notes.append(f"data decide `{index}`: it has one value for each point")
    for place, (subscript, extent, first) in enumerate(zip(found.indices, shape, origin, strict=True)):
        index = subscript.bare
        others = (*solved.indices[:place], *solved.indices[place + 1 :])
        if index is None or any(index in other.variables for other in others):
            continue
        if box[index] == (first, first + extent):
            before, solved = solved, _solved(solved, index)
            if solved is not before:
                notes.append(f"`{index}` is `{solved.indices[place]}`: every value goes to its place")
    return (solved, tuple(notes)) if notes else (statement, ())


def _chosen(statement: ir.Accumulate, index: IndexVar, box: Box) -> ir.Accumulate:
    """The statement without a reduction index, if its guard equates it with data at the other indices."""
    parts = ir.conjuncts(statement.domain.guard)
    for part in parts:
        value = _equal(part, index)
        if (
            value is None
            or not value.is_data
            or any(index in ir.free_indices(atom.expr) for atom in ir.data_atoms(value))
        ):
            continue
        low, high = (ir.Const(end, "int32") for end in box[index])
        inside = ir.within(ir.integer(value), low, high)
        others = (other for other in parts if other is not part)
        guard = ir.conjunction((*others, *inside))
        rest = tuple(other for other in statement.reduction if other != index)
        return substitute(replace(statement, domain=replace(statement.domain, guard=guard)), {index: value}, rest)
    return statement


def _solved(statement: ir.Accumulate, index: IndexVar) -> ir.Accumulate:
    """The statement without the index, if its guard equates it with data."""
    parts = ir.conjuncts(statement.domain.guard)
    for part in parts:
        value = _equal(part, index)
        if value is None or not value.is_data:
            continue
        guard = ir.conjunction(other for other in parts if other is not part)
        reduction = tuple(each for each in statement.reduction if each not in value.variables)
        places = frozenset[IndexVar]().union(*(each.variables for each in statement.indices if each.is_data))
        if len(reduction) == len(statement.reduction) and not value.variables <= places:
            # Data on the left side only: no two points meet.
            continue
        return substitute(replace(statement, domain=replace(statement.domain, guard=guard)), {index: value}, reduction)
    return statement


def _equal(condition: ir.Expr, index: IndexVar) -> Affine | None:
    """The value of an index from an equality; None if it does not determine it."""
    match condition:
        case ir.Binary("==", left, right) if left.dtype == right.dtype == "int32":
            difference = ir.affine_of(left) - ir.affine_of(right)
            by = difference.weight(index).constant
            value = difference - Affine.of(index).scale(by) if by == 1 or by == -1 else None
            return None if value is None or index in value.variables else value.scale(-1 if by == 1 else 1)
        case _:
            return None
