"""Sums at each of a few shifts of one tensor against others, such as the derivative of a window with respect to its
weights.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from ... import ir
from ...ir import Reducer
from ...symbolic import IndexVar
from ..access.reads import is_window
from ..data.nodes import Axes, Contract, Fold, Node, looks_up
from ..scope import Scope
from .reduction import Reduction

# XLA compiles this many sums in one loop in a fraction of a second.
MOST_SHIFTS = 64
# The sum along one axis is sequential: with more terms it loses digits.
LONGEST = 1 << 13


def propose(reduction: Reduction, scope: Scope) -> Iterator[Fold]:
    """``S(k) +=! x(i + k) * y(i)`` for the few values of `k`: every sum in the same pass over `i`, if it is such a sum.

    Separately, each would read all of its operands again. There are at most as many points as one tensor has elements:
    for operands broadcast along several axes, or that also slide inside the sum, matrix products are better, one per
    shift.
    """
    reduced, factors = frozenset(reduction.indices), reduction.factors
    is_sum = reduction.reducer is Reducer.SUM and ir.types.is_float(reduction.accumulate)
    if scope.is_term or not factors or not is_sum:
        return
    body = reduction.body
    free = ir.free_indices(body)
    sliding = [
        subscript.variables
        for access in ir.accesses(body)
        for subscript in access.indices
        if subscript.variables & reduced and is_window(subscript, scope)
    ]
    # An inner reduction has its own indices.
    shifts = scope.sorted(frozenset[IndexVar]().union(*sliding) & free - reduced)
    if not shifts or scope.points(shifts) > MOST_SHIFTS or max(map(scope.extent, reduced)) > LONGEST:
        return
    inside = scope.unrolling(shifts)
    yield from _products(reduction, shifts, frozenset[IndexVar]().union(*sliding), inside, scope)
    largest = max(prod(scope.shapes[access.tensor.name]) for access in ir.accesses(body))
    if scope.points(free - inside.unrolled) > largest:
        return
    operand = reduction.values(inside)
    if looks_up(operand) or not reduced <= set(operand.axes):
        return
    why = f"{scope.points(shifts)} sums in one pass over their operands"
    yield _shifted(operand, reduced, shifts, why, scope)


def _products(
    reduction: Reduction, shifts: Axes, sliding: frozenset[IndexVar], inside: Scope, scope: Scope
) -> Iterator[Fold]:
    """A matrix product for each shift, which sums along the sliding index, and the sums of these.

    A convolution would have the shifts as its result, and groups that would each be a convolution.
    """
    along = tuple(index for index in reduction.indices if index in sliding)
    rest = frozenset(reduction.indices) - sliding
    if not rest or len(reduction.factors) != 2 or reduction.guard is not None:
        return
    product = replace(reduction, indices=along, is_term=False).cheapest(inside)
    if isinstance(product, Contract) and rest <= set(product.axes) and not looks_up(product):
        why = f"{scope.points(shifts)} shifts: a product of matrices for each"
        yield _shifted(replace(product, why=why), rest, shifts, why, scope)


def _shifted(operand: Node, reduced: frozenset[IndexVar], shifts: Axes, why: str, scope: Scope) -> Fold:
    """The operand summed at each of the shifts."""
    box = tuple((index, *scope.box[index]) for index in shifts)
    axes = scope.sorted((*shifts, *(axis for axis in operand.axes if axis not in reduced)))
    return Fold(Reducer.SUM, operand, scope.sorted(reduced), shifts=box, dtype=operand.dtype, axes=axes, why=why)
