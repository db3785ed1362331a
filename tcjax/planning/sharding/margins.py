"""Elements around its block that a device computes itself, instead of fetching them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ... import ir, ranges, transforms
from ...symbolic import Box, IndexVar
from ...transforms import Known
from .blocks import Axes
from .formulas import CutFormula
from .layouts import Layouts, Margin, Margins
from .lines import Line, merged

NONE: Margin = 0, 0


def margins(layouts: Layouts, formulas: Sequence[CutFormula]) -> Margins:
    """For each tensor that later statements read beyond a device's block, how much the device computes there.

    Tensors that are given or returned have no margin, nor do those that some statement reads in other ways than by
    views.
    """
    whole = {*layouts.given}
    for formula in formulas:
        kept = {index for s in formula.statement.indices if not s.is_data for index in formula.cut_in(s)}
        bare = all(s.bare in kept for s in formula.statement.indices if formula.cut_in(s))
        if formula.scattered or kept != {*formula.cut} or not bare:
            whole.add(formula.statement.target.name)
    while True:
        found: dict[str, tuple[Margin, ...]] = {}
        lost = {name for formula in reversed(formulas) for name in _needed(layouts, formula, found, whole)}
        if not lost:
            return {name: own for name, own in found.items() if any(map(any, own))}
        whole |= lost


def _needed(
    layouts: Layouts, formula: CutFormula, found: dict[str, tuple[Margin, ...]], whole: Collection[str]
) -> Iterable[str]:
    """Adds what a statement reads to `found`; gives the tensors of which it needs more than a margin can hold."""
    box = dict(formula.box)
    for index, span in layouts.spans(formula).items():
        before, behind = _of(formula, index, found)
        box[index] = span.first - before, span.first + span.block + behind
    known = Known.over(box)
    for access in ir.accesses_of(formula.statement):
        name = access.tensor.name
        if name in whole:
            continue
        own = [*found.get(name, (NONE,) * len(access.indices))]
        for dimension, along in enumerate(layouts.held[name]):
            if not along:
                continue
            block = layouts.blocks[name][dimension]
            line = formula.line(name, dimension, access.indices[dimension], filled=True)
            ends = None if line is None else known.bounds(line[1].place)
            if line is None or ends is None or line[0] != along:
                return (name,)
            (index,) = formula.cut_in(line[1].place)
            if line[1].weight * layouts.spans(formula)[index].block != block:
                return (name,)
            before, behind = own[dimension]
            own[dimension] = max(before, -ends[0]), max(behind, ends[1] + 1 - block)
            if max(own[dimension]) > block:
                return (name,)
        found[name] = tuple(own)
    return ()


def _of(formula: CutFormula, index: IndexVar, found: Margins) -> Margin:
    """The margin of a statement's target along an index."""
    own = found.get(formula.statement.target.name)
    places = [d for d, subscript in enumerate(formula.statement.indices) if subscript.bare == index]
    return own[places[0]] if own is not None and places else NONE


def going_round(layouts: Layouts, formulas: Sequence[CutFormula]) -> frozenset[Axes]:
    """The axes along which a statement reads round the end, and every one with a margin goes on there as it began."""
    own = [formula for formula in formulas if formula.statement.target.name in layouts.margins]
    every = {along for formula in own for along in formula.cut.values()}
    found: set[Axes] = set()
    for along in every:
        cut = [(formula, index) for formula in own for index, axes in formula.cut.items() if axes == along]
        if all(_goes_on(layouts, *each) for each in cut) and any(_is_ring(layouts, *each) for each in cut):
            found.add(along)
    return frozenset(found)


def _goes_on(layouts: Layouts, formula: CutFormula, index: IndexVar) -> bool:
    """Whether what a statement says of an index is known where that goes on behind its end as it began."""
    if layouts.spans(formula)[index].is_uneven:
        return False
    if any(isinstance(node, ir.Index) and node.variable == index for node in ir.nodes_of(formula.statement)):
        return False
    return all(
        line is not None
        and line.weight == 1
        and extent == _count(formula.box, index)
        and around(line, formula.box, index) is not None
        for line, extent in _lines(layouts, formula, index)
    )


def _is_ring(layouts: Layouts, formula: CutFormula, index: IndexVar) -> bool:
    """Whether a read of a statement goes on round the end."""
    return any(
        s.run is not None and s.run.start != s.place and (s.run.start - s.place) % extent == 0
        for line, extent in _lines(layouts, formula, index)
        if line is not None
        for s in line.stretches
    )


def _lines(layouts: Layouts, formula: CutFormula, index: IndexVar) -> Iterator[tuple[Line | None, int]]:
    """What a statement reads along an index, and the elements that all devices have there."""
    for access in ir.accesses_of(formula.statement):
        for dimension, subscript in enumerate(access.indices):
            if index in formula.cut_in(subscript):
                name = access.tensor.name
                found = formula.line(name, dimension, subscript)
                extent = layouts.blocks[name][dimension] * layouts.parts(formula.cut[index])
                yield None if found is None else found[1], extent


def around(line: Line, box: Box, index: IndexVar) -> Line | None:
    """The line of an index that goes on as it began; None where a place has two elements."""
    found, once = line.stretches, line.weight * _count(box, index)
    for shift in (-once, once):
        both = merged(found, tuple(replace(s, place=s.place + shift) for s in line.stretches))
        if both is None:
            return None
        found = both
    return replace(line, stretches=found)


def fetched_once(layouts: Layouts) -> ranges.Bound:
    """The program in which a cut parameter is copied first: that has one halo for all that read it."""
    bound, function = layouts.bound, layouts.bound.function
    formulas = [s for s in function.statements if isinstance(s, (ir.Define, ir.Accumulate))]
    read = {tensor.name for s in formulas for tensor in ir.tensors_read(s)}
    cut = {name for name, (layout, _) in layouts.given.items() if any(layout)}
    names = [t for t in function.parameters if t.name in cut & read]
    # No program names tensors so.
    new = {tensor.name: replace(tensor, name=f"{tensor.name}.own") for tensor in names}
    shapes, origins = ({t.name: of[name] for name, t in new.items()} for of in (bound.shapes, bound.origins))
    copies = [transforms.copied(new[t.name], t, bound.shapes[t.name], bound.origins[t.name]) for t in names]
    rest = tuple(
        transforms.reading(s, new) if isinstance(s, (ir.Define, ir.Accumulate)) else s for s in function.statements
    )
    return replace(
        bound,
        function=replace(function, statements=(*(copy for copy, _ in copies), *rest)),
        boxes=(*(box for _, box in copies), *bound.boxes),
        shapes={**bound.shapes, **shapes},
        origins={**bound.origins, **origins},
        reasons=(*({} for _ in copies), *bound.reasons),
    )


def _count(box: Mapping[IndexVar, tuple[int, int]], index: IndexVar) -> int:
    lo, hi = box[index]
    return hi - lo
