"""A program with its arguments, and the expected ranges, shapes, types and values from plain NumPy."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

import tcjax
from tcjax.diagnostics import CompileWarning

# A shape stands for an array of standard normal float32 numbers.
Argument = tuple[int, ...] | np.ndarray | float | list[Any]
Ranges = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Program:
    """`formula` computes the results from the arguments, with floats as float64; `dtypes` are the results' types.

    `ranges` are those of each statement, if the program tests them; `initial` are initial values of accumulations, or
    sizes by name.
    """

    name: str
    text: str
    arguments: Sequence[Argument]
    formula: Callable[..., Any]
    dtypes: str = "float32"
    ranges: Sequence[Ranges] | None = None
    initial: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 2e-5

    def __str__(self) -> str:
        return self.name

    def arrays(self) -> list[Any]:
        return [real(*a, seed=n) if isinstance(a, tuple) else a for n, a in enumerate(self.arguments)]


def real(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal float32 numbers."""
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(np.float32)


def below(limit: int, *shape: int, dtype: str = "int32", seed: int = 0) -> np.ndarray:
    """Integers from 0 to below the limit."""
    return np.random.default_rng((seed, limit, *shape)).integers(0, limit, shape).astype(dtype)


def mask(*shape: int, seed: int = 0) -> np.ndarray:
    """Booleans, about half of them true."""
    return below(2, *shape, dtype="bool", seed=seed)


def kernel(text: str, **options: Any) -> tcjax.Kernel:
    """The kernel of a text, or of the last definition of several, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        if text.count("def ") < 2:
            return tcjax.kernel(text, **options)
        library = tcjax.load(text, **options)
        return library[list(library)[-1]]


def check(program: Program) -> None:
    """Asserts that the compiled kernel and the interpreter agree with the formula."""
    arrays = program.arrays()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        compiled = kernel(program.text)
        found = compiled(*arrays, **program.initial)
        interpreted = compiled.interpret(*arrays, **program.initial)
        ranges = compiled.ranges(*arrays, **program.initial)
    wide = [widened(array) for array in arrays]
    expected = program.formula(*wide, **{name: widened(value) for name, value in program.initial.items()})

    if program.ranges is not None:
        assert ranges == list(program.ranges)
    for results in (found, interpreted):
        assert isinstance(results, tuple) == isinstance(expected, tuple)
        agree(results, expected, program)


def agree(results: Any, expected: Any, program: Program) -> None:
    results = results if isinstance(results, tuple) else (results,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(results) == len(expected)
    dtypes = program.dtypes.split()
    for number, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        # The interpreter computes 64-bit types in 64 bits, JAX's default in 32.
        result, wanted = np.asarray(result), np.asarray(wanted)
        result = result.astype(jax.dtypes.canonicalize_dtype(result.dtype))
        assert result.shape == wanted.shape, f"result {number}"
        assert str(result.dtype) == dtypes[min(number, len(dtypes) - 1)], f"result {number}"
        if result.dtype.kind in "biu":
            np.testing.assert_array_equal(result, wanted, f"result {number}")
        else:
            tolerance = program.tolerance
            np.testing.assert_allclose(result, wanted, tolerance, tolerance, err_msg=f"result {number}")


def widened(value: Any) -> Any:
    """The value as an array, floats in float64."""
    array = np.asarray(value)
    return array.astype(np.float64) if array.dtype.kind == "f" or array.dtype.name == "bfloat16" else array
