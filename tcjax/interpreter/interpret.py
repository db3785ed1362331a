"""The entry point: a function with known sizes, applied to arrays."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, assert_never

import numpy as np

from .. import ir
from ..diagnostics import Code, CompileError
from ..ranges.bound import Bound
from ..symbolic import Box
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
    """The values of the function's returns, in order, each stored from its origin.

    `arrays` are the parameters and `initial` the initial values of `function.initial` by name, `foreign` the functions
    of ``fns``. Raises `CompileError` (TC0603) when a foreign function returns other shapes than the function has.
    """
    (tensors,) = deque(states(bound, arrays, initial, foreign), maxlen=1)
    return tuple(tensors[tensor.name] for tensor in bound.function.returns)


def states(
    bound: Bound,
    arrays: Mapping[str, Any],
    initial: Mapping[str, Any] = {},
    foreign: Mapping[str, Callable[..., Any]] = {},
) -> Iterator[Mapping[str, Array]]:
    """All tensors by name before the first statement, and then after each one."""
    function = bound.function
    tensors = {p.name: _argument(p, arrays[p.name], bound) for p in function.parameters}
    tensors |= {t.name: _argument(t, initial[t.name], bound) for t in function.initial if t.name in initial}
    yield tensors
    number = 0
    while number < len(function.statements):
        around = function.around(number)
        # Wrapping, overflow and NaN are valid results here: no warnings.
        with np.errstate(all="ignore"):
            if around:
                last = around[0].last
                # Elements that no step has written yet are zero.
                inside = [tensor for s in function.statements[number:last] for tensor in ir.targets(s)]
                tensors = {**{t.name: np.zeros(bound.shapes[t.name], dtype_of(t.dtype)) for t in inside}, **tensors}
                states = deque(_steps(number, last, {}, bound, tensors, foreign), maxlen=1)
                tensors = states[0] if states else tensors
            else:
                last = number + 1
                tensors = {**tensors, **_written(number, bound.boxes[number], bound, tensors, foreign)}
        # The results of a loop exist once it has ended.
        for _ in range(number, last):
            yield tensors
        number = last


def _steps(
    first: int,
    last: int,
    at: Box,
    bound: Bound,
    tensors: Mapping[str, Array],
    foreign: Mapping[str, Callable[..., Any]],
) -> Iterator[Mapping[str, Array]]:
    """All tensors after each statement of a run, step by step; `at` holds the values of the outer loop indices."""
    number = first
    while number < last:
        inner = [loop for loop in bound.function.around(number) if loop.index not in at]
        if inner:
            [loop, *_] = inner
            for value in loop.values(*bound.boxes[number][loop.index]):
                here = {**at, loop.index: (value, value + 1)}
                for tensors in _steps(number, loop.last, here, bound, tensors, foreign):  # noqa: B020
                    yield tensors
            number = loop.last
        else:
            tensors = {**tensors, **_written(number, {**bound.boxes[number], **at}, bound, tensors, foreign)}
            yield tensors
            number += 1


def _written(
    number: int,
    box: Box,
    bound: Bound,
    tensors: Mapping[str, Array],
    foreign: Mapping[str, Callable[..., Any]],
) -> Mapping[str, Array]:
    """The targets of a statement after its points in the box."""
    statement = bound.function.statements[number]
    match statement:
        case ir.Define():
            return {statement.target.name: define(statement, _scope(statement, box, bound, tensors, foreign))}
        case ir.Accumulate():
            return {statement.target.name: accumulate(statement, _scope(statement, box, bound, tensors, foreign))}
        case ir.Invoke(targets, callee, arguments):
            inner = {p.name: tensors[a.name] for p, a in zip(callee.parameters, arguments, strict=True)}
            return _results(targets, interpret(bound.calls[number], inner, foreign=foreign))
        case ir.ApplyForeign(_, name, arguments, frame):
            given = [tensors[argument.name] for argument in arguments]
            if frame:
                return _mapped(statement, foreign[name], given, bound)
            return _foreign_results(statement, foreign[name](*(array.copy() for array in given)), bound)
        case _:
            assert_never(statement)


def _scope(
    statement: ir.Define | ir.Accumulate,
    box: Box,
    bound: Bound,
    tensors: Mapping[str, Array],
    foreign: Mapping[str, Callable[..., Any]],
) -> Scope:
    """The scope in which a statement is evaluated: each loop around it is at one step."""
    scope, places, values = Scope(bound, box, tensors, foreign).bind(statement.domain.loops)
    scope.point[places] = [value.start for value in values]
    return scope


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
