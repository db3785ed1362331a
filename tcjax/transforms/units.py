"""Removes indices of a single value: reads use the number, and a reduction over one is its body."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .. import ir
from ..symbolic import Affine, IndexVar
from .inlining import Step
from .substitution import substitute_expr


def without_units(step: Step) -> Step:
    """The step without unit indices in its value; its left side keeps them."""
    values = {index: Affine.of(lo) for index, (lo, hi) in step.box.items() if hi - lo == 1}
    if not values:
        return step
    units = _Units(values)
    statement, guard = step.statement, step.statement.domain.guard
    plain = replace(
        statement,
        value=units.expr(statement.value),
        domain=replace(statement.domain, guard=None if guard is None else units.expr(guard)),
    )
    if isinstance(plain, ir.Accumulate) and not plain.reducer.is_ranked:
        plain = replace(plain, reduction=units.left(plain.reducer, plain.reduction))
    return replace(step, statement=plain)


@dataclass(frozen=True, slots=True)
class _Units:
    """The single values of some indices."""

    values: Mapping[IndexVar, Affine]

    def expr(self, expr: ir.Expr) -> ir.Expr:
        plain = substitute_expr(expr, self.values)
        return self.reduced(plain)

    def reduced(self, expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, self.reduced)
        if not isinstance(expr, ir.Reduce) or expr.rank is not None:
            return expr
        left = self.left(expr.reducer, expr.indices)
        if left or expr.indices == left:
            return replace(expr, indices=left)
        same = expr.guard is None and not expr.fixed and expr.dtype == expr.accumulate == expr.body.dtype
        return expr.body if same else replace(expr, indices=expr.indices[:1])

    def left(self, reducer: ir.Reducer | ir.Monoid, indices: tuple[IndexVar, ...]) -> tuple[IndexVar, ...]:
        """The indices of a reduction with more than one value; one stays if the reducer changes even a single point."""
        if isinstance(reducer, ir.Monoid):
            return indices
        left = tuple(index for index in indices if index not in self.values)
        return left if left or reducer.operator is not None else indices[:1]
