"""Guards that cut a nest's iteration space: pieces along an axis, each with its part of the loop."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from ... import ir
from ...symbolic import Affine, Box, Facts, IndexVar
from ...transforms.factors import non_negative
from ...transforms.narrowing import ends_of
from ..data.blocked_loop import FARTHEST, End
from ..data.nests import LoopSchedule, Nest
from ..data.nodes import Node

# The maximum number of pieces of a nest, and the minimum length of each: every piece is compiled separately.
MOST_PIECES: Final = 8
FEWEST_VALUES: Final = 64


def pieces(nest: Nest, form: LoopSchedule) -> tuple[IndexVar | None, tuple[Nest, ...]]:
    """The axis that is cut, and the nest for each part of it in order; the nest itself if no guard saves work.

    The guard is false at points that are in no piece. A piece may have an empty loop.
    """
    if nest.reduce.guard is None:
        return None, (nest,)
    conditions = conditions_of(nest)
    best: tuple[IndexVar | None, tuple[Nest, ...]] = None, (_narrowed(nest, form.loop, conditions, {}),)
    if form.tile is not None:
        # Each tile has its own part of the loop.
        return best
    related = {atom for affine in conditions if form.loop in affine.variables for atom in affine.variables}
    for axis in nest.axes:
        lo, hi = nest.ranges[axis]
        count = min(MOST_PIECES, (hi - lo) // FEWEST_VALUES)
        if axis not in related or count < 2:
            continue
        ends = [lo + (hi - lo) * number // count for number in range(count + 1)]
        parts = itertools.pairwise(ends)
        found = tuple(_narrowed(nest, form.loop, conditions, {axis: part}) for part in parts)
        if sum(map(points, found)) < 0.9 * sum(map(points, best[1])):
            best = axis, found
    return best


def spans(nest: Nest, form: LoopSchedule, every: int = 1) -> tuple[tuple[int, int], ...]:
    """For each tile of a form, or of size `every`, the range of the loop index in which the guard may hold."""
    assert form.tile is not None
    axis, size = form.tile
    lo, hi = nest.ranges[axis]
    conditions = conditions_of(nest)
    starts = [min(first, hi - size) for first in range(lo, hi, size * every)]
    tiles = [_narrowed(nest, form.loop, conditions, {axis: (first, first + size)}) for first in starts]
    return tuple(tile.ranges[form.loop] for tile in tiles)


def ends(
    conditions: Iterable[Affine],
    loop: IndexVar,
    tiles: Sequence[IndexVar],
    box: Box,
    plan: Callable[[ir.Expr], Node] | None = None,
) -> tuple[End, ...]:
    """The bounds of the loop given by conditions, over a tile whose `box` counts from the start of its axes.

    Conditions that depend on single points give none; `plan` plans the data of a tile (without it, data-dependent
    conditions give none).
    """
    found = (_end(condition, loop, tiles, box, plan) for condition in conditions)
    return tuple(end for end in found if end is not None)


def _end(
    condition: Affine,
    loop: IndexVar,
    tiles: Sequence[IndexVar],
    box: Box,
    plan: Callable[[ir.Expr], Node] | None,
) -> End | None:
    weight = condition.weight(loop).constant
    rest = condition - Affine.of(loop).scale(weight or 0)
    base = rest.base.constant
    if not weight or base is None:
        return None
    coefficients = dict.fromkeys(tiles, 0)
    data: Node | None = None
    for axis, size in rest.terms:
        factor = size.constant
        if isinstance(axis, ir.Data) and plan is not None and data is None and factor in (1, -1):
            if loop in axis.index_variables() or not axis.index_variables() <= box.keys():
                return None
            data = plan(_within_positions(axis.expr, factor))
            continue
        if factor is None or not isinstance(axis, IndexVar) or axis not in box:
            return None
        lo, hi = box[axis]
        base += factor * (hi - 1 if factor > 0 else lo)
        if axis in coefficients:
            coefficients[axis] = factor
    return End(weight, base, tuple(coefficients.values()), data)


def _within_positions(value: ir.Expr, sign: int) -> ir.Expr:
    """The value or its negative, clamped to just beyond all positions, so that nothing overflows."""
    wide = value if value.dtype == "int32" else ir.Cast(value, "int32")
    least, most = (ir.Const(each, "int32") for each in (-FARTHEST, FARTHEST))
    found = ir.Binary("min", ir.Binary("max", wide, least, "int32"), most, "int32")
    return found if sign > 0 else ir.Unary("-", found, "int32")


def points(nest: Nest) -> int:
    """The number of points that a nest visits."""
    ranges = nest.ranges
    return prod(nest.shape) * prod(max(0, ranges[index][1] - ranges[index][0]) for index in nest.reduce.indices)


def visited(nest: Nest, form: LoopSchedule, most: int | None = None) -> int:
    """The approximate number of points that a nest visits in this form, given its guard, sampled with at most `most`
    tiles.
    """
    if nest.reduce.guard is None:
        return points(nest)
    if form.tile is None:
        return sum(map(points, pieces(nest, form)[1]))
    tiles = -(-(nest.ranges[form.tile[0]][1] - nest.ranges[form.tile[0]][0]) // form.tile[1])
    ends = spans(nest, form, 1 if most is None else -(-tiles // most))
    lo, hi = nest.ranges[form.loop]
    return points(nest) * sum(end - first for first, end in ends) // max(1, len(ends) * (hi - lo))


def conditions_of(nest: Nest) -> list[Affine]:
    """The affine conditions of its guard, as expressions that must not be negative."""
    return non_negatives(nest.reduce.guard)


def non_negatives(guard: ir.Expr | None, *, of_data: bool = False) -> list[Affine]:
    """Expressions that are not negative where a guard holds; with `of_data`, one side may be non-affine."""
    return [found for part in ir.conjuncts(guard) if (found := non_negative(part, of_data=of_data)) is not None]


def _narrowed(nest: Nest, loop: IndexVar, conditions: list[Affine], part: Box) -> Nest:
    box = {**nest.ranges, **part}
    lo, hi = box[loop]
    for least, most in ends_of(loop, (lo, hi), conditions, Facts.over(box)):
        # Positions count from the start of the loop.
        lo = lo if nest.reduce.reducer.gives_position else max(lo, least)
        hi = min(hi, most + 1)
    box[loop] = (lo, max(lo, hi))
    return replace(nest, box=tuple((index, *box[index]) for index, _, _ in nest.box))
