"""Sums of products that can be computed as matrix products, block by block, and the memory for a block."""

from dataclasses import dataclass
from math import prod

from ... import ir
from ...symbolic import IndexVar
from ...transforms.factors import distributed, non_negative, summands
from ..data.nests import Nest


@dataclass(frozen=True, slots=True)
class Matrices:
    """The `axes` of the largest factor of a block, besides the index of the loop."""

    axes: frozenset[IndexVar]
    points: int


def as_matrices(nest: Nest, loop: IndexVar) -> Matrices | None:
    """The largest factor of a sum of products, if one of the products has two factors that each have an axis of their
    own.
    """
    reduce, ranges = nest.reduce, nest.ranges
    if reduce.reducer is not ir.Reducer.SUM or not ir.types.is_float(reduce.accumulate):
        return None
    nothing = frozenset[IndexVar]()
    guarded = nothing if reduce.guard is None else ir.free_indices(reduce.guard)
    spaces: list[frozenset[IndexVar]] = []
    mixed = False
    own = frozenset(nest.axes)
    terms = [term for summand in summands(reduce.body) for term in distributed(summand, nothing)]
    for term in terms:
        found = [ir.free_indices(factor) for factor in term.factors]
        mask = guarded if term.mask is None else guarded | ir.free_indices(term.mask)
        walked = [space for space in found if loop in space]
        if any((a & own) - b and (b & own) - a for a in walked for b in walked):
            # Where the mask is false, a factor with its indices is zero.
            if mask and not any(mask <= space for space in found):
                return None
            mixed = True
            spaces += [space | mask if mask <= space else space for space in walked]
        else:
            spaces.append(mask.union(*found))
    if not mixed:
        return None

    def points(space: frozenset[IndexVar]) -> int:
        return prod(ranges[index][1] - ranges[index][0] for index in space if index != loop)

    # Ties are broken by name, so that plans are reproducible.
    largest = max(sorted(spaces, key=lambda space: sorted(map(str, space))), key=points)
    return Matrices(largest & own, points(largest))


def guarded_axis(nest: Nest, loop: IndexVar) -> IndexVar | None:
    """The longest axis that an affine guard ties to the index of the loop."""
    if nest.reduce.guard is None:
        return None
    found = [affine for part in ir.conjuncts(nest.reduce.guard) if (affine := non_negative(part)) is not None]
    related = {atom for affine in found if loop in affine.variables for atom in affine.variables}
    extents = dict(zip(nest.axes, nest.shape, strict=True))
    return max((axis for axis in nest.axes if axis in related), key=lambda axis: extents[axis], default=None)
