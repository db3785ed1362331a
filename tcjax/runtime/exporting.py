"""`Kernel.export`: specs of arguments, with symbols for open sizes."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.export
import numpy as np
from jax.errors import InconclusiveDimensionOperation

from .. import ir
from ..diagnostics import Code, CompileError, phrases
from .arguments import native_type
from .definitions import Definition
from .frontends import Frontend

_SPEC = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\[(.*)\])?\s*\Z", re.DOTALL)
_SHORT = {
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{
        f"{letter}{bits}": f"{word}{bits}" for letter, word in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)
    },
    **{"bf16": "bfloat16", "c64": "complex64", "c128": "complex128", "float": "float32", "double": "float64"},
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = frozenset(("floordiv", "mod", "min", "max"))


def read_specs(frontend: Frontend, specs: Sequence[Any], constraints: Sequence[str]) -> list[Any]:
    """The specs as `jax.ShapeDtypeStruct`s; all texts share one scope of symbols.

    `constraints` are those of the program; each applies if all of its sizes have symbols of the same name. Raises
    `CompileError` (TC0308) for an invalid text.
    """
    if not specs:
        specs = declared_specs(frontend)
    symbols = {name for spec in specs if isinstance(spec, str) for name in _names(spec)}
    kept = [text for text in constraints if set(_NAME.findall(text)) - _WORDS <= symbols]
    try:
        scope = jax.export.SymbolicScope(kept)
    except ValueError as problem:
        raise _bad(", ".join(kept), f"these constraints do not hold together: {problem}") from None
    return [_read(spec, scope) if isinstance(spec, str) else _struct(spec) for spec in specs]


def declared_specs(frontend: Frontend) -> list[str]:
    """The declared types and sizes of the parameters, with every size as a symbol of its name."""
    function = frontend.likely
    is_batched = isinstance(frontend, Definition) and frontend.is_batched
    if function is None or is_batched or any(parameter.declared is None for parameter in frontend.parameters):
        raise CompileError(
            Code.UNKNOWN_RANK,
            f"without specs nothing says what the parameters of `{frontend.name}` are",
            frontend.span,
            help='pass a spec for each parameter, such as "float32[N, M]"',
        )
    return [_declared(parameter) for parameter in function.parameters]


def _declared(tensor: ir.Tensor) -> str:
    # A dimension without a name, `A.0`, becomes the symbol A_0, as in `constraints()`.
    return f"{tensor.dtype}[{', '.join(str(size).replace('.', '_') for size in tensor.shape)}]"


def _names(spec: str) -> set[str]:
    found = _SPEC.match(spec)
    return set() if found is None or found[2] is None else set(_NAME.findall(found[2])) - _WORDS


def _read(spec: str, scope: "jax.export.SymbolicScope") -> jax.ShapeDtypeStruct:
    """``float32[N, 3]``, ``f32[N, M]``, ``int32[]`` or ``int32``."""
    found = _SPEC.match(spec)
    if found is None:
        raise _bad(spec, "a type and sizes in brackets are missing")
    name = _SHORT.get(found[1], found[1])
    if name not in ir.types.SCALARS:
        raise _bad(spec, f"{found[1]} is not a type")
    try:
        shape = jax.export.symbolic_shape(found[2] or "", scope=scope)
    except Exception as problem:  # JAX's parser raises what it meets.
        raise _bad(spec, str(problem).splitlines()[0]) from None
    return jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(name))


def _struct(spec: Any) -> Any:
    """An array's shape and type; an object that has both is returned as is."""
    if hasattr(spec, "shape") and hasattr(spec, "dtype"):
        return jax.ShapeDtypeStruct(spec.shape, native_type(spec.dtype))
    try:
        array = np.asarray(spec)
    except Exception as problem:
        raise _bad(phrases.value(spec), str(problem)) from None
    if array.dtype == object:
        raise _bad(phrases.value(spec), f"a {type(spec).__name__} has no shape")
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))


def exported(
    function: Callable[..., Any], specs: Sequence[Any], named: Mapping[str, Any], platforms: Any
) -> jax.export.Exported:
    """The function exported for these specs and platforms (None: this machine's).

    Raises `CompileError`: TC0308 for invalid ones, TC0901 if JAX cannot compare two sizes.
    """
    if platforms is not None:
        if isinstance(platforms, str) or not isinstance(platforms, (tuple, list)) or not platforms:
            raise _bad(phrases.value(platforms), 'platforms are several names, such as platforms=("cpu", "cuda")')
        if not all(isinstance(name, str) for name in platforms):
            raise _bad(phrases.value(platforms), "platforms are names")
    # JAX calls keeping unknown custom calls unsafe: these are kernels for GPUs.
    own = [jax.export.DisabledSafetyCheck.custom_call("__gpu$xla.gpu.triton")]
    try:
        return jax.export.export(jax.jit(function), platforms=platforms, disabled_checks=own)(*specs, **named)
    except InconclusiveDimensionOperation as problem:
        raise CompileError(
            Code.NOT_STATIC,
            f"{str(problem).splitlines()[0].rstrip('.')}: this needs numbers for the sizes",
            help="export it for the shapes that will be passed, one `jax.ShapeDtypeStruct` of numbers each",
        ) from None


def _bad(spec: str, why: str) -> CompileError:
    shown = spec if len(spec) <= 60 else f"{spec[:57]}..."
    return CompileError(
        Code.BAD_OPTION,
        f"{shown!r} cannot be exported for: {why}",
        help='write "float32[N, 3]", or pass an array or a jax.ShapeDtypeStruct',
    )
