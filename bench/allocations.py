"""What a function allocates, forward and in both derivatives, as XLA reports for given shapes: nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .cases import Case

Function = Callable[..., Any]
Specs = tuple[jax.ShapeDtypeStruct, ...]

DIRECTIONS = ("forward", "ahead", "reverse")
TIMES = 4  # Temporaries may take this many times the bytes of arguments and results,
SMALLEST_LIMIT = 16 << 20  # or this many bytes in any case.


@dataclass(frozen=True, slots=True)
class Allocation:
    """Bytes of a compiled function: its `temporary` memory, and what it is compared with.

    `moved` are the arguments and the results, `named` the tensors that the program itself names and stores. `usual` is
    the temporary memory of the usual hand-written form, -1 if it was not requested.
    """

    case: str
    direction: str
    temporary: int
    moved: int
    named: int = 0
    usual: int = -1

    @property
    def limit(self) -> int:
        """The most that the contract allows: named tensors count like arguments and results."""
        return max(TIMES * (self.moved + self.named), SMALLEST_LIMIT)

    @property
    def holds(self) -> bool:
        """Whether the contract holds."""
        return self.temporary <= self.limit


def allocated(case: Case, function: Function, direction: str, *, usual: bool = False) -> Allocation | None:
    """What `function` of the case allocates; None if there is no such derivative.

    With `usual`, the first hand-written form is compiled too.
    """
    arguments = specs(case)
    found = temporaries(function, arguments, direction)
    if found is None:
        return None
    written = temporaries(next(iter(case.forms.values())), arguments, direction) if usual else None
    return Allocation(case.name, direction, *found, named_bytes(case, direction), -1 if written is None else written[0])


def temporaries(function: Function, arguments: Specs, direction: str) -> tuple[int, int] | None:
    """The bytes of temporaries, and those of arguments and results; None without a derivative."""
    directed = towards(function, arguments, direction)
    if directed is None:
        return None
    analysis = jax.jit(directed[0]).lower(*directed[1]).compile().memory_analysis()
    assert analysis is not None, "this platform does not report what a program allocates"
    return int(analysis.temp_size_in_bytes), int(analysis.argument_size_in_bytes + analysis.output_size_in_bytes)


def towards(function: Function, arguments: Specs, direction: str) -> tuple[Function, tuple[Any, ...]] | None:
    """A function and its arguments: `function`, its value and tangent, or its value and the cotangents.

    With respect to all float arguments, with one more argument for each tangent or each cotangent of a float result.
    """
    if direction == "forward":
        return function, arguments
    moving = [number for number, argument in enumerate(arguments) if _is_float(argument)]
    given = [result for result in jax.tree.leaves(jax.eval_shape(function, *arguments)) if _is_float(result)]
    if not moving or not given:
        return None

    def floats(point: Sequence[Any], *values: Any) -> list[Any]:
        every = list(point)
        for number, value in zip(moving, values, strict=True):
            every[number] = value
        return [result for result in jax.tree.leaves(function(*every)) if _is_float(result)]

    def ahead(point: Specs, ways: Sequence[Any]) -> Any:
        return jax.jvp(lambda *values: floats(point, *values), tuple(point[n] for n in moving), tuple(ways))

    def reverse(point: Specs, weights: Sequence[Any]) -> Any:
        results, pull_back = jax.vjp(lambda *values: floats(point, *values), *(point[n] for n in moving))
        return results, pull_back(list(weights))

    if direction == "ahead":
        return ahead, (arguments, tuple(arguments[n] for n in moving))
    return reverse, (arguments, tuple(given))


def _is_float(array: Any) -> bool:
    return jnp.issubdtype(array.dtype, jnp.inexact)


def specs(case: Case) -> Specs:
    """The shapes and types of the case's arrays, without allocating them."""
    arrays = case.make_arrays(_Blank())  # pyright: ignore[reportArgumentType]
    return tuple(jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays)


class _Blank:
    """The part of NumPy's generator that the cases need; its arrays are one broadcast zero."""

    def standard_normal(self, size: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        return np.broadcast_to(np.zeros((), dtype), size)

    def integers(self, low: int, high: int, size: tuple[int, ...], dtype: Any = np.int64) -> np.ndarray:
        return np.broadcast_to(np.zeros((), dtype), size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: tuple[int, ...] = ()) -> np.ndarray:
        return np.broadcast_to(np.zeros(()), size)


def named_bytes(case: Case, direction: str) -> int:
    """The bytes of the tensors that the case's program names and stores, and of their tangents or cotangents.

    A derivative has one more array of the size of each, a derivative of a derivative four in all.
    """
    import tcjax
    from tcjax import planning

    program = tcjax.load(case.text)
    *others, last = program
    if others and case.compose is not None:
        # A sequence of kernels: the result of one is an argument of the next.
        return 0
    kernel = program[last]
    derived = case.family.endswith("_gradient")
    # The last array of a gradient is its cotangent.
    arguments = specs(case)[:-1] if derived else specs(case)
    plan = kernel.plan(*arguments)
    stored = {
        stage.target: prod(stage.shape) * np.dtype(stage.dtype).itemsize
        for stage in plan.stages
        if isinstance(stage, planning.Compute) and stage.target not in plan.returns
    }
    orders = derived + (direction != "forward")
    return sum(stored.values()) * 2**orders
