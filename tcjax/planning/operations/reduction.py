"""A reduction as the operations see it."""

from dataclasses import dataclass

from ... import ir
from ...ir import Reducer
from ...symbolic import IndexVar
from ..access.reads import as_stored
from ..data.nodes import Node
from ..folds import as_number
from ..rules import by_rule, plan_value
from ..scope import Scope, masked_by


@dataclass(frozen=True, slots=True)
class Reduction:
    """``reducer[indices]`` of the product of the factors where the mask holds, computed in the type `accumulate`.

    All factors and the mask depend on its indices; only sums have several factors, or none. Where `around` is false the
    result is unused: its cotangent is zero, which must not multiply an infinity. A reduction that `is_term` is repeated
    for the steps of another one, and not unrolled itself.
    """

    reducer: Reducer | ir.Monoid
    indices: tuple[IndexVar, ...]
    factors: tuple[ir.Expr, ...]
    mask: ir.Expr | None
    accumulate: str
    around: ir.Expr | None = None
    is_term: bool = False

    @property
    def body(self) -> ir.Expr:
        """The product of the factors."""
        return ir.multiply(self.factors) if self.factors else ir.Const(as_number(1, self.accumulate), self.accumulate)

    @property
    def guard(self) -> ir.Expr | None:
        """The condition under which a point is computed, so that the derivative of a read multiplies no infinity."""
        return self.mask if len(self.factors) == 1 and is_read(self.factors[0]) else ir.both(self.mask, self.around)

    @property
    def expr(self) -> ir.Reduce:
        """The reduction as index notation. The condition around it moves inside a loop, whose derivative skips it."""
        guard = ir.both(self.mask, self.around)
        return ir.Reduce(self.reducer, self.indices, (), guard, self.body, None, self.accumulate, self.accumulate)

    def cheapest(self, scope: Scope) -> Node:
        """The reduction at every point of its free indices, by the cheapest operation."""
        return by_rule(self, scope)

    def values(self, scope: Scope) -> Node:
        """The reduced values at every point."""
        if not self.factors and self.mask is not None:
            return scope.cast(plan_value(self.mask, scope), self.accumulate)
        body = masked_by(self.guard, self.body, self.reducer, self.accumulate)
        return scope.cast(plan_value(body, scope), self.accumulate)


def is_read(expr: ir.Expr) -> bool:
    """Whether an expression is an element of a tensor, possibly converted to another type."""
    return isinstance(expr.operand if isinstance(expr, ir.Cast) else expr, ir.Access)


def operand_of(factor: ir.Expr, accumulate: str, scope: Scope) -> Node:
    """A factor as an operand of a matrix product, with its axes in memory order."""
    match factor:
        case ir.Cast(ir.Access() as read) if (
            factor.dtype == accumulate and ir.types.accumulator(read.dtype) == accumulate
        ):
            # dot_general itself multiplies 16-bit operands and accumulates in 32 bits.
            return as_stored(plan_value(read, scope))
        case _:
            return as_stored(scope.cast(plan_value(factor, scope), accumulate))
