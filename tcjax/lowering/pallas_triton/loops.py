"""The loops of a reduction inside a kernel, one after the other, with what does not change in them before them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ... import ir
from ...ir import Reducer
from ...symbolic import AtLeastZero, IndexVar
from ...transforms.widening import widened
from ..context import numeric
from ..elementwise import convert
from .domains import inequalities, limits
from .frames import Frame, Integer, Kept, conjunction, maximum, minimum, quotient
from .products import Product, as_product, common_half, dot, side
from .reducers import State, begin, finish, step
from .refusals import reducer_of
from .tile_values import evaluate

# Steps of an innermost loop that are written out, where they have no more nodes than so many.
_TOGETHER: Final = 4
_LARGEST: Final = 400

Dims = tuple[IndexVar | None, IndexVar | None]


@dataclass(frozen=True, slots=True)
class Part:
    """The share of one program in a loop: the values of an index from ``first`` on, before ``end``."""

    index: IndexVar
    first: Integer
    end: Integer


def reduced(reduce: ir.Reduce, frame: Frame) -> jax.Array:
    """An inline reduction in every lane that its free indices reach."""
    sweep = Sweep.of(reduce, frame)
    state = sweep.run(frame)
    value = finish(reducer_of(reduce), reduce.accumulate, state, sweep.points(frame))
    return convert(value, reduce.dtype)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A reduction on tiles: its loops, what is computed at each of their steps, and the shape of its state.

    With a `product` the loop over its index steps by chunks, each a matrix product. The index `lanes` lies along the
    columns of the tile, a chunk at a time too, and its lanes are for the caller to combine.
    """

    reduce: ir.Reduce
    body: ir.Expr
    guards: tuple[ir.Expr, ...]
    conditions: tuple[AtLeastZero, ...]
    shape: tuple[int, ...]
    product: Product | None = None
    lanes: tuple[IndexVar, int] | None = None
    part: Part | None = None

    @staticmethod
    def of(reduce: ir.Reduce, frame: Frame) -> "Sweep":
        """An inline reduction, by matrix products where it is one in this tile."""
        product = product_in(reduce, frame.dims, frame)
        reach = ir.free_indices(reduce) if product is None else frozenset(filter(None, frame.dims))
        shape = frame.shape(reach)
        return Sweep.over(reduce, shape, product)

    @staticmethod
    def over(
        reduce: ir.Reduce,
        shape: tuple[int, ...],
        product: Product | None = None,
        lanes: tuple[IndexVar, int] | None = None,
        part: Part | None = None,
    ) -> "Sweep":
        body = widened(reduce.body, reduce.accumulate)
        guards, conditions = ir.conjuncts(reduce.guard), inequalities(reduce.guard)
        return Sweep(reduce, body, guards, conditions, shape, product, lanes, part)

    @property
    def counted(self) -> bool:
        """Whether it takes a look at every point to know how many count."""
        return reducer_of(self.reduce) is Reducer.MEAN and self.reduce.guard is not None

    def points(self, frame: Frame) -> int:
        """How many points the box has."""
        return prod(frame.ranges[index][1] - frame.ranges[index][0] for index in self.reduce.indices)

    def run(self, frame: Frame) -> State:
        """The state after all points."""
        state = begin(reducer_of(self.reduce), self.reduce.accumulate, self.shape, counted=self.counted)
        if self.points(frame) <= 0:
            return state
        order = self.reduce.indices
        if self.product is not None:
            # Its chunks are the innermost loop: sums have no order.
            order = (*(index for index in order if index != self.product.index), self.product.index)
        return self._loop(order, frame, state)

    def _loop(self, pending: tuple[IndexVar, ...], frame: Frame, state: State) -> State:
        if not pending:
            return self._step(frame, state)
        index, *rest = pending
        lo, hi = limits(index, self.conditions, frame)
        if self.part is not None and self.part.index == index:
            lo, hi = maximum(lo, self.part.first), minimum(hi, self.part.end)
        if self.product is not None and index == self.product.index:
            return self._chunks(self.product, lo, hi, frame, state)
        if self.lanes is not None and index == self.lanes[0]:
            extent = self.lanes[1]
            start, end = frame.ranges[index]
            whole = (end - start) % extent == 0
            base = frame.without(1)
            self._prepare(base, (frame.dims[0], index))

            def chunk(number: Integer, state: State) -> State:
                inner = base.along(index, 1, start + number * extent, extent, whole=whole)
                return self._loop(tuple(rest), inner, state)

            first = quotient(lo - start, extent, nonnegative=True)
            return _repeat(first, quotient(hi - start + (extent - 1), extent, nonnegative=True), chunk, state)
        self._prepare(frame, frame.dims)
        if rest or not self._is_short:
            return _repeat(lo, hi, lambda value, state: self._loop(tuple(rest), frame.at(index, value), state), state)
        return self._together(index, lo, hi, frame, state)

    def _together(self, index: IndexVar, lo: Integer, hi: Integer, frame: Frame, state: State) -> State:
        """The innermost loop, a few steps at a time: what they read is on its way before the first of them needs it."""

        def step(value: Integer, state: State) -> State:
            return self._step(frame.at(index, value), state)

        def steps(number: Integer, state: State) -> State:
            frames = [frame.at(index, lo + number * _TOGETHER + place) for place in range(_TOGETHER)]
            for each in frames:
                self._read(each)
            for each in frames:
                state = self._step(each, state)
            return state

        trips = quotient(maximum(hi - lo, 0), _TOGETHER, nonnegative=True)
        return _repeat(lo + trips * _TOGETHER, hi, step, _repeat(0, trips, steps, state))

    @property
    def _is_short(self) -> bool:
        """Whether a few steps written out are still a small loop: one with a loop in it is not."""
        nodes = [node for expr in (self.body, *self.guards) for node in ir.walk(expr)]
        return len(nodes) * _TOGETHER <= _LARGEST and not any(isinstance(node, ir.Reduce) for node in nodes)

    def _read(self, frame: Frame) -> None:
        """What a step reads."""
        for expr in (self.body, *self.guards):
            for access in ir.accesses(expr):
                evaluate(access, frame)

    def _prepare(self, frame: Frame, dims: Dims) -> None:
        """Computes what the loops to come do not change."""
        if self.product is None:
            exprs = (self.body, *self.guards)
        else:
            outer = (self.product.outer,) if self.product.outer is not None else ()
            exprs = tuple(expr for s in outer for expr in (s.body, *s.guards))
        for expr in exprs:
            hoist(expr, frame, dims)

    def _step(self, frame: Frame, state: State) -> State:
        value = convert(jnp.asarray(evaluate(self.body, frame)), self.reduce.accumulate)
        lanes = None if self.lanes is None else frame.mask([self.lanes[0]])
        mask = conjunction([lanes, *(evaluate(guard, frame) for guard in self.guards)])
        position: Integer = 0
        if self.reduce.reducer.gives_position:
            for index in self.reduce.indices:
                lo, hi = frame.ranges[index]
                position = position * (hi - lo) + (frame.values[index] - lo)
        on_device = frame.machine.on_device
        reducer, accumulate = reducer_of(self.reduce), self.reduce.accumulate
        return step(reducer, accumulate, state, value, mask, position, on_device=on_device)

    def _chunks(self, product: Product, lo: Integer, hi: Integer, frame: Frame, state: State) -> State:
        start, end = frame.ranges[product.index]
        extent = product.chunk(end - start, frame.machine.blocks.chunk)
        whole = (end - start) % extent == 0
        half = common_half(product)
        left, right = frame.without(1), frame.without(0)
        for factor, base, dims in (
            (product.left, left, (frame.dims[0], product.index)),
            (product.right, right, (product.index, frame.dims[1])),
        ):
            for expr in (factor.body, *factor.guards):
                hoist(expr, base, dims)

        def chunk(number: Integer, state: State) -> State:
            at = start + number * extent
            first = kept_side(product, 0, left, at, extent, whole=whole, half=half, sides=frame.sides)
            second = kept_side(product, 1, right, at, extent, whole=whole, half=half, sides=frame.sides)
            total = dot(product, first, second, frame, numeric(self.reduce.accumulate).name)
            return (state[0] + total.astype(state[0].dtype),)

        first = quotient(lo - start, extent, nonnegative=True)
        return _repeat(first, quotient(hi - start + (extent - 1), extent, nonnegative=True), chunk, state)


