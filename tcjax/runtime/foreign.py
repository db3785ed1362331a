"""Python functions called from a program: their result types and shapes, found without running them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from .. import elaboration, ir
from ..diagnostics import Code, CompileError

# An extent that most functions accept for every dimension, used to find ranks before sizes are known.
PROBE = 4


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function from ``fns``. Implements `elaboration.ForeignFunction` and `CellFunction`."""

    name: str
    function: Callable[..., Any]

    def scalar(self, dtypes: tuple[str, ...]) -> str:
        """The type of the result for scalars of these types."""
        (found,) = self._results([((), dtype) for dtype in dtypes])
        if found.shape != ():
            raise self._wrong(f"gives an array of shape {found.shape} for scalars", "it must map scalars to one scalar")
        return str(found.dtype)

    def whole(self, arguments: tuple[elaboration.Argument, ...]) -> tuple[elaboration.Argument, ...]:
        """Type and rank of every result for tensors of these types and ranks."""
        found = self._results([((PROBE,) * a.rank, a.dtype) for a in arguments])
        return tuple(elaboration.Argument(str(f.dtype), len(f.shape)) for f in found)

    def results(self, arguments: tuple[tuple[tuple[int, ...], str], ...]) -> tuple[tuple[tuple[int, ...], str], ...]:
        """Shape and type of every result for cells of these shapes and types."""
        return tuple((tuple(found.shape), str(found.dtype)) for found in self._results(list(arguments)))

    def shapes(self, arguments: list[tuple[tuple[int, ...], str]]) -> tuple[tuple[int, ...], ...]:
        """The shape of every result for tensors of these shapes and types."""
        return tuple(tuple(f.shape) for f in self._results(arguments))

    def _results(self, arguments: list[tuple[tuple[int, ...], str]]) -> tuple[Any, ...]:
        specs = [jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(dtype)) for shape, dtype in arguments]
        # JAX keeps weak references to functions, and crashes for objects that do not support them, such as NumPy's
        # `clip`.
        referable = getattr(type(self.function), "__weakrefoffset__", 0)
        function = self.function if referable else lambda *given: self.function(*given)
        try:
            found = jax.eval_shape(function, *specs)
        except CompileError:
            raise
        except Exception as error:
            shown = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in arguments)
            said = str(error).splitlines()[0] if str(error) else ""
            is_numpys = _library(self.function) == "numpy" and hasattr(jax.numpy, self.name)
            raise self._wrong(
                f"fails for arguments {shown}: {type(error).__name__}: {said}",
                f"JAX traces its own functions: write `jnp.{self.name}(...)` after `import jax.numpy as jnp`"
                if is_numpys
                else "it must be traceable by JAX for these arguments",
            ) from error
        results = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        for result in results:
            if not hasattr(result, "shape") or str(getattr(result, "dtype", None)) not in ir.types.SCALARS:
                raise self._wrong("gives something other than arrays", "return one array, or a tuple of arrays")
        return results

    def _wrong(self, what: str, help: str) -> CompileError:
        return CompileError(Code.UNKNOWN_FUNCTION, f"the Python function `{self.name}` {what}", help=help)


# Modules whose function of a builtin's name means the builtin.
_LIBRARIES = ("builtins", "math", "numpy", "scipy", "jax", "jaxlib")


def means_builtin(name: str, function: Callable[..., Any]) -> bool:
    """Whether a function bound to a builtin's name in a program's scope is a library's own, such as `jnp.exp`."""
    return name in ir.builtins.BUILTINS and _library(function) in _LIBRARIES


def _library(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__module__", None) or type(function).__module__).partition(".")[0]


def wrap(fns: Mapping[str, Callable[..., Any]], reserved: Collection[str]) -> dict[str, PythonFunction]:
    """The functions as elaboration sees them. Names reserved by the notation are rejected; tcjax's additions to TC's
    builtins may be replaced.
    """
    for name in fns:
        if name in reserved:
            kind = "a type" if name in ir.types.SPELLINGS else "a builtin function"
            raise CompileError(
                Code.RESERVED_NAME,
                f"`{name}` is {kind}, so a Python function of that name would never be called",
                help=f"give it another name, such as `my_{name}`",
            )
    return {name: PythonFunction(name, function) for name, function in fns.items()}
