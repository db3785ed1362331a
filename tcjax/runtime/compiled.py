"""What XLA says of a kernel that it has compiled, and of its derivative."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.core import Tracer

from . import forked

Figures = dict[str, int | None]

# `name = f32[4,6]{1,0} all-gather(...)`, or a tuple of shapes; what starts one that runs beside others has them twice.
_COLLECTIVE: Final = re.compile(
    r"= (.*?) (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)(?:-start)?\("
)
_SHAPE: Final = re.compile(r"([a-z]+\d*\w*)\[([\d,]*)\]")
_WIDTHS: Final = {
    "pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "f16": 2, "bf16": 2, "s64": 8, "u64": 8, "f64": 8, "c64": 8,
    "c128": 16,
}  # fmt: skip


def figures(
    function: Callable[..., Any], arguments: Sequence[Any], parameters: int, no_vjp: str, *, on_mesh: bool = False
) -> dict[str, Any]:
    """XLA's figures of a function for arguments of these shapes and types; it is compiled for that, on this device.

    `forward` are those of the function, `vjp` those of reverse mode: a function of the arguments and of the cotangents
    of the float results, by the floats among the first arguments, which are the `parameters`. Where `no_vjp` says why
    there is none, it is None. Of each there are `temporary_bytes` beside arguments and results, `operations`, and
    `bytes` that are read and written; None stands for what the device's compiler does not tell. `on_mesh` there are the
    `collectives` of the function beside them.
    """
    given = [*map(_shaped, arguments)]
    compiled = _compiled(function, given)
    found: dict[str, Any] = {"forward": _figures(compiled)}
    if on_mesh:
        found["collectives"] = _collectives(compiled.as_text() or "")
    if no_vjp:
        return {**found, "vjp": None, "no_vjp": no_vjp}
    return {**found, "vjp": _vjp_figures(function, given, parameters)}


def _vjp_figures(function: Callable[..., Any], given: list[Any], parameters: int) -> Figures:
    moving = tuple(number for number in range(parameters) if _is_smooth(given[number]))
    both, arguments = directed(function, given, moving, "reverse")
    return _figures(_compiled(lambda *arrays: both(*arrays)[1], arguments))


def directed(
    function: Callable[..., Any], given: Sequence[Any], moving: Sequence[int], direction: str
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function and its arguments, for arguments of a kernel like those `given`.

    ``forward`` it is the kernel; ``ahead`` its float results and their tangents, of the arguments and of the tangents
    of those that are `moving`; in ``reverse`` its float results and the cotangents of the `moving` ones, of the
    arguments and of the cotangents of the results.
    """
    if direction == "forward":
        return function, tuple(given)

    def results(arrays: Sequence[Any], *found: Any) -> list[Any]:
        everything = dict(enumerate(arrays)) | dict(zip(moving, found, strict=True))
        return [result for result in jax.tree.leaves(function(*everything.values())) if _is_smooth(result)]

    def ahead(arrays: Sequence[Any], ways: Sequence[Any]) -> Any:
        return jax.jvp(functools.partial(results, arrays), [arrays[number] for number in moving], list(ways))

    def reverse(arrays: Sequence[Any], weights: Sequence[Any]) -> Any:
        found, back = jax.vjp(functools.partial(results, arrays), *(arrays[number] for number in moving))
        return found, back(list(weights))

    start = [given[number] for number in moving]
    others = start if direction == "ahead" else jax.eval_shape(results, given, *start)
    return (ahead if direction == "ahead" else reverse), (list(given), others)


def temporary_bytes(function: Callable[..., Any], arguments: Sequence[Any]) -> int | None:
    """The bytes that a function needs beside arguments and results; None where the device does not tell."""
    memory = _compiled(function, arguments).memory_analysis()
    return None if memory is None else int(memory.temp_size_in_bytes)


def _compiled(function: Callable[..., Any], arguments: Sequence[Any]) -> jax.stages.Compiled:
    forked.refuse()
    return jax.jit(function).lower(*arguments).compile()


def _collectives(text: str) -> list[dict[str, Any]]:
    """What devices tell each other in a compiled program: each `operation` of XLA, and the `bytes` a device gets."""
    return [
        {"operation": operation, "bytes": sum(map(_shape_bytes, _SHAPE.findall(shapes)))}
        for shapes, operation in _COLLECTIVE.findall(text)
    ]


def _shape_bytes(shape: tuple[str, str]) -> int:
    dtype, extents = shape
    return _WIDTHS.get(dtype, 4) * prod(map(int, filter(None, extents.split(","))))


def _figures(compiled: jax.stages.Compiled) -> Figures:
    memory, cost = compiled.memory_analysis(), compiled.cost_analysis()
    # Some devices give a list, with an entry for each program.
    costs = (cost[0] if cost else {}) if isinstance(cost, (list, tuple)) else cost or {}
    return {
        "temporary_bytes": None if memory is None else int(memory.temp_size_in_bytes),
        "operations": _told(costs, "flops"),
        "bytes": _told(costs, "bytes accessed"),
    }


def _shaped(array: Any) -> Any:
    """What `jax.jit` lowers for; of a traced array only the shape and the type are there."""
    return jax.ShapeDtypeStruct(array.shape, array.dtype) if isinstance(array, Tracer) else array


def _told(costs: Mapping[str, float], name: str) -> int | None:
    """A figure; a program that only moves data has no operations, and -1 stands for what is not known."""
    found = costs.get(name, 0) if costs else -1
    return int(found) if found >= 0 else None


def _is_smooth(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))


__all__ = ["Figures", "directed", "figures", "temporary_bytes"]
