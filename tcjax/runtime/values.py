"""Values of arguments that are needed before tracing: they determine shapes, or are interpreted."""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from ..diagnostics import Code, CompileError, Span
from .frontends import Value


def value_of(name: str, array: Any, span: Span) -> Value:
    """The value of an argument. Raises `CompileError` (TC0902) for a tracer or a bare shape."""
    if isinstance(array, (Tracer, jax.ShapeDtypeStruct)):
        what = "a tracer, whose value is not known" if isinstance(array, Tracer) else "a shape without a value"
        raise CompileError(
            Code.VALUE_DECIDES_SHAPE,
            f"the value of `{name}` decides a shape here, but the argument is {what}",
            span,
            help=f"pass `{name}` as a NumPy array or a number; under jax.jit close over it, or mark it with "
            "static_argnums",
        )
    value = numbers_of(name, array, span).astype(jax.dtypes.canonicalize_dtype(array.dtype))
    return (name, str(value.dtype), tuple(value.shape), value.tobytes())


def numbers_of(name: str, array: Any, span: Span) -> np.ndarray:
    """The elements of an argument. Raises `CompileError` (TC0305) if other processes hold some of them."""
    is_here = isinstance(array, Tracer) or not isinstance(array, jax.Array) or array.is_fully_addressable
    if not (is_here or array.is_fully_replicated):
        raise CompileError(
            Code.ARGUMENT_TYPE,
            f"other processes hold parts of `{name}`, and all of its values are needed here",
            span,
            help=f"pass jax.experimental.multihost_utils.process_allgather({name}, tiled=True), in every process",
        )
    return np.asarray(array)
