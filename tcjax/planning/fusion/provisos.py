"""Tests whether values are finite, for statements that are planned for such values."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from math import prod
from typing import Final

from ... import ir, transforms
from ...ir import Reducer
from ...symbolic import Affine, IndexVar
from ...transforms import Shapes, Step

# A statement is compiled in two ways only if the one for finite values is cheaper by this factor.
WORTH: Final = 0.7


def tests(step: Step, finite: Iterable[ir.Expr], shapes: Shapes, origins: Shapes) -> Iterator[Step]:
    """Statements whose results are zero only if the values are finite at all points: sums of zero times them."""
    apart = (part for value in finite for part in _apart(step, value, shapes))
    for number, given in enumerate(dict.fromkeys(apart)):
        step, value = _bounded(step, given) or _whole(step, given, number, shapes, origins)
        accumulate = ir.types.accumulator(value.dtype)
        target = ir.Tensor(f"{step.statement.target.name}{ir.MARK}finite{number}", accumulate, ())
        zero = ir.Binary("*", ir.Const(0.0, value.dtype), value, value.dtype)
        reduction = tuple(sorted(ir.free_indices(value), key=str))
        total = ir.Accumulate(target, (), Reducer.SUM, True, reduction, zero, accumulate, span=step.statement.span)
        if not reduction:
            body = zero if value.dtype == accumulate else ir.Cast(zero, accumulate)
            yield replace(step, statement=ir.Define(target, (), body, span=step.statement.span))
            continue
        yield replace(step, statement=total)


def _apart(step: Step, value: ir.Expr, shapes: Shapes) -> tuple[ir.Expr, ...]:
    """The factors of a product (finite if they are), if their tensors have fewer elements than it has points."""
    factors = tuple(ir.factors(value))
    if len(factors) == 1 or not all(isinstance(factor, ir.Access) for factor in factors):
        return (value,)
    elements = sum(prod(shapes[factor.tensor.name]) for factor in factors if isinstance(factor, ir.Access))
    return factors if elements < _points(step, value) else (value,)


def _points(step: Step, value: ir.Expr) -> int:
    return prod(hi - lo for lo, hi in (step.box[index] for index in ir.free_indices(value)))


def _bounded(step: Step, value: ir.Expr) -> tuple[Step, ir.Expr] | None:
    """Twice an upper bound of sums of data: if that is finite, so are they, in any order of summation."""
    most = transforms.magnitude(value) if ir.has_reduction(value) else None
    if most is None:
        return None
    box = dict(step.box)
    most = transforms.Renaming(box, step.box).renamed(most)
    return replace(step, box=box), ir.Binary("*", ir.Const(2.0, most.dtype), most, most.dtype)


def _whole(step: Step, value: ir.Expr, number: int, shapes: Shapes, origins: Shapes) -> tuple[Step, ir.Expr]:
    """The value, or all elements of its tensor, if these are fewer than the points that read them.

    An unread element may then cause the slower way to be used, which is correct for any data.
    """
    read = value.operand if isinstance(value, ir.Cast) else value
    if not isinstance(read, ir.Access):
        return step, value
    name = read.tensor.name
    if _points(step, value) <= prod(shapes[name]):
        return step, value
    axes = tuple(IndexVar(f"{name}{ir.MARK}{number}.{dimension}") for dimension in range(len(read.indices)))
    ends = {i: (lo, lo + extent) for i, lo, extent in zip(axes, origins[name], shapes[name], strict=True)}
    return replace(step, box={**step.box, **ends}), replace(read, indices=tuple(map(Affine.of, axes)))


def placed(
    step: Step, finite: Collection[ir.Expr], shape: tuple[int, ...], origin: tuple[int | Affine, ...]
) -> Step | None:
    """A statement that tests whether all points of a sum are scattered to positions inside the target of this shape and
    origin.

    None if the sum may omit one of the `finite` values for another reason.
    """
    statement = step.statement
    if not isinstance(statement, ir.Accumulate) or statement.reducer is not Reducer.SUM or not finite:
        return None
    left = (subscript.variables for subscript in statement.indices)
    used = ir.free_indices(statement.value).union(statement.reduction, *left)
    if ir.has_reduction(statement.value) or not all(ir.free_indices(value) <= used for value in finite):
        return None
    inside = list(ir.conjuncts(statement.domain.guard))
    for subscript, first, extent in zip(statement.indices, origin, shape, strict=True):
        if subscript.is_data:
            inside += ir.within(ir.integer(subscript - first), ir.Const(0, "int32"), ir.Const(extent, "int32"))
    has_place = ir.conjunction(inside)
    if not any(subscript.is_data for subscript in statement.indices) or has_place is None:
        return None
    target = ir.Tensor(f"{statement.target.name}{ir.MARK}places", "bool", ())
    reduction = tuple(sorted(ir.free_indices(has_place), key=str))
    if not reduction:
        return None
    every = ir.Accumulate(target, (), Reducer.ALL, True, reduction, has_place, "bool", span=statement.span)
    return replace(step, statement=every)


def tests_of_order(step: Step, disordered: Iterable[ir.Tensor]) -> Iterator[Step]:
    """Statements with the flags of tables, whether pointers decrease somewhere."""
    for number, tensor in enumerate(disordered):
        target = ir.Tensor(f"{step.statement.target.name}{ir.MARK}order{number}", "bool", ())
        asked = ir.Define(target, (), ir.Access(tensor, ()), span=step.statement.span)
        yield Step(asked, {})


def tensors(finite: Iterable[ir.Expr]) -> tuple[str, ...]:
    """The names of the tensors from which the values are computed."""
    return tuple(dict.fromkeys(access.tensor.name for value in finite for access in ir.accesses(value)))
