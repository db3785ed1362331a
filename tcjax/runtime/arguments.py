"""A call's arguments: which array belongs to which parameter, and whether their types fit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from .. import elaboration, ir
from ..diagnostics import Code, CompileError, Span, phrases
from ..syntax import tc
from .definitions import Definition
from .frontends import Frontend


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """`arrays` by parameter name, in parameter order; `initial` values of outputs; `sizes` by name."""

    arrays: Mapping[str, Any]
    initial: Mapping[str, Any]
    sizes: Mapping[str, int]


def arrange(frontend: Frontend, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
    """Positional and named arguments by name. Raises `CompileError` for a wrong count or name (TC0503)."""
    parameters = frontend.parameters
    initial, sizes = frontend.keywords
    names = [parameter.name for parameter in parameters]
    arrays: dict[str, Any] = dict(zip(names, args, strict=False))
    starts: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    for name, value in kwargs.items():
        if name in arrays:
            raise _count(frontend, f"`{name}` is given twice, by position and by name", names)
        if name in names:
            arrays[name] = value
        elif name in initial:
            starts[name] = value
        elif name in sizes:
            numbers[name] = _size(name, value, frontend.span)
        else:
            what = f"`{frontend.name}` has no argument `{name}`"
            raise _count(frontend, what, names, (*initial, *sizes), hint=_mistaken_for(name, frontend))
    if len(args) > len(names):
        raise _count(
            frontend, f"`{frontend.name}` takes {_inputs(len(names))} but got {len(args)}", names, (*initial, *sizes)
        )
    missing = [name for name in names if name not in arrays]
    if missing:
        frontend.check_given(arrays)
        listed = ", ".join(f"`{name}`" for name in missing)
        got = f"takes {_inputs(len(names))} but got {len(arrays)}"
        first = next(parameter for parameter in parameters if parameter.name == missing[0])
        error = _count(frontend, f"`{frontend.name}` {got}: {listed} missing", names, span=first.span)
        if isinstance(frontend, Definition):
            raise elaboration.function_as_input(frontend.definition, error.help) or error
        raise error
    return Arguments({name: arrays[name] for name in names}, starts, numbers)


def _mistaken_for(name: str, frontend: Frontend) -> str:
    """What the text uses this name for instead: a size, or a name without subscripts, probably an undeclared size."""
    if not isinstance(frontend, Definition):
        return ""
    types = [parameter.type for parameter in frontend.definition.parameters or ()]
    if any(name in type.dimensions for type in types if type is not None):
        return f"; the size `{name}` is that of the arrays"
    written = {getattr(statement, "target", None) for statement in frontend.definition.leaves}
    if name not in written and re.search(rf"\b{re.escape(name)}\b", tc.write(frontend.definition)) is not None:
        return f"; `{name}` is an index in the text: write a number there, or mention it in a type"
    return ""


def _inputs(count: int) -> str:
    return "1 input" if count == 1 else f"{count} inputs"


def _size(name: str, value: object, span: Span) -> int:
    if isinstance(value, Tracer):
        raise CompileError(
            Code.NOT_STATIC,
            f"the size `{name}` decides shapes, so JAX needs its value while it traces, and here it is traced too",
            span,
            help=f'name the argument that gives it in `jax.jit(f, static_argnames="{name}")`, or write {name}=6',
        )
    if isinstance(value, (np.ndarray, jax.Array)) and value.shape == () and value.dtype.kind in "iu":
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < 2**31:
        raise CompileError(
            Code.NOT_STATIC,
            f"the size `{name}` must be a non-negative int32, not {phrases.value(value)}",
            span,
            help=f"write {name}=6",
        )
    return int(value)


def _count(
    frontend: Frontend,
    message: str,
    names: Sequence[str],
    more: Sequence[str] = (),
    span: Span | None = None,
    hint: str = "",
) -> CompileError:
    call = f"call it as {frontend.name}({', '.join(names)})"
    if more:
        call += f"; it also takes {', '.join(f'{name}=...' for name in more)}"
    return CompileError(Code.WRONG_ARGUMENT_COUNT, message, span or frontend.span, help=f"{call}{hint}")


def as_array(value: Any, name: str, expected: str | None, span: Span) -> Any:
    """The argument as an array of the parameter's type (its own type for None), or a `CompileError` (TC0305).

    Python numbers and lists of them take the parameter's type if their kind allows it: an int for a float, but not a
    float for an int.
    """
    array = read_array(value, f"the argument for `{name}`", span)
    if isinstance(array, (jax.Array, jax.ShapeDtypeStruct)):
        weak = getattr(array, "weak_type", False)
        if weak and isinstance(array, jax.Array) and expected is not None and _adapts(np.dtype(array.dtype), expected):
            return array.astype(jax.dtypes.canonicalize_dtype(expected))
        check_type(str(array.dtype), name, expected, span)
        return array
    if hasattr(value, "__array__"):
        check_type(str(jax.dtypes.canonicalize_dtype(array.dtype)), name, expected, span)
        return array
    if expected is not None and (_adapts(array.dtype, expected) or array.size == 0):
        return _converted(array, name, expected, span)
    own = str(jax.dtypes.canonicalize_dtype(array.dtype))
    check_type(own, name, expected, span)
    return _converted(array, name, own, span)


def read_array(value: Any, what: str, span: Span | None = None) -> Any:
    """Anything that `jnp.asarray` accepts, as a JAX or NumPy array in this machine's byte order.

    A `jax.ShapeDtypeStruct` stays one. Raises `CompileError` (TC0305) that names the argument, `what`, for anything
    else, and for a masked array, whose mask would be lost.
    """
    try:
        if not isinstance(value, jax.Array) and hasattr(value, "__jax_array__"):
            value = value.__jax_array__()
        if isinstance(value, jax.Array):
            return value
        if isinstance(value, jax.ShapeDtypeStruct):
            native = native_type(value.dtype)
            return value if native == value.dtype else jax.ShapeDtypeStruct(value.shape, native)
        if isinstance(value, np.ma.MaskedArray):
            raise _not_an_array(value, what, span, "pass `.filled(0)` and what the mask means: a guard, or an array")
        array = np.asarray(value)
    except jax.errors.TracerArrayConversionError:
        # A list of numbers that JAX traces.
        return _of_tracers(value, what, span)
    except CompileError:
        raise
    except Exception as error:
        raise _not_an_array(value, what, span) from error
    if array.dtype.kind not in "biufcV":
        raise _not_an_array(value, what, span)
    return array.astype(native_type(array.dtype), copy=False)


def native_type(dtype: Any) -> Any:
    """The element type in this machine's byte order; files may contain others."""
    return dtype.newbyteorder("=") if isinstance(dtype, np.dtype) and not dtype.isnative else dtype


