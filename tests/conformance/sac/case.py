"""A SaC text with its arguments, and the expected value from NumPy."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

import tcjax
from tcjax.diagnostics import CompileWarning

from ..program import real, widened

_OF_KIND = {"b": "bool", "i": "int32", "f": "float32"}


@dataclass(frozen=True)
class Case:
    """`wanted` is the value, or computes it from the arguments, with floats as float64.

    A tuple among the arguments is the shape of an array of float32 numbers. Arrays are traced under `jax.jit`; Python
    numbers and lists are static, as shapes may depend on them. `dtype` is the result's type, by default the 32-bit type
    of the kind of `wanted`.
    """

    name: str
    text: str
    arguments: Sequence[Any]
    wanted: Any
    dtype: str = ""
    fns: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    tolerance: float = 2e-5

    def __str__(self) -> str:
        return self.name

    def expected(self) -> Any:
        if not callable(self.wanted):
            return self.wanted
        with np.errstate(all="ignore"):
            return self.wanted(*(widened(array) for array in arrays(self.arguments)))


def arrays(arguments: Sequence[Any]) -> list[Any]:
    return [real(*a, seed=n) if isinstance(a, tuple) else a for n, a in enumerate(arguments)]


def jitted(kernel: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """The kernel's value if the arrays among the arguments are tracers."""
    traced = [n for n, a in enumerate(arguments) if isinstance(a, np.ndarray | np.generic)]

    def run(*tracers: Any) -> Any:
        whole = list(arguments)
        for n, tracer in zip(traced, tracers, strict=True):
            whole[n] = tracer
        return kernel(*whole)

    return jax.jit(run)(*(arguments[n] for n in traced))


def check(case: Case) -> None:
    """Asserts that the kernel, the kernel under `jax.jit` and the interpreter give the expected value."""
    arguments = arrays(case.arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        kernel = tcjax.kernel(case.text, **({"fns": case.fns} if case.fns else {}))
        results = {
            "called": kernel(*arguments),
            "jitted": jitted(kernel, arguments),
            "interpreted": kernel.interpret(*arguments),
        }

    for how, result in results.items():
        agree(result, case.expected(), case, how)


def agree(results: Any, expected: Any, case: Case, how: str) -> None:
    assert isinstance(results, tuple) == isinstance(expected, tuple), how
    results = results if isinstance(results, tuple) else (results,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(results) == len(expected), how
    dtypes = case.dtype.split() or [""]
    for number, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        # The interpreter computes 64-bit types in 64 bits, JAX's default in 32.
        result, wanted = np.asarray(result), np.asarray(wanted)
        result = result.astype(jax.dtypes.canonicalize_dtype(result.dtype))
        where = f"result {number}, {how}"
        assert result.shape == wanted.shape, where
        dtype = dtypes[min(number, len(dtypes) - 1)] or _OF_KIND[wanted.dtype.kind]
        assert str(result.dtype) == dtype, where
        if result.dtype.kind in "biu":
            np.testing.assert_array_equal(result, wanted, where)
        else:
            result, tolerance = result.astype(np.float64), case.tolerance
            np.testing.assert_allclose(result, wanted, tolerance, tolerance, err_msg=where)


def iota(*shape: int) -> np.ndarray:
    """The integers from 0, in row-major order."""
    return np.arange(np.prod(shape, dtype=int), dtype="int32").reshape(shape)


def vector(*numbers: float) -> np.ndarray:
    """An array of int32, or of float32 if a number is not an integer."""
    return np.array(numbers, "float32" if any(isinstance(n, float) for n in numbers) else "int32")
