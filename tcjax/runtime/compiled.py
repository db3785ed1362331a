"""XLA's figures for a compiled kernel and its derivative."""

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

# `name = f32[4,6]{1,0} all-gather(...)`, or a tuple of shapes; an asynchronous start lists them twice.
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
    """XLA's figures for a function and arguments of these shapes and types, compiled on this device.

    `forward` are those of the function, `vjp` those of reverse mode: a function of the arguments and the cotangents of
    the float results, with respect to the floats among the first arguments, the `parameters`. If `no_vjp` says why
    there is none, it is None. Each has `temporary_bytes` besides arguments and results, `operations`, and the `bytes`
    read and written; None for figures that the device's compiler does not give. With `on_mesh` it also has the
    `collectives` of the function.
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
    """A function and its arguments, for kernel arguments like those in `given`.

    ``forward`` is the kernel; ``ahead`` returns its float results and their tangents, given the arguments and the
    tangents of those that are `moving`; ``reverse`` returns its float results and the cotangents of the `moving`
    arguments, given the arguments and the cotangents of the results.
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
        return found, back([_alike(*each) for each in zip(weights, found, strict=True)])

    start = [given[number] for number in moving]
    others = start if direction == "ahead" else jax.eval_shape(results, given, *start)
    return (ahead if direction == "ahead" else reverse), (list(given), others)


def _alike(weight: jax.Array, result: jax.Array) -> jax.Array:
    """A cotangent with the sharding that the type of its result names, if it does."""
    sharding = jax.typeof(result).sharding
    return jax.reshard(weight, sharding) if any(sharding.spec) else weight


def temporary_bytes(function: Callable[..., Any], arguments: Sequence[Any]) -> int | None:
    """The bytes a function needs besides arguments and results; None if the device does not tell."""
    memory = _compiled(function, arguments).memory_analysis()
    return None if memory is None else int(memory.temp_size_in_bytes)


def _compiled(function: Callable[..., Any], arguments: Sequence[Any]) -> jax.stages.Compiled:
    forked.refuse()
    return jax.jit(function).lower(*arguments).compile()


def _collectives(text: str) -> list[dict[str, Any]]:
    """The collectives of a compiled program: the XLA `operation`, and the `bytes` that a device receives."""
    return [
        {"operation": operation, "bytes": sum(map(_shape_bytes, _SHAPE.findall(shapes)))}
        for shapes, operation in _COLLECTIVE.findall(text)
    ]


def _shape_bytes(shape: tuple[str, str]) -> int:
    dtype, extents = shape
    return _WIDTHS.get(dtype, 4) * prod(map(int, filter(None, extents.split(","))))


def _figures(compiled: jax.stages.Compiled) -> Figures:
    memory, cost = compiled.memory_analysis(), compiled.cost_analysis()
    # Some devices return a list, with an entry for each program.
    costs = (cost[0] if cost else {}) if isinstance(cost, (list, tuple)) else cost or {}
    return {
        "temporary_bytes": None if memory is None else int(memory.temp_size_in_bytes),
        "operations": _told(costs, "flops"),
        "bytes": _told(costs, "bytes accessed"),
    }


def _shaped(array: Any) -> Any:
    """The argument that `jax.jit` lowers for; a traced array has only a shape and a type."""
    return jax.ShapeDtypeStruct(array.shape, array.dtype) if isinstance(array, Tracer) else array


def _told(costs: Mapping[str, float], name: str) -> int | None:
    """A figure; a program that only moves data has no operations, and -1 stands for an unknown figure."""
    found = costs.get(name, 0) if costs else -1
    return int(found) if found >= 0 else None


def _is_smooth(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))


__all__ = ["Figures", "directed", "figures", "temporary_bytes"]