def is_plain(array: np.ndarray) -> bool:
    """Whether JAX can compute with the elements as they are in memory."""
    return array.dtype.char in _PLAIN and array.dtype.isnative


# The NumPy types that JAX supports: no long double, no text, no dates.
_PLAIN = "?bhilqpBHILQPefdFD"


def _of_tracers(value: Any, what: str, span: Span | None) -> Any:
    try:
        return jnp.asarray(value)
    except Exception as error:
        raise _not_an_array(value, what, span) from error


def _adapts(own: np.dtype, expected: str) -> bool:
    """Whether Python numbers of this kind fit the type: an int fits a float, a float does not fit an int."""
    if expected == "bool" or own.kind == "b":
        return expected == "bool" and own.kind == "b"
    widest = "iufc" if ir.types.is_complex(expected) else "iuf" if ir.types.is_float(expected) else "iu"
    return own.kind in widest


def _converted(array: np.ndarray, name: str, expected: str, span: Span) -> np.ndarray:
    dtype = jax.dtypes.canonicalize_dtype(expected)
    if dtype.kind in "iu" and array.size:
        limits = np.iinfo(dtype)
        for extreme in (int(array.min()), int(array.max())):
            if not limits.min <= extreme <= limits.max:
                raise CompileError(
                    Code.ARGUMENT_TYPE,
                    f"`{name}` is {expected}, which does not hold {extreme}",
                    span,
                    help=f"pass numbers from {limits.min} to {limits.max}",
                )
    return array.astype(dtype)


def _not_an_array(value: object, what: str, span: Span | None, help: str = "") -> CompileError:
    dense = next((name for name in ("toarray", "todense") if hasattr(type(value), name)), None)
    if dense is not None:
        help = f"pass its `.{dense}()`"
    kind = f"{type(value).__name__} of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    return CompileError(
        Code.ARGUMENT_TYPE,
        f"{what} is a {kind}, which is not an array of numbers",
        span,
        help=help
        or "pass anything that jnp.asarray takes: a JAX or NumPy array, a number, nested lists of equal length",
    )


def check_type(found: str, name: str, expected: str | None, span: Span) -> None:
    """Raises `CompileError` (TC0305) unless an array of type `found` fits the parameter."""
    if expected is None:
        if found not in ir.types.SCALARS:
            raise CompileError(
                Code.ARGUMENT_TYPE,
                f"`{name}` has type {found}, which the language does not have",
                span,
                help=f"draw numbers with it first, for instance jax.random.normal({name}, (3, 4))"
                if found.startswith("key<")
                else f"convert it first, for instance {name}.astype('float32')",
            )
        return
    wanted = str(jax.dtypes.canonicalize_dtype(expected))
    if found != wanted:
        raise CompileError(
            Code.ARGUMENT_TYPE,
            f"`{name}` is declared {expected} but the argument has type {found}",
            span,
            help=f"pass {name}.astype('{wanted}'), or declare `{name}` as {found}",
        )
