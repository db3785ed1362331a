"""Derivatives by finite differences: the reference for every gradient."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ranges.bound import Bound
from .interpret import interpret
from .promotion import in_float64

Array = np.ndarray[Any, Any]


def differences(
    bound: Bound,
    arrays: Mapping[str, Any],
    name: str,
    cotangents: Sequence[Any],
    epsilon: float = 1e-6,
    initial: Mapping[str, Any] = {},
    foreign: Mapping[str, Callable[..., Any]] = {},
) -> Array:
    """The derivative of ``sum(outputs * cotangents)`` with respect to one real argument or initial value.

    Central differences of step `epsilon`, the whole function in float64; an output with cotangent None is ignored. The
    result has the argument's shape; it is NaN or infinite where the sum is.
    """
    double = in_float64(bound)
    assert (name in arrays) != (name in initial), f"{name} is an argument or an initial value"
    point = np.array(arrays[name] if name in arrays else initial[name], np.float64)

    def objective(moved: Array) -> float:
        outputs = interpret(
            double,
            {**arrays, name: moved} if name in arrays else arrays,
            {**initial, name: moved} if name in initial else initial,
            foreign,
        )
        pairs = zip(outputs, cotangents, strict=True)
        # Infinities of both signs give NaN: then there is no derivative.
        with np.errstate(invalid="ignore"):
            return sum(float(np.sum(output * np.asarray(d))) for output, d in pairs if d is not None)

    gradient = np.zeros_like(point)
    for element in np.ndindex(point.shape):
        ends = []
        for step in (epsilon, -epsilon):
            moved = point.copy()
            moved[element] += step
            ends.append(objective(moved))
        gradient[element] = (ends[0] - ends[1]) / (2 * epsilon)
    return gradient
