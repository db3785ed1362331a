"""Elements of a registered reduction that meet in one element of a target: a segmented scan in their order."""

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
    """The target, each place with the reduction of the elements that go there, row-major; outside: dropped.

    With `goes_on`, what is in the target is the state so far, or one more element in front of the others.
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
        # Elsewhere any element does: what comes of it is dropped.
        here = old.at[ends].get(mode="clip")
        states = (convert(here, monoid.components(running)[0]),)
        if not monoid.continues:
            states = inject(monoid, convert(here, running), running)
        scanned = combine(monoid, states, scanned)
    found = finish(monoid, scanned).astype(target.dtype)
    return old.at[ends].set(found, mode="drop").reshape(target.shape)
