"""Splits a sum of a product with data-selected rows or matrices into successive sums with fewer factors.

``O(t,d) +=! x(t,n) * A(I(t),n,r) * B(I(t),r,d)`` is ``T(t,r) +=! x(t,n) * A(I(t),n,r)``, then
``O(t,d) +=! T(t,r) * B(I(t),r,d)``. As separate statements, both may be computed without storing the selected matrices.
"""

from collections.abc import Sequence
from math import prod

from .. import ir
from ..ir import Reducer
from ..symbolic import Box, IndexVar
from .factors import depends, summands
from .separable import Separated, summed_first


def paired(total: ir.Reduce, box: Box, name: str, order: Sequence[IndexVar]) -> Separated | None:
    """The sum over one index first, into a tensor `name` whose axes follow `order`: the index whose sum has the fewest
    points.

    None if no factor is a lookup, or every factor has the index.
    """
    if total.reducer is not Reducer.SUM or total.fixed or not ir.types.is_float(total.accumulate):
        return None
    if len(total.indices) < 2 or not ir.looks_up(total.body):
        return None
    products = summands(total.body)
    if len(products) > 1 or products[0].mask is not None:
        return None
    (product,) = products

    def points(indices: frozenset[IndexVar]) -> int:
        return prod(box[index][1] - box[index][0] for index in indices)

    found: list[tuple[int, Separated]] = []
    for index in total.indices:
        own = frozenset((index,))
        inside = [factor for factor in product.factors if depends(factor, own)]
        outside = [factor for factor in product.factors if not depends(factor, own)]
        # An infinite factor must not multiply the zero of a sum without points.
        guarded = any(depends(guard, own) for guard in ir.conjuncts(total.guard)) or not points(own)
        if len(inside) < 2 or not outside or guarded:
            continue
        space = frozenset[IndexVar]().union(*map(ir.free_indices, inside))
        left = space.union(*map(ir.free_indices, outside)) - own
        separated = summed_first(total, index, inside, outside, box, name, order)
        found.append((points(space) + points(left), separated.negated if product.negative else separated))
    return min(found, key=lambda pair: pair[0])[1] if found else None
