"""Sums of products in which one factor slides along the other, such as correlations: band matrix products."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from ... import ir
from ...ir import Reducer
from ...symbolic import Affine, IndexVar
from ...transforms.factors import masked
from ..data.nodes import Band, Window
from ..rules import plan_value
from ..scope import Scope
from .reduction import Reduction, operand_of

# A block has about as many rows as there are shifts, which at most doubles the work, within limits. The row count is
# the smallest power of two that is at least this fraction of the shifts: for 41 shifts, 64 rows took 0.9 times as long
# as 32.
ROWS_EACH = 0.8
FEW_ROWS = 16
MOST_ROWS = 128


def propose(reduction: Reduction, scope: Scope) -> Iterator[Band]:
    """``O(x,d) +=! F(c,x) * G(c,x+d)``, or ``O(x,n) +=! P(x,d) * G(n,x+d)``, by blocks of `x`, if it is such a sum."""
    if reduction.reducer is not Reducer.SUM or len(reduction.factors) < 2:
        return
    if not ir.types.is_float(reduction.accumulate) or scope.is_term or scope.nests is None:
        return
    for way in _ways(reduction, scope):
        still, sliding = way.apart(reduction.factors)
        if _fits(way, still, sliding, reduction):
            yield _band(way, still, sliding, reduction, scope)


@dataclass(frozen=True, slots=True)
class _Way:
    """``subscript = stride*row + dilation*shift + base`` in a read: one factor slides along the others."""

    row: IndexVar
    shift: IndexVar
    subscript: Affine

    @property
    def position(self) -> IndexVar:
        """The index that replaces the subscript."""
        return IndexVar(f"{self.row}+{self.shift}")

    def apart(self, factors: Iterable[ir.Expr]) -> tuple[list[ir.Expr], list[ir.Expr]]:
        """The factors with rows or shifts, and those with positions only, rewritten in terms of these."""
        still: list[ir.Expr] = []
        sliding: list[ir.Expr] = []
        for factor in factors:
            # An index bound by an inner reduction is neither a row nor a shift.
            moved = factor if ir.has_reduction(factor) else self._slid(factor)
            free = ir.free_indices(moved)
            if self.position in free and free.isdisjoint((self.row, self.shift)):
                sliding.append(moved)
            else:
                still.append(factor)
        return still, sliding

    def _slid(self, expr: ir.Expr) -> ir.Expr:
        if not isinstance(expr, ir.Access):
            return ir.rebuild(expr, self._slid)
        apart = [index - self.subscript for index in expr.indices]
        moved = (a + self.position if a.constant is not None else i for a, i in zip(apart, expr.indices, strict=True))
        return replace(expr, indices=tuple(moved))


def _fits(way: _Way, still: Sequence[ir.Expr], sliding: Sequence[ir.Expr], reduction: Reduction) -> bool:
    """Whether the factors form matrices: both have the summed indices, except for the shift, which only the first may
    have.
    """
    left, right = _indices(still), _indices(sliding)
    with_shift = way.shift in reduction.indices
    summed = frozenset(reduction.indices) - {way.shift}
    if way.row not in left or not sliding or not summed <= left & right or not (summed or with_shift):
        return False
    guarded = frozenset[IndexVar]() if reduction.mask is None else ir.free_indices(reduction.mask)
    if not with_shift:
        # A guard would select a part of each product.
        return not guarded and way.shift not in left
    # A guard sets elements of a weight matrix to zero.
    return way.shift in left and guarded <= left


def _indices(factors: Iterable[ir.Expr]) -> frozenset[IndexVar]:
    return frozenset[IndexVar]().union(*map(ir.free_indices, factors))


def _ways(reduction: Reduction, scope: Scope) -> Iterator[_Way]:
    """Two indices that are added in a subscript, the rows first: they are an axis of the result."""
    free = _indices(reduction.factors)
    found: set[tuple[IndexVar, IndexVar]] = set()
    for access in (access for factor in reduction.factors for access in ir.accesses(factor)):
        for subscript in access.indices:
            variables = subscript.variables
            if len(variables) != 2 or not variables <= free or not subscript.is_linear:
                continue
            if any(scope.extent(variable) < 2 for variable in variables):
                continue
            for row in scope.sorted(variables.difference(reduction.indices)):
                [shift] = variables - {row}
                if (row, shift) not in found:
                    found.add((row, shift))
                    yield _Way(row, shift, subscript)


def _band(way: _Way, still: Sequence[ir.Expr], sliding: Sequence[ir.Expr], reduction: Reduction, scope: Scope) -> Band:
    row, shift, accumulate = way.row, way.shift, reduction.accumulate
    stride, dilation = (way.subscript.weight(index).constant for index in (row, shift))
    span = scope.bounds(way.subscript)
    assert stride is not None and dilation is not None and span is not None
    free = _indices(still) | _indices(sliding) | {shift}
    inside = scope.with_index(way.position, span[0], span[1] + 1, row)
    reach = max(1, abs(dilation) * scope.extent(shift) // abs(stride))
    rows = min(scope.extent(row), max(FEW_ROWS, min(MOST_ROWS, 1 << (ceil(ROWS_EACH * reach) - 1).bit_length())))
    return Band(
        operand_of(masked(reduction.mask, ir.multiply(still), 0), accumulate, scope),
        operand_of(ir.multiply(sliding), accumulate, inside),
        Window(way.position, row, shift, abs(stride), abs(dilation), dilation < 0, stride < 0),
        rows,
        None if reduction.mask is None else plan_value(reduction.mask, scope),
        None if reduction.around is None else plan_value(reduction.around, scope),
        dtype=accumulate,
        axes=scope.sorted(free.difference(reduction.indices, (way.position,))),
        why=f"`{shift}` slides along `{row}`: {rows} rows at a time are a product of matrices",
    )
