"""Online softmax, block by block: the largest score so far, and sums relative to it, which are rescaled as it grows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.blocked_loop import BlockedLoop
from ..planning.data.groups import Softmax
from ..planning.data.nodes import Axes, Node
from ..planning.data.online_softmax import EXPONENTIALS, OnlineSoftmax
from ..symbolic import IndexVar
from .blocked_loop import Arrays, Foreign, Run, Starts, States, Visited, over_tiles, reduced
from .context import Context, Lower, align, transpose
from .elementwise import convert
from .padding import padded

# The largest score of each row, whether any is active, and each sum divided by the exponential of the largest.
State = tuple[jax.Array, jax.Array | None, jax.Array | None, tuple[jax.Array, ...]]


def lower_softmax(
    plan: BlockedLoop, states: OnlineSoftmax, softmax: Softmax, arrays: Arrays, foreign: Foreign, lower: Lower
) -> list[jax.Array]:
    """The results of a softmax, in order."""
    run = Run(plan, arrays, foreign, lower)
    around = padded(arrays, [node for block, _ in plan.parts for node in block.sums])
    rows = _Rows(run, states, softmax, around)

    def tile(starts: Starts, kept: None) -> tuple[list[jax.Array], None]:
        return rows.finished(reduced(run.blocks(starts), rows)), kept

    return over_tiles(plan.tiles, [nest.axes for nest in softmax.results], tile, run.read, None)[0]


@dataclass(frozen=True, slots=True)
class _Rows(States[State, Visited]):
    """The state per row of scores; `around` has the tensors that the sums read beyond their ends."""

    run: Run
    plan: OnlineSoftmax
    softmax: Softmax
    around: Mapping[str, tuple[jax.Array, tuple[int, ...]]]

    def empty(self, sample: Callable[[], Visited]) -> State:
        largest, seen, total, sums = jax.eval_shape(lambda: self.after(None, sample()))
        return (
            jnp.full(largest.shape, -jnp.inf, largest.dtype),
            None if seen is None else jnp.zeros(seen.shape, seen.dtype),
            None if total is None else jnp.zeros(total.shape, total.dtype),
            tuple(jnp.zeros(one.shape, one.dtype) for one in sums),
        )

    def after(self, state: State | None, block: Visited) -> State:
        plan, run = self.plan, self.run
        inner = tuple(place for place, axis in enumerate(run.plan.axes) if axis not in plan.rows)
        [(scores, live)] = block.points
        seen = None
        if live is not None:
            scores = jnp.where(live, scores, jnp.asarray(-jnp.inf, scores.dtype))
            seen = jnp.any(live, inner)
        if plan.stored:
            scores = lax.optimization_barrier(scores)
        largest = jnp.max(scores, inner)
        if state is not None:
            largest = jnp.maximum(state[0], largest)
        shift = jnp.where(largest == -jnp.inf, jnp.zeros((), largest.dtype), largest)
        exponentials = jnp.exp(scores - lax.expand_dims(shift, inner))
        own = Context({**run.given, EXPONENTIALS: exponentials}, run.foreign, block.at, self.around)
        sums = tuple(
            jnp.broadcast_to(align(*self.summed(node, own), columns), run.plan.shape(columns))
            for node, columns in zip(block.block.sums, plan.columns, strict=True)
        )
        total = jnp.sum(exponentials, inner) if self.needs_total else None
        if state is None:
            return largest, seen, total, sums
        before, other, known, running = state
        scale = jnp.exp(before - shift)
        return (
            largest,
            seen if other is None or seen is None else seen | other,
            None if total is None or known is None else known * scale + total,
            tuple(
                each * self.along(scale, columns, each.dtype) + one
                for each, one, columns in zip(running, sums, plan.columns, strict=True)
            ),
        )

    def summed(self, node: Node, context: Context) -> tuple[jax.Array, Axes]:
        """A sum of a block, and its axes."""
        array = self.run.lower(node, context)
        loops = frozenset(self.run.plan.axes) - frozenset(self.plan.rows)
        inner = tuple(place for place, axis in enumerate(node.axes) if axis in loops)
        if not inner:
            return array, node.axes
        # XLA adds vectors of stored values; fused, it would add one value at a time.
        total = jnp.sum(lax.optimization_barrier(array), inner, dtype=array.dtype)
        return total, tuple(axis for place, axis in enumerate(node.axes) if place not in inner)

    @property
    def needs_total(self) -> bool:
        return any(nest.reduce.reducer.inject is not None for nest in self.softmax.statistics)

    def along(self, rows: jax.Array, columns: tuple[IndexVar, ...], dtype: jnp.dtype) -> jax.Array:
        """A value per row, broadcast to the columns of a sum."""
        return align(rows, self.plan.rows, columns).astype(dtype)

    def finished(self, state: State) -> list[jax.Array]:
        """The results: sums relative to their statistic rather than to the largest score."""
        largest, seen, total, sums = state
        exact: list[jax.Array] = []
        for nest in self.softmax.statistics:
            value = largest
            if nest.reduce.reducer.inject is not None:
                assert total is not None
                # The exponential of an infinite score is NaN.
                value = jnp.where(jnp.isinf(largest), largest, jnp.log(total) + largest)
            exact.append(convert(value, nest.reduce.dtype))
        statistics = zip(exact, self.softmax.statistics, strict=True)
        results = [transpose(value, self.plan.rows, nest.axes) for value, nest in statistics]
        for nest, running, columns, relative in zip(
            self.softmax.sums, sums, self.plan.columns, self.plan.relative, strict=True
        ):
            number, dtype = relative
            statistic = convert(exact[number], dtype).astype(largest.dtype)
            # It is 1 for a finite largest score, and NaN if all scores are infinite.
            scale = jnp.exp(largest - statistic)
            value = running * self.along(scale, columns, running.dtype)
            if seen is not None:
                value = jnp.where(self.along(seen, columns, seen.dtype), value, jnp.zeros((), value.dtype))
            results.append(convert(value, nest.reduce.dtype))
        return results
