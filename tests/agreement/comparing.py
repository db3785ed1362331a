"""The compiled kernel against the interpreter."""

from collections.abc import Sequence
from typing import Any

import jax
import ml_dtypes
import numpy as np

from tcjax import interpreter
from tests.strategies.programs import Case

# How far rounding may carry a result, beside its largest magnitude: the interpreter adds one after the other, XLA in
# any order, and XLA keeps 16-bit intermediate results in 32 bits.
TOLERANCE = {"float64": 1e-12, "float32": 3e-5, "complex64": 3e-5, "float16": 1e-2, "bfloat16": 6e-2}


def agree(found: Any, expected: Any, *, loosest: str = "float32") -> None:
    """Asserts equal structure, shapes and types, and values equal up to rounding."""
    assert isinstance(found, tuple) == isinstance(expected, tuple)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else ((found, expected),)
    for number, (result, reference) in enumerate(pairs):
        result = np.asarray(result)
        reference = reference.astype(jax.dtypes.canonicalize_dtype(reference.dtype))
        assert result.shape == reference.shape, f"result {number} has shape {result.shape}, not {reference.shape}"
        assert result.dtype == reference.dtype, f"result {number} is {result.dtype}, not {reference.dtype}"
        close(result, reference, f"result {number}", loosest)


def close(found: np.ndarray, expected: np.ndarray, what: str, loosest: str = "float32") -> None:
    if expected.dtype == bool or expected.dtype.kind in "iu":
        np.testing.assert_array_equal(found, expected, what)
        return
    tolerance = max(TOLERANCE[str(expected.dtype)], TOLERANCE[loosest])
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    found, expected = found.astype(wide), expected.astype(wide)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def loosest_of(case: Case) -> str:
    """The coarsest float type that occurs in the program."""
    names = {str(array.dtype) for array in case.arguments.values()}
    if "bfloat16" in names:
        return "bfloat16"
    return "float16" if "float16" in names or "half(" in case.text else "float32"


def values(case: Case) -> None:
    """The kernel called directly."""
    expected = case.kernel.interpret(*case.arguments.values(), **case.initial)
    found = case.kernel(*case.arguments.values(), **case.initial)

    agree(found, expected, loosest=loosest_of(case))
