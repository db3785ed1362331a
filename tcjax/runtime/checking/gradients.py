"""Reverse derivatives of the compiled kernel against finite differences of the interpreter in float64."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from ... import interpreter
from ...keeping import cached_property
from ...ranges import Bound
from ...transforms.runtime_checks import NOWHERE, inspect
from .samples import Array
from .tolerances import Difference
from .trials import Outcome, Skipped, Trial, compiled, interpreted

# Differences are taken in float64, so that the compiled side is the less exact one.
_SLOPES: Final = {"float64": 1e-6, "float32": 2e-3, "float16": 5e-2, "bfloat16": 2e-1}
# If the quotient changes more than this between one step and four times the step, there is a kink nearby.
_KINK: Final = 1e-3
_STEEP: Final = 1e4


def gradients(trial: Trial) -> Outcome:
    """Compares reverse derivatives with finite differences of the interpreter in float64, along one direction."""
    line = Line(trial)
    expected = line.slope()
    cotangents = line.cotangents

    def pulled(moved: dict[str, Any]) -> dict[str, Any]:
        floats, pull = jax.vjp(line.floats, moved)
        weights = tuple(jnp.asarray(d, f.dtype) for d, f in zip(filter(_given, cotangents), floats, strict=True))
        return pull(weights)[0]

    found = compiled(lambda: trial.transformed(pulled)(trial.movable))
    if any(not np.isfinite(np.asarray(part, np.float64)).all() for part in found.values()) and line.is_steep():
        raise Skipped("a root or a power of 0, whose slope is infinite")
    terms = {n: np.asarray(found[n], np.float64) * line.way[n] for n in trial.movable}
    total = sum(float(term.sum()) for term in terms.values())
    scale = max(1.0, abs(expected), *(float(np.abs(term).sum()) for term in terms.values()))
    tolerance = _SLOPES[trial.coarse] * scale
    error = abs(total - expected) / tolerance
    if error <= 1:
        return Outcome(error)
    return Outcome(error if error == error else np.inf, _element(line, found, tolerance, total, expected))


def _element(line: "Line", found: Mapping[str, Any], tolerance: float, total: float, expected: float) -> Difference:
    """The gradient element that is furthest from its difference quotient; else their sum."""
    why = f"{_SLOPES[line.trial.coarse]:g} of the largest term: {line.trial.coarse} against differences in float64"
    if sum(array.size for array in found.values()) <= 64:
        elements = [(n, place) for n, array in found.items() for place in np.ndindex(array.shape)]
        slopes = {(n, p): line.slope_of(n, p) for n, p in elements}
        apart = {(n, p): abs(float(found[n][p]) - slope) for (n, p), slope in slopes.items()}
        name, place = max(apart, key=lambda key: np.nan_to_num(apart[key], nan=np.inf))
        if not apart[name, place] <= tolerance:
            return Difference(f"d_{name}", place, found[name][place], slopes[name, place], tolerance, why)
    return Difference("the derivative along a direction", (), total, expected, tolerance, why)


@dataclass(frozen=True, eq=False)
class Line:
    """The interpreter in float64 along a direction through all float arrays."""

    trial: Trial

    def __post_init__(self) -> None:
        if not any(array.size for array in self.trial.movable.values()):
            raise Skipped("no float element to differentiate by")
        if not any(d is not None and d.size for d in self.cotangents):
            raise Skipped("no float result to differentiate")

    @cached_property
    def way(self) -> dict[str, Array]:
        rng = np.random.default_rng(1)
        return {name: rng.uniform(-1.0, 1.0, array.shape) for name, array in self.trial.movable.items()}

    @cached_property
    def double(self) -> Bound:
        return interpreter.in_float64(self.trial.bound)

    @cached_property
    def cotangents(self) -> tuple[Array | None, ...]:
        """Fixed weights, 0 where a result is not finite; None for results of other types."""
        rng = np.random.default_rng(2)
        found: list[Array | None] = []
        for result in self.interpreted({}):
            weights = rng.integers(2, 7, result.shape) / 4
            found.append(np.where(np.isfinite(result), weights, 0.0) if result.dtype.kind == "f" else None)
        return tuple(found)

    def interpreted(self, moved: Mapping[str, Array]) -> tuple[Array, ...]:
        sample = self.trial.sample.having({**_wide(self.trial.movable), **moved})
        with jax.enable_x64(True):
            return interpreted(self.trial.kernel, self.double, sample.arrays, sample.initial)

    def objective(self, moved: Mapping[str, Array]) -> float:
        pairs = zip(self.interpreted(moved), self.cotangents, strict=True)
        return sum(float(np.sum(np.where(d != 0, r, 0.0) * d)) for r, d in pairs if d is not None)

    def slope(self) -> float:
        """The derivative along the direction. Raises `Skipped` if differences are unreliable."""
        if any(d is not None and not (d != 0).all() for d in self.cotangents):
            raise Skipped("a result is not finite, so finite differences give no gradient")

        def along(step: float) -> float:
            moved = {n: array + step * self.way[n] for n, array in _wide(self.trial.movable).items()}
            return self.objective(moved)

        return _quotient(along)

    def is_steep(self) -> bool:
        """Whether the program evaluates a function where its slope is infinite: the chain rule has no answer there."""
        inspection = inspect(self.double, slopes=True)
        sample = self.trial.sample.having(_wide(self.trial.movable))
        found = interpreted(self.trial.kernel, inspection.bound, sample.arrays, sample.initial)
        firsts = zip(inspection.checks, found[::2], strict=True)
        return any(check.kind == "slope" and int(first) != NOWHERE for check, first in firsts)

    def slope_of(self, name: str, place: tuple[int, ...]) -> float:
        """The derivative with respect to one element; infinite next to a kink."""

        def along(step: float) -> float:
            moved = _wide(self.trial.movable)[name].copy()
            moved[place] += step
            return self.objective({name: moved})

        try:
            return _quotient(along)
        except Skipped:
            return np.nan

    def floats(self, moved: Mapping[str, Any]) -> tuple[Any, ...]:
        """The float results of the compiled kernel."""
        results = self.trial.results(moved)
        return tuple(r for r, d in zip(results, self.cotangents, strict=True) if d is not None)


def _quotient(along: Callable[[float], float]) -> float:
    fine, coarse = ((along(step) - along(-step)) / (2 * step) for step in (1e-6, 4e-6))
    if not np.isfinite(fine) or abs(fine) > _STEEP or abs(along(0.0)) > _STEEP:
        raise Skipped("too steep for finite differences")
    if abs(fine - coarse) > _KINK * max(1.0, abs(fine)):
        raise Skipped("next to a kink, where finite differences give no gradient")
    return fine


def _wide(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: array.astype(np.float64) for name, array in arrays.items()}


def _given(cotangent: Array | None) -> bool:
    return cotangent is not None
