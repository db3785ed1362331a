"""Reductions over the same points, which one loop computes."""

from dataclasses import dataclass

from ... import ir
from ...symbolic import IndexVar
from .nests import LoopSchedule, Nest, Operand


@dataclass(frozen=True, slots=True)
class Blocks:
    """How the pass runs: `width` values of `loop` at a time, for so many values of each axis of the `tile`.

    Of one that `follows` the guard, each tile has one block, which is where the guard may hold.
    """

    loop: IndexVar
    width: int
    tile: tuple[tuple[IndexVar, int], ...]
    follows: bool = False


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


def parts(nest: Nest) -> tuple[ir.Call, ir.Expr | None]:
    """The exponential of a sum and its weight; None is 1."""
    match nest.reduce.body:
        case ir.Call() as exponential:
            return exponential, None
        case ir.Binary("*", ir.Call() as exponential, weight):
            return exponential, weight
        case body:
            raise AssertionError(body)


@dataclass(frozen=True, slots=True)
class KernelSums:
    """The `sums`, in which indices mean the same, as do the names of `operands`."""

    operands: tuple[Operand, ...]
    sums: tuple[Nest, ...]

    @property
    def statistics(self) -> tuple[Nest, ...]:
        """None: a softmax has some."""
        return ()

    @property
    def results(self) -> tuple[Nest, ...]:
        return self.sums

    @property
    def ranges(self) -> dict[IndexVar, tuple[int, int]]:
        return {index: (lo, hi) for nest in self.sums for index, lo, hi in nest.box}


@dataclass(frozen=True, slots=True)
class Extrema:
    """The `place` and the `value` of an extremum, and the number of `ties` where it is wanted, all of them nests.

    Indices mean the same in all nests. The number of ties reads the others as the tensors of `statistic_name`. The
    loop has the `form` that it has for the place alone.
    """

    place: Nest
    value: Nest
    form: LoopSchedule
    ties: Nest | None = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.place.operands

    @property
    def statistics(self) -> tuple[Nest, ...]:
        """All results."""
        return (self.place, self.value) if self.ties is None else (self.place, self.value, self.ties)

    @property
    def sums(self) -> tuple[Nest, ...]:
        """None: a softmax has some."""
        return ()

    @property
    def results(self) -> tuple[Nest, ...]:
        return self.statistics

    @property
    def ranges(self) -> dict[IndexVar, tuple[int, int]]:
        return self.place.ranges

    @property
    def blocks(self) -> Blocks:
        """How much of the loop one trip has."""
        form = self.form
        return Blocks(form.loop, form.rows * form.unroll, () if form.tile is None else (form.tile,))


Group = Nest | Softmax | KernelSums | Extrema
