"""The nested loops of a reduction in a kernel, with loop-invariant code hoisted."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Final, Protocol

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
from .frames import Frame, Integer, conjunction, maximum, minimum, quotient
from .products import Product, as_product, common_half, multiplied, one_by_one, scaled, side
from .reducers import State, begin, finish, step
from .refusals import reducer_of
from .tile_values import evaluate

# The number of unrolled steps of an innermost loop, and the largest body that is unrolled.
_TOGETHER: Final = 4
_LARGEST: Final = 400

Dims = tuple[IndexVar | None, IndexVar | None]


@dataclass(frozen=True, slots=True)
class Part:
    """The share of one program in a loop: the values of an index from ``first`` to before ``end``."""

    index: IndexVar
    first: Integer
    end: Integer


class Running(Protocol):
    """The state while the loops run: of one reduction, or of several that depend on each other."""

    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        """The expressions computed at each step."""
        ...

    def begin(self) -> State:
        """The state before any point."""
        ...

    def prepare(self, frame: Frame, dims: Dims) -> None:
        """Computes what the following loops do not change."""
        ...

    def in_chunks(self, frame: Frame, base: Frame, index: IndexVar) -> "Running":
        """The same inside a loop over chunks of an index, which lie along the columns of `base`."""
        ...

    def step(self, frame: Frame, state: State) -> State:
        """The state after one more step."""
        ...

    def doubtful(self, state: State) -> State:
        """The values that may be NaN because of masked points."""
        ...

    def carefully(self) -> "Running":
        """The same with a slower method in which masked points never matter."""
        ...


def reduced(reduce: ir.Reduce, frame: Frame) -> jax.Array:
    """An inline reduction in every lane of its free indices."""
    sweep = inline(reduce, frame)
    (state,) = sweep.run(frame)
    value = finish(reducer_of(reduce), reduce.accumulate, state, points(reduce.indices, frame.ranges))
    return convert(value, reduce.dtype)


def inline(reduce: ir.Reduce, frame: Frame) -> "Sweep":
    """An inline reduction, with matrix products if possible in this tile."""
    product = product_in(reduce, frame.dims, frame)
    if product is None:
        shape = frame.shape(ir.free_indices(reduce))
        return Sweep.over(reduce, (Points.of(reduce, shape),))
    shape = frame.shape(filter(None, frame.dims))
    return Sweep.over(reduce, (Dots(reduce, product, shape),), product.lanes(frame.ranges, frame.machine.blocks.chunk))


def points(indices: Iterable[IndexVar], ranges: Mapping[IndexVar, tuple[int, int]]) -> int:
    """The number of points in the box of these indices."""
    return prod(max(0, ranges[index][1] - ranges[index][0]) for index in indices)


def is_counted(reduce: ir.Reduce) -> bool:
    """Whether it must visit every point to count the active ones."""
    return reducer_of(reduce) is Reducer.MEAN and reduce.guard is not None


@dataclass(frozen=True, eq=False)
class Points:
    """A reduction that processes the points of a tile element by element, with a state of this `shape`.

    A position is `counted` if the points with its value are.
    """

    reduce: ir.Reduce
    body: ir.Expr
    guards: tuple[ir.Expr, ...]
    shape: tuple[int, ...]
    counted: bool

    @staticmethod
    def of(reduce: ir.Reduce, shape: tuple[int, ...], *, counted: bool = False) -> "Points":
        body = widened(reduce.body, reduce.accumulate)
        return Points(reduce, body, ir.conjuncts(reduce.guard), shape, counted or is_counted(reduce))

    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        return (self.body, *self.guards)

    def begin(self) -> State:
        return begin(reducer_of(self.reduce), self.reduce.accumulate, self.shape, counted=self.counted)

    def prepare(self, frame: Frame, dims: Dims) -> None:
        for expr in self.exprs:
            hoist(expr, frame, dims)

    def in_chunks(self, frame: Frame, base: Frame, index: IndexVar) -> "Points":
        self.prepare(base, (frame.dims[0], index))
        return self

    def step(self, frame: Frame, state: State) -> State:
        value = convert(jnp.asarray(evaluate(self.body, frame)), self.reduce.accumulate)
        mask = live(self.reduce.indices, self.guards, frame)
        position: Integer = 0
        if self.reduce.reducer.gives_position:
            for index in self.reduce.indices:
                lo, hi = frame.ranges[index]
                position = position * (hi - lo) + (frame.values[index] - lo)
        on_device = frame.machine.on_device
        reducer, accumulate = reducer_of(self.reduce), self.reduce.accumulate
        return step(reducer, accumulate, state, value, mask, position, on_device=on_device)

    def doubtful(self, state: State) -> State:
        return ()

    def carefully(self) -> "Points":
        return self


@dataclass(frozen=True, eq=False)
class Dots:
    """A sum that processes a chunk of points at a time as a matrix product.

    The columns of its state are those of the `tile` around the loop, or all those of its `own` index. Masked points are
    zeros in a product, which may multiply infinities; `with_care` avoids this.
    """

    reduce: ir.Reduce
    product: Product
    shape: tuple[int, ...]
    own: tuple[IndexVar, int] | None = None
    with_care: bool = False
    tile: Frame | None = None
    right: Frame | None = None

    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        sides = (self.product.left, self.product.right)
        return tuple(expr for side in sides for expr in (side.body, *side.guards))

    def begin(self) -> State:
        return begin(Reducer.SUM, self.reduce.accumulate, self.shape, counted=False)

    def prepare(self, frame: Frame, dims: Dims) -> None:
        if self.product.outer is not None:
            for expr in (self.product.outer.body, *self.product.outer.guards):
                hoist(expr, frame, dims)

    def in_chunks(self, frame: Frame, base: Frame, index: IndexVar) -> "Dots":
        tile = frame
        if self.own is not None:
            own, extent = self.own
            lo, hi = frame.ranges[own]
            tile = base.along(own, 1, lo, extent, whole=hi - lo == extent)
            self.prepare(tile, tile.dims)
        right = tile.without(0)
        for factor, place, dims in (
            (self.product.left, base, (tile.dims[0], index)),
            (self.product.right, right, (index, tile.dims[1])),
        ):
            for expr in (factor.body, *factor.guards):
                hoist(expr, place, dims)
        return replace(self, tile=tile, right=right)

    def step(self, frame: Frame, state: State) -> State:
        product, tile = self.product, self.tile
        assert tile is not None and self.right is not None, "a product runs by chunks"
        index, half = product.index, common_half(product)
        first, second = (tile.sides.get((factor, index, n)) for n, factor in enumerate((product.left, product.right)))
        if first is None:
            first = side(product.left, index, frame, half=half)
        if second is None:
            along = self.right.along(index, 0, *chunk_of(index, frame))
            second = side(product.right, index, along, half=half)
        dtype = numeric(self.reduce.accumulate).name
        if self.with_care:
            along = self.right.along(index, 0, *chunk_of(index, frame))
            guarded = zip((product.left.guards, product.right.guards), (frame, along), strict=True)
            counts = (live((index,), guards, place) for guards, place in guarded)
            total = one_by_one((first, second), counts, dtype)
        else:
            total = multiplied(first, second, tile, dtype)
        return (state[0] + scaled(product, total, tile).astype(state[0].dtype),)

    def doubtful(self, state: State) -> State:
        sides = self.product.left, self.product.right
        # If a whole chunk is masked, both sides are zero.
        apart = any(ir.free_indices(guard) - {self.product.index} for side in sides for guard in side.guards)
        return state if apart else ()

    def carefully(self) -> "Dots":
        return replace(self, with_care=True)


def chunk_of(index: IndexVar, frame: Frame) -> tuple[Integer, int]:
    """The first value of the index along the columns, and the number of values."""
    return frame.spans[index][0], np.shape(frame.values[index])[1]


def live(indices: Iterable[IndexVar], guards: Iterable[ir.Expr], frame: Frame) -> jax.Array | None:
    """The mask of active points of the tile; None if all are."""
    return conjunction([frame.mask(indices), *(evaluate(guard, frame) for guard in guards)])


@dataclass(frozen=True, eq=False)
class Sweep:
    """The loops over the points of a tile, and everything that is `running` in them.

    The index `lanes` lies along the columns of the tile, a chunk at a time. The caller combines the remaining lanes at
    the end.
    """

    indices: tuple[IndexVar, ...]
    conditions: tuple[AtLeastZero, ...]
    running: tuple[Running, ...]
    lanes: tuple[IndexVar, int] | None = None
    part: Part | None = None

    @staticmethod
    def over(
        reduce: ir.Reduce,
        running: tuple[Running, ...],
        lanes: tuple[IndexVar, int] | None = None,
        part: Part | None = None,
    ) -> "Sweep":
        """The loops of one reduction."""
        order = reduce.indices
        if lanes is not None and any(isinstance(one, Dots) for one in running):
            # Chunks of a product form the innermost loop: sums have no order.
            order = (*(index for index in order if index != lanes[0]), lanes[0])
        return Sweep(order, inequalities(reduce.guard), running, lanes, part)

    def run(self, frame: Frame) -> tuple[State, ...]:
        """The states after all points."""
        states = tuple(one.begin() for one in self.running)
        if not points(self.indices, frame.ranges):
            return states
        inside = frame.copied()
        found = self._loop(self.indices, frame, self.running, states)
        pairs = zip(self.running, found, strict=True)
        doubtful = [part for one, state in pairs for part in one.doubtful(state)]
        if not doubtful:
            return found
        careful = tuple(one.carefully() for one in self.running)
        # Only rows with infinities are recomputed, so that the loop for all others stays short.
        return lax.cond(
            _is_any_infinite(doubtful), lambda: self._loop(self.indices, inside, careful, states), lambda: found
        )

    def _loop(
        self, pending: tuple[IndexVar, ...], frame: Frame, running: tuple[Running, ...], states: tuple[State, ...]
    ) -> tuple[State, ...]:
        if not pending:
            return _step(frame, running, states)
        index, *rest = pending
        lo, hi = limits(index, self.conditions, frame)
        if self.part is not None and self.part.index == index:
            lo, hi = maximum(lo, self.part.first), minimum(hi, self.part.end)
        if self.lanes is not None and index == self.lanes[0]:
            extent = self.lanes[1]
            start, end = frame.ranges[index]
            whole = (end - start) % extent == 0
            base = frame.without(1)
            inside = tuple(one.in_chunks(frame, base, index) for one in running)

            def chunk(number: Integer, states: tuple[State, ...]) -> tuple[State, ...]:
                inner = base.along(index, 1, start + number * extent, extent, whole=whole)
                return self._loop(tuple(rest), inner, inside, states)

            first = quotient(lo - start, extent, nonnegative=True)
            return _repeat(first, quotient(hi - start + (extent - 1), extent, nonnegative=True), chunk, states)
        for one in running:
            one.prepare(frame, frame.dims)
        if not rest and _are_short(running):
            return _together(index, lo, hi, frame, running, states)

        def inside_of(value: Integer, states: tuple[State, ...]) -> tuple[State, ...]:
            return self._loop(tuple(rest), frame.at(index, value), running, states)

        return _repeat(lo, hi, inside_of, states)


def _is_any_infinite(parts: Iterable[jax.Array]) -> jax.Array:
    """Whether any of the numbers is infinite or NaN."""
    found = (jnp.max(jnp.where(part - part == 0, np.int32(0), np.int32(1)), 1) for part in parts)
    return sum((jnp.max(rows) for rows in found), start=jnp.int32(0)) > 0


def _step(frame: Frame, running: tuple[Running, ...], states: tuple[State, ...]) -> tuple[State, ...]:
    return tuple(one.step(frame, state) for one, state in zip(running, states, strict=True))


def _together(
    index: IndexVar, lo: Integer, hi: Integer, frame: Frame, running: tuple[Running, ...], states: tuple[State, ...]
) -> tuple[State, ...]:
    """The innermost loop, a few steps at a time: their loads are issued before the first of them is needed."""

    def step(value: Integer, states: tuple[State, ...]) -> tuple[State, ...]:
        return _step(frame.at(index, value), running, states)

    def steps(number: Integer, states: tuple[State, ...]) -> tuple[State, ...]:
        frames = [frame.at(index, lo + number * _TOGETHER + place) for place in range(_TOGETHER)]
        for each in frames:
            for expr in (expr for one in running for expr in one.exprs):
                for access in ir.accesses(expr):
                    evaluate(access, each)
        for each in frames:
            states = _step(each, running, states)
        return states

    trips = quotient(maximum(hi - lo, 0), _TOGETHER, nonnegative=True)
    return _repeat(lo + trips * _TOGETHER, hi, step, _repeat(0, trips, steps, states))


def _are_short(running: tuple[Running, ...]) -> bool:
    """Whether a few unrolled steps are still small: a body that contains a loop is not."""
    nodes = [node for one in running for expr in one.exprs for node in ir.walk(expr)]
    return len(nodes) * _TOGETHER <= _LARGEST and not any(isinstance(node, ir.Reduce) for node in nodes)


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
    """Computes the largest subexpressions whose indices all have values already, once for the following loops.

    `dims` are the dimensions of the tile inside those loops. A matrix product of a single chunk keeps its invariant
    side: the queries of an attention stay with their tile.
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
    _, extent = product.lanes(frame.ranges, frame.machine.blocks.chunk)
    if extent < end - start or len(reduce.indices) > 1:
        return
    for number, factor in enumerate((product.left, product.right)):
        free = factor.indices - {product.index}
        if dims[number] in frame.values and dims[number] in free and free <= frame.values.keys():
            base = frame.without(1 - number).along(
                product.index, 1 - number, start, extent, whole=extent == end - start
            )
            tile = side(factor, product.index, base, half=common_half(product))
            frame.sides[factor, product.index, number] = tile


def _repeat(
    lo: Integer, hi: Integer, body: Callable[[Integer, tuple[State, ...]], tuple[State, ...]], state: tuple[State, ...]
) -> tuple[State, ...]:
    """The loop; without a loop if there is a single step."""
    if isinstance(lo, int) and isinstance(hi, int):
        if hi <= lo:
            return state
        if hi == lo + 1:
            return body(lo, state)
    first, end = (np.int32(bound) if isinstance(bound, int) else bound for bound in (lo, hi))
    # With 64-bit types enabled a loop may count in 64 bits; offsets do not.
    return lax.fori_loop(first, end, lambda number, state: body(number.astype(jnp.int32), state), state)
