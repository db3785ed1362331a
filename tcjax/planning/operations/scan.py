"""Reductions of every prefix, or of every suffix, of a row: one running reduction along it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from ... import ir
from ...ir import Reducer
from ...symbolic import IndexVar
from ...transforms.factors import non_negative
from ..access.reads import as_stored
from ..data.nodes import Node, Scan
from ..scope import Scope
from .reduction import Reduction, is_read

# Elements of a row that are combined one after the other: of more, XLA computes those in front again for each.
BLOCK: Final = 4
# Blocks of a row whose sums are added up one after the other, at most.
MOST_ROUNDED: Final = 256


def propose(reduction: Reduction, scope: Scope) -> Iterator[Node]:
    """``S(i) +=! x(j) where j <= i``, and the like with ``<``, ``>=``, ``>`` and a constant: an element is met once."""
    reducer, accumulate, factors = reduction.reducer, reduction.accumulate, reduction.factors
    if reducer.operator is None or reducer.takes_bool or accumulate == "bool":
        return
    conditions = ir.conjuncts(reduction.mask)
    for number, condition in enumerate(conditions):
        rest = (*conditions[:number], *conditions[number + 1 :])
        row = _row(condition, reduction, scope)
        if row is None or any(row.output in ir.free_indices(part) for part in (*rest, *factors)):
            continue
        alone = len(factors) == 1 and is_read(factors[0])
        if not alone and (reduction.around is not None or not row.is_whole(scope)):
            # An element that no result counts has a zero cotangent, which must not meet another factor's infinity.
            continue
        operand = _operand(replace(reduction, mask=ir.conjunction(rest), around=None), row.index, scope)
        if row.index in operand.axes:
            axes = scope.sorted((row.output, *(axis for axis in operand.axes if axis != row.index)))
            extent = scope.extent(row.output)
            way = "up" if row.rising else "down"
            why = f"`{row.index}` runs {way} to `{row.output}`: one pass meets each element once"
            places = row.index, row.output, extent, row.first, row.rising
            for looped in _ways(reducer, operand.dtype, scope.extent(row.index)):
                yield Scan(reducer, operand, *places, BLOCK, looped, dtype=operand.dtype, axes=axes, why=why)


def _ways(reducer: Reducer, dtype: str, extent: int) -> tuple[bool, ...]:
    """Whether blocks of a row may go one after the other: of floats, few sums, or each one would cost digits."""
    rounds = reducer.is_rounded and not ir.types.is_integral(dtype)
    return (False,) if rounds and extent > BLOCK * MOST_ROUNDED else (False, True)


@dataclass(frozen=True, slots=True)
class _Row:
    """The values of `index` up to `output`, or from there on where it is not `rising`.

    The first result ends, or begins, at position `first` of the row.
    """

    index: IndexVar
    output: IndexVar
    first: int
    rising: bool

    def is_whole(self, scope: Scope) -> bool:
        """Whether every element is part of some result."""
        last = self.first + scope.extent(self.output)
        return last >= scope.extent(self.index) if self.rising else self.first <= 0


def _row(condition: ir.Expr, reduction: Reduction, scope: Scope) -> _Row | None:
    """``j <= i`` as a row, for a reduced index `j`."""
    difference = non_negative(condition)
    if difference is None or not difference.is_linear or len(difference.variables) != 2:
        return None
    reduced = difference.variables & set(reduction.indices)
    if len(reduced) != 1 or difference.variables & scope.unrolled:
        return None
    [index], [output] = reduced, difference.variables - reduced
    slope = difference.weight(index).constant
    if slope not in (1, -1) or difference.weight(output).constant != -slope:
        return None
    ends = difference if slope == -1 else -difference
    first = ends.evaluate(lambda variable: scope.box[variable][0] if isinstance(variable, IndexVar) else 0, {})
    return _Row(index, output, first, slope == -1)


def _operand(reduction: Reduction, index: IndexVar, scope: Scope) -> Node:
    """What is reduced along an index: the rest of the reduction at each of its values."""
    rest = tuple(other for other in reduction.indices if other != index)
    if not rest:
        return as_stored(reduction.values(scope))
    return replace(reduction, indices=rest, is_term=False).cheapest(scope)
