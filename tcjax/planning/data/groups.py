"""Reductions over the same points, computed by one loop."""

from dataclasses import dataclass

from ... import ir
from ...symbolic import IndexVar
from .nests import LoopSchedule, Nest, Operand


@dataclass(frozen=True, slots=True)
class Blocks:
    """How the pass runs: `width` values of `loop` at a time, for a `tile` of the axes.

    If it `follows` the guard, each tile has one block, located where the guard may hold.
    """

    loop: IndexVar
    width: int
    tile: tuple[tuple[IndexVar, int], ...]
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Softmax:
    """`statistics` of the same scores, and `sums` of ``exp(scores - statistic) * weight``, all of them nests.

    A statistic is a maximum or a logsumexp; a sum reads it as the tensor named by `statistic_name`. Indices and names
    of `operands` have the same meaning in all nests.
    """

    operands: tuple[Operand, ...]
    statistics: tuple[Nest, ...]
    sums: tuple[Nest, ...]

    @property
    def results(self) -> tuple[Nest, ...]:
        return (*self.statistics, *self.sums)

    @property
    def rows(self) -> tuple[IndexVar, ...]:
        """The axes of the scores; the loop runs for each of their values."""
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
    """The name of a statistic in the sums; no program uses such a name."""
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
    """The `sums`; indices and names of `operands` have the same meaning in all of them."""

    operands: tuple[Operand, ...]
    sums: tuple[Nest, ...]

    @property
    def statistics(self) -> tuple[Nest, ...]:
        """None: only a softmax has statistics."""
        return ()

    @property
    def results(self) -> tuple[Nest, ...]:
        return self.sums

    @property
    def ranges(self) -> dict[IndexVar, tuple[int, int]]:
        return {index: (lo, hi) for nest in self.sums for index, lo, hi in nest.box}


@dataclass(frozen=True, slots=True)
class Extrema:
    """The `place` and the `value` of an extremum, and the number of `ties` if needed, all of them nests.

    Indices have the same meaning in all nests. The number of ties reads the others as the tensors of `statistic_name`.
    The loop has the schedule `form` of the position alone.
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
        """None: only a softmax has such sums."""
        return ()

    @property
    def results(self) -> tuple[Nest, ...]:
        return self.statistics

    @property
    def ranges(self) -> dict[IndexVar, tuple[int, int]]:
        return self.place.ranges

    @property
    def blocks(self) -> Blocks:
        """How much of the loop is in one trip."""
        form = self.form
        return Blocks(form.loop, form.rows * form.unroll, () if form.tile is None else (form.tile,))


Group = Nest | Softmax | KernelSums | Extrema
