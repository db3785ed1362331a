"""Recognises variances: sums of squared deviations from a mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, Box, IndexVar
from .definitions import Formula
from .factors import Product, depends, summands
from .substitution import substitute_expr

# Tolerance for the scale of a mean relative to one over the number of points: reciprocals may be written as decimals.
ROUNDING: Final = 1e-6


def about_mean(factors: Sequence[ir.Expr], indices: Sequence[IndexVar], box: Box) -> ir.Access | None:
    """``x(n)`` if the factors are the square of ``x(n) - mean[k](x(k))`` over all `indices`; else None."""
    found = _square(factors, frozenset(indices))
    if found is None or not all(_is_mean(centre, found.value, indices, box) for centre in found.centres):
        return None
    return found.value


def centres(statement: Formula) -> Iterator[str]:
    """The tensors that may hold the mean in a sum of squared deviations."""
    sums: list[tuple[tuple[IndexVar, ...], ir.Expr]] = [
        (node.indices, node.body)
        for node in ir.walk(statement.value)
        if isinstance(node, ir.Reduce) and node.reducer.is_linear
    ]
    if isinstance(statement, ir.Accumulate) and statement.reducer.is_linear:
        sums.append((statement.reduction, statement.value))
    for indices, body in sums:
        yield from _centres(indices, body)


def _centres(indices: Sequence[IndexVar], body: ir.Expr) -> Iterator[str]:
    reduced = frozenset(indices)
    for product in summands(body):
        found = _square([factor for factor in product.factors if depends(factor, reduced)], reduced)
        for centre in () if found is None else found.centres:
            yield from (access.tensor.name for factor in centre.factors for access in ir.accesses(factor))


def with_centres(statement: Formula, name: str, alias: str) -> Formula:
    """The statement with the tensor under another name wherever a sum of squared deviations reads it."""

    def renamed(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, renamed)
        if isinstance(expr, ir.Access) and expr.tensor.name == name:
            return replace(expr, tensor=replace(expr.tensor, name=alias))
        return expr

    def visit(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Reduce) and expr.reducer.is_linear and name in _centres(expr.indices, expr.body):
            return replace(expr, body=renamed(expr.body))
        return ir.rebuild(expr, visit)

    own = isinstance(statement, ir.Accumulate) and statement.reducer.is_linear
    if isinstance(statement, ir.Accumulate) and own and name in _centres(statement.reduction, statement.value):
        return replace(statement, value=renamed(statement.value))
    return replace(statement, value=visit(statement.value))


@dataclass(frozen=True, slots=True)
class _Square:
    """``(value - centre) * (value - centre)``; the centres may have differently named indices."""

    value: ir.Access
    centres: tuple[Product, Product]


def _square(factors: Sequence[ir.Expr], reduced: frozenset[IndexVar]) -> _Square | None:
    """The factors as a square of an element's difference from a value independent of the `reduced` indices."""
    match factors:
        case [first, second]:
            pass
        case [ir.Binary("**", first, exponent) | ir.Call("pow", (first, exponent))] if ir.number_of(exponent) == 2:
            second = first
        case _:
            return None
    left, right = (_difference(factor, reduced) for factor in (first, second))
    if left is None or right is None:
        return _with_value(first, right) or _with_value(second, left)
    # If one of them is swapped, it is a negated square.
    return _Square(left[0], (left[1], right[1])) if (left[0], left[2]) == (right[0], right[2]) else None


def _with_value(value: ir.Expr, found: "_Difference | None") -> _Square | None:
    """The sum of ``x * (x - mean)`` equals that of ``(x - mean) * (x - mean)``: deviations add up to 0."""
    if found is None or found[0] != value or found[2]:
        return None
    return _Square(found[0], (found[1], found[1]))


# An element, the value subtracted from it, and whether both are negated.
_Difference = tuple[ir.Access, Product, bool]


def _difference(expr: ir.Expr, reduced: frozenset[IndexVar]) -> _Difference | None:
    """The difference of an element and a value independent of the `reduced` indices, if the expression is one."""
    parts = summands(expr)
    if len(parts) != 2:
        return None
    parts.sort(key=lambda part: any(depends(factor, reduced) for factor in part.factors))
    centre, own = parts
    match own:
        case Product((ir.Access() as value,), mask=None) if ir.types.is_float(value.dtype):
            is_same = centre.mask is None and not any(depends(factor, reduced) for factor in centre.factors)
            taken_off = replace(centre, negative=centre.negative == own.negative)
            return (value, taken_off, own.negative) if is_same and reduced <= ir.free_indices(value) else None
        case _:
            return None


def _is_mean(centre: Product, value: ir.Access, indices: Sequence[IndexVar], box: Box) -> bool:
    """Whether the subtracted value is the mean of `value` over the indices, in any order and under any names."""
    scale, others = _scaled(centre.factors)
    match others:
        case [ir.Reduce(reducer=reducer, guard=None, fixed=False) as mean] if reducer.is_linear:
            terms = summands(mean.body)
        case _:
            return False
    inner, rest = _scaled(terms[0].factors)
    if len(terms) > 1 or terms[0].mask is not None or len(rest) != 1 or len(mean.indices) != len(indices):
        return False
    count = prod(box[index][1] - box[index][0] for index in mean.indices) if reducer is Reducer.SUM else 1
    sign = 1 if terms[0].negative == centre.negative else -1
    if abs(sign * scale * inner * count - 1) > ROUNDING or not mean.accumulate == mean.dtype == value.dtype:
        return False
    for order in permutations(indices):
        same = dict(zip(mean.indices, order, strict=True))
        renamed = substitute_expr(rest[0], {old: Affine.of(new) for old, new in same.items()})
        if renamed == value and all(box[old] == box[new] for old, new in same.items()):
            return True
    return False


def _scaled(factors: Sequence[ir.Expr]) -> tuple[float, list[ir.Expr]]:
    """The product of the numeric factors, and the other factors."""
    scale, rest = 1.0, list[ir.Expr]()
    for factor in factors:
        divisor = ir.divisor_of(factor)
        number = ir.number_of(factor if divisor is None else divisor)
        if number is None or (divisor is not None and number == 0):
            rest.append(factor)
        else:
            scale = scale * number if divisor is None else scale / number
    return scale, rest
