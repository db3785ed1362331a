"""A comprehension as a layer of flax.linen."""

from collections.abc import Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from ..layers import Initializer, Program, Recipe, recipe
from .adapter import unboxed


class Comprehension(nn.Module):
    """A program whose arguments in `params` are learned: the parameter ``w`` is ``{"params": {"w": ...}}``.

        layer = Comprehension("y(b,o) +=! x(b,i) * w(i,o)", params={"w": init}, sizes={"o": 4})

    `program` is a text, a `Kernel`, or a Python function in index notation; `params` has an initialiser for each
    parameter. Shapes come from the inputs and from `sizes` (by the name of a size or an index, or whole shapes by the
    parameter's name).

    `state` has initialisers for outputs that accumulate without ``!``. Each is a variable of `collection`: a call
    continues from it, and replaces it where the collection is mutable. The layer returns the other outputs.

    Floats are computed in `dtype` (None: declared types, else their common type); parameters are kept in `param_dtype`.
    `sharding` maps indices to axes of a mesh, ``{"o": "model"}``, for `nn.with_partitioning`.
    """

    program: Program
    params: Mapping[str, Initializer]
    state: Mapping[str, Initializer] | None = None
    sizes: Mapping[str, Any] | None = None
    sharding: Mapping[str, Any] | None = None
    collection: str = "batch_stats"
    dtype: Any = None
    param_dtype: Any = jnp.float32
    precision: Any = None

    @nn.compact
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs that are not state: one array, or a tuple in the program's order."""
        own = recipe(
            self.program,
            self.params,
            state=self.state,
            sizes=self.sizes,
            dtype=self.dtype,
            precision=self.precision,
        )
        shapes = own.shapes(own.arranged(args, kwargs))
        params = {
            name: self.param(name, _initializer(own, name, init, self.sharding), shapes[name], self.param_dtype)
            for name, init in self.params.items()
        }
        variables = {
            name: self.variable(self.collection, name, self._first, init, shapes[name])
            for name, init in (self.state or {}).items()
        }
        results, kept = own(args, kwargs, params, {name: variable.value for name, variable in variables.items()})
        if self.is_mutable_collection(self.collection) and not self.is_initializing():
            for name, value in kept.items():
                variables[name].value = jax.lax.stop_gradient(value)
        return results

    def _first(self, init: Initializer, shape: tuple[int, ...]) -> jax.Array:
        return init(self.make_rng("params"), shape, self.param_dtype)


def _initializer(own: Recipe, name: str, init: Initializer, sharding: Mapping[str, Any] | None) -> Initializer:
    initial = own.initializer(name, init, unboxed)
    return initial if sharding is None else nn.with_partitioning(initial, own.axes(name, sharding))
