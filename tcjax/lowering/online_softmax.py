"""A softmax block after block: the largest score so far, and sums relative to it, which shrink as it grows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.blocked_loop import FIRST
from ..planning.data.groups import Softmax
from ..planning.data.nodes import Axes, Node
from ..planning.data.online_softmax import EXPONENTIALS, Block, OnlineSoftmax
from ..symbolic import IndexVar
from .blocked_loop import block_of, laid_out, over_blocks, over_tiles, span
from .context import Context, Lower, align
from .elementwise import convert
from .padding import padded

# The largest score of each row, whether any counts, and each sum divided by the exponential of the largest.
State = tuple[jax.Array, jax.Array | None, jax.Array | None, tuple[jax.Array, ...]]
Padded = Mapping[str, tuple[jax.Array, tuple[int, ...]]]
Foreign = Mapping[str, Callable[..., object]]


def lower_online_softmax(
    plan: OnlineSoftmax, softmax: Softmax, arrays: Mapping[str, jax.Array], foreign: Foreign, lower: Lower
) -> list[jax.Array]:
    """The results of a softmax, in order."""
    scoring = laid_out(arrays, plan.layouts)
    blocks = [block for block, _, _ in plan.parts]
    scores = [node for block in blocks for node in (block.scores, block.live) if node is not None]
    around = padded(scoring, scores), padded(arrays, [node for block in blocks for node in block.sums])
    run = _Run(plan, softmax, arrays, scoring, around, foreign, lower)
    return over_tiles(plan.tiles, [nest.axes for nest in softmax.results], run.tile, arrays)


@dataclass(frozen=True, slots=True)
class _Run:
    """A pass over given arrays, those of the scores laid out, `scoring`; `around` has what is padded of both."""

    plan: OnlineSoftmax
    softmax: Softmax
    arrays: Mapping[str, jax.Array]
    scoring: Mapping[str, jax.Array]
    around: tuple[Padded, Padded]
    foreign: Foreign
    lower: Lower

    def tile(self, starts: Mapping[IndexVar, jax.Array]) -> list[jax.Array]:
        """The results for the rows of one tile."""
        plan = self.plan
        state: State | None = None
        if plan.body is not None:
            body, single = plan.body, plan.blocks == 1 and not plan.ends
            if single:
                state = self.absorb(None, body, plan.width, {**starts, FIRST: jnp.int32(plan.lo)})
            else:

                def step(block: jax.Array, state: State) -> State:
                    return self.absorb(state, body, plan.width, {**starts, FIRST: block * plan.width + plan.lo})

                at = [starts[tile.start] for tile in plan.tiles]
                counting = span(plan.ends, at, plan.blocks, plan.lo, plan.width)
                nothing = self.empty(body, {**starts, FIRST: jnp.int32(plan.lo)})
                state = over_blocks(step, nothing, counting, self.arrays)
        if plan.tail is not None:
            state = self.absorb(state, plan.tail, plan.last, starts)
        assert state is not None
        return self.finished(state)

    def empty(self, points: Block, at: Mapping[IndexVar, jax.Array]) -> State:
        """The state before all blocks."""
        like = jax.eval_shape(lambda: self.absorb(None, points, self.plan.width, at))
        largest, seen, total, sums = like
        return (
            jnp.full(largest.shape, -jnp.inf, largest.dtype),
            None if seen is None else jnp.zeros(seen.shape, seen.dtype),
            None if total is None else jnp.zeros(total.shape, total.dtype),
            tuple(jnp.zeros(one.shape, one.dtype) for one in sums),
        )

    def absorb(self, state: State | None, points: Block, width: int, at: Mapping[IndexVar, jax.Array]) -> State:
        """The state after a block, which is the first where there is none before."""
        plan = self.plan
        context = Context(self.scoring, self.foreign, at, self.around[0])
        axes, shape = plan.axes, plan.shape(plan.axes, width)
        inner = tuple(place for place, axis in enumerate(axes) if axis not in plan.rows)
        scores = block_of(points.scores, context, self.lower, axes, shape)
        seen = None
        if points.live is not None:
            live = block_of(points.live, context, self.lower, axes, shape)
            scores = jnp.where(live, scores, jnp.asarray(-jnp.inf, scores.dtype))
            seen = jnp.any(live, inner)
        if plan.stored:
            scores = lax.optimization_barrier(scores)
        largest = jnp.max(scores, inner)
        if state is not None:
            largest = jnp.maximum(state[0], largest)
        shift = jnp.where(largest == -jnp.inf, jnp.zeros((), largest.dtype), largest)
        exponentials = jnp.exp(scores - lax.expand_dims(shift, inner))
        own = Context({**self.arrays, EXPONENTIALS: exponentials}, self.foreign, at, self.around[1])
        sums = tuple(
            jnp.broadcast_to(align(*self.summed(node, own), columns), plan.shape(columns))
            for node, columns in zip(points.sums, plan.columns, strict=True)
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
        array = self.lower(node, context)
        loops = frozenset(self.plan.axes) - frozenset(self.plan.rows)
        inner = tuple(place for place, axis in enumerate(node.axes) if axis in loops)
        if not inner:
            return array, node.axes
        # XLA adds vectors of what is stored; fused, it would add one value at a time.
        total = jnp.sum(lax.optimization_barrier(array), inner, dtype=array.dtype)
        return total, tuple(axis for place, axis in enumerate(node.axes) if place not in inner)

    @property
    def needs_total(self) -> bool:
        return any(nest.reduce.reducer.inject is not None for nest in self.softmax.statistics)

    def along(self, rows: jax.Array, columns: tuple[IndexVar, ...], dtype: jnp.dtype) -> jax.Array:
        """A value of each row, for the columns of a sum."""
        return align(rows, self.plan.rows, columns).astype(dtype)

    def finished(self, state: State) -> list[jax.Array]:
        """The results: sums relative to their statistic rather than to the largest score."""
        largest, seen, total, sums = state
        exact: list[jax.Array] = []
        for nest in self.softmax.statistics:
            value = largest
            if nest.reduce.reducer.inject is not None:
                assert total is not None
                # Of an infinite score the exponential is not a number.
                value = jnp.where(jnp.isinf(largest), largest, jnp.log(total) + largest)
            exact.append(convert(value, nest.reduce.dtype))
        results = list(exact)
        for nest, running, columns, relative in zip(
            self.softmax.sums, sums, self.plan.columns, self.plan.relative, strict=True
        ):
            number, dtype = relative
            statistic = convert(exact[number], dtype).astype(largest.dtype)
            # It is 1 for a largest score that is finite, and not a number where all scores are infinite.
            scale = jnp.exp(largest - statistic)
            value = running * self.along(scale, columns, running.dtype)
            if seen is not None:
                value = jnp.where(self.along(seen, columns, seen.dtype), value, jnp.zeros((), value.dtype))
            results.append(convert(value, nest.reduce.dtype))
        return results
