"""Element types: arrays as a program declares them, and programs for another type."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from ..diagnostics import Code, CompileError
from ..runtime.definitions import Definition
from ..runtime.kernel import Kernel
from ..syntax import ast


def promoted(kernel: Kernel, arrays: Mapping[str, Any], dtype: Any) -> dict[str, jax.Array]:
    """The arguments in the types that the program takes.

    Where the program declares a float, arrays of other floats and of integers are cast to it. All other floats become
    `dtype`, or, if it is None, their common type. Integers stay integers where no float is declared.
    """
    given = {name: _array(name, array) for name, array in arrays.items()}
    declared = {parameter.name: parameter.declared for parameter in kernel._frontend.parameters}
    open_floats = [a for name, a in given.items() if declared[name] is None and _is_inexact(a.dtype)]
    common = dtype if dtype is not None else jnp.result_type(*open_floats) if open_floats else None
    for name, array in given.items():
        wanted = declared[name]
        if wanted is None:
            given[name] = array.astype(common) if common is not None and _is_inexact(array.dtype) else array
        elif _is_inexact(jnp.dtype(wanted)) and array.dtype != bool and not _loses(array.dtype, wanted):
            given[name] = array.astype(jax.dtypes.canonicalize_dtype(wanted))
    return given


def _array(name: str, value: Any) -> jax.Array:
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError):
        raise CompileError(
            Code.ARGUMENT_TYPE,
            f"the input `{name}` is a {type(value).__name__}, which is not an array of numbers",
            help="pass anything that jnp.asarray takes: a JAX or NumPy array, a number, nested lists of equal length",
        ) from None


@lru_cache(maxsize=1024)
def retyped(kernel: Kernel, dtype: str) -> Kernel:
    """The same program with `dtype` in place of every declared float type.

    Programs that call other definitions, and SaC programs, stay unchanged.
    """
    frontend = kernel._frontend
    if not isinstance(frontend, Definition):
        return kernel
    definition = frontend.definition
    parameters = None if definition.parameters is None else tuple(_as(p, dtype) for p in definition.parameters)
    returns = tuple(_as(p, dtype) for p in definition.returns)
    if (parameters, returns) == (definition.parameters, definition.returns):
        return kernel
    changed = replace(definition, parameters=parameters, returns=returns)
    return Kernel(Definition(frontend.program, changed, frontend.options))


def _as(parameter: ast.Parameter, dtype: str) -> ast.Parameter:
    kind = parameter.type
    if kind is None or not jnp.issubdtype(jnp.dtype(kind.scalar), jnp.floating):
        return parameter
    return replace(parameter, type=replace(kind, scalar=dtype))


def _is_inexact(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.inexact))


def _loses(dtype: Any, wanted: str) -> bool:
    """Whether a complex value would lose its imaginary part."""
    return bool(jnp.issubdtype(dtype, jnp.complexfloating)) and not jnp.issubdtype(wanted, jnp.complexfloating)
