"""flax.nnx as seen by the recipes of the ready-made layers: parameters are attributes, created with the layer."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
from flax import nnx
from flax.nnx.nn import dtypes
from flax.nnx.variablelib import VariableMetadata

from ..layers import Adapter, Initializer, Keep, Learned
from ..layers.shapes import Shape


class Nnx(Adapter):
    """A layer of flax.nnx."""

    dtypes = dtypes

    def parameter(self, name: str, shape: Shape | None = None) -> jax.Array | None:
        variable = getattr(self.layer, name)
        return None if variable is None else variable[...]

    def average(self, name: str, first: Callable[..., jax.Array], shape: Shape) -> tuple[jax.Array, Keep]:
        variable = getattr(self.layer, name)

        def keep(value: jax.Array) -> None:
            variable[...] = jax.lax.stop_gradient(value)

        return variable[...], keep

    def promoted(self, *arrays: jax.Array | None, **options: Any) -> tuple[Any, ...]:
        promote = getattr(self.layer, "promote_dtype", dtypes.promote_dtype)
        return promote(arrays, dtype=self.layer.dtype, **options)


def make(
    layer: nnx.Module,
    learned: Learned,
    kernel_init: Initializer,
    bias_init: Initializer,
    param_dtype: Any,
    rngs: nnx.Rngs,
) -> None:
    """Makes the parameters of a layer."""
    for name, init, shape in learned.each(kernel_init, bias_init, unboxed):
        setattr(layer, name, nnx.Param(init(rngs.params(), shape, param_dtype)))


def unboxed(value: Any) -> tuple[jax.Array, Callable[[jax.Array], Any]]:
    """An initial value without the metadata of `nnx.with_metadata` or `nnx.with_partitioning`, and a function that adds
    it again.
    """
    if not isinstance(value, VariableMetadata):
        return value, lambda array: array
    return value.raw_value, lambda array: replace(value, raw_value=array)
