"""The same reductions by KeOps (Charlier et al. 2021), where it and a C++ compiler are installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .case import Skipped

Call = Callable[[], Any]
DISTANCE = "SqDist(x, y)"
ROWS_OF = {"x": "Vi", "y": "Vj", "b": "Vj", "weights": "Vi", "total": "Vi"}


def reduction(formula: str, operator: str) -> Callable[..., Call]:
    """``operator_j formula(x_i, y_j, b_j)``: one value for each row of x."""

    def peer(*arrays: np.ndarray) -> Call:
        given = dict(zip("xyb", map(_matrix, arrays), strict=False))
        run = _routine(formula, operator, given)
        return lambda: run(*given.values())[:, 0]

    return peer


def nearest(count: int) -> Callable[..., Call]:
    """The squared distances to the `count` nearest rows of y."""

    def peer(x: np.ndarray, y: np.ndarray) -> Call:
        run = _routine(DISTANCE, "KMin", {"x": x, "y": y}, count=count)
        return lambda: run(x, y)

    return peer


def gradient(formula: str, operator: str) -> Callable[..., Call]:
    """The reduction and its gradients: one more reduction for each array, with KeOps's derivative of the formula."""

    def peer(*arrays_and_weights: np.ndarray) -> Call:
        *arrays, weights = arrays_and_weights
        given = dict(zip("xyb", map(_matrix, arrays), strict=False))
        forward = _routine(formula, operator, given)
        incoming = f"weights * Exp({formula} - total)" if operator == "LogSumExp" else "weights"
        more = {"weights": _matrix(weights)} | ({"total": _matrix(weights)} if operator == "LogSumExp" else {})
        pulled = {
            name: _routine(f"Grad({formula}, {name}, {incoming})", "Sum", given | more, axis=1 if name == "x" else 0)
            for name in given
        }

        def call():
            result = forward(*given.values())
            rows = [*given.values(), more["weights"], *([result] if operator == "LogSumExp" else [])]
            found = [run(*rows) for run in pulled.values()]
            return result[:, 0], *(a.reshape(before.shape) for a, before in zip(found, arrays, strict=True))

        return call

    return peer


def nearest_gradient(count: int) -> Callable[..., Call]:
    """Distances to the nearest rows and their gradients: KeOps finds their indices, NumPy differentiates."""

    def peer(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Call:
        find = _routine(DISTANCE, "ArgKMin", {"x": x, "y": y}, count=count)

        def call():
            places = find(x, y).astype(np.int64)
            apart = x[:, None] - y[places]
            distances = (apart * apart).sum(-1)
            slopes = 2 * weights.reshape(len(x), count)[:, :, None] * apart
            d_y = np.zeros_like(y)
            np.add.at(d_y, places, -slopes)
            return distances.reshape(weights.shape), slopes.sum(1), d_y

        return call

    return peer


def _matrix(a: np.ndarray) -> np.ndarray:
    return a[:, None] if a.ndim == 1 else a


def _routine(formula: str, operator: str, given: dict[str, np.ndarray], *, axis: int = 1, count: int = 0) -> Any:
    """KeOps's compiled reduction of the arrays `given`, over the rows of y (axis 1) or of x (axis 0)."""
    try:
        import pykeops
        from pykeops.numpy import Genred
    except ImportError as problem:
        raise Skipped(f"KeOps is not installed ({problem})") from None
    pykeops.set_verbose(False)
    variables = [f"{name} = {ROWS_OF[name]}({array.shape[1]})" for name, array in given.items()]
    options = {"opt_arg": count} if count else {}
    return Genred(formula, variables, reduction_op=operator, axis=axis, **options)
