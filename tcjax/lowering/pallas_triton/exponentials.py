"""Online softmax: the largest score so far, and sums relative to it."""

from dataclasses import dataclass, replace
from typing import Final

import jax
import jax.numpy as jnp

from ... import ir
from ...ir import Reducer
from ...symbolic import IndexVar
from .frames import Frame
from .loops import Dims, Running, hoist, live
from .reducers import State, extremum, precedes, running_type, scalar
from .tile_values import evaluate

_NOTHING: Final = float("-inf")


@dataclass(frozen=True, eq=False)
class Exponentials:
    """`sums` that read the exponentials of `scores` as the tensor `weight`.

    Its state is the largest score, the sum of the exponentials and whether any point was active, then the sums. With a
    `shape` of one column the largest score is that of a row, otherwise each lane has its own.
    """

    indices: tuple[IndexVar, ...]
    scores: ir.Expr
    guards: tuple[ir.Expr, ...]
    weight: ir.Access
    sums: tuple[Running, ...]
    shape: tuple[int, ...]

    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        return (self.scores, *self.guards)

    def begin(self) -> State:
        kind = running_type(Reducer.MAX, self.scores.dtype)
        largest = jnp.full(self.shape, scalar(_NOTHING, kind), kind)
        # Without a guard some point is active.
        seen = jnp.full((self.shape[0], 1), scalar(not self.guards, jnp.int32), jnp.int32)
        return largest, jnp.zeros_like(largest), seen, *(part for one in self.sums for part in one.begin())

    def prepare(self, frame: Frame, dims: Dims) -> None:
        for expr in self.exprs:
            hoist(expr, frame, dims)
        for one in self.sums:
            one.prepare(frame, dims)

    def in_chunks(self, frame: Frame, base: Frame, index: IndexVar) -> "Exponentials":
        for expr in self.exprs:
            hoist(expr, base, (frame.dims[0], index))
        return replace(self, sums=tuple(one.in_chunks(frame, base, index) for one in self.sums))

    def step(self, frame: Frame, state: State) -> State:
        before, total, seen, *sums = state
        mask = live(self.indices, self.guards, frame)
        scores = evaluate(self.scores, frame).astype(before.dtype)
        scores = jnp.broadcast_to(scores, frame.shape(index for index in frame.dims if index is not None))
        if mask is not None:
            scores = jnp.where(mask, scores, scalar(_NOTHING, scores.dtype))
        if mask is not None and self.guards:
            counts = jnp.broadcast_to(mask, scores.shape).astype(jnp.int32)
            seen = jnp.maximum(seen, jnp.max(counts, 1, keepdims=True))
        of_rows = self.shape != scores.shape
        top = extremum(Reducer.MAX, scores, 1) if of_rows else scores
        largest = jnp.where(precedes(Reducer.MAX, top, before), top, before)
        shift = _finite(largest)
        exponentials = jnp.exp(scores - shift)
        frame.known[self.weight] = exponentials
        scale = jnp.exp(before - shift)
        added = jnp.sum(exponentials, 1, keepdims=True) if of_rows else exponentials
        scaled = [(one * scale.astype(one.dtype),) for one in sums]
        after = (part for one, own in zip(self.sums, scaled, strict=True) for part in one.step(frame, own))
        return largest, total * scale + added, seen, *after

    def doubtful(self, state: State) -> State:
        pairs = zip(self.sums, state[3:], strict=True)
        return tuple(part for one, total in pairs for part in one.doubtful((total,)))

    def carefully(self) -> "Exponentials":
        return replace(self, sums=tuple(one.carefully() for one in self.sums))


def of_rows(state: State) -> State:
    """The combined state of all lanes of a row."""
    largest, total, seen, *sums = state
    if largest.shape[1] == 1:
        return state
    top = extremum(Reducer.MAX, largest, 1)
    scale = jnp.exp(largest - _finite(top))
    added = (jnp.sum(one * scale.astype(one.dtype), 1, keepdims=True) for one in (total, *sums))
    total, *sums = added
    return top, total, seen, *sums


def statistic(reducer: Reducer, state: State) -> jax.Array:
    """The largest score, or the logarithm of the sum of the exponentials."""
    largest, total, *_ = state
    if reducer is Reducer.MAX:
        return largest
    # The exponential of an infinite score is NaN.
    return jnp.where(jnp.abs(largest) == jnp.inf, largest, jnp.log(total) + largest)


def relative(total: jax.Array, statistic: jax.Array, state: State) -> jax.Array:
    """A sum relative to a statistic rather than to the largest score; 0 if no point is active."""
    largest, _, seen, *_ = state
    # It is 1 for a finite largest score, and NaN if all scores are infinite.
    scale = jnp.exp(largest - statistic.astype(largest.dtype)).astype(total.dtype)
    return jnp.where(seen != 0, total * scale, scalar(0, total.dtype))


def _finite(largest: jax.Array) -> jax.Array:
    """The reference of the exponents: 0 if all scores are minus infinity."""
    return jnp.where(largest == _NOTHING, scalar(0, largest.dtype), largest)
