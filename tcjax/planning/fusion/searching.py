"""Finds loop nests that form one search: the value of an extremum and its position, over the same points."""

from collections.abc import Sequence

from ... import ir
from ..blocked.extrema import search
from ..data.nests import Nest
from ..data.nodes import FusedReduction, LoopNest
from .changes import Changes
from .members import Place, Survey

Member = tuple[Place, Nest]


def searches(survey: Survey) -> Changes:
    """The nests of values and of positions as results of common loops."""
    groups: dict[object, list[Member]] = {}
    for place in survey.places:
        reduce = place.node.nest.computed.reduce
        sought = None if reduce.reducer.is_ranked else reduce.reducer.order
        if sought is None or len(reduce.indices) != 1 or reduce.accumulate != reduce.body.dtype:
            continue
        nest = survey.common(place)
        if nest is not None:
            own = nest.computed.reduce
            key = sought, own.body, own.guard, nest.axes, nest.box, place.node.whole.backend
            groups.setdefault(key, []).append((place, nest))
    changes: Changes = {}
    for members in groups.values():
        changes |= _changes(survey, members)
    return changes


def _changes(survey: Survey, members: Sequence[Member]) -> Changes:
    """One loop for the first position, the first value that can be computed as early, and all that equal them."""
    first = members[0][0].stage
    ready = [(p, n) for p, n in members if all(survey.is_ready(operand.name, first) for operand in n.operands)]
    places = [member for member in ready if member[1].reduce.reducer.gives_position]
    values = [member for member in ready if not member[1].reduce.reducer.gives_position]
    if not places or not values:
        return {}
    backend = places[0][0].node.whole.backend
    found = search(places[0][1], values[0][1], backend.memory)
    sources = tuple(survey.sources[operand.name] for operand in found.operands)
    whole = FusedReduction(found, sources, found.blocks, backend)
    changes: Changes = {}
    for number, alike in enumerate((places, values)):
        for place, nest in alike:
            if nest == found.results[number]:
                node = place.node
                shown = ir.show_expr(node.nest.reduce)
                changes[id(node)] = LoopNest(whole, number, shown, dtype=node.dtype, axes=node.axes)
    return changes
