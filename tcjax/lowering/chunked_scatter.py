"""Statements whose values are computed and stored in rounds, one after the other."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jax import lax

from ..ir import Reducer
from ..planning.data.stages import Compute
from .context import Context, Lower
from .elementwise import convert
from .stores import begun, lower_store, lower_value
from .varying import steady


def lower_stage(stage: Compute, old: jax.Array | None, context: Context, lower: Lower) -> jax.Array:
    """The target after a statement; `old` is its content before, None where nothing was written yet."""
    if stage.rounds is None:
        return lower_store(stage, lower_value(stage, context, lower), old, context, lower)
    if stage.store.combine is Reducer.SUM:
        return _in_chunks(stage, old, context, lower)

    @jax.custom_jvp
    def run(arrays: dict[str, jax.Array], old: jax.Array | None) -> jax.Array:
        return _in_chunks(stage, old, Context(arrays, context.foreign), lower)

    # Equal values share a derivative, whichever rounds they are of.
    @run.defjvp
    def _(primals: tuple[dict[str, jax.Array], jax.Array | None], tangents: object) -> tuple[jax.Array, jax.Array]:
        def whole(arrays: Mapping[str, jax.Array], old: jax.Array | None) -> jax.Array:
            here = Context(arrays, context.foreign)
            return lower_store(stage, lower(stage.value, here), old, here, lower)

        return run(*primals), jax.jvp(whole, primals, tangents)[1]

    return run(dict(context.arrays), old)


def _in_chunks(stage: Compute, old: jax.Array | None, context: Context, lower: Lower) -> jax.Array:
    rounds = stage.rounds
    assert rounds is not None

    def added(step: Compute, running: jax.Array, at: Context) -> jax.Array:
        return lower_store(step, lower(step.value, at), running, at, lower)

    # A derivative computes the values of a round anew.
    @jax.checkpoint
    def body(running: jax.Array, number: jax.Array) -> jax.Array:
        return added(rounds.step, running, context.at({rounds.index: number}))

    target = convert(begun(stage, old, context, lower), stage.accumulate)
    target = steady(lambda running: body(running, jnp.int32(0)), target, context.arrays.values())
    numbers = jnp.arange(rounds.count, dtype=jnp.int32)
    target, _ = lax.scan(lambda running, number: (body(running, number), None), target, numbers)
    if rounds.rest is not None:
        target = added(rounds.rest, target, context)
    return convert(target, stage.dtype)
