"""Finds loop nests that form one pass: the maximum of some scores, and sums weighted by their exponentials."""

from collections import Counter
from collections.abc import Iterable, Sequence

from ... import ir
from ...symbolic import Affine, Size
from ..blocked.softmax import weighted
from ..blocked.softmax_blocks import choose
from ..data.groups import Softmax, statistic_name
from ..data.nests import Nest, Operand
from ..data.nodes import Axes, FusedReduction, LoopNest
from ..data.preferences import Preferences
from ..data.stages import Stage
from .changes import Changes, with_changes
from .members import Statistic, Sum, Survey, nest_over
from .scores import Key, relative


def fuse(stages: Sequence[Stage], initial: Iterable[str], preferences: Preferences) -> tuple[Stage, ...]:
    """The stages with nests that share their scores as results of one pass."""
    found = Survey(stages, Counter(iter(initial)), preferences)
    changes: Changes = {}
    for sums in _groups(found):
        changes |= _fused(found, sums)
    return with_changes(stages, changes)


def _groups(survey: Survey) -> Iterable[list[Sum]]:
    """The sums of the same scores over the same loop."""
    members: dict[tuple[Key, object], list[Sum]] = {}
    for place in survey.places:
        found = next(survey.sums(place), None)
        if found is not None:
            group = found.statistic.key, _spans(found.statistic.nest, found.loops)
            members.setdefault(group, []).append(found)
    return members.values()


def _spans(nest: Nest, loops: Axes) -> object:
    """The ranges of the axes and of the loops."""
    ranges = nest.ranges
    return tuple(ranges[axis] for axis in nest.axes), tuple(ranges[loop] for loop in loops)


def _fused(survey: Survey, sums: list[Sum]) -> Changes:
    """One pass for the sums whose operands are available when its first result is needed."""
    statistics = {id(found.statistic.place.node): found.statistic for found in sums}
    first = min(statistic.place.stage for statistic in statistics.values())
    sums = [found for found in sums if all(survey.is_ready(source, first) for source in found.sources)]
    statistics = {id(found.statistic.place.node): found.statistic for found in sums}
    if not sums or min(statistic.place.stage for statistic in statistics.values()) != first:
        return {}
    softmax, numbers = _softmax(tuple(statistics.values()), sums)
    sources = tuple(survey.sources[operand.name] for operand in softmax.operands)
    backend = sums[0].place.node.whole.backend
    whole = FusedReduction(softmax, sources, choose(softmax, backend.memory), backend)
    places = [part.place for part in (*statistics.values(), *sums)]
    found: Changes = {}
    for place, number in zip(places, numbers, strict=True):
        shown = ir.show_expr(place.node.nest.reduce)
        found[id(place.node)] = LoopNest(whole, number, shown, dtype=place.node.dtype, axes=place.node.axes)
    return found


def _softmax(statistics: tuple[Statistic, ...], sums: list[Sum]) -> tuple[Softmax, list[int]]:
    """The softmax, and for each statistic and sum the number of its result; equal nests share one."""
    kept = list(dict.fromkeys(statistic.nest for statistic in statistics))
    numbers = [kept.index(statistic.nest) for statistic in statistics]
    operands: dict[str, Operand] = {o.name: o for nest in kept for o in nest.operands}
    dtype = sums[0].exponent.call.dtype
    scores = ir.summed(sums[0].exponent.terms, dtype)
    weighed: list[Nest] = []
    for found in sums:
        number = kept.index(found.statistic.nest)
        nest, naming = found.place.node.nest, found.naming
        statistic = kept[number]
        lows = tuple(statistic.ranges[axis][0] for axis in statistic.axes)
        name = statistic_name(number)
        operand = Operand(name, statistic.reduce.dtype, statistic.shape, lows)
        tensor = ir.Tensor(name, operand.dtype, tuple(map(Size.of, operand.shape)))
        read = ir.Access(tensor, tuple(map(Affine.of, statistic.axes)))
        call = relative(scores, read, found.exponent.statistic.dtype, found.exponent.call)
        weight = [naming.expr(factor) for factor in found.exponent.others]
        reduce = weighted(call, weight, nest.reduce, found.guard, found.loops)
        axes = tuple(naming.index(axis) for axis in nest.axes)
        box = {**naming.box, **{index: statistic.ranges[index] for index in (*statistic.axes, *found.loops)}}
        every = (*naming.tensors.values(), operand)
        whole = nest_over(reduce, axes, box, every)
        operands |= {o.name: o for o in whole.operands if o.name != name}
        if whole not in weighed:
            weighed.append(whole)
        numbers.append(len(kept) + weighed.index(whole))
    return Softmax(tuple(operands.values()), tuple(kept), tuple(weighed)), numbers
