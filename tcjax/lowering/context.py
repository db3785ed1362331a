"""What every lowering has at hand: the arrays, the steps of unrolled loops, and how axes line up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import jax
from jax import lax

from ..planning.nodes import Axes, Node
from ..symbolic import IndexVar


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """`arrays` by tensor name, `steps` of the enclosing unrolled loops, `foreign` functions by name.

    `done` keeps what was computed, by node identity, so that a node that occurs twice is computed once.
    """

    arrays: Mapping[str, jax.Array]
    foreign: Mapping[str, Callable[..., object]]
    steps: Mapping[IndexVar, int] = field(default_factory=dict)
    done: dict[int, jax.Array] = field(default_factory=dict)

    def at(self, steps: Mapping[IndexVar, int]) -> "Context":
        """The same arrays at one step of an unrolled loop."""
        return Context(self.arrays, self.foreign, {**self.steps, **steps})


def transpose(array: jax.Array, axes: Axes, wanted: Axes) -> jax.Array:
    """The array with its dimensions, named `axes`, in the order `wanted`."""
    if axes == wanted:
        return array
    return lax.transpose(array, tuple(axes.index(axis) for axis in wanted))


def align(array: jax.Array, axes: Axes, wanted: Axes) -> jax.Array:
    """The array with a dimension for every axis of `wanted`, of extent 1 where it has none of its own."""
    if axes == wanted or not axes:
        return array
    ordered = tuple(axis for axis in wanted if axis in axes)
    array = transpose(array, axes, ordered)
    missing = [position for position, axis in enumerate(wanted) if axis not in axes]
    return lax.expand_dims(array, missing) if missing else array


def numeric(dtype: str) -> jax.numpy.dtype:
    """The array type for a scalar type: 64 bits become 32 while JAX's x64 mode is off."""
    return jax.dtypes.canonicalize_dtype(dtype)


Lower = Callable[[Node, Context], jax.Array]
