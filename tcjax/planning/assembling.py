"""Which statements fill one tensor part by part, and how it is assembled from their values."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Final

from .data.assembly import Assembly, Interleave, Join, Overlay, Pad, Part, Whole, Zeros
from .data.nodes import Lookup, Node, Read, below
from .data.stages import Compute, Stage

# More parts than this are written one after another.
MOST_PARTS: Final = 64


@dataclass(frozen=True, slots=True)
class _Run:
    """`count` positions ``lo, lo + stride, ...`` along one axis of a region."""

    lo: int
    count: int
    stride: int

    @property
    def hi(self) -> int:
        return self.lo + self.stride * (self.count - 1) + 1


_Piece = tuple[int, tuple[_Run, ...]]


def assemblies(stages: Sequence[Stage]) -> dict[int, Assembly]:
    """The groups of stages that form one array, by the number of their first stage."""
    found: dict[int, Assembly] = {}
    number = 0
    while number < len(stages):
        group = list(_group(stages, number))
        whole = _overlaid(group, stages[number + 2 :]) or _whole(group) if group else None
        if whole is not None:
            found[number] = Assembly(len(group), whole)
            number += len(group)
        else:
            number += 1
    return found


def _group(stages: Sequence[Stage], first: int) -> Iterator[Compute]:
    """The stages from `first` on that write disjoint boxes of one new tensor, and do not read it."""
    for number in range(first, len(stages)):
        stage = stages[number]
        if not isinstance(stage, Compute) or (number > first and not stage.store.keeps):
            return
        leader = stages[first]
        assert isinstance(leader, Compute)
        if stage.target != leader.target or (number == first and stage.store.keeps):
            return
        replaces = stage.store.combine is None or stage.store.restart
        if not replaces or stage.store.mask is not None or stage.store.weight is not None or stage.proviso is not None:
            return
        if _box(stage) is None or _reads_any(stage, stage.target):
            return
        yield stage


def _overlaid(group: Sequence[Compute], later: Sequence[Stage]) -> Overlay | None:
    """A whole array, overwritten in a large part: selected element by element in one loop.

    An update in place would copy the array first; if the part reads the same array as the whole, XLA also stores every
    shifted slice of it.
    """
    if len(group) != 2:
        return None
    shape, (base, box) = group[0].shape, (_box(stage) for stage in group)
    if base is None or box is None or not _is_inside(box, shape):
        return None
    if any(run != _Run(0, extent, 1) for run, extent in zip(base, shape, strict=True)):
        return None
    if any(run.stride != 1 for run in box) or 2 * prod(run.count for run in box) < prod(shape):
        return None
    widths = tuple((run.lo, extent - run.hi, 0) for run, extent in zip(box, shape, strict=True))
    return Overlay(Part(0), Part(1), widths, any(_reads_any(stage, group[0].target) for stage in later))


def _reads_any(stage: Stage, target: str) -> bool:
    return isinstance(stage, Compute) and any(_reads(part.value, target) for part in (*stage.before, stage))


def _whole(group: Sequence[Compute]) -> Whole | None:
    """The group as one array; None if updates do as well, or if the boxes overlap."""
    boxes = [_box(stage) for stage in group]
    pieces = [(number, box) for number, box in enumerate(boxes) if box is not None]
    shape = group[0].shape
    if len(group) > MOST_PARTS or any(not _is_inside(box, shape) for _, box in pieces):
        return None
    if len(group) == 1:
        ((_, box),) = pieces
        if all(run.lo == 0 and run.count == extent for run, extent in zip(box, shape, strict=True)):
            return None
        return _padded(0, box, shape)
    return _assembled(shape, pieces)


def _assembled(shape: tuple[int, ...], pieces: Sequence[_Piece]) -> Whole | None:
    if not pieces:
        return Zeros(shape)
    if len(pieces) == 1:
        ((number, box),) = pieces
        whole = all(run == _Run(0, extent, 1) for run, extent in zip(box, shape, strict=True))
        return Part(number) if whole else _padded(number, box, shape)
    for axis, extent in enumerate(shape):
        ends = sorted({0, extent, *(end for _, box in pieces for end in (box[axis].lo, box[axis].hi))})
        cuts = [c for c in ends if all(box[axis].hi <= c or box[axis].lo >= c for _, box in pieces)]
        if len(cuts) > 2:
            return _joined(axis, cuts, shape, pieces)
    for axis, extent in enumerate(shape):
        strides = {box[axis].stride for _, box in pieces}
        if len(strides) == 1 and (stride := strides.pop()) > 1:
            return _interleaved(axis, stride, extent, shape, pieces)
    return None


def _joined(axis: int, cuts: Sequence[int], shape: tuple[int, ...], pieces: Sequence[_Piece]) -> Whole | None:
    parts: list[Whole] = []
    for lo, hi in pairwise(cuts):
        inside = [(n, _moved(box, axis, lo)) for n, box in pieces if lo <= box[axis].lo and box[axis].hi <= hi]
        part = _assembled(_with(shape, axis, hi - lo), inside)
        if part is None:
            return None
        parts.append(part)
    return Join(axis, tuple(parts))


def _interleaved(axis: int, stride: int, extent: int, shape: tuple[int, ...], pieces: Sequence[_Piece]) -> Whole | None:
    parts: list[Whole] = []
    # Every part has as many elements as the longest: the excess is cut off at the end.
    count = -(-extent // stride)
    for residue in range(stride):
        inside: list[_Piece] = []
        for number, box in pieces:
            run = box[axis]
            if run.lo % stride == residue:
                own = _Run((run.lo - residue) // stride, run.count, 1)
                inside.append((number, (*box[:axis], own, *box[axis + 1 :])))
        part = _assembled(_with(shape, axis, count), inside)
        if part is None:
            return None
        parts.append(part)
    return Interleave(axis, extent, tuple(parts))


def _padded(number: int, box: tuple[_Run, ...], shape: tuple[int, ...]) -> Pad:
    widths = [(run.lo, extent - run.hi, run.stride - 1) for run, extent in zip(box, shape, strict=True)]
    return Pad(Part(number), tuple(widths))


def _box(stage: Compute) -> tuple[_Run, ...] | None:
    """The box that a stage writes; None unless each of its axes runs upwards along one dimension."""
    runs: list[_Run] = []
    seen: set[object] = set()
    for dimension in stage.store.dimensions:
        if isinstance(dimension, Lookup) or dimension.low or dimension.high or dimension.start.constant is None:
            return None
        if len(dimension.factors) > 1 or any(index in seen for index, _, _ in dimension.factors):
            return None
        seen |= {index for index, _, _ in dimension.factors}
        extent = dimension.factors[0][1] if dimension.factors else 1
        if extent != dimension.count or extent < 1 or (dimension.stride < 1 and extent > 1):
            return None
        runs.append(_Run(dimension.start.constant, extent, dimension.stride if extent > 1 else 1))
    return tuple(runs) if runs else None


def _reads(node: Node, tensor: str) -> bool:
    return any(isinstance(part, Read) and part.tensor == tensor for part in below(node))


def _is_inside(box: Iterable[_Run], shape: tuple[int, ...]) -> bool:
    return all(run.lo >= 0 and run.hi <= extent for run, extent in zip(box, shape, strict=True))


def _moved(box: tuple[_Run, ...], axis: int, by: int) -> tuple[_Run, ...]:
    run = box[axis]
    return (*box[:axis], _Run(run.lo - by, run.count, run.stride), *box[axis + 1 :])


def _with(shape: tuple[int, ...], axis: int, extent: int) -> tuple[int, ...]:
    return (*shape[:axis], extent, *shape[axis + 1 :])
