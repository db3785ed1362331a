"""flax.linen as seen by the recipes of the ready-made layers: parameters are variables, created in the first call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax.core import meta
from flax.linen import dtypes

from ..layers import Adapter, Initializer, Keep, Learned
from ..layers.shapes import Shape


@dataclass(frozen=True)
class Linen(Adapter):
    """A layer of flax.linen. `made` has the initialisers and shapes of parameters that its recipe requests by name
    only.

    Parameters that are not in `made` were created by the layer in `setup`.
    """

    dtypes = dtypes

    made: Callable[[], Mapping[str, tuple[Initializer, Shape]]] = dict

    def parameter(self, name: str, shape: Shape | None = None) -> jax.Array | None:
        layer, made = self.layer, self.made()
        if shape is None and name not in made:
            return getattr(layer, name)
        if not getattr(layer, f"use_{name}", True):
            return None
        init, shape = made[name] if shape is None else (getattr(layer, f"{name}_init"), shape)
        return layer.param(name, init, shape, layer.param_dtype)

    def average(self, name: str, first: Callable[..., jax.Array], shape: Shape) -> tuple[jax.Array, Keep | None]:
        variable = self.layer.variable("batch_stats", name, first, shape, jnp.float32)

        def keep(value: jax.Array) -> None:
            variable.value = value

        return variable.value, None if self.layer.is_initializing() else keep

    def promoted(self, *arrays: jax.Array | None, **options: Any) -> Sequence[Any]:
        promote = getattr(self.layer, "promote_dtype", dtypes.promote_dtype)
        return promote(*arrays, dtype=self.layer.dtype, **options)


def learning(layer: Any, learned: Learned) -> Linen:
    """A layer that Flax does not have."""
    each = learned.each(layer.kernel_init, layer.bias_init, unboxed)
    made = {name: (init, shape) for name, init, shape in each}
    return Linen(layer, made=lambda: made)


def unboxed(value: Any) -> tuple[jax.Array, Callable[[jax.Array], Any]]:
    """An initial value without the metadata of `nn.with_partitioning`, and a function that adds it again."""
    if not isinstance(value, meta.AxisMetadata):
        return value, lambda array: array
    return value.unbox(), value.replace_boxed
