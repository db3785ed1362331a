"""The door: a function with known sizes, applied to arrays."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

import numpy as np

from .. import ir
from ..diagnostics import Code, CompileError
from ..ranges.bound import Bound
from .scalars import dtype_of
from .scope import Scope
from .statements import accumulate, define

Array = np.ndarray[Any, Any]


def interpret(
    bound: Bound,
    arrays: Mapping[str, Any],
    initial: Mapping[str, Any] = {},
    foreign: Mapping[str, Callable[..., Any]] = {},
) -> tuple[Array, ...]:
    """The values of the function's returns, in their order, each stored from its origin.

    `arrays` are the parameters and `initial` the initial values of `function.initial` by name, `foreign` the functions
    of ``fns``. Raises `CompileError` (TC0603) when a foreign function returns other shapes than the function has.
    """
    function = bound.function
    tensors = {p.name: _argument(p, arrays[p.name], bound) for p in function.parameters}
    tensors |= {t.name: _argument(t, initial[t.name], bound) for t in function.initial if t.name in initial}
    # Wrapping, overflow and NaN are values here, not events.
    with np.errstate(all="ignore"):
        for number, statement in enumerate(function.statements):
            match statement:
                case ir.Define():
                    scope = Scope(bound, bound.boxes[number], tensors, foreign)
                    tensors[statement.target.name] = define(statement, scope)
                case ir.Accumulate():
                    scope = Scope(bound, bound.boxes[number], tensors, foreign)
                    tensors[statement.target.name] = accumulate(statement, scope)
                case ir.Invoke(targets, callee, arguments):
                    inner = {p.name: tensors[a.name] for p, a in zip(callee.parameters, arguments, strict=True)}
                    results = interpret(bound.calls[number], inner, foreign=foreign)
                    tensors |= _results(targets, results)
                case ir.ApplyForeign(_, name, arguments, frame):
                    given = [tensors[argument.name] for argument in arguments]
                    if frame:
                        tensors |= _mapped(statement, foreign[name], given, bound)
                    else:
                        returned = foreign[name](*(array.copy() for array in given))
                        tensors |= _foreign_results(statement, returned, bound)
                case _:
                    assert_never(statement)
    return tuple(tensors[tensor.name] for tensor in function.returns)


def _argument(tensor: ir.Tensor, array: Any, bound: Bound) -> Array:
    value = np.asarray(array).astype(dtype_of(tensor.dtype))
    assert value.shape == tuple(bound.shapes[tensor.name]), f"{tensor.name} has the shape {value.shape}"
    return value


def _results(targets: Sequence[ir.Tensor], results: Sequence[Any]) -> dict[str, Array]:
    return {
        target.name: np.asarray(result).astype(dtype_of(target.dtype))
        for target, result in zip(targets, results, strict=True)
    }


def _mapped(
    statement: ir.ApplyForeign, function: Callable[..., Any], arguments: Sequence[Array], bound: Bound
) -> dict[str, Array]:
    """The function's results cell by cell."""
    targets = statement.targets
    results = {t.name: np.zeros(bound.shapes[t.name], dtype_of(t.dtype)) for t in targets}
    for cell in np.ndindex(results[targets[0].name].shape[: statement.frame]):
        passed = [a[cell].copy() if v else a.copy() for a, v in zip(arguments, statement.varying, strict=True)]
        returned = function(*passed)
        parts = returned if isinstance(returned, (tuple, list)) else (returned,)
        for target, part in zip(targets, parts, strict=True):
            results[target.name][cell] = np.asarray(part)
    return results


def _foreign_results(statement: ir.ApplyForeign, returned: Any, bound: Bound) -> dict[str, Array]:
    targets, name = statement.targets, statement.function
    several = isinstance(returned, (tuple, list))
    results = returned if several and len(targets) > 1 else (returned,)
    if len(results) != len(targets):
        raise CompileError(
            Code.OUTPUT_SIZE,
            f"`{name}` should return {len(targets)} arrays and returned {len(results)}",
            statement.span,
            help=f"return a tuple of {len(targets)} arrays from `{name}`, or take as many on the left",
        )
    tensors = _results(targets, results)
    for target in targets:
        shape, expected = tensors[target.name].shape, bound.shapes.get(target.name)
        if expected is not None and shape != tuple(expected):
            raise CompileError(
                Code.OUTPUT_SIZE,
                f"`{name}` returned the shape {shape} for `{target.name}`, which has the shape {tuple(expected)}",
                statement.span,
                help=f"return an array of shape {tuple(expected)} from `{name}`",
            )
    return tensors
