"""Two indices added in one dimension of a left side, rewritten as what each element receives.

``y(S*i + k) +=! x(i) * w(k)`` is ``y(S*u + a) +=! x(u - p) * w(S*p + a)``.
"""

from dataclasses import dataclass, replace

from .. import ir
from ..symbolic import Affine, Box, IndexVar
from .substitution import substitute


@dataclass(frozen=True, slots=True)
class Meeting:
    """``step * (stride*outer + inner)``: the range of `inner` is a multiple of the stride."""

    outer: IndexVar
    inner: IndexVar
    stride: int


def meeting(statement: ir.Accumulate, dimension: int, box: Box) -> Meeting | None:
    """The two indices added in a dimension of the left side, if they occur in no other."""
    subscript = statement.indices[dimension]
    others = (other.variables for number, other in enumerate(statement.indices) if number != dimension)
    if not subscript.is_linear or len(subscript.terms) != 2 or any(subscript.variables & other for other in others):
        return None
    weights = {atom: weight.constant or 0 for atom, weight in subscript.terms if isinstance(atom, IndexVar)}
    # With equal weights, the index with fewer values is the window's.
    inner, outer = sorted(weights, key=lambda i: (abs(weights[i]), box[i][1] - box[i][0], str(i)))
    stride, rest = divmod(weights[outer], weights[inner])
    if rest or stride < 1 or any(end % stride for end in box[inner]):
        return None
    return Meeting(outer, inner, stride)


def received(statement: ir.Accumulate, meeting: Meeting, box: Box) -> tuple[ir.Accumulate, Box]:
    """The statement with the index ``u = outer + p`` over its elements, where ``inner = stride*p + a``."""
    outer, inner, stride = meeting.outer, meeting.inner, meeting.stride
    (low, high), (first, last) = box[outer], (end // stride for end in box[inner])
    # Programs do not use such index names.
    place, step, phase = IndexVar(f"{outer}+{inner}"), IndexVar(f"{inner}/"), IndexVar(f"{inner}%")
    ends = {place: (low + first, high + last - 1), step: (first, last), phase: (0, stride)}
    around = {**{index: box[index] for index in box if index not in (outer, inner)}, **ends}
    origin = Affine.of(place) - step
    values = {outer: origin, inner: Affine.of(step).scale(stride) + phase}
    found = substitute(statement, values, (step, *statement.reduction))
    inside = ir.within(ir.integer(origin), ir.Const(low, "int32"), ir.Const(high, "int32"))
    guard = ir.conjunction((*inside, *ir.conjuncts(found.domain.guard)))
    return replace(found, domain=replace(found.domain, guard=guard)), around
