"""Initial values: initialisers see a parameter with its dimensions in the order of their roles."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from .roles import Dimension, Role

Initializer = Callable[..., Any]

# Unboxes an initialiser's array, and returns a function that boxes another one the same way.
Unboxed = Callable[[Any], tuple[jax.Array, Callable[[jax.Array], Any]]]

# JAX's initialisers that depend on which dimensions are summed over; they assume the last but one, and that the last is
# kept.
_BY_FANS = ("variance_scaling", "orthogonal")


@dataclass(frozen=True, slots=True)
class ByFans:
    """An initialiser that is called with the shape ``(window..., in, out)``, whatever the order of the parameter's
    dimensions.
    """

    init: Initializer

    def __call__(self, key: Any, shape: Sequence[int], dtype: Any = jnp.float32) -> Any:
        return self.init(key, shape, dtype)


def draw(
    init: Initializer, unboxed: Unboxed, dims: Sequence[Dimension], key: Any, shape: tuple[int, ...], dtype: Any
) -> Any:
    """The initial value of a parameter, boxed as by its initialiser.

    Initialisers that scale by the fan-in or fan-out get the right one: the summed dimensions are merged into one, the
    kept ones into another, and windows come before both, as in JAX's convolutions. Each element of a batch is drawn
    separately. Other initialisers are called with the shape.
    """
    if not _goes_by_fans(init):
        return init(key, shape, dtype)
    order = sorted(range(len(shape)), key=lambda number: (_ORDER[dims[number].role], number))
    batch, windows, summed, kept = (
        [shape[number] for number in order if dims[number].role is role]
        for role in (Role.BATCH, Role.WINDOW, Role.IN, Role.OUT)
    )
    seen = (*windows, math.prod(summed), math.prod(kept))
    boxed: list[Callable[[jax.Array], Any]] = []

    def one(key: Any) -> jax.Array:
        value, box = unboxed(init(key, seen, dtype))
        boxed.append(box)
        return value

    value = jax.vmap(one)(jax.random.split(key, math.prod(batch))) if batch else one(key)
    value = jnp.reshape(value, [shape[number] for number in order])
    return boxed[0](jnp.transpose(value, [order.index(number) for number in range(len(shape))]))


_ORDER = {role: number for number, role in enumerate((Role.BATCH, Role.WINDOW, Role.IN, Role.OUT))}


def _goes_by_fans(init: Initializer) -> bool:
    if isinstance(init, ByFans):
        return True
    inner = inspect.unwrap(init) if callable(init) else init
    module, name = getattr(inner, "__module__", "") or "", getattr(inner, "__qualname__", "")
    if not module.startswith("jax.") or not name.startswith(tuple(f"{family}." for family in _BY_FANS)):
        return False
    # Explicit axes refer to the parameter's own dimensions.
    given = inspect.getclosurevars(inner).nonlocals
    named = {"in_axis": -2, "out_axis": -1, "batch_axis": (), "column_axis": -1}
    return all(given.get(axis, usual) == usual for axis, usual in named.items())
