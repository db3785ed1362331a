"""Sums and products: the only place that takes them apart and puts them together.

Conjunctions are split and built by `conjuncts` and `conjunction`. `transforms.factors.summands` splits a sum of
products, masks included, with these functions.
"""

from collections.abc import Iterable

from .expressions import Binary, Const, Expr, Unary
from .traversal import free_indices
from .types import is_integral

# A term of a sum, and whether it is subtracted.
Term = tuple[bool, Expr]


def operands(expr: Expr, operator: str) -> list[Expr]:
    """The operands of an associative operator, in order, regardless of brackets."""
    found: list[Expr] = []
    pending = [expr]
    while pending:
        match pending.pop():
            case Binary(own, left, right) if own == operator:
                pending += [right, left]
            case part:
                found.append(part)
    return found


def terms(expr: Expr) -> list[Term]:
    """The expression as terms that are added, or subtracted (True)."""
    found: list[Term] = []
    pending = [(False, expr)]
    while pending:
        negative, current = pending.pop()
        match current:
            case Binary("+", left, right) if current.dtype != "bool":
                pending += [(negative, right), (negative, left)]
            case Binary("-", left, right):
                pending += [(not negative, right), (negative, left)]
            case Unary("-", operand):
                pending.append((not negative, operand))
            case _:
                found.append((negative, current))
    return found


def summed(found: Iterable[Term], dtype: str) -> Expr:
    """The terms as one expression."""
    (negative, total), *rest = sorted(found, key=lambda term: term[0])
    if negative:
        total = Unary("-", total, dtype)
    for negative, term in rest:
        total = Binary("-" if negative else "+", total, term, dtype)
    return total


def factors(expr: Expr) -> list[Expr]:
    """The factors of a product, in order; a divisor is a factor too, as a `reciprocal`.

    Signs and conversions stay with their factor: `transforms.factors.summands` handles signs.
    """
    found: list[Expr] = []
    pending = [expr]
    while pending:
        current = pending.pop()
        match current:
            case Binary("*", left, right) if current.dtype != "bool":
                pending += [right, left]
            case Binary("/", left, right) if not is_integral(current.dtype):
                whole = left == Const(1.0, left.dtype)
                divisors = _apart(right)
                if whole and len(divisors) == 1:
                    found.append(current)
                else:
                    pending += [*map(reciprocal, reversed(divisors)), *([] if whole else [left])]
            case _:
                found.append(current)
    return found


def _apart(divisor: Expr) -> list[Expr]:
    """The factors of a divisor; kept together if they have the same indices."""
    match divisor:
        case Binary("*", left, right) if free_indices(left) != free_indices(right):
            return [*_apart(left), *_apart(right)]
        case _:
            return [divisor]


def multiply(found: Iterable[Expr]) -> Expr:
    """The product of at least one factor; a reciprocal divides the others."""
    first, *rest = sorted(found, key=lambda factor: divisor_of(factor) is not None)
    for factor in rest:
        divisor = divisor_of(factor)
        operator, second = ("*", factor) if divisor is None else ("/", divisor)
        first = Binary(operator, first, second, factor.dtype)
    return first


def reciprocal(divisor: Expr) -> Expr:
    """``1 / divisor``."""
    return Binary("/", Const(1.0, divisor.dtype), divisor, divisor.dtype)


def divisor_of(factor: Expr) -> Expr | None:
    """The divisor of a reciprocal; None for any other factor."""
    match factor:
        case Binary("/", Const(1.0), divisor) if not is_integral(factor.dtype):
            return divisor
        case _:
            return None
