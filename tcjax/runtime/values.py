"""Arguments whose values decide shapes: static, although nobody said so."""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from ..diagnostics import Code, CompileError, Span
from .frontends import Value


def value_of(name: str, array: Any, span: Span) -> Value:
    """The value of an argument. Raises `CompileError` (TC0902) for a tracer and for a mere shape."""
    if isinstance(array, (Tracer, jax.ShapeDtypeStruct)):
        what = "a tracer, whose value is not known" if isinstance(array, Tracer) else "a shape without a value"
        raise CompileError(
            Code.VALUE_DECIDES_SHAPE,
            f"the value of `{name}` decides a shape here, but the argument is {what}",
            span,
            help=f"pass `{name}` as a NumPy array or a number; under jax.jit close over it, or mark it with "
            "static_argnums",
        )
    value = np.asarray(array).astype(jax.dtypes.canonicalize_dtype(array.dtype))
    return (name, str(value.dtype), tuple(value.shape), value.tobytes())
