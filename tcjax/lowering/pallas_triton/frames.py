"""The context inside a kernel: the values of its indices in one tile, which lanes are inside, and values already
computed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ... import ir
from ...planning.data.nests import Operand
from ...symbolic import Affine, Facts, IndexVar
from ...symbolic.affine import Atom, Clamp, Quotient, Remainder
from .blocks import Blocks


@dataclass(frozen=True, slots=True)
class Side:
    """A factor of a matrix product: it depends on the reduction and one dimension, and is 0 where a guard fails."""

    body: ir.Expr
    guards: tuple[ir.Expr, ...]

    @property
    def indices(self) -> frozenset[IndexVar]:
        """The indices that it depends on."""
        return ir.free_indices(self.body).union(*map(ir.free_indices, self.guards))


# The side of a product over an index, along the rows (0) or the columns (1).
Kept: TypeAlias = tuple[Side, IndexVar, int]
# A number known while the kernel is traced, or one of its values.
Integer = int | jax.Array


@dataclass(frozen=True, eq=False)
class Machine:
    """The parts of the context that are the same everywhere in a kernel.

    `references` are the operands as flat arrays, with axes in memory as in `orders`. `ranges` are those of all indices,
    and `facts` hold at every point of that box; lanes beyond it are excluded by `Frame.inside`. `origin` is a zero that
    only the program knows: constant offsets begin with it, because an offset must be a value of the kernel. `on_device`
    says that the kernel is not interpreted.
    """

    references: Mapping[str, Any]
    operands: Mapping[str, Operand]
    orders: Mapping[str, tuple[int, ...]]
    ranges: Mapping[IndexVar, tuple[int, int]]
    facts: Facts
    blocks: Blocks
    precision: lax.Precision | None
    origin: jax.Array
    on_device: bool


@dataclass(frozen=True, eq=False)
class Frame:
    """The indices with values, each along a dimension of the tile or uniform over it.

    A value along the rows has shape ``(rows, 1)``, one along the columns ``(1, columns)``: no value has more than two
    dimensions. `inside` holds where such an index is in its range, None if it always is. `spans` are the first and the
    last value of each index in this tile. `known` caches computed values, and `sides` the factors of matrix products
    that are invariant in inner loops.
    """

    machine: Machine
    values: Mapping[IndexVar, Integer] = field(default_factory=dict)
    inside: Mapping[IndexVar, jax.Array] = field(default_factory=dict)
    spans: Mapping[IndexVar, tuple[Integer, Integer]] = field(default_factory=dict)
    dims: tuple[IndexVar | None, IndexVar | None] = (None, None)
    known: dict[ir.Expr, jax.Array] = field(default_factory=dict)
    sides: dict[Kept, jax.Array] = field(default_factory=dict)

    @property
    def ranges(self) -> Mapping[IndexVar, tuple[int, int]]:
        return self.machine.ranges

    def at(self, index: IndexVar, value: Integer) -> "Frame":
        """The same tile at one value of an index."""
        return self._with(index, value, None, (value, value), self.dims)

    def copied(self) -> "Frame":
        """A copy of the tile for computations that the original must not see."""
        return replace(self, known=dict(self.known), sides=dict(self.sides))

    def along(self, index: IndexVar, dimension: int, start: Integer, extent: int, *, whole: bool = False) -> "Frame":
        """The tile with `extent` values of an index, from `start` on, along a dimension, in place of the index that was
        there.

        Lanes beyond the range of the index are not inside; `whole` says that the tile divides the range.
        """
        frame = self.without(dimension)
        shape = (extent, 1) if dimension == 0 else (1, extent)
        value = start + lax.broadcasted_iota(jnp.int32, shape, dimension)
        end = self.ranges[index][1]
        dims = (index, frame.dims[1]) if dimension == 0 else (frame.dims[0], index)
        last = minimum(start + (extent - 1), end - 1)
        return frame._with(index, value, None if whole else value < end, (start, last), dims)

    def without(self, dimension: int) -> "Frame":
        """The tile without the index along a dimension, and without values computed from it."""
        gone = self.dims[dimension]
        if gone is None:
            return self
        dims = (None, self.dims[1]) if dimension == 0 else (self.dims[0], None)
        kept = {index: value for index, value in self.values.items() if index != gone}
        known = {expr: value for expr, value in self.known.items() if gone not in ir.free_indices(expr)}
        sides = {key: value for key, value in self.sides.items() if gone not in key[0].indices}
        inside = {index: mask for index, mask in self.inside.items() if index != gone}
        return replace(self, values=kept, inside=inside, dims=dims, known=known, sides=sides)

    def _with(
        self,
        index: IndexVar,
        value: Integer,
        inside: jax.Array | None,
        span: tuple[Integer, Integer],
        dims: tuple[IndexVar | None, IndexVar | None],
    ) -> "Frame":
        masks = dict(self.inside) if inside is None else {**self.inside, index: inside}
        # Copies: values computed inside a loop do not exist outside it.
        return replace(
            self,
            values={**self.values, index: value},
            inside=masks,
            spans={**self.spans, index: span},
            dims=dims,
            known=dict(self.known),
            sides=dict(self.sides),
        )

    def mask(self, indices: Iterable[IndexVar]) -> jax.Array | None:
        """Where all of these indices are in their ranges; None if everywhere."""
        return conjunction(self.inside[index] for index in indices if index in self.inside)

    def shape(self, indices: Iterable[IndexVar]) -> tuple[int, ...]:
        """The shape of a value that depends on these indices."""
        used = frozenset(indices)
        lanes = [np.shape(self.values[index]) for index in self.dims if index is not None and index in used]
        return np.broadcast_shapes(*lanes) if lanes else ()


def conjunction(masks: Iterable[jax.Array | None]) -> jax.Array | None:
    """The conjunction of all masks; None stands for true."""
    found: jax.Array | None = None
    for mask in masks:
        if mask is not None:
            found = mask if found is None else found & mask
    return found


def minimum(one: Integer, other: Integer) -> Integer:
    """The smaller of two integers, a number where both are."""
    return min(one, other) if isinstance(one, int) and isinstance(other, int) else lax.min(*_arrays(one, other))


def maximum(one: Integer, other: Integer) -> Integer:
    """The larger of two integers, a number where both are."""
    return max(one, other) if isinstance(one, int) and isinstance(other, int) else lax.max(*_arrays(one, other))


def _arrays(*integers: Integer) -> Iterator[Any]:
    arrays = [np.int32(value) if isinstance(value, int) else value for value in integers]
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return (jnp.broadcast_to(array, shape) for array in arrays)


def quotient(value: Integer, divisor: int, *, nonnegative: bool) -> Integer:
    """The floor of the quotient by a positive number; the machine's division if nothing is negative."""
    if isinstance(value, int):
        return value // divisor
    if divisor == 1:
        return value
    if nonnegative:
        return lax.div(value, jnp.full(np.shape(value), np.int32(divisor)))
    return jnp.floor_divide(value, np.int32(divisor))


