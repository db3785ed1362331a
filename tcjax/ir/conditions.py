"""Boolean expressions as conditions on index variables."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ..symbolic import FALSE, TRUE, Affine, Condition, Size, SizeLike, all_of, any_of, compare
from ..symbolic.affine import combined
from .expressions import Access, Binary, Cast, Const, Data, Expr, Extent, Index, Select, Unary, first_of
from .integers import integer
from .operands import operands
from .types import is_integral

_NEGATED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_EXACT: Final = ("int32", "int64")

# A conditional inside a condition doubles it; beyond this depth the condition counts as true.
_CONDITIONALS: Final = 6


def condition_of(expr: Expr, outcome: bool = True, conditionals: int = _CONDITIONALS) -> Condition:
    """The condition that the expression has the outcome, as far as it depends only on indices and sizes; else true."""
    match expr:
        case Const(bool() as value):
            return TRUE if value == outcome else FALSE
        case Unary("!", operand):
            return condition_of(operand, not outcome, conditionals)
        case Binary("&&" | "||" as operator, left, right):
            parts = condition_of(left, outcome, conditionals), condition_of(right, outcome, conditionals)
            return all_of(parts) if (operator == "&&") == outcome else any_of(parts)
        case Binary(operator, left, right) if operator in _NEGATED:
            if left.dtype not in _EXACT or right.dtype not in _EXACT:
                return TRUE
            return compare(operator if outcome else _NEGATED[operator], affine_of(left), affine_of(right))
        case Select(condition, then, otherwise) if conditionals > 0:
            fewer = conditionals - 1
            chosen = all_of((condition_of(condition, True, fewer), condition_of(then, outcome, fewer)))
            other = all_of((condition_of(condition, False, fewer), condition_of(otherwise, outcome, fewer)))
            return any_of((chosen, other))
        case _:
            return TRUE


def conjuncts(condition: Expr | None) -> tuple[Expr, ...]:
    """The conditions that must all hold; empty for None."""
    return () if condition is None else tuple(operands(condition, "&&"))


def conjunction(conditions: Iterable[Expr]) -> Expr | None:
    """The conjunction of the conditions; None if there are none."""
    found: Expr | None = None
    for condition in conditions:
        found = condition if found is None else Binary("&&", found, condition, "bool", span=found.span)
    return found


def both(first: Expr | None, second: Expr | None) -> Expr | None:
    """The conjunction of two conditions, either of which may be None; duplicates are dropped."""
    given = conjuncts(first)
    new = [part for part in conjuncts(second) if part not in given]
    return conjunction(new if first is None else (first, *new))


def within(value: Expr, lo: Expr, hi: Expr) -> tuple[Expr, Expr]:
    """``lo <= value`` and ``value < hi``."""
    return Binary("<=", lo, value, "bool"), Binary("<", value, hi, "bool")


def inside(read: Access, firsts: Sequence[SizeLike]) -> Expr:
    """Whether every subscript is inside its dimension, which begins at the corresponding one of `firsts`; one with a
    boundary always is.

    The condition of ``pad(read, c)``.
    """
    conditions: list[Expr] = []
    for subscript, first, extent in zip(read.indices, firsts, read.tensor.shape, strict=True):
        if subscript.bounded is None:
            lo, hi = Affine.of(Size.of(first)), Affine.of(extent + first)
            conditions += within(integer(subscript), integer(lo), integer(hi))
    return conjunction(conditions) or Const(True, "bool")


def is_padded(choice: Select) -> bool:
    """Whether a choice is ``pad(read, c)``."""
    read = choice.then
    if not isinstance(read, Access) or not read.indices:
        return False
    firsts = [first_of(read.tensor.name, dimension) for dimension in range(read.tensor.rank)]
    return choice.condition in (inside(read, [0] * read.tensor.rank), inside(read, firsts))


def negated(condition: Expr) -> Expr:
    """The negated condition (an integer comparison is inverted; a float comparison is not, because of NaN)."""
    match condition:
        case Const(bool() as value):
            return replace(condition, value=not value)
        case Binary(operator, left, _) if operator in _NEGATED and is_integral(left.dtype):
            return replace(condition, operator=_NEGATED[operator])
        case Unary("!", operand):
            return operand
        case _:
            return Unary("!", condition, "bool")


def affine_of(expr: Expr) -> Affine:
    """An integer expression as an affine one; non-affine parts become data atoms."""
    if expr.dtype in _EXACT:
        match expr:
            case Const(int() as value):
                return Affine.of(int(value))
            case Extent(size):
                return Affine.of(size)
            case Index(variable):
                return Affine.of(variable)
            case Cast(operand) if operand.dtype in _EXACT:
                return affine_of(operand)
            case Unary("-", operand):
                return -affine_of(operand)
            case Binary(operator, left, right):
                return combined(operator, affine_of(left), affine_of(right)) or Affine.of(Data(expr))
            case _:
                pass
    return Affine.of(Data(expr))


def number_of(expr: Expr) -> float | None:
    """The value of a real constant."""
    match expr:
        case Const(bool() | int() | float() as value):
            return float(value)
        case Unary("-", operand):
            inner = number_of(operand)
            return None if inner is None else -inner
        case Cast(operand):
            return number_of(operand)
        case _:
            return None
