"""Left sides that wrap around the end of a dimension: ``O((i + 3) % N) = A(i)`` becomes ``O(i') = A((i' - 3) % N)``."""

from dataclasses import replace
from typing import TypeVar

from .. import ir
from ..symbolic import Affine, Box, IndexVar
from ..symbolic.affine import Remainder
from .subscripts import Known
from .substitution import substitute

Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")


def turn(statement: Formula, box: Box, fixed: frozenset[IndexVar] = frozenset()) -> tuple[Formula, Box]:
    """The statement over the positions that it writes, if an index wraps around once; and their ranges.

    Sizes must be numbers, and given ranges guards. The `fixed` indices are kept.
    """
    for number, subscript in enumerate(statement.indices):
        others = (index.variables for n, index in enumerate(statement.indices) if n != number)
        found = _turned(subscript, box)
        if found is None or found[0] in fixed.union(*others):
            continue
        index, place, extent, value = found
        ranges = {place if old == index else old: (0, extent) if old == index else ends for old, ends in box.items()}
        reduction = statement.reduction if isinstance(statement, ir.Accumulate) else ()
        moved = substitute(statement, {index: value}, reduction, Known.over(ranges).simplify)
        left = list(moved.indices)
        left[number] = Affine.of(place) + subscript.base
        return turn(replace(moved, indices=tuple(left)), ranges, fixed)
    return statement, box


def _turned(subscript: Affine, box: Box) -> tuple[IndexVar, IndexVar, int, Affine] | None:
    """An index, a new one for its position, the number of positions, and the old index in terms of the new one.

    None unless the subscript is ``(i + s) % n`` or ``(s - i) % n`` and i has n values.
    """
    if len(subscript.terms) != 1:
        return None
    ((atom, weight),) = subscript.terms
    if not isinstance(atom, Remainder) or weight.constant != 1 or len(atom.argument.terms) != 1:
        return None
    ((index, step),) = atom.argument.terms
    extent, shift, sign = atom.divisor.constant, atom.argument.base.constant, step.constant
    if not isinstance(index, IndexVar) or extent is None or shift is None or sign is None or abs(sign) != 1:
        return None
    lo, hi = box.get(index, (0, 0))
    if hi - lo != extent:
        return None
    place = IndexVar(f"{index.name}'", index.tag)
    while place in box:
        place = IndexVar(place.name, place.tag + 1)
    return index, place, extent, lo + ((Affine.of(place) - shift).scale(sign) - lo).remainder(extent)
