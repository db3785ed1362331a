"""Permutes the dimensions of temporaries: a name says what is stored, not its layout in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from .. import ir
from ..ranges import Bound
from ..symbolic import Affine
from .definitions import Formula
from .inlining import Step

# For each dimension of a tensor in memory, its number in the text.
Order = tuple[int, ...]
Orders = Mapping[str, Order]
Item = TypeVar("Item")


def in_order(items: Sequence[Item], order: Order) -> tuple[Item, ...]:
    """One item for each dimension of a tensor, permuted."""
    return tuple(items[dimension] for dimension in order)


def reordered(step: Step, orders: Orders) -> Step:
    """The step with permuted dimensions of tensors."""
    return replace(step, statement=_formula(step.statement, orders))


def reordered_bound(bound: Bound, orders: Orders) -> Bound:
    """The program with permuted dimensions of its temporaries, none of which is passed whole."""
    if not orders:
        return bound
    function = bound.function
    statements = tuple(
        _formula(statement, orders) if isinstance(statement, (ir.Define, ir.Accumulate)) else statement
        for statement in function.statements
    )
    declared = tuple(_tensor(tensor, orders) for tensor in function.declared)
    return replace(
        bound,
        function=replace(function, statements=statements, declared=declared),
        origins={**bound.origins, **{name: in_order(bound.origins[name], order) for name, order in orders.items()}},
        shapes={**bound.shapes, **{name: in_order(bound.shapes[name], order) for name, order in orders.items()}},
    )


def _formula(statement: Formula, orders: Orders) -> Formula:
    guard = statement.domain.guard
    left = tuple(_affine(index, orders) for index in statement.indices)
    condition = None if guard is None else _expr(guard, orders)
    domain = replace(
        statement.domain, guard=condition, exists=tuple(_expr(expr, orders) for expr in statement.domain.exists)
    )
    target = _tensor(statement.target, orders)
    if target.name in orders:
        left = in_order(left, orders[target.name])
    return replace(statement, target=target, indices=left, value=_expr(statement.value, orders), domain=domain)


def _expr(expr: ir.Expr, orders: Orders) -> ir.Expr:
    expr = ir.rebuild(expr, lambda part: _expr(part, orders))
    if not isinstance(expr, ir.Access) or expr.tensor.name not in orders:
        return expr
    tensor = _tensor(expr.tensor, orders)
    return replace(expr, tensor=tensor, indices=in_order(expr.indices, orders[tensor.name]))


def _affine(affine: Affine, orders: Orders) -> Affine:
    return affine.rewrite(lambda atom: ir.Data(_expr(atom.expr, orders)) if isinstance(atom, ir.Data) else atom)


def _tensor(tensor: ir.Tensor, orders: Orders) -> ir.Tensor:
    if tensor.name not in orders:
        return tensor
    return replace(tensor, shape=in_order(tensor.shape, orders[tensor.name]))
