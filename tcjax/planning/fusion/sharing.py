"""Finds loop nests that form a bundle: sums over the same points that call the same functions on the same arguments.

Extrema over the same points are handled in `searching`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

from ... import ir
from ...symbolic import IndexVar
from ..blocked.kernel_sum_blocks import choose_blocks
from ..blocked.kernel_sums import calls
from ..data.groups import KernelSums
from ..data.nests import Nest
from ..data.nodes import Fold, FusedReduction, LoopNest, tensors_read
from ..data.preferences import Preferences
from ..data.stages import Stage
from .changes import Changes, with_changes
from .members import Place, Survey, nest_over
from .renaming import Renaming
from .searching import searches


@dataclass(frozen=True, slots=True)
class _Member:
    """A nest with common names, whose axes `over` are summed after the loop; it may be `is_linear` in some tensors."""

    place: Place
    nest: Nest
    is_linear: bool
    over: tuple[IndexVar, ...] = ()


def share(
    stages: Sequence[Stage], initial: Iterable[str], preferences: Preferences, linear: Set[str] = frozenset()
) -> tuple[Stage, ...]:
    """The stages with nests that share expensive subexpressions as results of one pass.

    A pass does not compute what is `linear` in some tensors together with what does not depend on them: JAX would take
    all its results for linear, and could not transpose a product of two.
    """
    survey = Survey(stages, Counter(iter(initial)), preferences)
    sums = [place for place in survey.places if place.node.nest.reduce.reducer is ir.Reducer.SUM]
    outer = frozenset(index for place in sums for index in _outer(place.node.nest))
    found = [member for place in sums if (member := _member(survey, place, outer, linear)) is not None]
    found = [_over_one_side(member, found) for member in found]
    taken: set[int] = set()
    changes = searches(survey)
    counts = Counter((call, member.is_linear) for member in found for call in calls(member.nest))
    # Ties are broken by name, so that plans are reproducible.
    for key in sorted(counts, key=lambda key: (-counts[key], ir.show_expr(key[0]), key[1])):
        call, is_linear = key
        own = [m for m in found if id(m.place.node) not in taken and m.is_linear == is_linear]
        alike = [m for m in own if call in calls(m.nest)]
        members = _together(survey, alike)
        if len(members) > 1:
            taken |= {id(member.place.node) for member in members}
            changes |= _changes(survey, members)
    return with_changes(stages, changes)


def _outer(nest: Nest) -> tuple[IndexVar, ...]:
    return *nest.axes, *nest.reduce.indices


def _member(survey: Survey, place: Place, outer: frozenset[IndexVar], linear: Set[str]) -> _Member | None:
    """The nest, if none of its inline reductions uses the name of an `outer` index of any nest."""
    nest = place.node.nest
    tensors = survey.tensors(place, nest.operands)
    if tensors is None:
        return None
    naming = Renaming({index: index for index in _outer(nest)}, tensors, nest.ranges, taken=outer)
    indices = tuple(naming.index(index) for index in nest.reduce.indices)
    guard = None if nest.reduce.guard is None else naming.expr(nest.reduce.guard)
    reduce = replace(nest.reduce, indices=indices, guard=guard, body=naming.expr(nest.reduce.body))
    axes = tuple(naming.index(axis) for axis in nest.axes)
    is_linear = not linear.isdisjoint(tensors_read(place.node))
    return _Member(place, nest_over(reduce, axes, naming.box, tensors.values()), is_linear)


def _over_one_side(member: _Member, others: Sequence[_Member]) -> _Member:
    """A sum over both sides of a matrix as the sum of sums over one side, which others have as well.

    ``sum[i,j](f(h,i,j) * (i - j))`` becomes the sum over `i` of a nest that can share a pass with
    ``g(h,i,d) = sum[j](f(h,i,j) * y(j,d))``.
    """
    nest = member.nest
    reduce, ranges = nest.reduce, nest.ranges
    if reduce.dtype != reduce.accumulate:
        return member
    for other in (other.nest for other in others):
        for index in reduce.indices:
            left = tuple(each for each in reduce.indices if each != index)
            same = all(other.ranges.get(axis, ends) == ends for axis, ends in ranges.items())
            if {*nest.axes, index} <= {*other.axes} and {*left} & {*other.reduce.indices} and same:
                wide = replace(nest, axes=(*nest.axes, index), reduce=replace(reduce, indices=left))
                return replace(member, nest=wide, over=(index,))
    return member


def _together(survey: Survey, members: Sequence[_Member]) -> list[_Member]:
    """The members that one pass can compute: those compatible with the first ones, and computable as early."""
    found: list[_Member] = []
    for member in members:
        if not found:
            found.append(member)
            continue
        ready = all(survey.is_ready(operand.name, found[0].place.stage) for operand in member.nest.operands)
        backend = member.place.node.whole.backend
        # Indices correspond if their ranges are equal.
        known = _bundle(found).ranges
        same = all(known.get(index, ends) == ends for index, ends in member.nest.ranges.items())
        if ready and same and backend == found[0].place.node.whole.backend:
            bundle = _bundle([*found, member])
            found += [member] if choose_blocks(bundle, backend.memory) is not None else []
    return found


def _bundle(members: Sequence[_Member]) -> KernelSums:
    sums = tuple(dict.fromkeys(member.nest for member in members))
    return KernelSums(tuple({o.name: o for nest in sums for o in nest.operands}.values()), sums)


def _changes(survey: Survey, members: Sequence[_Member]) -> Changes:
    bundle, backend = _bundle(members), members[0].place.node.whole.backend
    blocks = choose_blocks(bundle, backend.memory)
    assert blocks is not None
    sources = tuple(survey.sources[operand.name] for operand in bundle.operands)
    whole = FusedReduction(bundle, sources, blocks, backend)
    found: Changes = {}
    for member in members:
        node = member.place.node
        shown = ir.show_expr(node.nest.reduce)
        result = bundle.sums.index(member.nest)
        nest = LoopNest(whole, result, shown, dtype=node.dtype, axes=(*node.axes, *member.over))
        summed = Fold(ir.Reducer.SUM, nest, member.over, dtype=node.dtype, axes=node.axes)
        found[id(node)] = summed if member.over else nest
    return found
