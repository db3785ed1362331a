"""Calls the functions of a registered reduction on arrays, and checks their results."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..diagnostics import Code, CompileError
from ..ir import Monoid
from .context import numeric

States = tuple[jax.Array, ...]


def inject(monoid: Monoid, elements: jax.Array, running: str) -> States:
    """The states of single elements."""
    dtypes = _types(monoid, running)
    if monoid.inject is None:
        others = _filled(monoid, dtypes, elements.shape)
        return (elements.astype(dtypes[0]), *others[1:])
    found = _parts(monoid, "inject", monoid.inject, (elements,))
    return tuple(
        jnp.broadcast_to(_converted(monoid, "inject", part, dtype, elements.shape), elements.shape)
        for part, dtype in zip(found, dtypes, strict=True)
    )


def blank(monoid: Monoid, shape: tuple[int, ...], running: str) -> States:
    """The states of no elements."""
    return _filled(monoid, _types(monoid, running), shape)


def combine(monoid: Monoid, a: States, b: States) -> States:
    """The combined states of an earlier and a later part."""
    shape = jnp.broadcast_shapes(a[0].shape, b[0].shape)
    a, b = (tuple(jnp.broadcast_to(part, shape) for part in state) for state in (a, b))
    found = _parts(monoid, "combine", monoid.combine, (_own(monoid, a), _own(monoid, b)))
    result: list[jax.Array] = []
    for number, (part, before) in enumerate(zip(found, a, strict=True)):
        if part.dtype != before.dtype and not (part.weak_type and _holds(before.dtype, part)):
            which = "" if monoid.scalar else f"component {number}: "
            raise _wrong(
                monoid,
                f"`combine` changes a type, {which}{before.dtype} into {part.dtype}",
                "make it return the types that it takes; a NumPy number in the identity fixes the type of a component",
            )
        result.append(jnp.broadcast_to(_converted(monoid, "combine", part, before.dtype, shape), shape))
    return tuple(result)


def finish(monoid: Monoid, state: States) -> jax.Array:
    """The results, of the first component's type."""
    if monoid.finish is None:
        return state[0]
    (found,) = _parts(monoid, "finish", monoid.finish, (_own(monoid, state),), count=1)
    return jnp.broadcast_to(_converted(monoid, "finish", found, state[0].dtype, state[0].shape), state[0].shape)


def choose(condition: jax.Array, then: States, otherwise: States) -> States:
    """The states chosen point by point."""
    return tuple(jnp.where(condition, a, b) for a, b in zip(then, otherwise, strict=True))


def nothing(monoid: Monoid, running: str) -> jax.Array:
    """The reduction of nothing."""
    return finish(monoid, blank(monoid, (), running))


def fold(monoid: Monoid, states: States) -> States:
    """The combined state along the last dimension, in order: pairs of neighbours, or halves if it is commutative."""
    tail: States | None = None
    while (count := states[0].shape[-1]) > 1:
        if count % 2:
            parts = [lax.split(part, (count - 1, 1), axis=part.ndim - 1) for part in states]
            states, odd = tuple(part[0] for part in parts), tuple(part[1] for part in parts)
            tail = odd if tail is None else combine(monoid, odd, tail)
        pairs = [_halves(part) if monoid.commutative else _neighbours(part) for part in states]
        states = combine(monoid, tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))
    if tail is not None:
        states = combine(monoid, states, tail)
    return tuple(lax.squeeze(part, (part.ndim - 1,)) for part in states)


# Splits, not slices: their derivative joins the parts, and adds no arrays of zeros.


def _halves(array: jax.Array) -> list[jax.Array]:
    half = array.shape[-1] // 2
    return list(lax.split(array, (half, half), axis=array.ndim - 1))


def _neighbours(array: jax.Array) -> list[jax.Array]:
    """The elements at even and at odd positions."""
    pairs = lax.reshape(array, (*array.shape[:-1], array.shape[-1] // 2, 2))
    return [lax.squeeze(part, (pairs.ndim - 1,)) for part in lax.split(pairs, (1, 1), axis=pairs.ndim - 1)]


def _types(monoid: Monoid, running: str) -> tuple[Any, ...]:
    return tuple(map(numeric, monoid.components(running)))


def _filled(monoid: Monoid, dtypes: Sequence[Any], shape: tuple[int, ...]) -> States:
    return tuple(jnp.full(shape, number, dtype) for number, dtype in zip(monoid.identity, dtypes, strict=True))


def _own(monoid: Monoid, state: States) -> Any:
    """A state as the user's functions take it."""
    return state[0] if monoid.scalar else state


def _parts(
    monoid: Monoid, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], count: int | None = None
) -> list[jax.Array]:
    """The results of a function, `count` arrays."""
    count = len(monoid.identity) if count is None else count
    try:
        found = function(*arguments)
    except CompileError:
        raise
    except Exception as error:
        said = str(error).splitlines()[0] if str(error) else ""
        raise _wrong(
            monoid,
            f"`{name}` fails for arrays: {type(error).__name__}: {said}",
            "make it work element by element, on arrays of any shape, and on tuples of them if the identity is a tuple",
        ) from error
    parts = list(found) if isinstance(found, (tuple, list)) else [found]
    if len(parts) != count or (isinstance(found, (tuple, list)) and (name == "finish" or monoid.scalar)):
        wanted = "one array" if name == "finish" or monoid.scalar else f"a tuple of {count} arrays, as the identity has"
        given = f"{len(parts)} values" if isinstance(found, (tuple, list)) else "one value"
        raise _wrong(monoid, f"`{name}` gives {given}", f"make it return {wanted}")
    try:
        return [jnp.asarray(part) for part in parts]
    except (TypeError, ValueError) as error:
        shown = type(next((part for part in parts if not hasattr(part, "dtype")), None)).__name__
        raise _wrong(monoid, f"`{name}` gives a {shown}", "make it return arrays of numbers") from error


def _converted(monoid: Monoid, name: str, part: jax.Array, dtype: Any, shape: tuple[int, ...]) -> jax.Array:
    """The array in a component's type, with a shape compatible with the states."""
    if not _holds(dtype, part):
        raise _wrong(
            monoid,
            f"`{name}` gives {part.dtype}, which a component of type {dtype} cannot hold",
            "convert it, or write a number of that kind in the identity: 0.0 for a float",
        )
    if part.shape != shape and (len(part.shape) > len(shape) or jnp.broadcast_shapes(part.shape, shape) != shape):
        raise _wrong(
            monoid,
            f"`{name}` gives an array of shape {part.shape} for arrays of shape {shape}",
            "make it work element by element",
        )
    return part.astype(dtype)


def _holds(dtype: Any, part: jax.Array) -> bool:
    """Whether a type can hold the numbers of an array; Python numbers fit any type of their kind."""
    return part.dtype == dtype or jnp.result_type(part, dtype) == dtype


def _wrong(monoid: Monoid, message: str, help: str) -> CompileError:
    return CompileError(Code.BAD_MONOID, f"the reduction `{monoid.name}`: {message}", help=help)


__all__ = ["States", "blank", "choose", "combine", "finish", "fold", "inject", "nothing"]
