"""Sums of products: splits expressions, and writes conditions as affine inequalities."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from .. import ir
from ..symbolic import Affine, Box, IndexVar
from .substitution import substitute_expr


@dataclass(frozen=True, slots=True)
class Product:
    """``sign * (mask ? factors : 0)``; a divisor is a factor too, as a `reciprocal`.

    Where the mask is false the product contributes 0, whatever its factors are. A float that is zero under a condition
    stays a factor with its condition, because zero times infinity is NaN.
    """

    factors: tuple[ir.Expr, ...]
    negative: bool = False
    mask: ir.Expr | None = None


def summands(expr: ir.Expr) -> list[Product]:
    """The expression as a sum of products, split at its outermost additions only."""
    return [_product(term, negative) for negative, term in ir.terms(expr)]


def _product(expr: ir.Expr, negative: bool) -> Product:
    mask: ir.Expr | None = None
    # Each with whether it is the whole product.
    pending: list[tuple[ir.Expr, bool]] = [(expr, True)]
    factors: list[ir.Expr] = []
    while pending:
        current, whole = pending.pop()
        match current:
            case ir.Unary("-", operand):
                negative = not negative
                pending.append((operand, whole))
            case ir.Select(condition, then, ir.Const(0)) if whole or ir.types.is_integral(current.dtype):
                mask = ir.both(mask, condition)
                pending.append((then, whole))
            case ir.Select(condition, ir.Const(0), otherwise) if whole or ir.types.is_integral(current.dtype):
                mask = ir.both(mask, ir.negated(condition))
                pending.append((otherwise, whole))
            case _ if len(parts := ir.factors(current)) > 1:
                pending += [(part, False) for part in reversed(parts)]
            case _:
                factors.append(current)
    return Product(tuple(sorted(factors, key=lambda factor: ir.divisor_of(factor) is not None)), negative, mask)


def distributed(product: Product, fixed: frozenset[IndexVar]) -> list[Product]:
    """``a * (b - c)`` as ``a*b - a*c``, if only the difference depends on every index (not counting those in `fixed`).

    Not for powers: expanding ``(b - c) * (b - c)`` loses the digits that the difference keeps. Nor next to a factor
    that is large where a difference is small.
    """
    whole = frozenset[IndexVar]().union(*map(ir.free_indices, product.factors)) - fixed
    for position, factor in enumerate(product.factors):
        others = product.factors[:position] + product.factors[position + 1 :]
        parts = summands(factor)
        spaces = [frozenset[IndexVar]().union(*map(ir.free_indices, part.factors)) - fixed for part in parts]
        if not others or factor in others or len(parts) < 2 or any(space == whole for space in spaces):
            continue
        if ir.free_indices(factor) - fixed == whole and not peaks(others, spaces):
            return [_times(product, others, part) for part in parts]
    return [product]


def multiplied_out(product: Product) -> list[Product]:
    """``a * (b + c)`` as ``a*b + a*c``; a difference is kept, for its precision."""
    for place, factor in enumerate(product.factors):
        others = product.factors[:place] + product.factors[place + 1 :]
        parts = summands(factor)
        if not others or factor in others or len(parts) < 2 or any(part.negative for part in parts):
            continue
        return [_times(product, others, part) for part in parts]
    return [product]


def _times(product: Product, others: tuple[ir.Expr, ...], part: Product) -> Product:
    """The product with one of its factors replaced by a part of it, next to the `others`."""
    negative, mask, own = product.negative != part.negative, product.mask, part.factors
    if part.mask is not None and ir.types.is_integral(own[0].dtype):
        mask = ir.both(mask, part.mask)
    elif part.mask is not None:
        own = (masked(part.mask, ir.multiply(own), 0),)
    return Product((*others, *own), negative, mask)


def divided_sum(
    product: Product,
    reduced: Sequence[IndexVar],
    ranges: Box,
    fixed: frozenset[IndexVar] = frozenset(),
) -> list[Product]:
    """`distributed` for a product summed over the `reduced` indices: ``a * (b - c)`` as ``a*b' - a*c'``.

    In a difference of rows and columns, ``b(i) - c(j)``, both are taken relative to the first element of the sum: two
    sums of products of large numbers would lose the digits that the difference keeps.
    """
    own = frozenset(reduced) - fixed
    for place, factor in enumerate(product.factors):
        others = product.factors[:place] + product.factors[place + 1 :]
        match factor:
            case ir.Binary("-", left, right) if factor not in others and ir.types.is_float(factor.dtype):
                summed, beside = (right, left) if depends(right, own) else (left, right)
                spaces = ir.free_indices(summed) - fixed, ir.free_indices(beside) - fixed
                apart = bool(spaces[1] - spaces[0]) and spaces[0] - own <= spaces[1]
                if others and spaces[0] & own and apart and not spaces[1] & own and not peaks(others, spaces):
                    origin = _first(summed, own, ranges)
                    parts = (replace(factor, left=part, right=origin) for part in (left, right))
                    first, second = (replace(product, factors=(*others, part)) for part in parts)
                    return [first, replace(second, negative=not product.negative)]
            case _:
                pass
    return distributed(product, fixed)


# ``1 / |b - c|`` times ``b - c`` is at most one: splitting it loses few digits, but higher powers lose many.
MOST_STEEP: Final = 0.5
# A denominator bounded away from zero makes nothing much larger than elsewhere.
LEAST_DENOMINATOR: Final = 0.5


def peaks(factors: Sequence[ir.Expr], spaces: Sequence[frozenset[IndexVar]]) -> bool:
    """Whether factors may peak at a few points where a difference is small, as powers of ``1 / |b - c|`` do.

    Factors that depend only on the indices of one of the `spaces` do not count.
    """
    nodes = (node for factor in factors for node in ir.walk(factor))
    return sum(_steepness(node, spaces) for node in nodes) > MOST_STEEP


def _steepness(node: ir.Expr, spaces: Sequence[frozenset[IndexVar]]) -> float:
    """The power of ``1 / square`` with which a node grows as the square approaches zero."""
    match node:
        case ir.Binary("/", _, base):
            power = 1.0
        case ir.Call("rsqrt", (base,)):
            power = 0.5
        case ir.Call("pow", (base, exponent)) | ir.Binary("**", base, exponent):
            power = max(0.0, -(_least(exponent) or 0.0))
        case _:
            return 0.0
    while isinstance(base, ir.Cast) or (isinstance(base, ir.Call) and base.function == "sqrt"):
        power, base = (power, base.operand) if isinstance(base, ir.Cast) else (power / 2, base.arguments[0])
    free = ir.free_indices(base)
    bounded = any(free <= space for space in spaces) or (_least(base) or 0.0) >= LEAST_DENOMINATOR
    return 0.0 if bounded else power


def _least(expr: ir.Expr) -> float | None:
    """A lower bound of an expression's values; None if none is known."""
    match expr:
        case ir.Const(int() | float() as value):
            return float(value)
        case ir.Unary("-", ir.Const(int() | float() as value)):
            return -float(value)
        case ir.Binary("+", left, right):
            one, two = _least(left), _least(right)
            return None if one is None or two is None else one + two
        case ir.Binary("*", left, right) if left == right:
            return 0.0
        case ir.Binary("*" | "/", left, right):
            one, two = _least(left), _least(right)
            return 0.0 if one is not None and two is not None and one >= 0 and two >= 0 else None
        case ir.Call("exp" | "sqrt" | "abs" | "fabs", _):
            return 0.0
        case ir.Call("pow", (_, ir.Const(2 | 4 | 6))):
            return 0.0
        case ir.Reduce(ir.Reducer.SUM, body=body):
            least = _least(body)
            return 0.0 if least is not None and least >= 0 else None
        case ir.Cast(operand):
            return _least(operand)
        case _:
            return None


