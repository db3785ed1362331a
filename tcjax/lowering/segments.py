"""Scatters with a registered reduction: a segmented scan over the elements in their order."""

import jax
import jax.numpy as jnp
from jax import lax

from ..ir import Monoid
from .elementwise import convert
from .registered import States, choose, combine, finish, inject
from .scatters import Place, numbered


def scatter_elements(
    monoid: Monoid, target: jax.Array, place: Place, elements: jax.Array, running: str, *, goes_on: bool
) -> jax.Array:
    """The target, with each position reduced over its elements in row-major order; elements outside are dropped.

    With `goes_on`, the target's content is the state so far, or one more element before the others.
    """
    if elements.size == 0:
        return target
    old, (cell,) = numbered(target, place)
    cell = cell.ravel()
    order = jnp.argsort(cell, stable=True)
    cell = cell[order]
    changes = cell[1:] != cell[:-1]
    edge = jnp.ones((1,), jnp.bool_)

    def together(a: tuple[States, jax.Array], b: tuple[States, jax.Array]) -> tuple[States, jax.Array]:
        return choose(b[1], b[0], combine(monoid, a[0], b[0])), a[1] | b[1]

    states = inject(monoid, elements.ravel()[order], running)
    scanned, _ = lax.associative_scan(together, (states, jnp.concatenate([edge, changes])))
    ends = jnp.where(jnp.concatenate([changes, edge]), cell, target.size)
    if goes_on:
        # Elsewhere any element will do: its result is dropped.
        here = old.at[ends].get(mode="clip")
        states = (convert(here, monoid.components(running)[0]),)
        if not monoid.continues:
            states = inject(monoid, convert(here, running), running)
        scanned = combine(monoid, states, scanned)
    found = finish(monoid, scanned).astype(target.dtype)
    return old.at[ends].set(found, mode="drop").reshape(target.shape)
