"""Boolean expressions as conditions on index variables."""

from collections.abc import Mapping
from typing import Final

from .. import ir
from ..symbolic import (
    FALSE,
    TRUE,
    Affine,
    AllOf,
    AnyOf,
    AtLeastZero,
    Condition,
    SizeVar,
    all_of,
    any_of,
    clamp,
    compare,
)
from .survey import Test

_NEGATED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_EXACT: Final = ("int32", "int64")

# A conditional inside a condition doubles it; further in, it may hold.
_CONDITIONALS: Final = 6


def test_condition(test: Test, sizes: Mapping[SizeVar, int]) -> Condition:
    """That one test on the way to a read has its outcome."""
    return with_sizes(condition_of(test.condition, test.outcome), sizes)


def condition_of(expr: ir.Expr, outcome: bool = True, conditionals: int = _CONDITIONALS) -> Condition:
    """That the expression has the outcome, as far as it depends on indices and sizes alone; else true."""
    match expr:
        case ir.Const(bool() as value):
            return TRUE if value == outcome else FALSE
        case ir.Unary("!", operand):
            return condition_of(operand, not outcome, conditionals)
        case ir.Binary("&&" | "||" as operator, left, right):
            parts = condition_of(left, outcome, conditionals), condition_of(right, outcome, conditionals)
            return all_of(parts) if (operator == "&&") == outcome else any_of(parts)
        case ir.Binary(operator, left, right) if operator in _NEGATED:
            if left.dtype not in _EXACT or right.dtype not in _EXACT:
                return TRUE
            return compare(operator if outcome else _NEGATED[operator], affine_of(left), affine_of(right))
        case ir.Select(condition, then, otherwise) if conditionals > 0:
            fewer = conditionals - 1
            chosen = all_of((condition_of(condition, True, fewer), condition_of(then, outcome, fewer)))
            other = all_of((condition_of(condition, False, fewer), condition_of(otherwise, outcome, fewer)))
            return any_of((chosen, other))
        case _:
            return TRUE


def affine_of(expr: ir.Expr) -> Affine:
    """An integer expression as an affine one; what is not affine becomes a data atom."""
    if expr.dtype in _EXACT:
        match expr:
            case ir.Const(int() as value):
                return Affine.of(int(value))
            case ir.Extent(size):
                return Affine.of(size)
            case ir.Index(variable):
                return Affine.of(variable)
            case ir.Cast(operand) if operand.dtype in _EXACT:
                return affine_of(operand)
            case ir.Unary("-", operand):
                return -affine_of(operand)
            case ir.Binary(operator, left, right):
                return _combined(operator, affine_of(left), affine_of(right)) or Affine.of(ir.Data(expr))
            case _:
                pass
    return Affine.of(ir.Data(expr))


def with_sizes(condition: Condition, sizes: Mapping[SizeVar, int]) -> Condition:
    """The condition with every size a number."""
    match condition:
        case AtLeastZero(affine):
            return AtLeastZero(affine.substitute_sizes(sizes)) if affine.has_sizes else condition
        case AllOf(parts):
            return AllOf(tuple(with_sizes(part, sizes) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(with_sizes(part, sizes) for part in parts))


def _combined(operator: str, left: Affine, right: Affine) -> Affine | None:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*" if not right.terms:
            return left.scale(right.base)
        case "*" if not left.terms:
            return right.scale(left.base)
        case "//" if not right.terms and right.base.constant != 0:
            return left.quotient(right.base)
        case "%" if not right.terms and right.base.constant != 0:
            return left.remainder(right.base)
        case "min" | "max":
            return clamp(operator, (left, right))
        case _:
            return None
