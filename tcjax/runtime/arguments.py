"""A call's arguments: which array is which parameter, and whether their types fit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .. import ir
from ..diagnostics import Code, CompileError, Span
from ..syntax import tc
from .fronts import Definition, Front


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """`arrays` by parameter name, in parameter order; `initial` values of outputs; `sizes` by name."""

    arrays: Mapping[str, Any]
    initial: Mapping[str, Any]
    sizes: Mapping[str, int]


def arrange(front: Front, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
    """Positional and named arguments by name. Raises `CompileError` for a wrong count or name (TC0503)."""
    parameters = front.parameters
    initial, sizes = front.keywords
    names = [parameter.name for parameter in parameters]
    arrays: dict[str, Any] = dict(zip(names, args, strict=False))
    starts: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    for name, value in kwargs.items():
        if name in arrays:
            raise _count(front, f"`{name}` is given twice, by position and by name", names)
        if name in names:
            arrays[name] = value
        elif name in initial:
            starts[name] = value
        elif name in sizes:
            numbers[name] = _size(name, value, front.span)
        else:
            error = _count(front, f"`{front.name}` has no argument `{name}`", names, (*initial, *sizes))
            if isinstance(front, Definition) and name in _declared_sizes(front):
                help = f"{error.help}; the size `{name}` is that of the arrays"
                raise CompileError(error.diagnosis, error.message, error.span, help=help)
            if isinstance(front, Definition) and _is_index(name, front):
                help = f"{error.help}; `{name}` is an index in the text: write a number there, or mention it in a type"
                raise CompileError(error.diagnosis, error.message, error.span, help=help)
            raise error
    if len(args) > len(names):
        raise _count(
            front, f"`{front.name}` takes {_inputs(len(names))} but got {len(args)}", names, (*initial, *sizes)
        )
    missing = [name for name in names if name not in arrays]
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        got = f"takes {_inputs(len(names))} but got {len(arrays)}"
        raise _count(front, f"`{front.name}` {got}: {listed} missing", names)
    return Arguments({name: arrays[name] for name in names}, starts, numbers)


def _declared_sizes(front: Definition) -> set[object]:
    types = [parameter.type for parameter in front.definition.parameters or ()]
    return {dimension for type in types if type is not None for dimension in type.dimensions}


def _is_index(name: str, front: Definition) -> bool:
    """Whether the text has this name for what is no tensor: probably a size that no type mentions."""
    written = {getattr(statement, "target", None) for statement in front.definition.body}
    return name not in written and re.search(rf"\b{re.escape(name)}\b", tc.write(front.definition)) is not None


def _inputs(count: int) -> str:
    return "1 input" if count == 1 else f"{count} inputs"


def _size(name: str, value: object, span: Span) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < 2**31:
        raise CompileError(
            Code.NOT_STATIC,
            f"the size `{name}` must be a non-negative int32, not {value!r}",
            span,
            help=f"write {name}=6",
        )
    return int(value)


def _count(front: Front, message: str, names: Sequence[str], more: Sequence[str] = ()) -> CompileError:
    call = f"call it as {front.name}({', '.join(names)})"
    if more:
        call += f"; it also takes {', '.join(f'{name}=...' for name in more)}"
    return CompileError(Code.WRONG_ARGUMENT_COUNT, message, front.span, help=call)


PYTHON_KINDS = {bool: "b", int: "i", float: "f", complex: "c"}


def as_array(value: Any, name: str, expected: str | None, span: Span) -> Any:
    """The argument as an array of the parameter's type (None: of its own), or a `CompileError` (TC0305).

    Python numbers and lists of them take the parameter's type where their kind allows: an int for a float, but not
    a float for an int.
    """
    if isinstance(value, (jax.Array, jax.ShapeDtypeStruct)):
        weak = getattr(value, "weak_type", False)
        if weak and isinstance(value, jax.Array) and expected is not None and _adapts(np.dtype(value.dtype), expected):
            return value.astype(jax.dtypes.canonicalize_dtype(expected))
        check_type(str(value.dtype), name, expected, span)
        return value
    strong = hasattr(value, "dtype") and hasattr(value, "shape")
    try:
        array = np.asarray(value)
    except Exception as error:
        raise _not_an_array(name, value, span) from error
    if array.dtype == object or array.dtype.kind not in "biufcV":
        raise _not_an_array(name, value, span)
    if strong:
        check_type(str(jax.dtypes.canonicalize_dtype(array.dtype)), name, expected, span)
        return array
    if expected is not None and (_adapts(array.dtype, expected) or array.size == 0):
        return _converted(array, name, expected, span)
    own = str(jax.dtypes.canonicalize_dtype(array.dtype))
    check_type(own, name, expected, span)
    return _converted(array, name, own, span)


def _adapts(own: np.dtype, expected: str) -> bool:
    """Whether Python numbers of this kind are numbers of the type too: an int is a float, a float no int."""
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


def _not_an_array(name: str, value: object, span: Span) -> CompileError:
    return CompileError(
        Code.ARGUMENT_TYPE,
        f"the argument for `{name}` is a {type(value).__name__}, which is not an array of numbers",
        span,
        help="pass anything that jnp.asarray takes: a JAX or NumPy array, a number, nested lists of equal length",
    )


def check_type(found: str, name: str, expected: str | None, span: Span) -> None:
    """Raises `CompileError` (TC0305) unless an array of type `found` can be the parameter."""
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
