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


def path_condition(path: Test | None, sizes: Mapping[SizeVar, int]) -> Condition:
    """What must hold for a read to happen; what depends on data may hold."""
    tests: list[Condition] = []
    while path is not None:
        tests.append(condition_of(path.condition, path.outcome))
        path = path.before
    return with_sizes(all_of(reversed(tests)), sizes)


def condition_of(expr: ir.Expr, outcome: bool = True) -> Condition:
    """That the expression has the outcome, as far as it depends on indices and sizes alone; else true."""
    match expr:
        case ir.Const(bool() as value):
            return TRUE if value == outcome else FALSE
        case ir.Unary("!", operand):
            return condition_of(operand, not outcome)
        case ir.Binary("&&" | "||" as operator, left, right):
            parts = condition_of(left, outcome), condition_of(right, outcome)
            return all_of(parts) if (operator == "&&") == outcome else any_of(parts)
        case ir.Binary(operator, left, right) if operator in _NEGATED:
            if left.dtype not in _EXACT or right.dtype not in _EXACT:
                return TRUE
            return compare(operator if outcome else _NEGATED[operator], affine_of(left), affine_of(right))
        case ir.Select(condition, then, otherwise):
            chosen = all_of((condition_of(condition), condition_of(then, outcome)))
            return any_of((chosen, all_of((condition_of(condition, False), condition_of(otherwise, outcome)))))
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
