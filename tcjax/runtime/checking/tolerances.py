"""How far rounding may carry a result, and whether it explains a difference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import jax
import numpy as np

from ... import interpreter, ir
from ...ranges import Bound
from .samples import Array, Sample, expressions

if TYPE_CHECKING:
    from ..questions import Questions

# Beside the largest magnitude of a result: the interpreter adds one after the other, XLA in any order, and XLA keeps
# 16-bit intermediate results in 32 bits.
_ROUNDING: Final = {"float64": 1e-12, "float32": 3e-5, "float16": 1e-2, "bfloat16": 6e-2}
_REAL: Final = {"complex64": "float32", "complex128": "float64"}
# Relative changes of the arguments that rounding may look like.
_SHAKES: Final = {"float64": 1e-15, "float32": 5e-7, "float16": 2e-3, "bfloat16": 1.6e-2}


@dataclass(frozen=True, slots=True)
class Difference:
    """One differing element: its `output` and `place`, the `tolerance` it exceeds, and the reason for the tolerance
    (`why`).
    """

    output: str
    place: tuple[int, ...]
    found: Any
    expected: Any
    tolerance: float
    why: str


def coarsest(bound: Bound) -> str:
    """The least precise float type in a program, with 64-bit types counted as 32-bit if x64 is off."""
    function = bound.function
    tensors = (*function.parameters, *function.returns)
    names = {t.dtype for t in tensors} | {expr.dtype for expr in expressions(function)}
    floats = {ir.types.narrow(name) if not jax.config.read("jax_enable_x64") else name for name in names}
    floats = {_REAL.get(name, name) for name in floats} & _ROUNDING.keys()
    return max(floats, key=_ROUNDING.__getitem__, default="float32")


def differences(
    found: Sequence[Any],
    expected: Sequence[Array],
    names: Sequence[str],
    coarse: str,
    spreads: Sequence[Array] | None = None,
    *,
    relative: float | None = None,
) -> tuple[float, Difference | None]:
    """The largest error relative to its tolerance, and the worst element if that exceeds 1.

    `spreads` are added to the tolerance, element by element; `relative` replaces the tolerance for rounding.
    """
    worst, difference = 0.0, None
    for number, (name, result, reference) in enumerate(zip(names, map(np.asarray, found), expected, strict=True)):
        dtype = jax.dtypes.canonicalize_dtype(reference.dtype)
        if result.shape != reference.shape or result.dtype != dtype:
            given, wanted = f"{result.dtype}{list(result.shape)}", f"{dtype}{list(reference.shape)}"
            return np.inf, Difference(name, (), given, wanted, 0.0, "shapes and types are exact")
        if not result.size:
            continue
        spread = np.zeros(()) if spreads is None else spreads[number]
        errors, tolerance, why = _errors(result, reference, coarse, spread, relative)
        place = np.unravel_index(int(np.argmax(errors)), errors.shape)
        error = float(errors[place])
        if error > worst:
            worst = error
            where = tuple(int(n) for n in place)
            if error > 1:
                difference = Difference(name, where, result[place], reference[place], tolerance, why)
    return worst, difference


def _errors(
    found: Array, expected: Array, coarse: str, spread: Array, relative: float | None
) -> tuple[Array, float, str]:
    """The error of each element and its tolerance."""
    if expected.dtype.kind in "biu":
        return np.where((found == expected) | np.isinf(spread), 0.0, np.inf), 0.0, f"{expected.dtype} is exact"
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    found, expected = found.astype(wide), expected.astype(wide)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    share = _ROUNDING[coarse] if relative is None else relative
    tolerance = max(share * scale, 1e-300)
    with np.errstate(all="ignore"):
        errors = np.abs(found - expected) / (tolerance + 8 * spread)
    errors = np.where(np.isinf(spread), 0.0, errors)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    errors = np.where(same, 0.0, np.where(np.isnan(errors), np.inf, errors))
    reason = f"{coarse} is rounded" if relative is None else "as asked for"
    return errors, tolerance, f"{share:g} of the largest magnitude, {scale:.3g}: {reason}"


def spread(kernel: "Questions", bound: Bound, sample: Sample, coarse: str) -> list[Array]:
    """How much each result changes in the interpreter when the arguments are perturbed by rounding.

    An element that may jump - a position, a floor, a comparison - has infinite spread.
    """
    double = interpreter.in_float64(bound)
    center = _interpreted(kernel, double, sample)
    single = _interpreted(kernel, bound, sample)
    rng = np.random.default_rng(0)
    widest = [_apart(a, b) for a, b in zip(single, center, strict=True)]
    for _ in range(4):
        moved = {
            name: (array * (1 + _SHAKES[coarse] * rng.uniform(-1, 1, array.shape)))
            for name, array in sample.everything.items()
            if array.dtype.kind in "fcV"
        }
        shaken = _interpreted(kernel, double, sample.having(moved))
        widest = [np.maximum(w, _apart(a, b)) for w, a, b in zip(widest, shaken, center, strict=True)]
    return widest


def _apart(a: Array, b: Array) -> Array:
    if a.dtype.kind in "biu":
        return np.where(a == b, 0.0, np.inf)
    with np.errstate(all="ignore"):
        apart = np.abs(a.astype(b.dtype) - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


def _interpreted(kernel: "Questions", bound: Bound, sample: Sample) -> tuple[Array, ...]:
    with jax.enable_x64(True):
        return interpreter.interpret(bound, sample.arrays, sample.initial, kernel._frontend.options.fns)