def _first(expr: ir.Expr, own: frozenset[IndexVar], ranges: Box) -> ir.Expr:
    """The value at the first point of a sum, or 0 if it is not finite."""
    value = substitute_expr(expr, {index: Affine.of(ranges[index][0]) for index in own})
    zero = ir.Const(0.0, value.dtype)
    finite = ir.Binary("==", ir.Binary("-", value, value, value.dtype), zero, "bool")
    return ir.Select(finite, value, zero, value.dtype)


def masked(mask: ir.Expr | None, body: ir.Expr, otherwise: bool | int | float) -> ir.Expr:
    """``mask ? body : otherwise``."""
    if mask is None:
        return body
    return ir.Select(mask, body, ir.Const(otherwise, body.dtype), body.dtype)


def non_negative(condition: ir.Expr, *, of_data: bool = False) -> Affine | None:
    """The affine expression that is >= 0 exactly where an integer comparison holds; None if there is none.

    With `of_data` one side may be any integer, as an atom: ``k < last(q)`` is ``last(q) - k - 1``.
    """
    match condition:
        case ir.Binary("<" | "<=" | ">" | ">=" as operator, left, right):
            a, b = affine_of(left), affine_of(right)
            if of_data and {left.dtype, right.dtype} <= {"int8", "int16", "int32"} and (a is None) != (b is None):
                a, b = (Affine.of(ir.Data(own)) if e is None else e for e, own in ((a, left), (b, right)))
            if a is None or b is None:
                return None
            match operator:
                case "<":
                    return b - a - 1
                case "<=":
                    return b - a
                case ">":
                    return a - b - 1
                case _:
                    return a - b
        case ir.Unary("!", operand):
            inner = ir.negated(operand)
            return None if isinstance(inner, ir.Unary) else non_negative(inner, of_data=of_data)
        case _:
            return None


def affine_of(expr: ir.Expr) -> Affine | None:
    """An integer value as an affine expression, if it is one."""
    match expr:
        case ir.Const(value, "int32"):
            return Affine.of(int(value.real))
        case ir.Index(variable):
            return Affine.of(variable)
        case ir.Unary("-", operand):
            inner = affine_of(operand)
            return None if inner is None else -inner
        case ir.Binary("+" | "-" | "*" as operator, left, right):
            a, b = affine_of(left), affine_of(right)
            if a is None or b is None:
                return None
            if operator == "+":
                return a + b
            if operator == "-":
                return a - b
            scale, other = (a, b) if a.constant is not None else (b, a)
            return None if scale.constant is None else other.scale(scale.constant)
        case _:
            return None


def depends(expr: ir.Expr, indices: frozenset[IndexVar]) -> bool:
    """Whether the value depends on any of the indices."""
    return not indices.isdisjoint(ir.free_indices(expr))
