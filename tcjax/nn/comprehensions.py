"""A comprehension as a layer of flax.nnx."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from flax import nnx
from flax.core.meta import get_global_mesh

from ..diagnostics import Code, CompileError
from ..layers import Initializer, Program, recipe
from .adapter import unboxed


class Comprehension(nnx.Module):
    """A program whose arguments in `params` are learned: ``layer.w`` is the parameter ``w``.

        layer = Comprehension("y(b,o) +=! x(b,i) * w(i,o)", params={"w": init}, sizes={"i": 8, "o": 4}, rngs=rngs)

    `program` is a text, a `Kernel`, or a Python function in index notation; `params` has an initialiser for each
    parameter. Shapes come from `sizes` (by the name of a size or an index, or whole shapes by the parameter's name);
    where they are not enough, parameters are made by `init_shapes` or by the first call, from the inputs' shapes.

    `state` has initialisers for outputs that accumulate without ``!``. Each is a variable of type `variable`: a call
    continues from it and replaces it, unless `update_state` is False. The layer returns the other outputs.

    Floats are computed in `dtype` (None: declared types, else their common type); parameters are kept in `param_dtype`.
    `sharding` maps indices to axes of a mesh, ``{"o": "model"}``: it becomes the parameters' `out_sharding`.
    """

    def __init__(
        self,
        program: Program,
        *,
        params: Mapping[str, Initializer],
        state: Mapping[str, Initializer] | None = None,
        sizes: Mapping[str, Any] | None = None,
        sharding: Mapping[str, Any] | None = None,
        variable: type[nnx.Variable] = nnx.BatchStat,
        dtype: Any = None,
        param_dtype: Any = jnp.float32,
        precision: Any = None,
        rngs: nnx.Rngs,
    ) -> None:
        self.recipe = recipe(program, params, state=state, sizes=sizes, dtype=dtype, precision=precision)
        self.initializers: Any = tuple({**params, **(state or {})}.values())
        self.sharding = None if sharding is None else tuple(sharding.items())
        self.variable = variable
        self.param_dtype = param_dtype
        self.update_state = True
        self.keys: Any = nnx.data(None)
        _check_names(self, self._names)
        # Keys are drawn now: a first call may be inside a transformation, and must not consume `rngs` there.
        self.keys = nnx.data(tuple(rngs.params() for _ in self._names))
        try:
            self._make(self.recipe.shapes())
        except CompileError as error:
            if error.diagnosis is not Code.UNBOUND_SIZE:
                raise

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs that are not state: one array, or a tuple in the program's order."""
        if self.keys is not None:
            self.init_shapes(*args, **kwargs)
        params = {name: getattr(self, name)[...] for name in self.recipe.params}
        state = {name: getattr(self, name)[...] for name in self.recipe.state}
        results, kept = self.recipe(args, kwargs, params, state)
        if self.update_state:
            for name, value in kept.items():
                getattr(self, name)[...] = jax.lax.stop_gradient(value)
        return results

    def init_shapes(self, *args: Any, **kwargs: Any) -> None:
        """Makes the parameters for inputs of these shapes (arrays, or `jax.ShapeDtypeStruct`), once.

        Raises `CompileError` (TC0404) where the shapes do not determine a dimension.
        """
        if self.keys is not None:
            self._make(self.recipe.shapes(self.recipe.arranged(args, kwargs)))

    def set_view(self, update_state: bool | None = None) -> None:
        """For `nnx.view(model, update_state=False)`: a view of the model that does not update its state."""
        if update_state is not None:
            self.update_state = update_state

    def _make(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        sharding = None if self.sharding is None else dict(self.sharding)
        for name, init, key in zip(self._names, self.initializers, self.keys, strict=True):
            if name in self.recipe.state:
                setattr(self, name, self.variable(init(key, shapes[name], self.param_dtype)))
                continue
            metadata: dict[str, Any] = {}
            if sharding is not None:
                # Without a mesh, the variable only records how it should be sharded.
                shards = get_global_mesh() is not None
                metadata = {"out_sharding": self.recipe.axes(name, sharding), "eager_sharding": shards}
            value = self.recipe.initializer(name, init, unboxed)(key, shapes[name], self.param_dtype)
            setattr(self, name, nnx.Param(value, **metadata))
        self.keys, self.initializers = nnx.data(None), None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The variable of a parameter, or of a state output."""

    @property
    def _names(self) -> tuple[str, ...]:
        return self.recipe.params + self.recipe.state


def _check_names(layer: nnx.Module, names: tuple[str, ...]) -> None:
    """Raises `CompileError` (TC0308) for a parameter that would hide an attribute of the layer."""
    for name in names:
        if name.startswith("_") or hasattr(layer, name):
            raise CompileError(
                Code.BAD_OPTION,
                f"a layer has an attribute `{name}` of its own, so no parameter can have this name",
                help=f"give the parameter another name, such as `{name.strip('_')}_`, in the program",
            )
