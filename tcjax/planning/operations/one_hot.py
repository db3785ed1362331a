"""A condition for each of a few positions: ``O(I(n)) +=! X(n)`` as ``O(b) +=! X(n) where b == I(n)``."""

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Final

from ... import ir
from ...ir import Reducer
from ...symbolic import Affine, IndexVar
from ..data.stages import Compute
from .placement import Placement

# With more positions than this, a condition for each of them is never cheaper.
FEW_PLACES: Final = 16


def propose(placement: Placement) -> Iterator[Compute]:
    """The reduction over all points for each element of the target, masked to those that data sends there."""
    statement, plan = placement.statement, placement.plan
    if plan is None or not isinstance(statement, ir.Accumulate) or not isinstance(statement.reducer, Reducer):
        return
    data = [number for number, subscript in enumerate(statement.indices) if subscript.is_data]
    places = prod(placement.stage.shape[number] for number in data)
    if not statement.reducer.commutative or not data or not 0 < places <= FEW_PLACES:
        return
    box, conditions, left = dict(placement.box), list(ir.conjuncts(statement.domain.guard)), list(statement.indices)
    for number in data:
        # No program uses such index names.
        place = IndexVar(f"place.{number}")
        first = placement.origin[number]
        box[place] = (first, first + placement.stage.shape[number])
        conditions.append(ir.Binary("==", ir.Index(place), ir.integer(statement.indices[number]), "bool"))
        left[number] = Affine.of(place)
    kept = frozenset[IndexVar]().union(*(subscript.variables for subscript in left))
    met = {index for number in data for index in statement.indices[number].variables} - kept
    reduction = (*statement.reduction, *sorted(met - {*statement.reduction}, key=str))
    # Where no point names an element, none restarts.
    if not reduction or any(box[index][0] >= box[index][1] for index in met):
        return
    domain = replace(statement.domain, guard=ir.conjunction(conditions))
    yield plan(replace(statement, indices=tuple(left), reduction=reduction, domain=domain), box)
