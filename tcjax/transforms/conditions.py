"""Comparisons of integers in one spelling: ``!(a != b)`` and ``a <= b && a > b - 1`` are ``a == b``."""

from collections.abc import Iterator
from dataclasses import replace

from .. import ir
from ..symbolic import Affine
from .factors import both


def plain_conditions(expr: ir.Expr) -> ir.Expr:
    """The expression without negated comparisons of integers, and with an equality for two bounds that meet."""
    expr = ir.rebuild(expr, plain_conditions)
    match expr:
        case ir.Unary("!", ir.Binary("||", left, right)):
            parts = ir.negated(left), ir.negated(right)
            if any(isinstance(part, ir.Unary) for part in parts):
                return expr
            return _met(ir.Binary("&&", *parts, "bool", span=expr.span))
        case ir.Unary("!", operand):
            return ir.negated(operand)
        case ir.Binary("&&"):
            return _met(expr)
        case ir.Reduce(guard=ir.Binary("&&") as guard):
            return replace(expr, guard=_met(guard))
        case _:
            return expr


def plain_guard(guard: ir.Expr | None) -> ir.Expr | None:
    """The guard of a statement in this spelling."""
    return None if guard is None else plain_conditions(guard)


def _met(condition: ir.Expr) -> ir.Expr:
    """The condition with an equality in the place of each pair of bounds that leave one value."""
    parts = list(ir.conjuncts(condition))
    for place, first in enumerate(parts):
        for second in parts[place + 1 :]:
            for one in _slacks(first):
                if any((one + other).constant == 0 for other in _slacks(second)):
                    assert isinstance(first, ir.Binary)
                    rest = [part for part in parts if part is not first and part is not second]
                    # Both bounds are of integers: the first without its slack is the equality.
                    zero = ir.Const(0, "int32")
                    equal = ir.Binary("==", ir.integer(one), zero, "bool", span=first.span)
                    left = ir.conjunction(rest)
                    return equal if left is None else _met(both(left, equal) or equal)
    return condition


def _slacks(condition: ir.Expr) -> Iterator[Affine]:
    """What is not negative where a comparison of integers holds."""
    match condition:
        case ir.Binary("<" | "<=" | ">" | ">=" as operator, left, right) if left.dtype == right.dtype == "int32":
            below, above = ir.affine_of(left), ir.affine_of(right)
            if operator in (">", ">="):
                below, above = above, below
            slack = above - below - (1 if operator in ("<", ">") else 0)
            # Of two values of data, the sum of one and a number may be too large for its type.
            if sum(isinstance(atom, ir.Data) for atom, _ in slack.terms) <= 1:
                yield slack
        case _:
            return
