"""Expressions as functions of the scope's point.

Each is compiled to one nest of closures per statement, so that a loop over its points does not dispatch on nodes again.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, assert_never

import numpy as np

from .. import ir
from ..ranges.bound import Bound
from ..symbolic import Affine, IndexVar
from ..symbolic.affine import Atom
from .builtins import builtin
from .reductions import reduce_values
from .scalars import Value, binary, constant, conversion, dtype_of, unary
from .scope import Scope, affine_value
from .widening import widened

Evaluate = Callable[[], Value]


def evaluator(expr: ir.Expr, scope: Scope) -> Evaluate:
    """A function that returns the expression's value at the scope's point: a NumPy scalar of the expression's type."""
    match expr:
        case ir.Const(value, dtype):
            literal = constant(value, dtype)
            return lambda: literal
        case ir.Extent(size, dtype):
            extent = constant(size.evaluate(scope.bound.sizes), dtype)
            return lambda: extent
        case ir.Index(variable, dtype):
            point, slot, scalar = scope.point, scope.slots[variable], dtype_of(dtype).type
            return lambda: scalar(point[slot])
        case ir.Access():
            return _read(expr, scope)
        case ir.Unary(operator, operand):
            inner, apply = evaluator(operand, scope), unary(operator, operand.dtype)
            return lambda: apply(inner())
        case ir.Binary("&&", left, right):
            first, second = evaluator(left, scope), evaluator(right, scope)
            return lambda: first() and second()
        case ir.Binary("||", left, right):
            first, second = evaluator(left, scope), evaluator(right, scope)
            return lambda: first() or second()
        case ir.Binary(operator, left, right):
            assert left.dtype == right.dtype, f"{operator} of {left.dtype} and {right.dtype}"
            first, second, combine = evaluator(left, scope), evaluator(right, scope), binary(operator, left.dtype)
            return lambda: combine(first(), second())
        case ir.Call(function, arguments, dtype):
            return _apply(builtin(function, arguments[0].dtype, dtype), arguments, scope)
        case ir.Foreign(function, arguments, dtype):
            python, scalar = scope.foreign[function], dtype_of(dtype)
            return _apply(lambda *values: np.asarray(python(*values)).astype(scalar)[()], arguments, scope)
        case ir.Cast(operand, dtype):
            inner, convert = evaluator(operand, scope), conversion(operand.dtype, dtype)
            return lambda: convert(inner())
        case ir.Select(condition, then, otherwise):
            test, yes, no = evaluator(condition, scope), evaluator(then, scope), evaluator(otherwise, scope)
            return lambda: yes() if test() else no()
        case ir.Reduce():
            return _reduction(expr, scope)
        case _:
            assert_never(expr)


def point_values(
    indices: Sequence[IndexVar], ranges: Sequence[ir.Range], guard: ir.Expr | None, body: ir.Expr, scope: Scope
) -> Callable[[], tuple[list[Value], list[int]]]:
    """A function that returns the body's values at the active points of `indices`, and the numbers of these points.

    The points of the box are numbered row-major. Points outside a range whose ends use other indices, or where the
    guard is false, are inactive: the body is not evaluated there.
    """
    scope, places, loops = scope.bind(indices)
    takes_part = condition(ranges, guard, scope)
    evaluate = evaluator(body, scope)
    point = scope.point

    def collect() -> tuple[list[Value], list[int]]:
        values: list[Value] = []
        numbers: list[int] = []
        for number, point[places] in enumerate(product(*loops)):  # type: ignore[assignment]
            if takes_part is None or takes_part():
                values.append(evaluate())
                numbers.append(number)
        return values, numbers

    return collect


def subscript(affine: Affine, scope: Scope) -> Callable[[], int]:
    """A function that returns the subscript's value, an exact integer that may be outside the tensor."""

    def data(atom: Atom) -> Callable[[], int]:
        assert isinstance(atom, ir.Data)
        value = evaluator(atom.expr, scope)
        return lambda: int(value())

    return affine_value(affine, scope, data)


