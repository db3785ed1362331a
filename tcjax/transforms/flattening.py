"""Sums in sums as one sum: ``sum[i](a * sum[j](b))`` is ``sum[i,j](a * b)``."""

from dataclasses import replace

from .. import ir
from ..ir import Reducer
from .definitions import Formula
from .factors import multiply, summands


def flattened(statement: Formula) -> Formula | None:
    """The statement without sums that are factors of a product that is summed; None where there are none."""
    value = _flat(statement.value)
    found = replace(statement, value=value)
    if isinstance(found, ir.Accumulate) and found.reducer is Reducer.SUM and found.reduction:
        guard, kind = found.domain.guard, found.accumulate
        total = _merged(ir.Reduce(Reducer.SUM, found.reduction, (), guard, value, None, kind, value.dtype))
        found = replace(found, reduction=total.indices, value=total.body)
    return None if found == statement else found


def _flat(expr: ir.Expr) -> ir.Expr:
    expr = ir.rebuild(expr, _flat)
    return _merged(expr) if isinstance(expr, ir.Reduce) and expr.reducer is Reducer.SUM else expr


def _merged(total: ir.Reduce) -> ir.Reduce:
    """The sum with the indices of the sums among its factors. One that leaves points out is zero where it has none."""
    products = summands(total.body)
    if len(products) > 1 or products[0].mask is not None or not ir.types.is_float(total.accumulate):
        return total
    (product,) = products
    factors, indices = list[ir.Expr](), total.indices
    for factor in product.factors:
        if isinstance(factor, ir.Reduce) and factor.guard is None and _adds(factor, total):
            indices = (*indices, *factor.indices)
            factor = factor.body
        factors.append(factor)
    if len(indices) == len(total.indices):
        return total
    body = multiply(factors)
    body = ir.Unary("-", body, body.dtype) if product.negative else body
    return _merged(replace(total, indices=indices, body=body))


def _adds(factor: ir.Reduce, total: ir.Reduce) -> bool:
    same = factor.reducer is Reducer.SUM and factor.accumulate == total.accumulate
    return same and factor.dtype == factor.body.dtype == total.accumulate
