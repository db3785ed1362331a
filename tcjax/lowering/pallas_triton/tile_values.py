"""Expressions as tiles: masked reads, and elementwise operators and builtins."""

from collections.abc import Callable
from typing import Final, assert_never

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import triton

from ... import ir
from ..builtins import BUILTINS
from ..context import numeric
from ..elementwise import OPERATORS, convert
from .frames import Frame, Integer, conjunction, maximum, minimum, subscript
from .reducers import scalar

# Their formulas clip, and Triton's minima and maxima ignore NaN.
_KEEP_NAN: Final = frozenset(("gelu", "relu", "sigmoid", "sign", "silu", "softplus"))

# A literal of the tree, or an index: cheaper than a cache look-up.
_LEAVES: Final = (ir.Const, ir.Extent, ir.Index)


def evaluate(expr: ir.Expr, frame: Frame) -> jax.Array:
    """The expression in every lane of a tile that its indices reach. Lanes outside may have any value."""
    if isinstance(expr, _LEAVES):
        return _evaluate(expr, frame)
    if expr not in frame.known:
        frame.known[expr] = _evaluate(expr, frame)
    return frame.known[expr]


def _evaluate(expr: ir.Expr, frame: Frame) -> jax.Array:
    match expr:
        case ir.Const(value, dtype):
            assert not isinstance(value, complex)
            return scalar(value, numeric(dtype))
        case ir.Extent():
            raise AssertionError("sizes are numbers by now")
        case ir.Index(variable):
            return jnp.asarray(frame.values[variable], jnp.int32)
        case ir.Access():
            return _read(expr, frame)
        case ir.Unary(operator, operand, dtype):
            name = "neg" if operator == "-" else operator
            return _apply(_OPERATORS[name], [evaluate(operand, frame)], dtype)
        case ir.Binary("min" | "max" as operator, left, right, dtype):
            return _apply(
                _least if operator == "min" else _greatest, [evaluate(e, frame) for e in (left, right)], dtype
            )
        case ir.Binary(operator, left, right, dtype):
            return _apply(OPERATORS[operator], [evaluate(e, frame) for e in (left, right)], dtype)
        case ir.Call(function, arguments, dtype):
            apply = _keeping_nan(BUILTINS[function]) if function in _KEEP_NAN else BUILTINS[function]
            return _apply(apply, [evaluate(e, frame) for e in arguments], dtype)
        case ir.Foreign():
            raise AssertionError("refused before")
        case ir.Cast(operand, dtype):
            return convert(jnp.asarray(evaluate(operand, frame)), dtype)
        case ir.Select(condition, then, otherwise):
            # Both are computed: a read is masked wherever it would be out of bounds.
            return jnp.where(*(evaluate(e, frame) for e in (condition, then, otherwise)))
        case ir.Reduce():
            from .loops import reduced

            return reduced(expr, frame)
        case _:
            assert_never(expr)


def _apply(function: Callable[..., jax.Array], arguments: list[jax.Array], dtype: str) -> jax.Array:
    """The function, in float32 for 16-bit arguments: the hardware has few functions for those."""
    arrays = [jnp.asarray(a).astype(jnp.float32) if str(a.dtype) in ir.types.HALVES else a for a in arguments]
    return convert(jnp.asarray(function(*map(jnp.asarray, arrays))), dtype)


def _least(left: jax.Array, right: jax.Array) -> jax.Array:
    return jnp.where((right < left) | (right != right), right, left)


def _greatest(left: jax.Array, right: jax.Array) -> jax.Array:
    return jnp.where((right > left) | (right != right), right, left)


_OPERATORS: Final = {**OPERATORS, "min": _least, "max": _greatest}


def _keeping_nan(function: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], jax.Array]:
    def kept(value: jax.Array) -> jax.Array:
        if not jnp.issubdtype(value.dtype, jnp.floating):
            return function(value)
        return jnp.where(value != value, value, function(value))

    return kept


def _read(access: ir.Access, frame: Frame) -> jax.Array:
    """The elements that a tile reads; 1 in masked lanes.

    No lane reads out of bounds. A lane whose indices are all in their ranges is a point of the box, where each
    subscript is either known to be in bounds, or tested here: if the test fails, a guard or a conditional excludes the
    point anyway. Every other lane is masked. Data-dependent subscripts are clamped, as in index notation.
    """
    machine = frame.machine
    operand = machine.operands[access.tensor.name]
    tests = [frame.mask(ir.free_indices(access))]
    offset: Integer = 0
    stride = 1
    places: list[tuple[Integer, int]] = []
    axes = list(zip(access.indices, operand.origin, operand.shape, strict=True))
    for affine, origin, extent in reversed([axes[axis] for axis in machine.orders[operand.name]]):
        moved = affine - origin
        place = subscript(moved, frame)
        if moved.is_data:
            place = maximum(minimum(place, extent - 1), 0)
        else:
            bounds = machine.facts.values(moved)
            if bounds is None or bounds[0] < 0:
                tests.append(jnp.asarray(place >= 0))
            if bounds is None or bounds[1] >= extent:
                tests.append(jnp.asarray(place < extent))
        places.append((place, stride))
        stride *= extent
    for place, step in reversed(places):
        offset = offset + place * step
    if isinstance(offset, int):
        offset = machine.origin + offset
    mask = conjunction(tests)
    reference = machine.references[operand.name]
    if mask is None:
        return triton.load(reference.at[offset])
    shape = np.broadcast_shapes(np.shape(offset), np.shape(mask))
    offset, mask = jnp.broadcast_to(offset, shape), jnp.broadcast_to(mask, shape)
    # One, because a masked lane may divide by it.
    return triton.load(reference.at[offset], mask=mask, other=scalar(1, reference.dtype))
