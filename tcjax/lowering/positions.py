"""The start of a slice: a number, or a value computed from the current step of the enclosing loops."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from ..symbolic import Affine, Clamp, IndexVar, Quotient, Remainder, Size
from ..symbolic.affine import Atom
from .context import Context
from .sizes import as_int32, evaluate

Start = int | jax.Array


def position(affine: Affine, context: Context) -> Start:
    """A subscript's value at the current step of the enclosing loops; an int where all of them are unrolled."""
    total: Start = _number(affine.base, context)
    for atom, weight in affine.terms:
        total = total + _number(weight, context) * _atom(atom, context)
    return total


def _atom(atom: Atom, context: Context) -> Start:
    match atom:
        case IndexVar():
            return context.steps[atom]
        case Quotient(argument, divisor):
            return position(argument, context) // _number(divisor, context)
        case Remainder(argument, divisor):
            return position(argument, context) % _number(divisor, context)
        case Clamp(kind, arguments):
            first, *rest = (position(argument, context) for argument in arguments)
            for other in rest:
                first = _extremum(kind, first, other)
            return first
        case _:
            raise AssertionError(atom)


def _extremum(kind: str, a: Start, b: Start) -> Start:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if kind == "min" else max(a, b)
    return jnp.minimum(a, b) if kind == "min" else jnp.maximum(a, b)


def cut(array: jax.Array, starts: Sequence[Start], counts: Sequence[int], strides: Sequence[int]) -> jax.Array:
    """`counts` elements of each dimension from `starts` on, with these `strides`."""
    spans = [stride * (count - 1) + 1 if count else 0 for count, stride in zip(counts, strides, strict=True)]
    known = numbers(starts)
    if known is not None:
        limits = [start + span for start, span in zip(known, spans, strict=True)]
        if known == [0] * array.ndim and limits == list(array.shape) and all(s == 1 for s in strides):
            return array
        return lax.slice(array, known, limits, strides)
    array = lax.dynamic_slice(array, _integers(starts), spans, allow_negative_indices=False)
    if all(stride == 1 for stride in strides):
        return array
    return lax.slice(array, [0] * array.ndim, spans, strides)


def put(array: jax.Array, values: jax.Array, starts: Sequence[Start]) -> jax.Array:
    """The array with the values from `starts` on."""
    known = numbers(starts)
    if known is not None:
        return lax.dynamic_update_slice(array, values, known)
    return lax.dynamic_update_slice(array, values, _integers(starts), allow_negative_indices=False)


def _integers(starts: Sequence[Start]) -> list[jax.Array]:
    return [jnp.int32(start) for start in starts]


def numbers(starts: Sequence[Start]) -> list[int] | None:
    """The starts, if all of them are numbers while JAX traces."""
    known = [start for start in starts if isinstance(start, int)]
    return known if len(known) == len(starts) else None


def _number(size: Size, context: Context) -> Start:
    """A size; a run-time value if it is not a number."""
    number = size.constant
    return as_int32(evaluate(size, context.sizes)) if number is None else number
