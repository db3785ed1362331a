"""A nest as a loop with vector accumulators: the computation of a block, and the number of blocks."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from ... import ir, transforms
from ...ir import Reducer
from ...symbolic import Affine, Box
from ...transforms.widening import widened
from ..data.blocked_loop import BLOCK, ROW, STEP, Block, BlockedLoop, Cut, Points
from ..data.layouts import Layout
from ..data.machine import CPU, Machine
from ..data.nests import LoopSchedule, Nest, Operand
from ..data.nodes import Axes, Contract, Node, has
from ..data.vector_accumulators import VectorAccumulators
from ..rules import plan_value
from ..scope import Scope, plain_scope, scope_of
from .domains import conditions_of, ends
from .layouts import laid_out, spaced
from .loop_schedules import point_operations
from .ranks import ranks as ranks_of
from .spaces import Part, Space, tiled
from .terms import written_out

# Up to this many trips are unrolled: a loop starts with an empty state, which it writes and reads once more. Eight
# trips for 1024^2 distances took 1.07 ms of processor time, and 1.19 as a loop.
_FEW_TRIPS: Final = 8
# With more operations in all of them they become a loop: one takes about a millisecond to compile. Four trips of 4 x 64
# terms, for the five nearest of 4096, took 6.2 s to compile and 152 ms of processor time; as a loop 2.9 s and 68 ms.
_MOST_WRITTEN: Final = 2048


def plan_alone(nest: Nest) -> Node:
    """The nest as one operation over its whole space."""
    return plan_value(nest.reduce, plain_scope(nest))


def turned(nest: Nest, form: LoopSchedule, machine: Machine = CPU) -> tuple[Nest, tuple[Layout, ...]]:
    """A nest that is one fused loop over its result, and new layouts for those of its operands that need one.

    An element that is read across rows costs more than one transpose of the whole array. Matrix products read operands
    as they are.
    """
    nest = nest.computed
    if has(plan_alone(nest), Contract):
        return nest, ()
    found, layouts = laid_out(nest, form.loop, nest.axes[-1] if nest.axes else None)
    changed = [one for one in layouts if one.is_turned]
    shapes = {operand.name: operand.shape for operand in nest.operands}
    points = prod(hi - lo for lo, hi in nest.ranges.values())
    copied = sum(prod(shapes[one.tensor]) for one in changed) * machine.transposed + len(changed) * machine.dispatch
    return (found, layouts) if changed and points * machine.strided > copied + machine.fork else (nest, ())


def plan_nest(nest: Nest, form: LoopSchedule) -> BlockedLoop:
    """The blocks of a nest."""
    nest = nest.computed
    ranges = nest.ranges
    free = ir.free_indices(replace(nest.reduce, rank=None))
    axes = _minor_last(tuple(axis for axis in nest.axes if axis in free), ranges)
    guarded = nest
    nest, layouts = laid_out(nest, form.loop, axes[-1] if axes else None)
    if axes and not form.inside:
        nest, layouts = spaced(nest, layouts, form, axes[-1])
    lo, hi = ranges[form.loop]
    tiles = tiled(nest.axes, {} if form.tile is None else dict([form.tile]), ranges)
    space = Space(ranges, form.loop, max(1, min(form.rows, hi - lo)), tiles)
    reduce = nest.reduce
    planner = _Planner(nest, form, axes, space)
    body, cuts = (None, ()) if space.body is None else planner.body(space.body)
    tail = None if space.tail is None else planner.block(space.tail, reduce, nest.operands)
    limits = ends(conditions_of(guarded) if tiles else (), form.loop, space.axes, space.box)
    return BlockedLoop(
        axes if form.inside else (ROW, *axes),
        space.extents,
        tiles,
        lo,
        space.count,
        body,
        tail,
        _accumulators(nest, form, axes, space.count, guarded=bool(limits)),
        layouts,
        limits,
        form.unroll,
        cuts,
    )


def _accumulators(nest: Nest, form: LoopSchedule, axes: Axes, blocks: int, *, guarded: bool) -> VectorAccumulators:
    reduce = nest.reduce
    ranks = rank = None
    if reduce.rank is not None:
        ranks, rank = ranks_of(nest), plan_value(reduce.rank, plain_scope(nest))
    assert isinstance(reduce.reducer, Reducer)
    found = VectorAccumulators(reduce.reducer, axes, _state(reduce), form.inside, ranks, rank, written_out=False)
    few = 1 < blocks // form.unroll <= _FEW_TRIPS and blocks * point_operations(nest) <= _MOST_WRITTEN
    return replace(found, written_out=few and found.count == 1 and not guarded)


def _state(reduce: ir.Reduce) -> str:
    """The type of the combined values."""
    if reduce.reducer.gives_position:
        return reduce.body.dtype
    return reduce.accumulate


def _minor_last(axes: Axes, ranges: Box) -> Axes:
    """The axes with the largest last: it is vectorised."""
    return tuple(sorted(axes, key=lambda axis: ranges[axis][1] - ranges[axis][0]))


@dataclass(frozen=True, slots=True)
class _Planner:
    nest: Nest
    form: LoopSchedule
    axes: Axes
    space: Space

    def body(self, part: Part) -> tuple[Block, tuple[Cut, ...]]:
        """A whole block, and the tensors that each trip slices."""
        # The number of steps per trip is limited: a loop begins with a partial and a whole one.
        steps = 2 * self.form.unroll
        cuts = self.cuts()
        dimensions = {cut.tensor: cut.dimension for cut in cuts}
        operands = [_cut(o, dimensions.get(o.name), steps * part.width) for o in self.nest.operands]
        step = Affine.of(STEP).scale(part.width) + Affine.of(ROW)

        def visit(expr: ir.Expr) -> ir.Expr:
            expr = ir.rebuild(expr, visit)
            if not isinstance(expr, ir.Access) or expr.tensor.name not in dimensions:
                return expr
            place = dimensions[expr.tensor.name]
            return replace(expr, indices=(*expr.indices[:place], step, *expr.indices[place + 1 :]))

        part = replace(part, box={**part.box, STEP: (0, steps)})
        return self.block(part, visit(self.nest.reduce), operands), cuts

    def cuts(self) -> tuple[Cut, ...]:
        """The tensors that the loop index reads only along one dimension, as a bare subscript."""
        loop = self.form.loop
        found: dict[str, Cut | None] = {}
        known = {o.name: (o.shape, o.origin) for o in self.nest.operands}
        lo, hi = self.space.ranges[loop]
        for access in ir.accesses(self.nest.reduce):
            name = access.tensor.name
            places = [number for number, index in enumerate(access.indices) if loop in index.variables]
            alone = len(places) == 1 and access.indices[places[0]].bare == loop
            cut = None
            if alone:
                shape, origin = known[name]
                first = origin[places[0]]
                if isinstance(first, int) and first <= lo and hi <= first + shape[places[0]]:
                    cut = Cut(name, places[0], lo - first)
            found[name] = cut if name not in found or found[name] == cut else None
        return tuple(cut for cut in found.values() if cut is not None)

    def block(self, part: Part, reduce: ir.Expr, operands: Iterable[Operand]) -> Block:
        """The points of a block."""
        return Block(part.width, (self.points(part, reduce, self.scope(part.box, operands)),))

    def points(self, part: Part, reduce: ir.Expr, scope: Scope) -> Points:
        found = transforms.substitute_expr(reduce, part.values)
        assert isinstance(found, ir.Reduce)
        guard = None if found.guard is None else written_out(found.guard, part.box)
        found = replace(found, body=written_out(found.body, part.box), guard=guard)
        others = tuple(index for index in found.indices if index != self.form.loop)
        inner = (ROW, *others) if self.form.inside else others
        if inner:
            whole = replace(found, indices=inner, rank=None, dtype=found.accumulate)
            return Points(plan_value(written_out(whole, part.box), scope), None)
        wide = widened(found.body, found.accumulate)
        live = None if found.guard is None else plan_value(found.guard, scope)
        return Points(scope.cast(plan_value(wide, scope), _state(found)), live)

    def scope(self, box: Box, operands: Iterable[Operand]) -> Scope:
        # Data-selected rows have the layout of the gather: the part that a block reduces is minor.
        first = (*self.axes, ROW) if self.form.inside and ir.looks_up(self.nest.reduce) else (ROW, *self.axes)
        starts = (tile.start for tile in self.space.tiles)
        return scope_of(operands, (*first, *self.nest.reduce.indices), box, (BLOCK, STEP, *starts))


def _cut(operand: Operand, dimension: int | None, extent: int) -> Operand:
    """The operand sliced to `extent` elements along a dimension, from its first one on."""
    if dimension is None:
        return operand
    shape, origin = list(operand.shape), list(operand.origin)
    shape[dimension], origin[dimension] = extent, 0
    return replace(operand, shape=tuple(shape), origin=tuple(origin))