def value_of(affine: Affine, bound: Bound, point: Mapping[IndexVar, int], tensors: Mapping[str, Any]) -> int:
    """The value of a subscript, or of the end of a range, at a point: an exact integer, perhaps read from tensors."""
    slots = {index: number for number, index in enumerate(point)}
    known = {name: np.asarray(array) for name, array in tensors.items()}
    return subscript(affine, Scope(bound, {}, known, {}, slots, [*point.values()]))()


def _read(access: ir.Access, scope: Scope) -> Evaluate:
    name = access.tensor.name
    array, origin = scope.tensors[name], scope.bound.origins[name]
    assert array.ndim == len(access.indices), f"{name} has {array.ndim} dimensions"
    positions: list[Callable[[], int]] = []
    # A loop, and few Python calls between one read and the next inside it: reads may nest as deeply as the text does.
    for dimension, affine in enumerate(access.indices):
        start, extent = origin[dimension], array.shape[dimension]
        match affine:
            case Affine(((ir.Data(expr), weight),), base) if weight.constant == 1 and base.constant == 0:
                positions.append(_clamped(evaluator(expr, scope), start, extent))
            case _ if affine.is_data:
                positions.append(_clamped(subscript(affine, scope), start, extent))
            case _:
                positions.append(_inside(subscript(affine - start, scope), access, dimension, extent))
    match positions:
        case []:
            return lambda: array[()]
        case [position]:
            return lambda: array[position()]
        case [row, column]:
            return lambda: array[row(), column()]
        case _:
            return lambda: array[tuple([position() for position in positions])]


def _clamped(logical: Callable[[], Value], origin: int, extent: int) -> Callable[[], int]:
    return lambda: max(0, min(int(logical()) - origin, extent - 1))


def _inside(stored: Callable[[], int], access: ir.Access, dimension: int, extent: int) -> Callable[[], int]:
    def position() -> int:
        place = stored()
        assert 0 <= place < extent, f"{ir.show_expr(access)} reads at {place} of {extent} in dimension {dimension}"
        return place

    return position


def _apply(function: Callable[..., Value], arguments: Sequence[ir.Expr], scope: Scope) -> Evaluate:
    match [evaluator(argument, scope) for argument in arguments]:
        case [only]:
            return lambda: function(only())
        case [first, second]:
            return lambda: function(first(), second())
        case inner:
            return lambda: function(*[argument() for argument in inner])


def _reduction(expr: ir.Reduce, scope: Scope) -> Evaluate:
    body = widened(expr.body, expr.accumulate)
    collect = point_values(expr.indices, expr.ranges, expr.guard, body, scope)
    rank = evaluator(expr.rank or ir.Const(0, "int32"), scope)
    reducer, accumulate, scalar = expr.reducer, expr.accumulate, dtype_of(expr.dtype)

    def reduce() -> Value:
        values, numbers = collect()
        stacked = stack(values, body.dtype, accumulate)
        return scalar.type(reduce_values(reducer, stacked, numbers, accumulate, int(rank())))

    return reduce


def stack(values: Sequence[Value], source: str, target: str) -> np.ndarray[Any, Any]:
    """Scalars of type `source` as a vector of type `target`."""
    vector = np.array(values, dtype_of(source))
    if ir.types.is_complex(source) and not ir.types.is_complex(target):
        vector = np.real(vector)
    return vector.astype(dtype_of(target))


def condition(ranges: Sequence[ir.Range], guard: ir.Expr | None, scope: Scope) -> Evaluate | None:
    """Whether the point is active; None if every point is."""
    # The last range given for an index wins; one with constant ends is the box.
    given = {r.index: r for r in ranges}.values()
    tests = [_in_range(r, scope) for r in given if r.lo.terms or r.hi.terms]
    if guard is not None:
        tests.append(evaluator(guard, scope))
    if len(tests) <= 1:
        return tests[0] if tests else None
    # In order: the guard may read elements that only the ranges keep inside a tensor.
    return lambda: all(test() for test in tests)


def _in_range(given: ir.Range, scope: Scope) -> Callable[[], bool]:
    lo, hi = subscript(given.lo, scope), subscript(given.hi, scope)
    point, slot = scope.point, scope.slots[given.index]
    return lambda: lo() <= point[slot] < hi()
