"""Drops conditions implied by a valid target: ``O(I(n)) +=! X(n) where I(n) >= 0`` drops all other writes anyway."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from .. import ir
from ..symbolic import Affine
from .definitions import Formula, constant

# The bounds of the difference of its sides that make each comparison always hold.
_ALWAYS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "<": lambda lo, hi: hi < 0,
    "<=": lambda lo, hi: hi <= 0,
    ">": lambda lo, hi: lo > 0,
    ">=": lambda lo, hi: lo >= 0,
    "!=": lambda lo, hi: hi < 0 or lo > 0,
}


def placed(statement: Formula, shape: tuple[int, ...], origin: tuple[int | Affine, ...]) -> Formula:
    """The statement without comparisons that hold for every element of a target of this shape and first element.

    Values sent anywhere else are dropped, whether the comparison holds or not.
    """
    places = [
        _Place(subscript, first, first + extent - 1)
        for subscript, first, extent in zip(statement.indices, origin, shape, strict=True)
        if subscript.is_data and isinstance(first, int)
    ]
    if not places:
        return statement

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        match expr:
            case ir.Binary(operator, left, right) if operator in _ALWAYS and left.dtype == right.dtype == "int32":
                ends = (place.difference(ir.affine_of(left), ir.affine_of(right)) for place in places)
                holds = any(_ALWAYS[operator](*found) for found in ends if found is not None)
                return ir.Const(True, "bool", span=expr.span) if holds else expr
            case ir.Binary("&&", left, right) if _is_true(left) or _is_true(right):
                return right if _is_true(left) else left
            case ir.Cast(operand, dtype) if _is_true(operand):
                return constant(1, dtype)
            case ir.Select(condition, body, _) if _is_true(condition):
                return body
            case ir.Binary("*", left, right) if expr.dtype != "bool" and constant(1, expr.dtype) in (left, right):
                return right if left == constant(1, expr.dtype) else left
            case _:
                return expr

    parts = map(visit, ir.conjuncts(statement.domain.guard))
    guard = ir.conjunction(part for part in parts if not _is_true(part))
    return replace(statement, value=visit(statement.value), domain=replace(statement.domain, guard=guard))


@dataclass(frozen=True, slots=True)
class _Place:
    """A data-dependent subscript, and its valid elements: `lo` to `hi`."""

    subscript: Affine
    lo: int
    hi: int

    def difference(self, left: Affine, right: Affine) -> tuple[int, int] | None:
        """The ends of ``left - right`` for these elements, if each side is the subscript plus a number."""
        first, second = self.side(left), self.side(right)
        if first is None or second is None:
            return None
        by, base = first[0] - second[0], first[1] - second[1]
        ends = (by * self.lo + base, by * self.hi + base)
        return min(ends), max(ends)

    def side(self, side: Affine) -> tuple[int, int] | None:
        """The coefficient of the subscript in one side of a comparison, and the rest."""
        for by in (0, 1, -1):
            rest = (side - self.subscript.scale(by)).constant
            if rest is not None:
                return by, rest
        return None


def _is_true(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and expr.dtype == "bool" and expr.value is True
