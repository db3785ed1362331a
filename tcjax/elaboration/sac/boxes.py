"""Index sets as boxes: the elements a partition defines, without those of earlier partitions."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...symbolic import Size
from .arrays import Run
from .draft import Draft

Patch = tuple[Run, ...]

# Index sets with more residues of steps, or more boxes, are handled point by point.
_MOST_CLASSES: Final = 64
_MOST_BOXES: Final = 64


@dataclass(frozen=True, slots=True)
class Grid:
    """The generator along one axis: ``lo <= x < hi`` and ``(x - lo) mod step < width``."""

    lo: Size
    hi: Size
    step: int = 1
    width: int = 1


def boxes_of(grids: tuple[Grid, ...], draft: Draft) -> list[Patch] | None:
    """A generator as disjoint boxes; None if there are too many."""
    return effective(grids, [], draft)


def effective(grids: tuple[Grid, ...], earlier: Sequence[tuple[Grid, ...]], draft: Draft) -> list[Patch] | None:
    """The index set of `grids` without those of `earlier`, as disjoint boxes; None if there are too many."""
    if is_empty(grids, draft):
        return []
    earlier = [other for other in earlier if not is_empty(other, draft)]
    if all(grid.step == 1 for other in (grids, *earlier) for grid in other):
        box = tuple(Run(grid.lo, grid.hi) for grid in grids)
        return _without(box, [tuple(Run(grid.lo, grid.hi) for grid in other) for other in earlier], draft)
    moduli = [math.lcm(*(other[axis].step for other in (grids, *earlier))) for axis in range(len(grids))]
    if math.prod(moduli) > _MOST_CLASSES:
        return None
    found: list[Patch] = []
    for residues in itertools.product(*map(range, moduli)):
        own = _in_class(grids, residues, moduli, draft)
        if own is None:
            continue
        others = [o for other in earlier if (o := _in_class(other, residues, moduli, draft)) is not None]
        rest = _without(own, others, draft)
        if rest is None:
            return None
        found += [_spread(box, residues, moduli, draft) for box in rest]
    return found if len(found) <= _MOST_BOXES else None


def uncovered(box: Patch, boxes: Sequence[Patch], draft: Draft) -> list[Patch] | None:
    """The rest of a box outside the others, as disjoint boxes; None if there are too many."""
    grids = [tuple(Grid(run.lo, run.hi, run.stride) for run in other) for other in boxes]
    return effective(tuple(Grid(run.lo, run.hi, run.stride) for run in box), grids, draft)


def is_empty(grids: tuple[Grid, ...], draft: Draft) -> bool:
    return any(draft.number(grid.lo) >= draft.number(grid.hi) for grid in grids)


def _in_class(grids: tuple[Grid, ...], residues: tuple[int, ...], moduli: list[int], draft: Draft) -> Patch | None:
    """The points ``x = residue + modulus*q`` of a generator as a box of `q`; None if there are none."""
    box: list[Run] = []
    for grid, residue, modulus in zip(grids, residues, moduli, strict=True):
        lo, hi = draft.number(grid.lo), draft.number(grid.hi)
        if (residue - lo) % grid.step >= grid.width:
            return None
        if modulus == 1:
            box.append(Run(grid.lo, grid.hi))
            continue
        first, last = -((residue - lo) // modulus), -((residue - hi) // modulus)
        if first >= last:
            return None
        box.append(Run(Size.of(first), Size.of(last)))
    return tuple(box)


def _spread(box: Patch, residues: tuple[int, ...], moduli: list[int], draft: Draft) -> Patch:
    runs: list[Run] = []
    for run, residue, modulus in zip(box, residues, moduli, strict=True):
        if modulus == 1:
            runs.append(run)
        else:
            first, last = draft.number(run.lo), draft.number(run.hi)
            runs.append(Run(Size.of(residue + modulus * first), Size.of(residue + modulus * (last - 1) + 1), modulus))
    return tuple(runs)


def _without(box: Patch, others: Sequence[Patch], draft: Draft) -> list[Patch] | None:
    """A box of stride 1 minus the others, as disjoint boxes."""
    rest = [box]
    for other in others:
        rest = [piece for one in rest for piece in _minus(one, other, draft)]
        if len(rest) > _MOST_BOXES:
            return None
    return rest


def _minus(box: Patch, other: Patch, draft: Draft) -> list[Patch]:
    inner: list[Run] = []
    for run, cut in zip(box, other, strict=True):
        lo = run.lo if draft.number(run.lo) >= draft.number(cut.lo) else cut.lo
        hi = run.hi if draft.number(run.hi) <= draft.number(cut.hi) else cut.hi
        if draft.number(lo) >= draft.number(hi):
            return [box]
        inner.append(Run(lo, hi))
    left: list[Patch] = []
    rest = list(box)
    for axis, (run, cut) in enumerate(zip(box, inner, strict=True)):
        if draft.number(run.lo) < draft.number(cut.lo):
            left.append((*rest[:axis], Run(run.lo, cut.lo), *rest[axis + 1 :]))
        if draft.number(cut.hi) < draft.number(run.hi):
            left.append((*rest[:axis], Run(cut.hi, run.hi), *rest[axis + 1 :]))
        rest[axis] = cut
    return left
