"""Folds over all elements of an array, whose shape does not matter."""

from collections.abc import Callable

import numpy as np
import scipy.special

from .elementwise import NUMBERS, REALS
from .rules import Operands, Rule
from .values import SacError, Shaped


def _fold(compute: Callable[[np.ndarray, Shaped], np.ndarray | float], kinds: str, result: str = "same") -> Rule:
    def shape(operands: Operands) -> Shaped:
        shaped = operands[0].shaped()
        if shaped.kind not in kinds.split():
            raise SacError("type", f"a fold of {shaped.scalar}")
        scalar = {"bool": "bool", "int": "int32"}.get(result, shaped.scalar)
        return Shaped("float32" if result == "float" and shaped.kind == "int" else scalar, False, ())

    return Rule((1,), shape, lambda arrays, shaped: np.asarray(compute(arrays[0], shaped)), fold=True)


def wide(array: np.ndarray) -> np.ndarray:
    """Floats in 64 bits, so that sums are as near as can be."""
    return array.astype({"f": "float64", "c": "complex128"}.get(array.dtype.kind, array.dtype))


def _extreme(array: np.ndarray, shaped: Shaped, largest: bool) -> np.ndarray | float:
    dtype = shaped.dtype
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        empty = limits.min if largest else limits.max
    else:
        empty = -np.inf if largest else np.inf
    if not array.size:
        return empty
    return np.max(array) if largest else np.min(array)


def _log_sum_exp(array: np.ndarray) -> float:
    return float(scipy.special.logsumexp(array.astype("float64"))) if array.size else -np.inf


FOLDS = {
    "sum": _fold(lambda a, t: np.sum(wide(a), dtype=wide(a).dtype), NUMBERS),
    "prod": _fold(lambda a, t: np.prod(wide(a), dtype=wide(a).dtype), NUMBERS),
    "minval": _fold(lambda a, t: _extreme(a, t, largest=False), REALS),
    "maxval": _fold(lambda a, t: _extreme(a, t, largest=True), REALS),
    "any": _fold(lambda a, t: np.any(a), "bool", "bool"),
    "all": _fold(lambda a, t: np.all(a), "bool", "bool"),
    "mean": _fold(lambda a, t: np.mean(a.astype("float64")) if a.size else np.nan, REALS, "float"),
    "logsumexp": _fold(lambda a, t: _log_sum_exp(a), REALS, "float"),
    "argmin": _fold(lambda a, t: np.argmin(a) if a.size else 0, REALS, "int"),
    "argmax": _fold(lambda a, t: np.argmax(a) if a.size else 0, REALS, "int"),
}
