"""Products with a matrix: dense layers, dense layers over several axes, bilinear layers."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax

from ...runtime.kernel import Kernel
from ..adapter import Adapter, Learned
from ..precision import is_pair
from .notation import at, axes_of, check_lengths, definition, names, run


def linear(own: Adapter, inputs: jax.Array, *others: Any, axes: Sequence[int] = (-1,)) -> jax.Array:
    """``y(.., o..) = sum over axes of inputs(..) * kernel(axes.., o..) + bias(o..)``, the kept axes first.

    Flax computes it if a custom function multiplies, or if one of its arguments `others` is given.
    """
    options = ("dot_general", "dot_general_cls", "preferred_element_type")
    if own.is_given(options, others) or is_pair(own.layer.precision):
        return own.flax(inputs, *others)
    inputs, kernel, bias = own.promoted(inputs, own.parameter("kernel"), own.parameter("bias"))
    contracted = axes_of(axes, inputs.ndim)
    read, summed, out = _dense_axes(inputs.ndim, contracted, kernel.ndim - len(contracted))
    check_lengths(inputs=(inputs, read), kernel=(kernel, [*summed, *out]), bias=(bias, out))
    program = dense_program(inputs.ndim, contracted, kernel.ndim - len(contracted), bias is not None)
    return run(program, inputs, kernel, bias, precision=own.layer.precision)


@lru_cache(maxsize=1024)
def dense_program(rank: int, axes: tuple[int, ...], features: int, has_bias: bool) -> Kernel:
    """A dense layer for inputs of a given rank, summed over `axes`, with `features` output axes."""
    read, summed, out = _dense_axes(rank, axes, features)
    y = at("y", *(axis for axis in read if axis not in summed), *out)
    statements = [f"{y} +=! {at('x', *read)} * {at('w', *summed, *out)}"]
    if has_bias:
        statements.append(f"{y} = {y} + {at('b', *out)}")
    return definition("dense", ("x", "w", "b")[: 3 if has_bias else 2], ("y",), statements)


def _dense_axes(rank: int, axes: tuple[int, ...], features: int) -> tuple[list[str], list[str], list[str]]:
    """The indices of the inputs, of the summed axes, and of the features."""
    kept, summed = iter(names("a", rank - len(axes))), names("i", len(axes))
    read = [summed[axes.index(axis)] if axis in axes else next(kept) for axis in range(rank)]
    return read, summed, names("o", features)


def bilinear_parameters(left: int, right: int, features: int) -> Learned:
    """The parameters of a bilinear layer with these numbers of features."""
    shapes = {"kernel": (left, right, features), "bias": (features,)}
    return Learned(shapes, "y(b,o) +=! left(b,i) * kernel(i,j,o) * right(b,j)", ("kernel",))


def bilinear(own: Adapter, left: jax.Array, right: jax.Array) -> jax.Array:
    """``y(.., o) = sum[i, j](left(.., i) * kernel(i, j, o) * right(.., j)) + bias(o)``."""
    left, right, kernel, bias = own.promoted(left, right, own.parameter("kernel"), own.parameter("bias"))
    kept = names("a", max(left.ndim - 1, 0))
    check_lengths(left=(left, [*kept, "i"]), right=(right, [*kept, "j"]), kernel=(kernel, "ijo"), bias=(bias, "o"))
    program = bilinear_program(left.ndim - 1, bias is not None)
    return run(program, left, right, kernel, bias, precision=own.layer.precision)


@lru_cache(maxsize=256)
def bilinear_program(lead: int, has_bias: bool) -> Kernel:
    """A bilinear layer for inputs with `lead` axes before the last."""
    kept = names("a", lead)
    y = at("y", *kept, "o")
    statements = [f"{y} +=! {at('l', *kept, 'i')} * w(i, j, o) * {at('r', *kept, 'j')}"]
    if has_bias:
        statements.append(f"{y} = {y} + b(o)")
    return definition("bilinear", ("l", "r", "w", "b")[: 4 if has_bias else 3], ("y",), statements)


def dot_general(
    left: jax.Array,
    right: jax.Array,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> jax.Array:
    """`jax.lax.dot_general` as a comprehension, for layers that accept one.

    A result type, a sharding, or one precision per operand is left to JAX.
    """
    if preferred_element_type is not None or out_sharding is not None or is_pair(precision):
        given = {"preferred_element_type": preferred_element_type, "out_sharding": out_sharding}
        return jax.lax.dot_general(left, right, dimension_numbers, precision, **given)
    pairs = tuple(tuple(tuple(axes) for axes in part) for part in dimension_numbers)
    x, w = _dot_axes(left.ndim, right.ndim, pairs)
    check_lengths(inputs=(left, x), kernel=(right, w))
    return run(dot_program(left.ndim, right.ndim, pairs), left, right, precision=precision)


@lru_cache(maxsize=1024)
def dot_program(left: int, right: int, pairs: tuple[tuple[tuple[int, ...], ...], ...]) -> Kernel:
    """A product of arrays of these ranks; `pairs` are contracted and batch axes, each for both operands."""
    x, w = _dot_axes(left, right, pairs)
    batch = names("b", len(pairs[1][0]))
    kept = [index for index in (*x, *w) if index not in batch and index[0] != "i"]
    statement = f"{at('y', *batch, *kept)} +=! {at('x', *x)} * {at('w', *w)}"
    return definition("dot_general", ("x", "w"), ("y",), [statement])


def _dot_axes(left: int, right: int, pairs: tuple[tuple[tuple[int, ...], ...], ...]) -> tuple[list[str], list[str]]:
    """The indices of both operands: ``b0, ..`` for the batch, ``i0, ..`` for contracted axes, ``m`` and ``n`` for the
    rest.
    """
    (left_summed, right_summed), (left_batch, right_batch) = pairs

    def indices(rank: int, own: str, contracted: tuple[int, ...], shared: tuple[int, ...]) -> list[str]:
        shared_names = (*names("i", len(contracted)), *names("b", len(shared)))
        known = dict(zip((*contracted, *shared), shared_names, strict=True))
        return [known.get(axis, f"{own}{axis}") for axis in range(rank)]

    return indices(left, "m", left_summed, left_batch), indices(right, "n", right_summed, right_batch)
