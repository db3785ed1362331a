"""What tells whether values are finite, for statements that are planned for such values."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from .. import ir
from ..ir import Reducer
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


def tensors(finite: Iterable[ir.Expr]) -> tuple[str, ...]:
    """The names of what the values are computed of."""
    return tuple(dict.fromkeys(access.tensor.name for value in finite for access in ir.accesses(value)))
