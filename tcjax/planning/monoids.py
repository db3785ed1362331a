"""Registered reductions: as a whole if their space is small, else block by block."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isqrt, prod
from typing import Final

from .. import ir, transforms
from ..symbolic import Affine, IndexVar
from ..transforms.factors import masked
from ..transforms.widening import widened
from .data.nodes import Block, MonoidFold, Node
from .folds import number_beside
from .rules import plan_value
from .scope import Scope
from .unsized import open_question, plan_unsized

# A space of at most this many elements may be stored.
SMALL_SPACE: Final = 1 << 20
# Of a larger space, this many elements are combined at a time.
LANES: Final = 1 << 12
# This many are computed at a time if a single one costs more than its share.
BLOCK: Final = 1 << 18
# A space this many times as large as arguments and result together is not stored.
MOST_GROWTH: Final = 2


def plan_monoid(reduce: ir.Reduce, scope: Scope, before: Node | None = None) -> Node:
    """The reduction at every point of its free indices; `before` is one more element before the others.

    Its type is that of the monoid's first component. `reduce` may have no indices: then it has one point.
    """
    monoid = reduce.reducer
    assert isinstance(monoid, ir.Monoid)
    if scope.sizes is not None:
        if before is not None:
            raise open_question(f"`{monoid.value}` does not go on from another", reduce.span)
        return plan_unsized(replace(reduce, dtype=monoid.components(reduce.accumulate)[0]), scope)
    body, guard = widened(reduce.body, reduce.accumulate), reduce.guard
    indices, steps, live = reduce.indices, _Steps(reduce.indices), scope.live
    why = "a registered reduction: halves are combined with each other"
    if scope.points(indices) == 0:
        # Nothing is read: an empty array may have elements that cannot be computed.
        body, guard, steps = ir.Const(number_beside(body.dtype), body.dtype), ir.Const(False, "bool"), _Steps(())
    elif _is_large(reduce, scope):
        kept = scope.points(ir.free_indices(reduce) - scope.unrolled)
        steps = _in_blocks(indices, kept, scope) if _has_inner(reduce) else _in_lanes(indices, kept, scope)
        body, guard = transforms.substitute_expr(body, steps.values), ir.both(guard, steps.guard)
        guard = None if guard is None else transforms.substitute_expr(guard, steps.values)
        scope = steps.scope(scope)
        count = prod(block.steps for block in steps.blocks)
        why = f"a registered reduction over a space that is not stored: {count} blocks, one after the other"
    indices = steps.indices
    operand = scope.cast(plan_value(masked(guard, body, number_beside(body.dtype)), scope), reduce.accumulate)
    mask = None if guard is None else plan_value(guard, scope)
    parts = [part for part in (operand, mask, before, live) if part is not None]
    axes = scope.sorted(axis for part in parts for axis in part.axes if axis not in indices)
    extents = tuple(map(scope.extent, indices))
    dtype = monoid.components(reduce.accumulate)[0]
    return MonoidFold(
        monoid,
        operand,
        indices,
        extents,
        mask,
        steps.blocks,
        before,
        live,
        reduce.accumulate,
        steps.lanes,
        dtype=dtype,
        axes=axes,
        why=why,
    )


def _is_large(reduce: ir.Reduce, scope: Scope) -> bool:
    free = scope.points(ir.free_indices(reduce) - scope.unrolled)
    names = {access.tensor.name for access in ir.accesses(reduce)}
    read = sum(prod(scope.shapes[name]) for name in names)
    return free * scope.points(reduce.indices) > max(SMALL_SPACE, MOST_GROWTH * (free + read))


def _has_inner(reduce: ir.Reduce) -> bool:
    """Whether an element is itself a reduction: many of these at a time are a matrix product."""
    return ir.has_reduction(reduce.body)


@dataclass(frozen=True, slots=True)
class _Steps:
    """What is computed at a time: `indices`, and the loops around them.

    `values` gives the old indices, `ranges` the ranges of the new ones next to which old one, and `guard` keeps an old
    one in its range. With `lanes` the indices are reduced last.
    """

    indices: tuple[IndexVar, ...]
    blocks: tuple[Block, ...] = ()
    values: Mapping[IndexVar, Affine] = field(default_factory=dict)
    ranges: tuple[tuple[IndexVar, int, int, IndexVar], ...] = ()
    guard: ir.Expr | None = None
    lanes: bool = False

    def scope(self, scope: Scope) -> Scope:
        """The scope of one step."""
        for index, lo, hi, beside in self.ranges:
            scope = scope.with_index(index, lo, hi, beside)
        return replace(scope.unrolling(block.start for block in self.blocks), nests=None)


def _in_lanes(indices: tuple[IndexVar, ...], kept: int, scope: Scope) -> _Steps:
    """One element at a time for each point of the free indices, and for lanes of the outermost indices.

    Each lane has a contiguous run of the points, so that the order is kept.
    """
    needed = -(-LANES // max(1, kept))
    lanes, blocks, values = list[IndexVar](), list[Block](), dict[IndexVar, Affine]()
    ranges: tuple[tuple[IndexVar, int, int, IndexVar], ...] = ()
    guard: ir.Expr | None = None
    for index in indices:
        lo, hi = scope.box[index]
        if needed >= hi - lo:
            lanes.append(index)
            needed = -(-needed // (hi - lo))
        elif needed == 1:
            blocks.append(Block(index, index, None, lo, hi, 1))
        else:
            count = next((n for n in range(needed, 2 * needed) if (hi - lo) % n == 0), needed)
            run = -(-(hi - lo) // count)
            lane, step = (IndexVar(f"{index.name}.{part}", index.tag) for part in ("lane", "step"))
            values[index] = Affine.of(lane).scale(run) + Affine.of(step) + lo
            ranges = ((lane, 0, count, index), (step, 0, run, index))
            if count * run > hi - lo:
                guard = ir.Binary("<", ir.Index(index), ir.Const(hi, "int32"), "bool")
            lanes.append(lane)
            blocks.append(Block(index, step, None, 0, run, 1))
            needed = 1
    return _Steps(tuple(lanes), tuple(blocks), values, ranges, guard, lanes=True)


def _in_blocks(indices: tuple[IndexVar, ...], kept: int, scope: Scope) -> _Steps:
    """Many elements at a time, and loops over such blocks of the outermost indices, so that the order is kept.

    Reverse mode stores a state per block and recomputes one block at a time: there are at most as many blocks as points
    per block.
    """
    most = max(1, BLOCK // max(1, kept), isqrt(scope.points(indices)))
    rest, blocks = list(indices), list[Block]()
    while rest and scope.points(rest) > most:
        index = rest.pop(0)
        lo, hi = scope.box[index]
        rows = min(hi - lo, most // scope.points(rest))
        if rows <= 1:
            blocks.append(Block(index, index, None, lo, hi, 1))
            continue
        start, row = (IndexVar(f"{index.name}.{part}", index.tag) for part in ("start", "row"))
        blocks.append(Block(index, start, row, lo, hi, rows))
        ranges = ((start, lo, hi - rows + 1, index), (row, 0, rows, index))
        return _Steps((row, *rest), tuple(blocks), {index: Affine.of(start) + Affine.of(row)}, ranges)
    return _Steps(tuple(rest), tuple(blocks))
