"""What each reducer makes of the values that reached it."""

from collections.abc import Sequence
from typing import Any, assert_never

import numpy as np

from ..ir import Monoid, Reducer
from .monoids import fold_elements
from .scalars import Value, dtype_of

# Their running value is not their result, so they cannot go on from the result of an earlier statement.
RESTARTING = frozenset((Reducer.MEAN, Reducer.ARGMIN, Reducer.ARGMAX))


def reduce_values(
    reducer: Reducer | Monoid,
    values: np.ndarray[Any, Any],
    positions: Sequence[int],
    accumulate: str,
    rank: int = 0,
) -> Value:
    """The reduction of `values`, which are of type `accumulate`; of no values, the identity.

    `positions` are the values' numbers among all points of the box, `rank` is the r of ``mink[j](e, r)``. A NaN
    is both the smallest and the largest value. Ties go to the first. A rank that is negative or not below the number
    of values has the identity, and position 0.
    """
    if isinstance(reducer, Monoid):
        return fold_elements(reducer, list(values), accumulate)
    if len(values) == 0:
        return identity(reducer, accumulate)
    is_bool = values.dtype == np.bool_
    match reducer:
        case Reducer.SUM:
            return np.logical_xor.reduce(values) if is_bool else np.add.reduce(values, dtype=values.dtype)
        case Reducer.PRODUCT:
            return np.logical_and.reduce(values) if is_bool else np.multiply.reduce(values, dtype=values.dtype)
        case Reducer.MIN:
            return np.minimum.reduce(values)
        case Reducer.MAX:
            return np.maximum.reduce(values)
        case Reducer.ANY:
            return np.logical_or.reduce(values)
        case Reducer.ALL:
            return np.logical_and.reduce(values)
        case Reducer.MEAN:
            return np.add.reduce(values, dtype=values.dtype) / len(values)
        case Reducer.LOGSUMEXP:
            return _logsumexp(values)
        case Reducer.ARGMIN | Reducer.ARGMAX | Reducer.ARGMINK | Reducer.ARGMAXK:
            order = _order(values, largest_first=reducer in (Reducer.ARGMAX, Reducer.ARGMAXK))
            return np.int32(positions[order[rank]] if 0 <= rank < len(order) else 0)
        case Reducer.MINK | Reducer.MAXK:
            order = _order(values, largest_first=reducer is Reducer.MAXK)
            return values[order[rank]] if 0 <= rank < len(order) else identity(reducer, accumulate)
        case _:
            assert_never(reducer)


def identity(reducer: Reducer | Monoid, accumulate: str) -> Value:
    """The reduction of nothing; for the reducers that have no identity, what they give then."""
    if isinstance(reducer, Monoid):
        return fold_elements(reducer, [], accumulate)
    dtype = dtype_of(accumulate)
    match reducer:
        case Reducer.SUM | Reducer.ANY:
            return dtype.type(0)
        case Reducer.PRODUCT | Reducer.ALL:
            return dtype.type(1)
        case Reducer.MIN | Reducer.MINK:
            return _extreme(dtype, +1)
        case Reducer.MAX | Reducer.MAXK:
            return _extreme(dtype, -1)
        case Reducer.MEAN:
            return dtype.type(np.nan)
        case Reducer.LOGSUMEXP:
            return dtype.type(-np.inf)
        case Reducer.ARGMIN | Reducer.ARGMAX | Reducer.ARGMINK | Reducer.ARGMAXK:
            return np.int32(0)
        case _:
            assert_never(reducer)


def _extreme(dtype: np.dtype[Any], sign: int) -> Value:
    match dtype.kind:
        case "b":
            return np.bool_(sign > 0)
        case "i" | "u":
            limits = np.iinfo(dtype)
            return dtype.type(limits.max if sign > 0 else limits.min)
        case _:
            return dtype.type(sign * np.inf)


def _order(values: np.ndarray[Any, Any], largest_first: bool) -> list[int]:
    """The places of the values from the smallest (largest) on, NaN first, equal ones in order."""
    sign = -1 if largest_first else 1
    # Python's numbers compare exactly, whatever the width.
    keys = [(value == value, sign * value if value == value else 0) for value in values.tolist()]
    return sorted(range(len(keys)), key=keys.__getitem__)


def _logsumexp(values: np.ndarray[Any, Any]) -> Value:
    """``log(sum(exp(values)))``, without overflow."""
    shift = np.max(values.real)
    if not np.isfinite(shift):
        return values.dtype.type(shift)
    return values.dtype.type(shift + np.log(np.sum(np.exp(values - shift))))
