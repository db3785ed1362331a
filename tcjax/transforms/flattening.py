"""Reductions in reductions as one: ``sum[i](a * sum[j](b))`` is ``sum[i,j](a * b)``, an extremum of extrema is one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .. import ir
from ..ir import Reducer
from .definitions import Formula
from .factors import summands

# Reductions of which one inside of another is one over the indices of both. A mean inside of another has the same
# number of points in each, as no guard leaves any out.
MERGED: Final = frozenset((Reducer.SUM, Reducer.MEAN, Reducer.MIN, Reducer.MAX))


def flattened(statement: Formula) -> Formula | None:
    """The statement without sums that are factors of a product that is summed, and without means of means and extrema
    of extrema; None where there are none.
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
    """The reduction with those of its kind that are its body, or factors of a product that is summed."""
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
    """The sum with the indices of the sums among its factors. One that leaves points out is zero where it has none."""
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
    """Whether no other factor binds an index of this one, as it does where a name in a clause stands for both."""
    return all(ir.bound_indices(other).isdisjoint(factor.indices) for other in others)
