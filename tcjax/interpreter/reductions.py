"""What each reducer computes from its values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..ir import Monoid, Reducer
from .monoids import fold_elements
from .scalars import Value, dtype_of


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a reducer computes from some values, and from none: a number, where infinity stands for the end of the type.

    If it cannot continue, its running value is not its result.
    """

    of: Callable[[np.ndarray[Any, Any]], Value]
    nothing: float
    goes_on: bool = True


def reduce_values(
    reducer: Reducer | Monoid,
    values: np.ndarray[Any, Any],
    positions: Sequence[int],
    accumulate: str,
    rank: int = 0,
) -> Value:
    """The reduction of `values`, which are of type `accumulate`; of no values, the identity.

    `positions` are the values' numbers among all points of the box, `rank` is the r of ``mink[j](e, r)``. A NaN is both
    the smallest and the largest value. Ties go to the first. A rank outside ``[0, number of values)`` gives the
    identity, and position 0.
    """
    if isinstance(reducer, Monoid):
        return fold_elements(reducer, list(values), accumulate)
    if len(values) == 0:
        return identity(reducer, accumulate)
    if reducer in _MEANINGS:
        return _MEANINGS[reducer].of(values)
    # The others select one value, the first in an order: of all, or the one at a rank.
    order = _order(values, largest_first=reducer.order == "max")
    is_inside = 0 <= rank < len(order)
    if reducer.gives_position:
        return np.int32(positions[order[rank]] if is_inside else 0)
    return values[order[rank]] if is_inside else identity(reducer, accumulate)


def continues(reducer: Reducer | Monoid) -> bool:
    """Whether the result of an earlier statement counts as one more value."""
    return isinstance(reducer, Monoid) or (reducer in _MEANINGS and _MEANINGS[reducer].goes_on)


def identity(reducer: Reducer | Monoid, accumulate: str) -> Value:
    """The reduction of no values; for reducers without an identity, their result in that case."""
    if isinstance(reducer, Monoid):
        return fold_elements(reducer, [], accumulate)
    dtype = dtype_of(accumulate)
    if reducer.gives_position:
        return np.int32(0)
    nothing = _MEANINGS[reducer.variant(is_ranked=False) if reducer.is_ranked else reducer].nothing
    return _extreme(dtype, +1 if nothing > 0 else -1) if np.isinf(nothing) else dtype.type(nothing)


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
    """The positions of the values from smallest (largest) on, NaN first, ties in order."""
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


def _sum(values: np.ndarray[Any, Any]) -> Value:
    return np.logical_xor.reduce(values) if values.dtype == np.bool_ else np.add.reduce(values, dtype=values.dtype)


def _product(values: np.ndarray[Any, Any]) -> Value:
    is_bool = values.dtype == np.bool_
    return np.logical_and.reduce(values) if is_bool else np.multiply.reduce(values, dtype=values.dtype)


_MEANINGS: Final[Mapping[Reducer, _Meaning]] = {
    Reducer.SUM: _Meaning(_sum, 0),
    Reducer.PRODUCT: _Meaning(_product, 1),
    Reducer.MIN: _Meaning(np.minimum.reduce, np.inf),
    Reducer.MAX: _Meaning(np.maximum.reduce, -np.inf),
    Reducer.ANY: _Meaning(np.logical_or.reduce, 0),
    Reducer.ALL: _Meaning(np.logical_and.reduce, 1),
    Reducer.MEAN: _Meaning(lambda values: np.add.reduce(values, dtype=values.dtype) / len(values), np.nan, False),
    Reducer.LOGSUMEXP: _Meaning(_logsumexp, -np.inf),
}
