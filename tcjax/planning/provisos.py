"""What tells whether values are finite, for statements that are planned for such values."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine
from ..transforms import Step

# A statement is compiled in two ways only where the one for finite values costs so much less.
WORTH: Final = 0.7


def tests(step: Step, finite: Iterable[ir.Expr]) -> Iterator[Step]:
    """Statements whose results are zero only where the values are finite at all points: sums of zero times them."""
    for number, value in enumerate(finite):
        accumulate = ir.types.accumulator(value.dtype)
        # No program names a tensor so.
        target = ir.Tensor(f"{step.statement.target.name}~{number}", accumulate, ())
        zero = ir.Binary("*", ir.Const(0.0, value.dtype), value, value.dtype)
        reduction = tuple(sorted(ir.free_indices(value), key=str))
        total = ir.Accumulate(target, (), Reducer.SUM, True, reduction, zero, accumulate, span=step.statement.span)
        if not reduction:
            body = zero if value.dtype == accumulate else ir.Cast(zero, accumulate)
            yield replace(step, statement=ir.Define(target, (), body, span=step.statement.span))
            continue
        yield replace(step, statement=total)


def placed(
    step: Step, finite: Collection[ir.Expr], shape: tuple[int, ...], origin: tuple[int | Affine, ...]
) -> Step | None:
    """A statement that tells whether all points of a sum into places have one in the target, of this shape and origin.

    None where the sum may leave out one of the `finite` values for another reason than that.
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
            place = ir.integer(subscript - first)
            inside.append(ir.Binary("<=", ir.Const(0, "int32"), place, "bool"))
            inside.append(ir.Binary("<", place, ir.Const(extent, "int32"), "bool"))
    has_place = ir.conjunction(inside)
    if not any(subscript.is_data for subscript in statement.indices) or has_place is None:
        return None
    target = ir.Tensor(f"{statement.target.name}~places", "bool", ())
    reduction = tuple(sorted(ir.free_indices(has_place), key=str))
    if not reduction:
        return None
    every = ir.Accumulate(target, (), Reducer.ALL, True, reduction, has_place, "bool", span=statement.span)
    return replace(step, statement=every)


def tensors(finite: Iterable[ir.Expr]) -> tuple[str, ...]:
    """The names of what the values are computed of."""
    return tuple(dict.fromkeys(access.tensor.name for value in finite for access in ir.accesses(value)))
