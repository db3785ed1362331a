"""Recognises the nests of a plan that are statistics of scores, or sums weighted by exponentials of scores."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ... import ir
from ...symbolic import Affine, Box, IndexVar
from ..data.nests import Nest, Operand
from ..data.nodes import Apply, Axes, LoopNest, Node, Read, Strip, below, operands
from ..data.preferences import Preferences
from ..data.stages import Compute, Stage, targets_of
from ..data.views import Viewed
from .renaming import Renaming
from .scores import Exponent, Key, exponents, is_statistic, key, keys

# Loops over more indices than this are not compared in every order.
MOST_LOOPS = 3


@dataclass(frozen=True, slots=True)
class Place:
    """A nest and the stage that contains it."""

    stage: int
    node: LoopNest


@dataclass(frozen=True, slots=True)
class Statistic:
    """A nest with common names, and its scores."""

    place: Place
    nest: Nest
    key: Key


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum relative to a statistic, with common names."""

    place: Place
    statistic: Statistic
    exponent: Exponent
    guard: ir.Expr | None
    naming: Renaming
    loops: Axes
    sources: tuple[str, ...]


class Survey:
    """The nests of a plan and the origins of their operands."""

    def __init__(self, stages: Sequence[Stage], written: Counter[str], preferences: Preferences) -> None:
        self.stages = stages
        self.preferences = preferences
        self.ready: dict[str, int] = {}
        for number, stage in enumerate(stages):
            for target in targets_of(stage):
                written[target] += 1
                self.ready[target] = number
        self.fixed = {name for name in self.ready if written[name] == 1}
        self.changing = {name for name in written if written[name] > 1}
        self.places = [place for number, stage in enumerate(stages) for place in self.nests(number, stage)]
        self.known: dict[object, tuple[Operand, Viewed | Node]] = {}
        self.sources: dict[str, Viewed | Node] = {}
        self.statistics: dict[tuple[int, str], list[Statistic]] = {}

    def nests(self, number: int, stage: Stage) -> Iterator[Place]:
        if not isinstance(stage, Compute) or stage.loops or stage.target in self.preferences.forms:
            return
        if stage.proviso is not None:
            # Values computed in one of two alternatives are not available to others.
            return
        for node in {id(node): node for node in _nests(stage.value)}.values():
            if node.is_alone and not node.is_one_loop and not isinstance(node.nest.reduce.reducer, ir.Monoid):
                yield Place(number, node)

    def sums(self, place: Place) -> Iterator[Sum]:
        """The nest as a sum of exponentials relative to a statistic."""
        nest = place.node.nest
        for exponent in exponents(nest.reduce):
            read = exponent.statistic
            at = self.statistic_at(place, read.tensor.name)
            if at is None or len(nest.reduce.indices) > MOST_LOOPS:
                continue
            where, dimensions = at
            named = _named(dimensions, read.indices)
            if named is None:
                continue
            for loops in itertools.permutations(nest.reduce.indices):
                yield from self.matched(place, exponent, where, named, loops)

    def matched(
        self,
        place: Place,
        exponent: Exponent,
        where: Place,
        named: Mapping[IndexVar, IndexVar],
        loops: tuple[IndexVar, ...],
    ) -> Iterator[Sum]:
        nest = place.node.nest
        rows = [named[axis] for axis in where.node.nest.axes]
        common = {index: IndexVar(f"i.{number}") for number, index in enumerate(rows)}
        common |= {index: IndexVar(f"j.{number}") for number, index in enumerate(loops)}
        if len(common) < len(rows) + len(loops):
            return
        for number, axis in enumerate(axis for axis in nest.axes if axis not in common):
            common[axis] = IndexVar(f"e.{number}.{nest.ranges[axis][0]}.{nest.ranges[axis][1]}")
        read = exponent.statistic.tensor.name
        guards = () if nest.reduce.guard is None else (nest.reduce.guard,)
        inside = (*(term for _, term in exponent.terms), *exponent.others, *guards)
        names = {access.tensor.name for expr in inside for access in ir.accesses(expr)}
        tensors = self.tensors(place, [operand for operand in nest.operands if operand.name in names])
        if tensors is None or read in names:
            return
        naming = Renaming(common, tensors, nest.ranges)
        found = [(negative, naming.expr(term)) for negative, term in exponent.terms]
        guard = None if nest.reduce.guard is None else naming.expr(nest.reduce.guard)
        dtype = exponent.call.dtype
        own = key(found, guard)
        for statistic in self.statistics_of(where, dtype):
            if statistic.key == own and _same_ranges(statistic.nest, nest, common):
                scores = tuple(found)
                yield Sum(
                    place,
                    statistic,
                    replace(exponent, terms=scores),
                    guard,
                    naming,
                    tuple(common[index] for index in loops),
                    tuple(operand.name for operand in tensors.values()),
                )
                return

    def statistic_at(self, place: Place, name: str) -> tuple[Place, tuple[Affine, ...]] | None:
        """The statistic that a nest reads under a name, and the position read in each dimension."""
        computed = place.node.whole.named[name]
        if not isinstance(computed, Viewed):
            number = place.stage
            axes = tuple(map(Affine.of, computed.axes))
        elif name in self.fixed and (computed.tensor, computed.views) == (name, ()):
            number = self.ready[name]
            stage = self.stages[number]
            if not isinstance(stage, Compute) or stage.proviso is not None or number >= place.stage:
                return None
            computed, axes = stage.value, _whole(stage)
        else:
            return None
        while (
            isinstance(computed, Apply) and computed.operator in ("cast", "stop") and ir.types.is_float(computed.dtype)
        ):
            # The sums read it rounded.
            (computed,) = computed.arguments
        if not isinstance(computed, LoopNest) or axes is None or not is_statistic(computed.nest.reduce):
            return None
        where = next((p for p in self.places if p.stage == number and p.node is computed), None)
        return None if where is None else (where, axes)

    def statistics_of(self, where: Place, dtype: str) -> list[Statistic]:
        """The statistic with common names, once for each interpretation of its scores."""
        if (id(where.node), dtype) not in self.statistics:
            known = self.common(where)
            found = [] if known is None else [Statistic(where, known, each) for each in keys(known.reduce, dtype)]
            self.statistics[id(where.node), dtype] = found
        return self.statistics[id(where.node), dtype]

    def common(self, place: Place) -> Nest | None:
        """The nest with common names; None if an operand changes between the stages."""
        nest = place.node.nest
        tensors = self.tensors(place, nest.operands)
        if tensors is None:
            return None
        common = {axis: IndexVar(f"i.{number}") for number, axis in enumerate(nest.axes)}
        common |= {index: IndexVar(f"j.{number}") for number, index in enumerate(nest.reduce.indices)}
        naming = Renaming(common, tensors, nest.ranges)
        guard = None if nest.reduce.guard is None else naming.expr(nest.reduce.guard)
        indices = tuple(naming.index(index) for index in nest.reduce.indices)
        reduce = replace(nest.reduce, indices=indices, guard=guard, body=naming.expr(nest.reduce.body))
        axes = tuple(naming.index(axis) for axis in nest.axes)
        return nest_over(reduce, axes, naming.box, tensors.values())

    def tensors(self, place: Place, read: Iterable[Operand]) -> dict[str, Operand] | None:
        """Operands by their name in the nest; None if one changes between the stages."""
        sources = place.node.whole.named
        found: dict[str, Operand] = {}
        for operand in read:
            source = sources[operand.name]
            if any(tensor in self.changing for tensor in _tensors(source)):
                return None
            is_view = isinstance(source, Viewed)
            same = ((source.tensor, source.views) if is_view else source), operand.dtype, operand.shape, operand.origin
            if same not in self.known:
                common = replace(operand, name=f"a.{len(self.known)}")
                self.known[same] = common, source
                self.sources[common.name] = source
            found[operand.name] = self.known[same][0]
        return found

    def is_ready(self, source: str, stage: int) -> bool:
        return all(self.ready.get(tensor, -1) < stage for tensor in _tensors(self.sources[source]))


