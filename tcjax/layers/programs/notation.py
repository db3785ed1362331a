"""Program texts for any number of axes, and arrays whose axes match them."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import jax

from ...diagnostics import Code, CompileError
from ...runtime.entry import kernel
from ...runtime.kernel import Kernel
from ..precision import at_precision

# Something with a shape, or None.
Shaped = jax.Array | jax.ShapeDtypeStruct | None


def names(prefix: str, count: int) -> list[str]:
    """``a0, a1, ...``: `count` index names."""
    return [f"{prefix}{number}" for number in range(count)]


def at(tensor: str, *subscripts: str) -> str:
    """``x(a0, a1)``."""
    return f"{tensor}({', '.join(subscripts)})"


def where(clauses: Iterable[str]) -> str:
    """`` where a in 0:3, ...``, or nothing."""
    listed = ", ".join(clauses)
    return f" where {listed}" if listed else ""


def axes_of(axes: int | Iterable[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in order. Raises `CompileError` (TC0502) for one that does not exist."""
    listed = tuple(axes) if isinstance(axes, Iterable) else (axes,)
    for axis in listed:
        if not -rank <= axis < rank:
            raise CompileError(
                Code.ARGUMENT_RANK,
                f"the layer works along axis {axis} of its input, which has {rank} dimension{'s' if rank != 1 else ''}",
                help="pass an input with more dimensions, or make the layer with other axes",
            )
    return tuple(sorted({axis % rank for axis in listed}))


def check_lengths(**arrays: tuple[Shaped, Sequence[str]]) -> None:
    """Raises `CompileError` if an array's rank differs from its number of names (TC0502), or if axes of one name have
    different lengths (TC0601): a program alone would stop at the shortest one.
    """
    seen: dict[str, tuple[str, int, int]] = {}
    for name, (array, axes) in arrays.items():
        if array is None:
            continue
        if array.ndim != len(axes):
            raise CompileError(
                Code.ARGUMENT_RANK,
                f"`{name}` has the shape {array.shape}, and the layer takes {len(axes)} dimensions",
                help=_shapes(arrays),
            )
        for number, (axis, extent) in enumerate(zip(axes, array.shape, strict=True)):
            other, place, known = seen.setdefault(axis, (name, number, extent))
            if extent != known:
                raise CompileError(
                    Code.SIZE_MISMATCH,
                    f"`{other}` is {known} long in dimension {place}, but `{name}` {extent} in dimension {number}",
                    help=_shapes(arrays),
                )


def _shapes(arrays: dict[str, tuple[Shaped, Sequence[str]]]) -> str:
    shapes = [f"{name} {array.shape}" for name, (array, _) in arrays.items() if array is not None]
    return f"pass an input that fits the layer's parameters; the shapes are {', '.join(shapes)}"


@lru_cache(maxsize=4096)
def compiled(text: str) -> Kernel:
    """The kernel of a text; equal texts share one kernel, and so its compiled code."""
    return kernel(text)


def definition(name: str, parameters: Iterable[str], results: Iterable[str], statements: Iterable[str]) -> Kernel:
    """``def name(parameters) -> (results) { statements }`` as a kernel."""
    body = "".join(f"  {statement}\n" for statement in statements)
    return compiled(f"def {name}({', '.join(parameters)}) -> ({', '.join(results)}) {{\n{body}}}")


def run(program: Kernel, *arrays: jax.Array | None, precision: Any = None) -> Any:
    """The program's results for the arrays that are not None, with products of this precision."""
    with at_precision(precision):
        return program(*(array for array in arrays if array is not None))
