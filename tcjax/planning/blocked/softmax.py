"""Sums weighted by the exponentials of scores, and the scores' maximum: one pass over a loop."""

from collections.abc import Sequence
from dataclasses import replace

from ... import ir
from ...symbolic import IndexVar
from ..data.groups import Softmax, parts, statistic_name
from ..data.nests import Nest
from .batching import batched_together


def weighted(
    exponential: ir.Call,
    weight: Sequence[ir.Expr],
    reduce: ir.Reduce,
    guard: ir.Expr | None,
    indices: Sequence[IndexVar],
) -> ir.Reduce:
    """The sum of an exponential times the factors of its weight, in the types of `reduce`."""
    body = ir.Binary("*", exponential, ir.multiply(weight), exponential.dtype) if weight else exponential
    return replace(reduce, indices=tuple(indices), guard=guard, body=body)


def statistic_of(nest: Nest) -> tuple[int, str]:
    """The number of the statistic that a sum is relative to, and the type in which it was stored."""
    exponential, _ = parts(nest)
    match exponential:
        case ir.Call(_, (ir.Binary("-", _, shift),)):
            while isinstance(shift, ir.Cast) and not isinstance(shift.operand, ir.Access):
                shift = shift.operand
            read = shift.operand if isinstance(shift, ir.Cast) else shift
            assert isinstance(read, ir.Access)
            return int(read.tensor.name.removeprefix("m.")), shift.dtype
        case _:
            raise AssertionError(exponential)


def batched_softmax(softmax: Softmax, varying: Sequence[bool], size: int) -> tuple[Softmax, tuple[bool, ...]]:
    """The softmax batched over a new axis, and which results have it first."""
    count = len(softmax.statistics)
    names = [statistic_name(number) for number in range(count)]
    operands, results, moved = batched_together(softmax.operands, softmax.results, names, varying, size)
    return Softmax(operands, results[:count], results[count:]), moved
