"""Gathers instead of scattering: ``y(S*i + k) +=! x(i) * w(k)`` as ``y(S*u + a) +=! x(u - p) * w(S*p + a)``.

A transposed convolution is a convolution for each of its S phases, and no values are stored and then combined.
"""

from collections.abc import Iterator
from dataclasses import replace

from ... import ir, transforms
from ...ir import Reducer
from ..data.stages import Compute
from .placement import Placement


def propose(placement: Placement) -> Iterator[Compute]:
    """The statement over the elements of its target, along each dimension in which two indices are added."""
    statement, box, plan = placement.statement, placement.box, placement.plan
    if plan is None or not isinstance(statement, ir.Accumulate) or not isinstance(statement.reducer, Reducer):
        return
    if statement.reducer.operator is None or any(lo >= hi for lo, hi in box.values()):
        return
    why: list[str] = []
    for dimension in range(len(statement.indices)):
        meeting = transforms.meeting(statement, dimension, box)
        if meeting is not None:
            statement, box = transforms.received(statement, meeting, box)
            why.append(f"points of `{meeting.outer}` and `{meeting.inner}` that meet in an element are reduced there")
    if why:
        found = plan(statement, box)
        yield replace(found, decided=(*why, *found.decided))
