"""Sums that are weighted by the exponentials of scores, and the scores' largest value: one pass over a loop."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .. import ir
from ..symbolic import IndexVar
from ..transforms.factors import multiply
from .batching import batched_together
from .nests import Nest, Operand


@dataclass(frozen=True, slots=True)
class Blocks:
    """How the pass runs: `width` values of `loop` at a time, for so many values of each axis of the `tile`."""

    loop: IndexVar
    width: int
    tile: tuple[tuple[IndexVar, int], ...]


@dataclass(frozen=True, slots=True)
class Softmax:
    """`statistics` of the same scores, and `sums` of ``exp(scores - statistic) * weight``, all of them nests.

    A statistic is a maximum or a logarithm of a sum of exponentials; a sum reads it as the tensor that
    `statistic_name` names. Indices mean the same in all nests, as do the names of `operands`.
    """

    operands: tuple[Operand, ...]
    statistics: tuple[Nest, ...]
    sums: tuple[Nest, ...]

    @property
    def results(self) -> tuple[Nest, ...]:
        return (*self.statistics, *self.sums)

    @property
    def rows(self) -> tuple[IndexVar, ...]:
        """The axes of the scores, for each value of which the loop runs."""
        return self.statistics[0].axes

    @property
    def ranges(self) -> dict[IndexVar, tuple[int, int]]:
        return {index: (lo, hi) for nest in self.results for index, lo, hi in nest.box}

    @property
    def guard(self) -> ir.Expr | None:
        return self.sums[0].reduce.guard

    @property
    def scores(self) -> ir.Expr:
        exponential, _ = parts(self.sums[0])
        match exponential:
            case ir.Call(_, (ir.Binary("-", scores, _),)):
                return scores
            case _:
                raise AssertionError(exponential)


def statistic_name(number: int) -> str:
    """What the sums call a statistic; no program has such a name."""
    return f"m.{number}"


def weighted(
    exponential: ir.Call,
    weight: Sequence[ir.Expr],
    reduce: ir.Reduce,
    guard: ir.Expr | None,
    indices: Sequence[IndexVar],
) -> ir.Reduce:
    """The sum of an exponential times the factors of its weight, in the types of `reduce`."""
    body = ir.Binary("*", exponential, multiply(weight), exponential.dtype) if weight else exponential
    return replace(reduce, indices=tuple(indices), guard=guard, body=body)


def parts(nest: Nest) -> tuple[ir.Call, ir.Expr | None]:
    """The exponential of a sum and its weight; None is 1."""
    match nest.reduce.body:
        case ir.Call() as exponential:
            return exponential, None
        case ir.Binary("*", ir.Call() as exponential, weight):
            return exponential, weight
        case body:
            raise AssertionError(body)


def statistic_of(nest: Nest) -> tuple[int, str]:
    """The number of the statistic that a sum is relative to, and the type that it was stored in between."""
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
    """The softmax for every element of a new axis, and which results have it in front."""
    count = len(softmax.statistics)
    names = [statistic_name(number) for number in range(count)]
    operands, results, moved = batched_together(softmax.operands, softmax.results, names, varying, size)
    return Softmax(operands, results[:count], results[count:]), moved
