"""A framework-independent layer: a program, and which of its arguments are inputs, parameters and state."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import jax
import jax.numpy as jnp

from .. import ir
from ..diagnostics import Code, CompileError, phrases, silenced
from ..elaboration.spelling import did_you_mean
from ..keeping import cached_property
from ..runtime.entry import kernel as make_kernel
from ..runtime.kernel import Kernel
from . import shapes
from .casting import promoted, retyped
from .initial import Initializer, Unboxed, draw
from .mistakes import not_an_option
from .precision import at_precision, precision_name
from .roles import Dimension, dimensions
from .shapes import Shape

Program = str | Kernel | Callable[..., Any]


def recipe(
    program: Program,
    params: Mapping[str, Initializer],
    *,
    state: Mapping[str, Initializer] | None = None,
    sizes: Mapping[str, Any] | None = None,
    dtype: Any = None,
    precision: Any = None,
) -> "Recipe":
    """How a layer computes: `program` is a text, a kernel, or a Python function in index notation.

    A text is compiled once, however many layers use it. Raises `CompileError` for errors in the program, for a
    parameter or a state output that it does not have (TC0308), and for unknown sizes (TC0404).
    """
    keeps, kind = bool(state), None if dtype is None else _scalar(dtype)
    for option, value in (("params", params), ("state", state), ("sizes", sizes)):
        if not isinstance(value, Mapping) and value is not None:
            help = f"pass a mapping, such as {_MAPPINGS[option]}"
            raise not_an_option(option, value, help)
    with _silent(keeps):
        kernel = program if isinstance(program, Kernel) else _kernel(program, keeps)
        if kind is not None:
            kernel = retyped(kernel, kind)
    given = {name: tuple(size) if isinstance(size, list) else size for name, size in (sizes or {}).items()}
    found = Recipe(
        kernel,
        tuple(params),
        tuple(state or {}),
        tuple(sorted(given.items())),
        kind,
        precision_name(precision),
    )
    found.check((params, state or {}))
    return found


@dataclass(frozen=True)
class Recipe:
    """A program with the names of its learned parameters and of the outputs that continue from their last value. All
    others are inputs or results.
    """

    kernel: Kernel
    params: tuple[str, ...]
    state: tuple[str, ...]
    sizes: tuple[tuple[str, int | Shape], ...]
    dtype: str | None
    precision: str | None

    def __call__(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], params: Mapping[str, Any], state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, jax.Array]]:
        """The results (one array, or a tuple), and the new values of `state`.

        `args` and `kwargs` are the inputs, by position or by name. Raises `CompileError` as a call of the kernel does.
        """
        arrays = promoted(self.kernel, {**self.arranged(args, kwargs), **params}, self.dtype)
        with _silent(bool(self.state)), at_precision(self.precision):
            inputs = (arrays[tensor.name] for tensor in self.function.parameters)
            found = self.kernel(*inputs, **state, **self._free_sizes)
        results = dict(zip(self._returns, found if len(self._returns) > 1 else (found,), strict=True))
        kept = {name: results.pop(name) for name in self.state}
        return (tuple(results.values()) if len(results) != 1 else next(iter(results.values()))), kept

    def arranged(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs by name. Raises `CompileError` (TC0503) for a wrong count or name."""
        named = dict(zip(self.inputs, args, strict=False))
        twice = sorted(named.keys() & kwargs.keys())
        unknown = sorted(kwargs.keys() - set(self.inputs))
        missing = [name for name in self.inputs if name not in named and name not in kwargs]
        if twice or unknown or missing or len(args) > len(self.inputs):
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"the layer takes the inputs {', '.join(self.inputs)} and got {len(args)} by position"
                + (f" and {', '.join(sorted(kwargs))} by name" if kwargs else ""),
                self.function.span,
                help=f"call it as layer({', '.join(self.inputs)}); its parameters are {', '.join(self.params)}",
            )
        return {**named, **kwargs}

    def shapes(self, inputs: Mapping[str, Any] | None = None) -> dict[str, Shape]:
        """The shapes of the parameters and of `state`, from sizes and from arrays for the inputs.

        Raises `CompileError` (TC0404) if they leave a dimension open.
        """
        given = None if inputs is None else {name: tuple(jnp.shape(array)) for name, array in inputs.items()}
        sizes = dict(self.sizes)
        found = shapes.parameter_shapes(self.function, self.params, sizes, given)
        everything = {**given, **found} if given is not None else found if not self.inputs else None
        return {**found, **shapes.kept_shapes(self.function, self.state, sizes, everything)}

    def initializer(self, name: str, init: Initializer, unboxed: Unboxed) -> Initializer:
        """The initialiser of a parameter, wrapped to scale by the dimensions that the program sums over."""
        return lambda key, shape, dtype: draw(init, unboxed, self.dimensions(name), key, shape, dtype)

    def dimensions(self, name: str) -> tuple[Dimension, ...]:
        """The role and the index of each dimension of a parameter; the indices are the names of the logical axes."""
        return dimensions(self.function, name, frozenset(self.params))

    def axes(self, name: str, sharding: Mapping[str, Any]) -> tuple[Any, ...]:
        """For each dimension of a parameter, the entry in `sharding` for its index, None if there is none.

        Raises `CompileError` (TC0308) for an index that the program does not have.
        """
        known = shapes.index_names(self.function)
        for index in sharding:
            if index not in known:
                message = f"`{self.kernel.__name__}` has no index `{index}` to shard"
                raise self._bad(message, f"it has {', '.join(known)}")
        return tuple(None if d.index is None else sharding.get(d.index) for d in self.dimensions(name))

    def check(self, given: tuple[Mapping[str, Any], Mapping[str, Any]]) -> None:
        """Raises `CompileError` (TC0308) for names that the program does not have and for invalid initialisers."""
        learned, kept = given
        parameters = [tensor.name for tensor in self.function.parameters]
        continued = [tensor.name for tensor in self.function.initial]
        for what, names, known in (("parameter", learned, parameters), ("kept output", kept, continued)):
            for name, init in names.items():
                if name not in known:
                    help = did_you_mean(name, known, f"it has {', '.join(known) or 'none'}")
                    raise self._bad(f"`{self.kernel.__name__}` has no {what} `{name}`", help)
                if not callable(init):
                    help = "pass a function of (key, shape, dtype), such as jax.nn.initializers.zeros"
                    raise self._bad(f"{name}={phrases.value(init)} is no initialiser", help)
        shapes.check_names(self.function, dict(self.sizes))

    def _bad(self, message: str, help: str) -> CompileError:
        return CompileError(Code.BAD_OPTION, message, self.function.span, help=help)

    @cached_property
    def function(self) -> ir.Function:
        """The typed program, with likely types for undeclared parameters."""
        with _silent(bool(self.state)):
            return self.kernel.ir()

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arguments that are not learned."""
        return tuple(tensor.name for tensor in self.function.parameters if tensor.name not in self.params)

    @cached_property
    def _returns(self) -> tuple[str, ...]:
        return tuple(tensor.name for tensor in self.function.returns)

    @cached_property
    def _free_sizes(self) -> dict[str, int]:
        return shapes.free_sizes(self.function, dict(self.sizes))


_MAPPINGS: Final = {
    "params": '{"w": jax.nn.initializers.lecun_normal()}',
    "state": '{"mean": jax.nn.initializers.zeros}',
    "sizes": '{"O": 8}',
}


def _scalar(dtype: Any) -> str:
    """The name of an element type. Raises `CompileError` (TC0308) for anything else."""
    try:
        return str(jnp.dtype(dtype))
    except TypeError:
        help = "pass an element type, such as jnp.bfloat16"
        raise not_an_option("dtype", dtype, help) from None


@lru_cache(maxsize=1024)
def _kernel(program: str | Callable[..., Any], keeps: bool) -> Kernel:
    return make_kernel(program)


def _silent(keeps: bool) -> AbstractContextManager[None]:
    """Suppresses the warning about accumulating outputs, since the layer passes their initial values."""
    return silenced(Code.UNINITIALISED_REDUCTION) if keeps else nullcontext()
