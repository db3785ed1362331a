"""Statements: the target after each of them."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from .. import ir
from ..ranges.guards import running_guard
from ..symbolic import Affine, IndexVar
from .evaluation import condition, point_values, stack, subscript
from .monoids import fold_elements
from .reductions import continues, identity, reduce_values
from .scalars import Value, conversion, dtype_of
from .scope import Scope
from .widening import widened

Array = np.ndarray[Any, Any]


def define(statement: ir.Define, scope: Scope) -> Array:
    """The target after ``target[indices] = value``; elements of a new tensor that are not written are zero.

    The value reads all tensors, including the target, as they were before the statement.
    """
    target = statement.target
    result = _content(target, scope)
    scope, places, loops = scope.bind(left_indices(statement.indices))
    element = target_element(target, statement.indices, scope)
    domain = statement.domain
    collect = point_values((), domain.ranges, domain.guard, statement.value, scope)
    convert = conversion(statement.value.dtype, target.dtype)
    for scope.point[places] in product(*loops):  # type: ignore[assignment]
        values, _ = collect()
        if values and (place := element()) is not None:
            result[place] = convert(values[0])
    return result


def accumulate(statement: ir.Accumulate, scope: Scope) -> Array:
    """The target after ``target[indices] reducer= value``.

    The running value has type `statement.accumulate` and is cast to the target's type once, at the end. It starts from
    the identity with `restart` and for a new tensor, else from the element's old value. If it starts from the identity,
    so does every element that the left side can name: along a dimension whose subscript depends on data, all of them.
    Points outside the ranges of the surrounding loops are skipped. A mean or a position cannot continue from an earlier
    one: without `restart` it replaces the element, if any point is active.
    """
    target, reducer = statement.target, statement.reducer
    result = _content(target, scope)
    goes_on = not statement.restart and target.name in scope.tensors
    scope, places, loops = scope.bind(left_indices(statement.indices))
    if not goes_on:
        region = _region(target, statement.indices, scope)
        runs = condition((), running_guard(statement), scope)
        empty = conversion(_result_type(statement), target.dtype)(identity(reducer, statement.accumulate))
        for scope.point[places] in product(*loops):  # type: ignore[assignment]
            if (runs is None or runs()) and (place := region()) is not None:
                result[place] = empty
    running: dict[tuple[int, ...], tuple[list[Value], list[int]]] = {}
    body = widened(statement.value, statement.accumulate)
    domain = statement.domain
    collect = point_values(statement.reduction, domain.ranges, domain.guard, body, scope)
    element = target_element(target, statement.indices, scope)
    for scope.point[places] in product(*loops):  # type: ignore[assignment]
        values, numbers = collect()
        if values and (place := element()) is not None:
            all_values, all_numbers = running.setdefault(place, ([], []))
            all_values += values
            all_numbers += numbers
    convert = conversion(_result_type(statement), target.dtype)
    for place, (values, numbers) in running.items():
        stacked = stack(values, body.dtype, statement.accumulate)
        if goes_on and isinstance(reducer, ir.Monoid) and reducer.continues:
            state = conversion(target.dtype, _result_type(statement))(result[place])
            result[place] = convert(fold_elements(reducer, list(stacked), statement.accumulate, state))
            continue
        if goes_on and continues(reducer):
            stacked = np.concatenate([stack([result[place]], target.dtype, statement.accumulate), stacked])
        result[place] = convert(reduce_values(reducer, stacked, numbers, statement.accumulate))
    return result


def _content(target: ir.Tensor, scope: Scope) -> Array:
    """A copy of the target before the statement; zeros if it is new."""
    if target.name in scope.tensors:
        return scope.tensors[target.name].copy()
    return np.zeros(scope.bound.shapes[target.name], dtype_of(target.dtype))


def left_indices(subscripts: Sequence[Affine]) -> list[IndexVar]:
    """The index variables of the left side, in order of appearance."""
    return list(dict.fromkeys(index for affine in subscripts for index in sorted(affine.variables, key=str)))


def target_element(
    target: ir.Tensor, subscripts: Sequence[Affine], scope: Scope
) -> Callable[[], tuple[int, ...] | None]:
    """A function that returns the position named by the left side, None if data puts it outside the tensor."""
    shape, logical, origin = _places(target, subscripts, scope)

    def element() -> tuple[int, ...] | None:
        place = tuple([value() - start for value, start in zip(logical, origin, strict=True)])
        for affine, position, extent in zip(subscripts, place, shape, strict=True):
            if not 0 <= position < extent:
                assert affine.is_data, f"{target.name}({affine}) writes at {position} of {extent}"
                return None
        return place

    return element


def _region(
    target: ir.Tensor, subscripts: Sequence[Affine], scope: Scope
) -> Callable[[], tuple[int | slice, ...] | None]:
    """A function that returns the elements that the left side can name, for any data; None if outside the tensor."""
    shape, logical, origin = _places(target, subscripts, scope)

    def region() -> tuple[int | slice, ...] | None:
        place: list[int | slice] = []
        for affine, value, start, extent in zip(subscripts, logical, origin, shape, strict=True):
            if affine.is_data:
                place.append(slice(None))
            elif 0 <= value() - start < extent:
                place.append(value() - start)
            else:
                return None
        return tuple(place)

    return region


def _places(
    target: ir.Tensor, subscripts: Sequence[Affine], scope: Scope
) -> tuple[tuple[int, ...], list[Callable[[], int]], tuple[int, ...]]:
    shape, origin = scope.bound.shapes[target.name], scope.bound.origins[target.name]
    return shape, [subscript(affine, scope) for affine in subscripts], origin


def _result_type(statement: ir.Accumulate) -> str:
    if isinstance(statement.reducer, ir.Monoid):
        return statement.reducer.components(statement.accumulate)[0]
    return "int32" if statement.reducer.gives_position else statement.accumulate
