"""Loops with a symbolic number of steps or symbolic tensor sizes."""

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.steps import Kept, Steps
from .sizes import as_int32, positive
from .steps import Arrays, Carry, Given, Step, content_before


def lower_unsized_steps(steps: Steps, known: Arrays, step: Step) -> dict[str, jax.Array]:
    """The results of a loop that later code needs; `step` computes the results of one step.

    As with numeric sizes, a scan receives parts and stacks rows, so that its derivative takes linear time. But the
    positions of parts and rows are looked up, since no number says what to cut off or join.
    """
    trips = positive(steps.count)
    numbers = jnp.arange(trips, dtype=jnp.int32)
    # A loop without steps runs one that changes nothing.
    live = None if trips is steps.count else numbers < as_int32(steps.count)
    given = Given.of(steps, known, around=False)
    moving = {name: jax.vmap(rows.looked_up)(numbers) for name, rows in given.moving.items()}

    def body(carry: Carry, inside: tuple[Arrays, jax.Array, jax.Array | None]) -> tuple[Carry, list[jax.Array]]:
        rows, number, counts = inside
        after, results = given.results(carry, rows, number, step)
        if counts is not None:
            after = jax.tree.map(lambda new, old: jnp.where(counts, new, old), after, carry)
        return after, results

    first = {kept.tensor: _first(kept, steps, known) for kept in steps.kept}
    last, stacked = lax.scan(body, first, (moving, numbers, live), reverse=steps.backwards)
    found: dict[str, jax.Array] = {}
    rows = iter(stacked)
    for kept in (kept for kept in steps.kept if kept.stays):
        if kept.dimension is None:
            [found[kept.tensor]] = last[kept.tensor]
            continue
        places = as_int32(steps.low + kept.offset) + steps.apart * numbers
        if live is not None:
            places = jnp.where(live, places, as_int32(kept.shape[kept.dimension]))
        content = jnp.moveaxis(content_before(kept, known), kept.dimension, 0)
        content = content.at[places].set(next(rows), mode="drop", unique_indices=True)
        found[kept.tensor] = jnp.moveaxis(content, 0, kept.dimension)
    return found


def _first(kept: Kept, steps: Steps, known: Arrays) -> tuple[jax.Array, ...]:
    """The first step's input for a tensor: the rows before it, or all of it."""
    content = content_before(kept, known)
    if kept.dimension is None:
        return (content,)
    places = [as_int32(steps.value(-lag) + kept.offset) for lag in range(1, kept.order + 1)]
    return tuple([jnp.take(content, place, axis=kept.dimension, mode="fill", fill_value=0) for place in places])
