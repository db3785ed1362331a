"""Tangents: the change of an expression, linear in its operands' changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ... import ir
from ...ir import Reducer
from ...symbolic import Affine
from ..substitution import substitute_expr
from .arithmetic import add, choose, constant, times
from .links import is_smooth, links
from .points import Keep, chosen_point, first_point, points
from .scope import Bound, Scope

# With at most this many points, finding a position is faster than a lookup, and its cotangent runs in a loop instead of
# a scatter.
FEW_POINTS: Final = 8
# For nodes, by identity, whether they depend on something; the node is kept so that its `id` is not reused.
Known = dict[int, tuple[ir.Expr, bool]]


@dataclass(frozen=True, slots=True)
class Forward:
    """Tangents with respect to the tensors of `active`, which has the tangent tensor of each."""

    scope: Scope
    active: Mapping[str, ir.Tensor]
    known: Known = field(default_factory=dict)

    def tangent(self, expr: ir.Expr, bound: Bound, keep: Keep | None = None) -> ir.Expr | None:
        """The tangent, with `bound` indices bound around it; None if it is zero.

        `keep` holds the values that the derivative of an outermost reduction needs.
        """
        if not depends(expr, self.active, self.known):
            return None
        match expr:
            case ir.Access(tensor, indices):
                return ir.Access(self.active[tensor.name], indices)
            case ir.Select(condition, then, otherwise, dtype):
                kept, other = self.tangent(then, bound), self.tangent(otherwise, bound)
                zero = constant(0, dtype)
                return choose(condition, kept or zero, other or zero)
            case ir.Reduce():
                return self.reduce(expr, bound, keep)
            case _:
                total: ir.Expr | None = None
                for link in links(expr):
                    change = self.tangent(link.operand, bound)
                    if change is not None:
                        total = add(total, link.forward(change))
                return total

    def reduce(self, expr: ir.Reduce, bound: Bound, keep: Keep | None) -> ir.Expr | None:
        change = self.tangent(expr.body, bound | frozenset(expr.indices))
        if change is not None and keep is not None and self.is_looked_up(expr):
            return self.chosen(expr, change, keep)
        found = None if change is None else points(expr, self.scope, bound, keep)
        if change is None or found is None:
            return None
        body = change if found.weight is None else times(found.weight, change)
        total = replace(expr, reducer=Reducer.SUM, guard=found.condition, body=body, rank=None)
        return total if found.scale is None else times(found.scale, total)

    def single(self, expr: ir.Reduce, bound: Bound, keep: Keep) -> tuple[ir.Expr, ir.Expr] | None:
        """The tangent of an extremum attained at a single point, and the number of points that attain it."""
        change = self.tangent(expr.body, bound | frozenset(expr.indices))
        if change is None or not expr.reducer.is_extremum or len(expr.indices) != 1:
            return None
        place, ties = first_point(expr, self.scope, keep)
        (index,) = expr.indices
        return substitute_expr(change, {index: Affine.of(ir.Data(place)) + self.scope.ranges[index].lo}), ties

    def is_looked_up(self, expr: ir.Reduce) -> bool:
        """Whether the tangent of an order statistic is looked up at its position, not selected among a few points."""
        if expr.rank is None or len(expr.indices) != 1:
            return False
        extent = self.scope.ranges[expr.indices[0]].extent.constant
        return extent is None or extent > FEW_POINTS

    def primal(self, expr: ir.Reduce, keep: Keep) -> ir.Expr | None:
        """An order statistic itself, looked up where its tangent is."""
        if not self.is_looked_up(expr) or expr.reducer.gives_position:
            return None
        place, exists = chosen_point(expr, self.scope, keep)
        (index,) = expr.indices
        there = substitute_expr(expr.body, {index: Affine.of(ir.Data(place)) + self.scope.ranges[index].lo})
        nothing = constant(expr.reducer.empty(expr.dtype), expr.dtype)
        return there if exists is None else choose(exists, there, nothing)

    def chosen(self, expr: ir.Reduce, change: ir.Expr, keep: Keep) -> ir.Expr:
        """The tangent of an order statistic: that of the selected point, if there is one."""
        place, exists = chosen_point(expr, self.scope, keep)
        (index,) = expr.indices
        there = substitute_expr(change, {index: Affine.of(ir.Data(place)) + self.scope.ranges[index].lo})
        return there if exists is None else choose(exists, there, constant(0, expr.dtype))


def depends(expr: ir.Expr, names: Mapping[str, object], known: Known) -> bool:
    """Whether the value depends on one of the tensors."""
    if not is_smooth(expr.dtype):
        return False
    if id(expr) not in known:
        match expr:
            case ir.Access(tensor):
                found = tensor.name in names
            case ir.Select(_, then, otherwise):
                found = depends(then, names, known) or depends(otherwise, names, known)
            case ir.Reduce(body=body, fixed=fixed):
                found = not fixed and depends(body, names, known)
            case _:
                found = any([depends(child, names, known) for child in ir.children(expr)])
        known[id(expr)] = expr, found
    return known[id(expr)][1]
