"""Evaluates expressions with NumPy at every point of an integer grid."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...symbolic.facts.trees import And, Binary, Compare, Const, Expr, Not, Or, Select, Var, spine

Array = np.ndarray[Any, Any]
Span = tuple[int, int]

_COMPARE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


@dataclass(frozen=True, slots=True)
class Grid:
    """All combinations of the values of some variables, each in its half-open span, with one dimension each."""

    names: tuple[str, ...]
    spans: tuple[Span, ...]

    @staticmethod
    def over(names: Sequence[str], spans: Mapping[str, Span]) -> "Grid":
        return Grid(tuple(names), tuple(spans[name] for name in names))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(max(0, hi - lo) for lo, hi in self.spans)

    @property
    def size(self) -> int:
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    def points(self) -> dict[str, Array]:
        """The value of each variable, with length 1 in the dimensions of the others."""
        found: dict[str, Array] = {}
        for place, (name, (lo, hi)) in enumerate(zip(self.names, self.spans, strict=True)):
            shape = [1] * len(self.names)
            shape[place] = max(0, hi - lo)
            found[name] = np.arange(lo, hi, dtype=np.int64).reshape(shape)
        return found

    def evaluate(self, expr: Expr) -> Array:
        """The values of an expression: of the grid's rank, with length 1 where they do not vary."""
        value = evaluate(expr, self.points(), {})
        return value if value.ndim == len(self.names) else value.reshape((1,) * len(self.names))

    def spread(self, values: Array) -> Array:
        """Values that vary along some dimensions, at every point."""
        return np.broadcast_to(values, self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """A bool at every point of a grid."""

    grid: Grid
    holds: Array

    def on(self, grid: Grid) -> Array:
        """The mask over a grid with its variables and others, with length 1 in the dimensions of the others."""
        order = [self.grid.names.index(name) for name in grid.names if name in self.grid.names]
        shape = [extent if name in self.grid.names else 1 for name, extent in zip(grid.names, grid.shape, strict=True)]
        return self.holds.transpose(order).reshape(shape)


def evaluate(expr: Expr, points: Mapping[str, Array], known: dict[Expr, Array]) -> Array:
    """The values of an expression or condition where its names have the values `points`."""
    value = known.get(expr)
    if value is None:
        value = known[expr] = np.asarray(_evaluated(expr, points, known))
    return value


def _evaluated(expr: Expr, points: Mapping[str, Array], known: dict[Expr, Array]) -> Any:
    match expr:
        case Const(value=value):
            return np.int64(value)
        case Var(name=name):
            return points[name]
        case Binary(op="+" | "-"):
            first, rest = spine(expr)
            total = evaluate(first, points, known)
            for op, term in rest:
                value = evaluate(term, points, known)
                total = total + value if op == "+" else total - value
            return total
        case Binary(op=op, left=left, right=right):
            return _combined(op, evaluate(left, points, known), evaluate(right, points, known))
        case Compare(op=op, left=left, right=right):
            return _COMPARE[op](evaluate(left, points, known), evaluate(right, points, known))
        case And(parts=parts):
            held: Any = np.bool_(True)
            for part in parts:
                held = held & evaluate(part, points, known)
            return held
        case Or(parts=parts):
            held = np.bool_(False)
            for part in parts:
                held = held | evaluate(part, points, known)
            return held
        case Not(operand=operand):
            return ~evaluate(operand, points, known)
        case Select(condition=condition, then=then, otherwise=otherwise):
            test = evaluate(condition, points, known)
            return np.where(test, evaluate(then, points, known), evaluate(otherwise, points, known))
        case _:
            raise AssertionError(expr)


def _combined(op: str, left: Array, right: Array) -> Any:
    match op:
        case "*":
            return left * right
        case "//":
            return left // right
        case "%":
            return left % right
        case "min":
            return np.minimum(left, right)
        case "max":
            return np.maximum(left, right)
        case "tdiv" | "tmod":
            quotient = np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))
            return quotient if op == "tdiv" else left - right * quotient
        case _:
            raise AssertionError(op)