def nest_over(reduce: ir.Reduce, axes: Axes, box: Box, known: Iterable[Operand]) -> Nest:
    """The nest with those of the `known` operands that it reads."""
    by_name = {operand.name: operand for operand in known}
    read = dict.fromkeys(access.tensor.name for access in ir.accesses(reduce))
    ends = tuple((index, *box[index]) for index in sorted(box, key=str))
    return Nest(reduce, axes, ends, tuple(by_name[name] for name in read))


def _same_ranges(statistic: Nest, nest: Nest, common: Mapping[IndexVar, IndexVar]) -> bool:
    """Whether rows and loops have the same ranges as in the statistic."""
    shared = statistic.ranges
    inside = {old: new for old, new in common.items() if old in nest.reduce.indices or new in shared}
    return all(shared.get(new) == nest.ranges[old] for old, new in inside.items())


def _whole(stage: Compute) -> tuple[Affine, ...] | None:
    """The position in each dimension of a target that a stage fills with its values; None if it does more."""
    store = stage.store
    goes_on = store.goes_on and store.keeps and not store.restart
    if store.mask is not None or store.open or goes_on or not ir.types.is_float(stage.dtype):
        return None
    places: list[Affine] = []
    for dimension, extent in zip(store.dimensions, stage.shape, strict=True):
        match dimension:
            case Strip(start, 1, count, 0, 0, factors) if (
                factors and start.constant == 0 and count == extent == prod(size for _, size, _ in factors)
            ):
                places.append(sum((Affine.of(axis).scale(block) for axis, _, block in factors), Affine.of(0)))
            case _:
                return None
    return tuple(places)


def _named(places: Sequence[Affine], subscripts: Sequence[Affine]) -> dict[IndexVar, IndexVar] | None:
    """The index of a read for each axis of the tensor, ``4*g + h`` at ``4*i + j``; None if one has no counterpart."""
    found: dict[IndexVar, IndexVar] = {}
    for place, subscript in zip(places, subscripts, strict=True):
        own = {weight.constant: axis for axis, weight in place.terms if isinstance(axis, IndexVar)}
        read = {weight.constant: index for index, weight in subscript.terms if isinstance(index, IndexVar)}
        if subscript.base.constant != 0 or len(read) < len(subscript.terms) or own.keys() != read.keys():
            return None
        found |= {axis: read[weight] for weight, axis in own.items()}
    return found if len(set(found.values())) == len(found) else None


def _tensors(source: Viewed | Node) -> set[str]:
    """The tensors from which an operand is made."""
    if isinstance(source, Viewed):
        return {source.tensor}
    found: set[str] = set()
    for node in below(source):
        if isinstance(node, Read):
            found.add(node.tensor)
        if isinstance(node, LoopNest):
            found |= {*node.whole.tensors}
    return found


def _nests(node: Node, seen: set[int] | None = None) -> Iterator[LoopNest]:
    """The nests in a computation, each once, with those that others read first."""
    seen = set() if seen is None else seen
    seen.add(id(node))
    for operand in operands(node):
        if id(operand) not in seen:
            yield from _nests(operand, seen)
    if isinstance(node, LoopNest):
        yield node
