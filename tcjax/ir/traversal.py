"""Walks over expressions: children, rebuilding, free index variables, reads."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from operator import is_
from typing import TypeVar, assert_never

from ..symbolic import Affine, IndexVar
from ..symbolic.affine import Atom, Bounded, Clamp, Quotient, Remainder
from .expressions import (
    Access,
    Binary,
    Call,
    Cast,
    Const,
    Data,
    Expr,
    Extent,
    Foreign,
    Index,
    Range,
    Reduce,
    Select,
    Tensor,
    Unary,
)
from .statements import Accumulate, ApplyForeign, Define, Invoke, Statement

Formula = TypeVar("Formula", bound="Define | Accumulate")


def data_atoms(affine: Affine) -> Iterator[Data]:
    """The `Data` atoms of a subscript, including those inside floors and clamps."""
    for atom, _ in affine.terms:
        yield from _data_of(atom)


def _data_of(atom: Atom) -> Iterator[Data]:
    match atom:
        case Data():
            yield atom
        case Quotient(argument, _) | Remainder(argument, _) | Bounded(_, argument):
            yield from data_atoms(argument)
        case Clamp(_, arguments):
            for argument in arguments:
                yield from data_atoms(argument)
        case _:
            return


def ragged_ends(ranges: Iterable[Range]) -> tuple[Expr, ...]:
    """The data-dependent ends of given ranges."""
    ends = (end for given in ranges if given.is_ragged for end in (given.lo, given.hi))
    return tuple(data.expr for end in ends for data in data_atoms(end))


def rebuild_range(given: Range, visit: Callable[[Expr], Expr]) -> Range:
    """The range with `visit` applied to its data-dependent ends."""
    if not given.is_ragged:
        return given
    return replace(given, lo=rebuild_subscript(given.lo, visit), hi=rebuild_subscript(given.hi, visit))


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, including those inside data-dependent subscripts and ranges."""
    match expr:
        case Const() | Extent() | Index():
            return ()
        case Access(_, indices):
            return tuple(data.expr for index in indices if index.is_data for data in data_atoms(index))
        case Unary(_, operand) | Cast(operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Call(_, arguments) | Foreign(_, arguments):
            return arguments
        case Select(condition, then, otherwise):
            return (condition, then, otherwise)
        case Reduce(ranges=ranges, guard=guard, body=body, rank=rank):
            return (*ragged_ends(ranges), *(part for part in (guard, body, rank) if part is not None))
        case _:
            assert_never(expr)


def rebuild(expr: Expr, visit: Callable[[Expr], Expr]) -> Expr:
    """The node with ``visit`` applied to each direct subexpression; the same node if none of them changes."""
    match expr:
        case Const() | Extent() | Index():
            return expr
        case Access(_, indices):
            if not any(index.is_data for index in indices):
                return expr
            return replace(expr, indices=tuple(rebuild_subscript(index, visit) for index in indices))
        case Unary(_, operand) | Cast(operand):
            found = visit(operand)
            return expr if found is operand else replace(expr, operand=found)
        case Binary(_, left, right):
            first, second = visit(left), visit(right)
            return expr if first is left and second is right else replace(expr, left=first, right=second)
        case Call(_, arguments) | Foreign(_, arguments):
            own = tuple(map(visit, arguments))
            return expr if all(map(is_, own, arguments)) else replace(expr, arguments=own)
        case Select(condition, then, otherwise):
            given = condition, then, otherwise
            own = visit(condition), visit(then), visit(otherwise)
            if all(map(is_, own, given)):
                return expr
            return replace(expr, condition=own[0], then=own[1], otherwise=own[2])
        case Reduce(ranges=ranges, guard=guard, body=body, rank=rank):
            own = guard and visit(guard), visit(body), rank and visit(rank)
            given = tuple(rebuild_range(each, visit) for each in ranges)
            if all(map(is_, own, (guard, body, rank))) and all(map(is_, given, ranges)):
                return expr
            return replace(expr, ranges=given, guard=own[0], body=own[1], rank=own[2])
        case _:
            assert_never(expr)


def rebuild_subscript(index: Affine, visit: Callable[[Expr], Expr]) -> Affine:
    """The subscript with `visit` applied to its data."""
    return index.rewrite(lambda atom: Data(visit(atom.expr)) if isinstance(atom, Data) else atom)


def rebuild_statement(statement: Formula, visit: Callable[[Expr], Expr]) -> Formula:
    """The statement with `visit` applied to its value, its guard and the data in its subscripts."""
    guard = statement.domain.guard
    return replace(
        statement,
        indices=tuple(rebuild_subscript(index, visit) for index in statement.indices),
        value=visit(statement.value),
        domain=replace(statement.domain, guard=guard and visit(guard)),
    )


def replaced(expr: Expr, old: Expr, new: Expr) -> Expr:
    """The expression with every occurrence of a part replaced."""
    return new if expr == old else rebuild(expr, lambda part: replaced(part, old, new))


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its subexpressions, outermost first."""
    pending = [expr]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(children(current)))


def accesses(expr: Expr) -> Iterator[Access]:
    """Every tensor read in the expression, outermost and leftmost first."""
    return (node for node in walk(expr) if isinstance(node, Access))


def has_reduction(expr: Expr) -> bool:
    """Whether the expression contains an inline reduction."""
    return any(isinstance(node, Reduce) for node in walk(expr))


def looks_up(expr: Expr) -> bool:
    """Whether it contains a read at a data-dependent subscript."""
    return any(index.is_data for access in accesses(expr) for index in access.indices)


def parts_of(statement: Define | Accumulate) -> tuple[Expr, ...]:
    """Everything that a statement computes: its value, its guard, and the data in its left side and ranges."""
    guard = () if statement.domain.guard is None else (statement.domain.guard,)
    places = (data.expr for subscript in statement.indices for data in data_atoms(subscript))
    return (statement.value, *guard, *places, *ragged_ends(statement.domain.ranges))


def left_indices(statement: Define | Accumulate) -> tuple[IndexVar, ...]:
    """The indices of the left side, each once, in the order of its subscripts."""
    return tuple(dict.fromkeys(i for subscript in statement.indices for i in sorted(subscript.variables, key=str)))


def nodes_of(statement: Define | Accumulate) -> Iterator[Expr]:
    """Every expression of a statement, including those inside subscripts."""
    return (node for part in parts_of(statement) for node in walk(part))


def accesses_of(statement: Define | Accumulate) -> Iterator[Access]:
    """Every tensor read in a statement."""
    return (node for node in nodes_of(statement) if isinstance(node, Access))


def free_indices(expr: Expr) -> frozenset[IndexVar]:
    """The index variables that the value depends on and no inline reduction binds."""
    match expr:
        case Index(variable):
            return frozenset((variable,))
        case Access(_, indices):
            return frozenset().union(*(index.variables for index in indices))
        case Reduce(indices=indices, ranges=ranges):
            inner = frozenset().union(*map(free_indices, children(expr)))
            ends = frozenset().union(*(end.variables for r in ranges for end in (r.lo, r.hi)))
            return (inner | ends) - frozenset(indices)
        case _:
            return frozenset().union(*map(free_indices, children(expr)))


def bound_indices(expr: Expr) -> frozenset[IndexVar]:
    """The index variables that inline reductions in the expression bind."""
    return frozenset(index for node in walk(expr) if isinstance(node, Reduce) for index in node.indices)


def tensors_read(statement: Statement) -> Iterator[Tensor]:
    """The tensors that a statement reads or passes on, once for each read, without the target it continues from."""
    match statement:
        case Define() | Accumulate():
            yield from (access.tensor for access in accesses_of(statement))
        case Invoke(_, _, arguments) | ApplyForeign(_, _, arguments):
            yield from arguments
        case _:
            assert_never(statement)
