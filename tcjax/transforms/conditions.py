"""Normalises comparisons of integers: ``!(a != b)`` and ``a <= b && a > b - 1`` become ``a == b``."""

from collections.abc import Iterator
from typing import Final

from .. import ir
from ..symbolic import Affine, AtLeastZero

# Marks a condition implied by another one.
_TRUE: Final = ir.Const(True, "bool")


def plain_conditions(expr: ir.Expr) -> ir.Expr:
    """The expression without negated comparisons of integers, and with an equality in place of two bounds that meet."""
    if isinstance(expr, ir.Binary) and expr.operator == "&&":
        # All parts at once: a long chain would otherwise be examined again for each of its prefixes.
        given = ir.conjuncts(expr)
        parts = tuple(map(plain_conditions, given))
        changed = any(part is not own for part, own in zip(parts, given, strict=True))
        return _met((ir.conjunction(parts) or expr) if changed else expr)
    expr = ir.rebuild(expr, plain_conditions)
    match expr:
        case ir.Unary("!", ir.Binary("||", left, right)):
            parts = ir.negated(left), ir.negated(right)
            if any(isinstance(part, ir.Unary) for part in parts):
                return expr
            return _met(ir.Binary("&&", *parts, "bool", span=expr.span))
        case ir.Unary("!", operand):
            return ir.negated(operand)
        case _:
            return expr


def plain_guard(guard: ir.Expr | None) -> ir.Expr | None:
    """The guard of a statement in this form."""
    return None if guard is None else plain_conditions(guard)


def _met(condition: ir.Expr) -> ir.Expr:
    """The condition with an equality in place of each pair of bounds that leaves a single value."""
    parts = list(ir.conjuncts(condition))
    met = False
    # Finds each bound by its slack: if two slacks are each other's negatives, both are zero.
    places: dict[Affine, int] = {}
    for place, part in enumerate(parts):
        for slack in _slacks(part):
            first = places.pop(slack.scale(-1), None)
            if first is None:
                places.setdefault(slack, place)
            else:
                zero = ir.Const(0, "int32")
                parts[place] = ir.Binary("==", ir.integer(slack.scale(-1)), zero, "bool", span=parts[first].span)
                parts[first] = _TRUE
                met = True
    return (ir.conjunction(part for part in parts if part is not _TRUE) or _TRUE) if met else condition


def _slacks(condition: ir.Expr) -> Iterator[Affine]:
    """The expressions that are non-negative exactly where a comparison of integers holds."""
    if not isinstance(condition, ir.Binary) or not condition.left.dtype == condition.right.dtype == "int32":
        return
    match ir.condition_of(condition):
        # With two data values, the sum of one and a constant may overflow its type.
        case AtLeastZero(slack) if sum(isinstance(atom, ir.Data) for atom, _ in slack.terms) <= 1:
            yield slack
        case _:
            return
