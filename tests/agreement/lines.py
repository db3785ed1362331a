"""Derivatives along a line through all float arguments, against differences of the interpreter in float64."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tcjax import interpreter, ir
from tests.strategies.programs import Case

from .compiling import quickly, whole

Arrays = Mapping[str, np.ndarray]

# A difference quotient that changes more than this when the step doubles is next to a kink.
KINK = 1e-3
# For results this large, a difference is noise.
LARGEST = 1e4


@dataclass(frozen=True)
class Line:
    """The float arguments of a case, a direction, and a cotangent for each of its results."""

    case: Case

    @cached_property
    def point(self) -> dict[str, np.ndarray]:
        """The arguments that move."""
        everything = {**self.case.arguments, **self.case.initial}
        return {name: array for name, array in everything.items() if array.dtype.kind == "f" and array.size}

    @cached_property
    def way(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(len(self.case.text))
        return {name: rng.uniform(-1.0, 1.0, array.shape).astype(array.dtype) for name, array in self.point.items()}

    @cached_property
    def cotangents(self) -> tuple[np.ndarray | None, ...]:
        """Random, and 0 where a result is infinite or not a number; None for results of other types."""
        rng = np.random.default_rng(len(self.case.text) + 1)
        found = []
        for result in self.results(0.0):
            weights = rng.uniform(0.5, 1.5, result.shape)
            found.append(np.where(np.isfinite(result), weights, 0.0) if result.dtype.kind == "f" else None)
        return tuple(found)

    # ------------------------------------------------------------ the interpreter

    def results(self, step: float) -> tuple[np.ndarray, ...]:
        """The interpreter's results in float64, at a number of steps along the line."""
        case = self.case
        bound = interpreter.in_float64(case.kernel.plan(*case.arguments.values(), **case.initial).bound)
        moved = {name: array.astype(np.float64) + step * self.way[name] for name, array in self.point.items()}
        arguments = {name: moved.get(name, array) for name, array in case.arguments.items()}
        initial = {name: moved.get(name, array) for name, array in case.initial.items()}
        with np.errstate(all="ignore"):
            return tuple(map(np.asarray, interpreter.interpret(bound, arguments, initial)))

    def objective(self, step: float) -> float:
        pairs = zip(self.results(step), self.cotangents, strict=True)
        return sum(float(np.sum(np.where(d != 0, r, 0.0) * d)) for r, d in pairs if d is not None)

    @property
    def is_number(self) -> bool:
        """Whether no result is NaN, and no result that another statement reads is infinite: derivatives through it may
        be NaN for any cotangent, even zero.
        """
        function = self.case.kernel.plan(*self.case.arguments.values(), **self.case.initial).bound.function
        formulas = [s for s in function.statements if isinstance(s, (ir.Define, ir.Accumulate))]
        read = {access.tensor.name for s in formulas for access in ir.accesses(s.value)}
        results = zip(function.returns, self.results(0.0), self.cotangents, strict=True)
        return not any(
            np.isnan(r).any() or (tensor.name in read and np.isinf(r).any()) for tensor, r, d in results if _given(d)
        )

    def slope(self, step: float) -> float:
        return (self.objective(step) - self.objective(-step)) / (2 * step)

    def bend(self, step: float) -> float:
        return (self.objective(step) - 2 * self.objective(0.0) + self.objective(-step)) / step**2

    # ------------------------------------------------------------ the kernel

    def floats(self, moved: Arrays) -> tuple[Any, ...]:
        """The results that have a cotangent, of the compiled kernel."""
        results = self.case.kernel(**{**self.case.arguments, **self.case.initial, **moved})
        results = results if isinstance(results, tuple) else (results,)
        return tuple(r for r, d in zip(results, self.cotangents, strict=True) if d is not None)

    @property
    def weights(self) -> tuple[jax.Array, ...]:
        return tuple(jnp.asarray(d, r.dtype) for r, d in zip(self.shapes, filter(_given, self.cotangents), strict=True))

    @property
    def shapes(self) -> tuple[Any, ...]:
        return jax.eval_shape(self.floats, self.point)

    def gradient(self, moved: Arrays) -> dict[str, jax.Array]:
        """The cotangents of the arguments that move."""
        return jax.vjp(self.floats, moved)[1](self.weights)[0]


def _given(cotangent: np.ndarray | None) -> bool:
    return cotangent is not None


def first(case: Case, *, tolerance: float = 2e-3) -> str | None:
    """Forward and reverse derivatives along the line, or why they cannot be determined."""
    line = Line(case)
    if not line.point or not any(map(_given, line.cotangents)):
        return "no argument"
    if not line.is_number:
        return "NaN"
    expected, coarser = line.slope(1e-6), line.slope(4e-6)
    if not np.isfinite(expected) or abs(expected) > LARGEST or abs(line.objective(0.0)) > LARGEST:
        return "steep"
    if abs(expected - coarser) > KINK * max(1.0, abs(expected)):
        return "kink"

    def derivatives(point: Arrays, way: Arrays) -> tuple[Any, Any]:
        return jax.jvp(line.floats, (point,), (way,))[1], line.gradient(point)

    with quickly():
        tangents, gradient = whole(derivatives, case.text)(line.point, line.way)
    forward = [np.asarray(t, np.float64) * d for t, d in zip(tangents, line.weights, strict=True)]
    forward = [np.where(np.asarray(d) != 0, term, 0.0) for term, d in zip(forward, line.weights, strict=True)]
    _near(forward, expected, tolerance, "forward")

    for name, slope in gradient.items():
        assert slope.shape == line.point[name].shape and slope.dtype == line.point[name].dtype, name
    reverse = [np.asarray(gradient[name], np.float64) * line.way[name] for name in line.point]
    _near(reverse, expected, tolerance, "reverse")
    return None


def second(case: Case, *, tolerance: float = 1e-2) -> str | None:
    """The second derivative along the line, alternating forward over reverse and reverse over forward."""
    line = Line(case)
    if not line.point or not any(map(_given, line.cotangents)):
        return "no argument"
    if not line.is_number:
        return "NaN"
    expected, coarser = line.bend(1e-4), line.bend(2e-4)
    if not np.isfinite(expected) or abs(expected) > LARGEST or abs(line.objective(0.0)) > 1e3:
        return "steep"
    if abs(expected - coarser) > 10 * KINK * max(1.0, abs(expected)):
        return "kink"

    def slope(moved: Arrays) -> jax.Array:
        _, tangents = jax.jvp(line.floats, (moved,), (line.way,))
        pairs = zip(tangents, line.weights, strict=True)
        return sum((jnp.sum(jnp.where(d != 0, t, 0) * d) for t, d in pairs), jnp.zeros(()))

    def forward(point: Arrays) -> Any:
        return jax.jvp(line.gradient, (point,), (line.way,))[1]

    with quickly():
        found = whole(forward if len(case.text) % 2 else jax.grad(slope), case.text)(line.point)
    _near([np.asarray(found[name], np.float64) * line.way[name] for name in line.point], expected, tolerance, "second")
    return None


def _near(terms: list[np.ndarray], expected: float, tolerance: float, what: str) -> None:
    total = sum(float(term.sum()) for term in terms)
    scale = max(1.0, abs(expected), *(float(np.abs(term).sum()) for term in terms))
    assert abs(total - expected) <= tolerance * scale, f"{what}: {total} instead of {expected}"