def kept_side(
    product: Product,
    number: int,
    base: Frame,
    at: Integer,
    extent: int,
    *,
    whole: bool,
    half: str | None,
    sides: Mapping[Kept, jax.Array],
) -> jax.Array:
    """The left (0) or right (1) side of a chunk, along the rows or the columns, unless it was computed before."""
    factor = product.left if number == 0 else product.right
    if (factor, product.index, number) in sides:
        return sides[factor, product.index, number]
    return side(factor, product.index, base.along(product.index, 1 - number, at, extent, whole=whole), half=half)


def product_in(reduce: ir.Reduce, dims: Dims, frame: Frame) -> Product | None:
    """The reduction as matrix products in a tile with these dimensions."""
    return product_among(reduce, dims, frame.ranges)


def product_among(reduce: ir.Reduce, dims: Dims, ranges: Mapping[IndexVar, tuple[int, int]]) -> Product | None:
    """The reduction as matrix products over the longest of its indices that allows it."""
    for index in sorted(reduce.indices, key=lambda i: ranges[i][0] - ranges[i][1]):
        lo, hi = ranges[index]
        product = as_product(reduce, index, dims[0], dims[1], hi - lo)
        if product is not None:
            return product
    return None


def hoist(expr: ir.Expr, frame: Frame, dims: Dims) -> None:
    """Computes the largest parts of an expression whose indices all have values already, once for the loops to come.

    `dims` are the dimensions of the tile inside of those loops. A matrix product of one chunk keeps the side that does
    not change: the queries of an attention stay with their tile.
    """
    if isinstance(expr, (ir.Const, ir.Extent, ir.Index)):
        return
    if ir.free_indices(expr) <= frame.values.keys():
        evaluate(expr, frame)
        return
    if isinstance(expr, ir.Reduce):
        product = product_in(expr, dims, frame)
        if product is not None:
            _keep_sides(product, expr, frame, dims)
            return
    for child in ir.children(expr):
        hoist(child, frame, dims)


def _keep_sides(product: Product, reduce: ir.Reduce, frame: Frame, dims: Dims) -> None:
    start, end = frame.ranges[product.index]
    extent = product.chunk(end - start, frame.machine.blocks.chunk)
    if extent < end - start or len(reduce.indices) > 1:
        return
    for number, factor in enumerate((product.left, product.right)):
        free = factor.indices - {product.index}
        if dims[number] in frame.values and dims[number] in free and free <= frame.values.keys():
            base = frame.without(1 - number)
            tile = kept_side(
                product, number, base, start, extent, whole=extent == end - start, half=common_half(product), sides={}
            )
            frame.sides[factor, product.index, number] = tile


def _repeat(lo: Integer, hi: Integer, body: Callable[[Integer, State], State], state: State) -> State:
    """The loop; a single step is none."""
    if isinstance(lo, int) and isinstance(hi, int):
        if hi <= lo:
            return state
        if hi == lo + 1:
            return body(lo, state)
    first, end = (np.int32(bound) if isinstance(bound, int) else bound for bound in (lo, hi))
    # With 64-bit types enabled a loop may count in them; offsets do not.
    return lax.fori_loop(first, end, lambda number, state: body(number.astype(jnp.int32), state), state)
