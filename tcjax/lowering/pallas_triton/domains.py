"""The bounds of a kernel's loop: the range of its index, restricted by affine guards in one tile."""

from collections.abc import Iterable

from ... import ir
from ...symbolic import AllOf, AtLeastZero, Condition, IndexVar
from .frames import Frame, Integer, maximum, minimum, quotient


def inequalities(guard: ir.Expr | None) -> tuple[AtLeastZero, ...]:
    """Linear conditions on indices that hold wherever the guard does."""
    return () if guard is None else tuple(_linear(ir.condition_of(guard)))


def _linear(condition: Condition) -> Iterable[AtLeastZero]:
    match condition:
        case AtLeastZero(affine) if affine.is_linear and affine.terms:
            yield condition
        case AllOf(parts):
            for part in parts:
                yield from _linear(part)
        case _:
            return


def limits(index: IndexVar, conditions: Iterable[AtLeastZero], frame: Frame) -> tuple[Integer, Integer]:
    """The half-open range outside which no point of the tile is active.

    In ``w*index + rest >= 0`` the rest is at most its maximum over the tile: a triangle or a band becomes a loop that
    ends, or begins, where the last lane of the tile needs it. The guard itself still masks the other lanes.
    """
    lo: Integer
    hi: Integer
    lo, hi = frame.ranges[index]
    for condition in conditions:
        weight = condition.affine.weight(index).constant
        if not weight:
            continue
        rest = _greatest(condition, index, frame)
        if rest is None:
            continue
        if weight > 0:
            # index >= ceil(-rest / weight)
            lo = maximum(lo, -quotient(rest, weight, nonnegative=False))
        else:
            hi = minimum(hi, quotient(rest, -weight, nonnegative=False) + 1)
    return lo, hi


def _greatest(condition: AtLeastZero, index: IndexVar, frame: Frame) -> Integer | None:
    """The maximum over the tile of all terms but the index's own."""
    total: Integer = condition.affine.base.constant or 0
    for atom, weight in condition.affine.terms:
        factor = weight.constant
        if atom == index:
            continue
        if factor is None or not isinstance(atom, IndexVar):
            return None
        if atom in frame.spans:
            first, last = frame.spans[atom]
        elif atom in frame.ranges:
            first, last = frame.ranges[atom][0], frame.ranges[atom][1] - 1
        else:
            return None
        total = total + factor * (last if factor > 0 else first)
    return total
