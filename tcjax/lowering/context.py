"""The context of every lowering: the arrays, the steps of unrolled loops, and the alignment of axes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import jax
from jax import lax

from ..planning.data.nodes import Axes, Node
from ..planning.data.repeats import Repeats
from ..planning.data.views import View
from ..symbolic import IndexVar, SizeVar
from .sizes import Dim
from .views import viewed

# The number of compiled functions cached for a primitive that runs on its own, as under `jax.disable_jit`. They do not
# belong to a kernel that would free them.
MOST_COMPILED: Final = 128


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """`arrays` by tensor name, `steps` of the enclosing loops, `foreign` functions by name.

    The steps of unrolled loops are numbers, those of run-time loops are traced. `padded` holds tensors with all the
    zero padding that any read needs, and the padding at the front, by dimension. `done` holds computed values, by the
    number that `repeats` gives equal nodes: a repeated node is computed once, and so is its derivative. `views` keeps
    the views of tensors, `shared` the results of passes, by identity, from one statement to the next. `sizes` are the
    symbolic ones.
    """

    arrays: Mapping[str, jax.Array]
    foreign: Mapping[str, Callable[..., object]]
    steps: Mapping[IndexVar, int | jax.Array] = field(default_factory=dict)
    padded: Mapping[str, tuple[jax.Array, tuple[int, ...]]] = field(default_factory=dict)
    done: dict[int, jax.Array] = field(default_factory=dict)
    sizes: Mapping[SizeVar, Dim] = field(default_factory=dict)
    views: dict[tuple[str, tuple[View, ...]], jax.Array] = field(default_factory=dict)
    shared: dict[int, Sequence[jax.Array]] = field(default_factory=dict)
    repeats: Repeats = field(default_factory=Repeats)

    def at(self, steps: Mapping[IndexVar, int | jax.Array]) -> "Context":
        """The same arrays at one step of a loop."""
        return Context(
            self.arrays,
            self.foreign,
            {**self.steps, **steps},
            self.padded,
            sizes=self.sizes,
            views=self.views,
            repeats=self.repeats,
        )

    def viewed(self, tensor: str, views: tuple[View, ...]) -> jax.Array:
        """A tensor after its views, made once for all steps."""
        if not views:
            return self.arrays[tensor]
        if (tensor, views) not in self.views:
            self.views[tensor, views] = viewed(self.arrays[tensor], views)
        return self.views[tensor, views]


def transpose(array: jax.Array, axes: Axes, wanted: Axes) -> jax.Array:
    """The array with its dimensions, named `axes`, in the order `wanted`."""
    if axes == wanted:
        return array
    return lax.transpose(array, tuple(axes.index(axis) for axis in wanted))


def align(array: jax.Array, axes: Axes, wanted: Axes) -> jax.Array:
    """The array with a dimension for every axis of `wanted`, of extent 1 for those it does not have."""
    if axes == wanted or not axes:
        return array
    ordered = tuple(axis for axis in wanted if axis in axes)
    array = transpose(array, axes, ordered)
    missing = [position for position, axis in enumerate(wanted) if axis not in axes]
    return lax.expand_dims(array, missing) if missing else array


def ranked(array: jax.Array, rank: int) -> jax.Array:
    """A scalar array, reshaped to this rank."""
    return array if array.ndim else lax.expand_dims(array, range(rank))


def numeric(dtype: str) -> jax.numpy.dtype:
    """The array type for a scalar type: 64-bit types become 32-bit while JAX's x64 mode is off."""
    return jax.dtypes.canonicalize_dtype(dtype)


Lower = Callable[[Node, Context], jax.Array]