def subscript(affine: Affine, frame: Frame) -> Integer:
    """The value of a subscript without sizes, in every lane. Lanes outside may have any value."""
    total: Integer = _number(affine.base.constant)
    for atom, weight in affine.terms:
        total = total + _number(weight.constant) * _atom(atom, frame)
    return total


def _number(constant: int | None) -> int:
    assert constant is not None, "sizes are numbers by now"
    return constant


def _atom(atom: Atom, frame: Frame) -> Integer:
    match atom:
        case IndexVar():
            return frame.values[atom]
        case Quotient(argument, divisor):
            by = _number(divisor.constant)
            return quotient(subscript(argument, frame), by, nonnegative=_nonnegative(argument, frame)) if by else 0
        case Remainder(argument, divisor):
            by = _number(divisor.constant)
            if not by:
                return 0
            value = subscript(argument, frame)
            return value - by * quotient(value, by, nonnegative=_nonnegative(argument, frame))
        case Clamp(kind, arguments):
            first, *rest = (subscript(argument, frame) for argument in arguments)
            for value in rest:
                first = (minimum if kind == "min" else maximum)(first, value)
            return first
        case ir.Data(expr):
            from .tile_values import evaluate

            return _position(evaluate(expr, frame))
        case _:
            raise AssertionError(atom)


def _nonnegative(affine: Affine, frame: Frame) -> bool:
    values = None if affine.is_data else frame.machine.facts.values(affine)
    return values is not None and values[0] >= 0


def _position(value: jax.Array) -> jax.Array:
    """An integer from data, clamped to 32 bits: if it was outside an array, it still is."""
    kind = np.dtype(value.dtype)
    if kind.itemsize >= 4 and kind != np.int32:
        largest = np.asarray(2**31 - 1, kind)[()]
        value = jnp.where(value > largest, largest, value)
        if kind.kind == "i":
            value = jnp.where(value < -largest, -largest, value)
    return value.astype(jnp.int32)
