"""Python functions called from a program: their result types and shapes, found without running them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from .. import elaboration, ir
from ..diagnostics import Code, CompileError

# An extent that most functions accept for every dimension, to learn ranks before sizes are known.
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
        try:
            found = jax.eval_shape(self.function, *specs)
        except CompileError:
            raise
        except Exception as error:
            shown = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in arguments)
            said = str(error).splitlines()[0] if str(error) else ""
            raise self._wrong(
                f"fails for arguments {shown}: {type(error).__name__}: {said}",
                "it must be traceable by JAX for these arguments",
            ) from error
        results = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        for result in results:
            if not hasattr(result, "shape") or str(getattr(result, "dtype", None)) not in ir.types.SCALARS:
                raise self._wrong("gives something other than arrays", "return one array, or a tuple of arrays")
        return results

    def _wrong(self, what: str, help: str) -> CompileError:
        return CompileError(Code.UNKNOWN_FUNCTION, f"the Python function `{self.name}` {what}", help=help)


# Where a name of a builtin comes from that means the builtin.
_LIBRARIES = ("builtins", "math", "numpy", "scipy", "jax", "jaxlib")


def means_builtin(name: str, function: Callable[..., Any]) -> bool:
    """Whether a function that a program's scope binds to a builtin's name is a library's own, such as `jnp.exp`."""
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    return name in ir.builtins.BUILTINS and module.partition(".")[0] in _LIBRARIES


def wrap(fns: Mapping[str, Callable[..., Any]]) -> dict[str, PythonFunction]:
    """The functions as elaboration sees them. A name that TC reserves is refused; tcjax's additions may be replaced."""
    for name in fns:
        if name in elaboration.RESERVED:
            raise CompileError(
                Code.RESERVED_NAME,
                f"`{name}` is a builtin function, so a Python function of that name would never be called",
                help=f"give it another name, such as `my_{name}`",
            )
    return {name: PythonFunction(name, function) for name, function in fns.items()}


__all__ = ["PythonFunction", "wrap"]
