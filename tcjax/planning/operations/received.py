"""What each element receives: ``y(S*i + k) +=! x(i) * w(k)`` as ``y(S*u + a) +=! x(u - p) * w(S*p + a)``.

A transposed convolution is the convolution of each of its S phases, and no values are stored that then meet.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ... import ir, transforms
from ...ir import Reducer
from ...symbolic import Affine, Box, IndexVar
from ..data.stages import Compute
from .placement import Placement


def propose(placement: Placement) -> Iterator[Compute]:
    """The statement over the elements of its target, along each dimension in which two indices meet."""
    statement, box, plan = placement.statement, placement.box, placement.plan
    if plan is None or not isinstance(statement, ir.Accumulate) or not isinstance(statement.reducer, Reducer):
        return
    if statement.reducer.operator is None or any(lo >= hi for lo, hi in box.values()):
        return
    why: list[str] = []
    for dimension in range(len(statement.indices)):
        meeting = _meeting(statement, dimension, box)
        if meeting is not None:
            statement, box = _received(statement, meeting, box)
            why.append(f"points of `{meeting.outer}` and `{meeting.inner}` that meet in an element are reduced there")
    if why:
        found = plan(statement, box)
        yield replace(found, decided=(*why, *found.decided))


@dataclass(frozen=True, slots=True)
class _Meeting:
    """``step * (stride*outer + inner)``: the range of `inner` is whole multiples of the stride."""

    outer: IndexVar
    inner: IndexVar
    stride: int


def _meeting(statement: ir.Accumulate, dimension: int, box: Box) -> _Meeting | None:
    """The two indices that meet in a dimension of the left side, and are in no other one."""
    subscript = statement.indices[dimension]
    others = (other.variables for number, other in enumerate(statement.indices) if number != dimension)
    if not subscript.is_linear or len(subscript.terms) != 2 or any(subscript.variables & other for other in others):
        return None
    weights = {atom: weight.constant or 0 for atom, weight in subscript.terms if isinstance(atom, IndexVar)}
    # Of equal weights the one with fewer values is that of a window.
    inner, outer = sorted(weights, key=lambda i: (abs(weights[i]), box[i][1] - box[i][0], str(i)))
    stride, rest = divmod(weights[outer], weights[inner])
    if rest or stride < 1 or any(end % stride for end in box[inner]):
        return None
    return _Meeting(outer, inner, stride)


def _received(statement: ir.Accumulate, meeting: _Meeting, box: Box) -> tuple[ir.Accumulate, Box]:
    """The statement with the index ``u = outer + p`` of its elements, where ``inner = stride*p + a``."""
    outer, inner, stride = meeting.outer, meeting.inner, meeting.stride
    (low, high), (first, last) = box[outer], (end // stride for end in box[inner])
    # No program names indices so.
    place, step, phase = IndexVar(f"{outer}+{inner}"), IndexVar(f"{inner}/"), IndexVar(f"{inner}%")
    ends = {place: (low + first, high + last - 1), step: (first, last), phase: (0, stride)}
    around = {**{index: box[index] for index in box if index not in (outer, inner)}, **ends}
    origin = Affine.of(place) - step
    values = {outer: origin, inner: Affine.of(step).scale(stride) + phase}
    found = transforms.substitute(statement, values, (step, *statement.reduction))
    inside = ir.within(ir.integer(origin), ir.Const(low, "int32"), ir.Const(high, "int32"))
    guard = ir.conjunction((*inside, *ir.conjuncts(found.domain.guard)))
    return replace(found, domain=replace(found.domain, guard=guard)), around
