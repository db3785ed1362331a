"""Sums of products as matrix products of tiles, one chunk of the reduction at a time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ... import ir
from ...ir import Reducer
from ...symbolic import IndexVar
from ...transforms.factors import summands
from ...transforms.widening import widened
from .blocks import SMALLEST_DOT, block
from .frames import Frame, Side, conjunction
from .reducers import scalar
from .tile_values import evaluate

# A reduction shorter than this would mostly multiply padding.
_SHORTEST = 8
# The reduction of an inner product up to this length is one chunk, whose invariant side stays with the tile.
_ONE_CHUNK = 128


@dataclass(frozen=True, slots=True)
class Product:
    """``sum[index](left * right) * outer``: left runs along the rows, right along the columns of a tile."""

    index: IndexVar
    left: Side
    right: Side
    outer: Side | None

    def chunk(self, extent: int, limit: int) -> int:
        """The number of values of the index in one matrix product."""
        return block(extent, _ONE_CHUNK if extent <= _ONE_CHUNK else limit, SMALLEST_DOT)

    def lanes(self, ranges: Mapping[IndexVar, tuple[int, int]], limit: int) -> tuple[IndexVar, int]:
        """The index, and the number of its values in one matrix product."""
        lo, hi = ranges[self.index]
        return self.index, self.chunk(hi - lo, limit)


def as_product(
    reduce: ir.Reduce, index: IndexVar, rows: IndexVar | None, columns: IndexVar | None, extent: int
) -> Product | None:
    """The reduction as a matrix product over one of its indices; None if it is not one, or is too short to pay off."""
    if rows is None or columns is None or extent < _SHORTEST or not reduce.reducer.is_linear:
        return None
    if reduce.reducer is Reducer.MEAN and reduce.guard is not None:
        return None
    body = widened(reduce.body, reduce.accumulate)
    if body.dtype != reduce.accumulate or not ir.types.is_float(body.dtype):
        return None
    product, *others = summands(body)
    if others:
        return None
    sign = [ir.Const(-1.0, body.dtype)] if product.negative else []
    sides: dict[str, list[ir.Expr]] = {"left": [], "right": [], "outer": []}
    guards: dict[str, list[ir.Expr]] = {"left": [], "right": [], "outer": []}
    masks = (*ir.conjuncts(reduce.guard), *ir.conjuncts(product.mask))
    for parts, found in (((*sign, *product.factors), sides), (masks, guards)):
        for part in parts:
            side = _side(part, index, rows, columns)
            if side is None:
                return None
            found[side].append(part)
            if found is guards and not ir.free_indices(part) - {index}:
                # Points masked in either are zero in both.
                found["right" if side == "left" else "left"].append(part)
    for side, dimension in (("left", rows), ("right", columns)):
        if not any({index, dimension} <= ir.free_indices(factor) for factor in sides[side]):
            return None
    outer = Side(ir.multiply(sides["outer"] or [ir.Const(1.0, body.dtype)]), tuple(guards["outer"]))
    return Product(
        index,
        Side(ir.multiply(sides["left"]), tuple(guards["left"])),
        Side(ir.multiply(sides["right"]), tuple(guards["right"])),
        outer if sides["outer"] or guards["outer"] else None,
    )


def _side(part: ir.Expr, index: IndexVar, rows: IndexVar, columns: IndexVar) -> str | None:
    free = ir.free_indices(part)
    match index in free, rows in free, columns in free:
        case True, True, True:
            return None
        case False, True, True:
            return "outer"
        case _, False, True:
            return "right"
        case _:
            return "left"


def multiplied(left: jax.Array, right: jax.Array, frame: Frame, dtype: str) -> jax.Array:
    """One chunk of a product; `left` and `right` come from `side`."""
    return jnp.dot(left, right, precision=frame.machine.precision, preferred_element_type=jnp.dtype(dtype))


def one_by_one(sides: tuple[jax.Array, jax.Array], counts: Iterable[jax.Array | None], dtype: str) -> jax.Array:
    """The same, point by point, without any masked points."""
    left, right = (side.astype(jnp.dtype(dtype)) for side in sides)
    lives = [
        jnp.ones(side.shape, jnp.int32) if live is None else jnp.broadcast_to(live, side.shape).astype(jnp.int32)
        for side, live in zip(sides, counts, strict=True)
    ]
    extent = left.shape[1]

    def of(tile: jax.Array, point: jax.Array, axis: int) -> jax.Array:
        """The values of a tile at one point, extracted by a sum, because a tile is in registers."""
        place = lax.broadcasted_iota(jnp.int32, tile.shape, axis)
        return jnp.sum(jnp.where(place == point, tile, scalar(0, tile.dtype)), axis, dtype=tile.dtype, keepdims=True)

    def add(point: jax.Array, total: jax.Array) -> jax.Array:
        point = point.astype(jnp.int32)
        counts = (of(lives[0], point, 1) > 0) & (of(lives[1], point, 0) > 0)
        product = of(left, point, 1) * of(right, point, 0)
        return total + jnp.where(counts, product, scalar(0, product.dtype))

    return lax.fori_loop(np.int32(0), np.int32(extent), add, jnp.zeros((left.shape[0], right.shape[1]), left.dtype))


def scaled(product: Product, total: jax.Array, frame: Frame) -> jax.Array:
    """A chunk of the product times its invariant factor, in the frame's tile."""
    if product.outer is None:
        return total
    mask = conjunction(evaluate(guard, frame) for guard in product.outer.guards)
    value = total * evaluate(product.outer.body, frame)
    return value if mask is None else jnp.where(mask, value, scalar(0, value.dtype))


def side(side: Side, index: IndexVar, frame: Frame, *, half: str | None) -> jax.Array:
    """A factor as a full tile, 0 in every lane that is outside or where a guard fails.

    Both sides are 0 there, because one of them could have infinity in place of a masked read.
    """
    body = side.body.operand if half is not None and isinstance(side.body, ir.Cast) else side.body
    value = evaluate(body, frame)
    mask = conjunction([frame.mask([index]), *(evaluate(guard, frame) for guard in side.guards)])
    if mask is not None:
        value = jnp.where(mask, value, scalar(0, value.dtype))
    return jnp.broadcast_to(value, frame.shape(index for index in frame.dims if index is not None))


def common_half(product: Product) -> str | None:
    """The 16-bit type from which both sides are converted: products of these are exact in float32."""
    kinds = set(_halves((product.left.body, product.right.body)))
    (only,) = kinds if len(kinds) == 1 else (None,)
    return only


def _halves(bodies: Iterable[ir.Expr]) -> Iterable[str | None]:
    for body in bodies:
        match body:
            case ir.Cast(operand, "float32") if operand.dtype in ir.types.HALVES:
                yield operand.dtype
            case _:
                yield None
