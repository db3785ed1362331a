"""Reductions over spaces that are never stored."""

from dataclasses import dataclass, replace

from ... import ir
from ...ir import Reducer
from ...symbolic import Affine, IndexVar


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that a nest reads; `origin` is the subscript of its first element."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    origin: tuple[int | Affine, ...]


@dataclass(frozen=True, slots=True)
class Nest:
    """``(axes) -> reduce``: one reduction at every point of its free indices, in `reduce.dtype`.

    `box` has the half-open range of every index, including those of inner reductions; sizes are numbers, and given
    ranges have become guards. The result has one dimension for each axis.
    """

    reduce: ir.Reduce
    axes: tuple[IndexVar, ...]
    box: tuple[tuple[IndexVar, int, int], ...]
    operands: tuple[Operand, ...]

    @property
    def ranges(self) -> dict[IndexVar, tuple[int, int]]:
        return {index: (lo, hi) for index, lo, hi in self.box}

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        ranges = self.ranges
        return tuple(ranges[axis][1] - ranges[axis][0] for axis in self.axes)

    @property
    def results(self) -> "tuple[Nest, ...]":
        """The nest as a group of reductions that contains nothing else."""
        return (self,)

    @property
    def statistics(self) -> "tuple[Nest, ...]":
        """The results that others read: none."""
        return ()

    @property
    def sums(self) -> "tuple[Nest, ...]":
        """The results that no others read."""
        return (self,)

    @property
    def name(self) -> str:
        """A text that identifies the nest, and is the same in all processes."""
        box = ", ".join(f"{index} in {lo}:{hi}" for index, lo, hi in self.box)
        read = ", ".join(f"{o.name}: {o.dtype}{list(o.shape)} from {list(map(str, o.origin))}" for o in self.operands)
        return f"[{', '.join(map(str, self.axes))}] {ir.show_expr(self.reduce)} where {box} of {read}"

    @property
    def computed(self) -> "Nest":
        """A cheaper nest with the same values: at rank 0, an order statistic is an extremum.

        If several points attain it, an order statistic passes its derivative to the first one, an extremum to all.
        """
        reduce = as_extremum(self.reduce)
        return self if reduce is self.reduce else replace(self, reduce=reduce)


@dataclass(frozen=True, slots=True)
class LoopSchedule:
    """``loop = (t*unroll + u)*rows + r``: `t` is sequential, `u` is unrolled, `r` is vectorised.

    The accumulators have `rows` values for each element of the result, which are combined at the end; `inside` says
    that those of a block are combined within it, by a separate operation. With a `tile`, ``(axis, extent)``, the result
    is computed `extent` values of that axis at a time. `whole`: as one operation, of which XLA stores nothing. `sieve`:
    an order statistic finds the first value in each block of this many points, and then examines only the blocks whose
    values come first (0: it visits all points for each rank).
    """

    loop: IndexVar
    rows: int
    unroll: int
    tile: tuple[IndexVar, int] | None = None
    inside: bool = False
    whole: bool = False
    sieve: int = 0


def as_extremum(reduce: ir.Reduce) -> ir.Reduce:
    """The reduction; for the first value in order, a minimum or maximum, or its position.

    NaN comes first in both, and the first value on ties.
    """
    reducer, rank = reduce.reducer, reduce.rank
    if rank is None or not isinstance(reducer, Reducer) or ir.number_of(rank) != 0:
        return reduce
    return replace(reduce, reducer=reducer.variant(is_ranked=False), rank=None)
