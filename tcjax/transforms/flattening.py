"""Flattens nested reductions: ``sum[i](a * sum[j](b))`` becomes ``sum[i,j](a * b)``, an extremum of extrema a single
one.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .. import ir
from ..ir import Reducer
from .definitions import Formula
from .factors import summands

# Reductions for which nesting equals one reduction over both sets of indices. For a mean this holds because no guard
# excludes points, so every inner mean has the same number.
MERGED: Final = frozenset((Reducer.SUM, Reducer.MEAN, Reducer.MIN, Reducer.MAX))


def flattened(statement: Formula) -> Formula | None:
    """The statement without sums that are factors of a summed product, without means of means, and without extrema of
    extrema; None if there are none.
    """
    value = _flat(statement.value)
    found = replace(statement, value=value)
    if isinstance(found, ir.Accumulate) and found.reducer in MERGED and found.reduction:
        guard, kind = found.domain.guard, found.accumulate
        total = merged(ir.Reduce(found.reducer, found.reduction, (), guard, value, None, kind, value.dtype))
        found = replace(found, reduction=total.indices, value=total.body)
    return None if found == statement else found


def _flat(expr: ir.Expr) -> ir.Expr:
    expr = ir.rebuild(expr, _flat)
    return merged(expr) if isinstance(expr, ir.Reduce) and expr.reducer in MERGED else expr


def merged(total: ir.Reduce) -> ir.Reduce:
    """The reduction merged with those of its kind that are its body or factors of a summed product."""
    if total.reducer is Reducer.SUM:
        return _merged_sum(total)
    inner = total.body
    if not (isinstance(inner, ir.Reduce) and inner.guard is None and inner.reducer is total.reducer):
        return total
    same = inner.accumulate == total.accumulate and inner.fixed == total.fixed
    if not same or inner.dtype != inner.body.dtype or inner.dtype != total.accumulate:
        return total
    return merged(replace(total, indices=(*total.indices, *inner.indices), body=inner.body))


def _merged_sum(total: ir.Reduce) -> ir.Reduce:
    """The sum with the indices of the sums among its factors. A guarded inner sum without points is zero."""
    products = summands(total.body)
    if len(products) > 1 or products[0].mask is not None or not ir.types.is_float(total.accumulate):
        return total
    (product,) = products
    factors, indices = list[ir.Expr](), total.indices
    for place, factor in enumerate(product.factors):
        others = (*product.factors[:place], *product.factors[place + 1 :])
        if isinstance(factor, ir.Reduce) and factor.guard is None and _adds(factor, total) and _alone(factor, others):
            indices = (*indices, *factor.indices)
            factor = factor.body
        factors.append(factor)
    if len(indices) == len(total.indices):
        return total
    body = ir.multiply(factors)
    body = ir.Unary("-", body, body.dtype) if product.negative else body
    return _merged_sum(replace(total, indices=indices, body=body))


def _adds(factor: ir.Reduce, total: ir.Reduce) -> bool:
    same = factor.reducer is Reducer.SUM and factor.accumulate == total.accumulate
    return same and factor.dtype == factor.body.dtype == total.accumulate


def _alone(factor: ir.Reduce, others: Sequence[ir.Expr]) -> bool:
    """Whether no other factor binds an index of this one; a let may have introduced both."""
    return all(ir.bound_indices(other).isdisjoint(factor.indices) for other in others)
