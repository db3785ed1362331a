"""A loop nest as a stream of blocks: what one block computes, and how many there are."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from ... import ir, transforms
from ...ir import Reducer
from ...symbolic import Affine, Box, IndexVar
from ...transforms.widening import widened
from ..data.blocked_loop import ROW, Tile
from ..data.layouts import Layout
from ..data.machine import CPU, Machine
from ..data.nests import LoopSchedule, Nest
from ..data.nodes import Axes, Contract, Node, has
from ..data.streams import BLOCK, STEP, Cut, Points, Stream
from ..rules import plan_value
from ..scope import Scope, plain_scope
from .domains import conditions_of, ends
from .layouts import laid_out, spaced
from .loop_schedules import point_operations
from .ranks import ranks as ranks_of
from .terms import written_out

# Where a tile begins; no program names an index so.
START: Final = IndexVar("o.")


def plan_alone(nest: Nest) -> Node:
    """The nest as one operation over its whole space."""
    return plan_value(nest.reduce, plain_scope(nest))


def turned(nest: Nest, form: LoopSchedule, machine: Machine = CPU) -> tuple[Nest, tuple[Layout, ...]]:
    """A nest that is one fused loop over its result with its operands as they should lie, those that lie otherwise.

    Read across rows an element takes longer each time than to turn all of them round once. Products of matrices read
    them as they lie.
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


def plan_stream(nest: Nest, form: LoopSchedule) -> Stream:
    """The blocks of a nest."""
    nest = nest.computed
    ranges = dict(nest.ranges)
    free = ir.free_indices(replace(nest.reduce, rank=None))
    extents = {axis: hi - lo for axis, (lo, hi) in ranges.items()}
    axes = _minor_last(tuple(axis for axis in nest.axes if axis in free), ranges)
    guarded = nest
    nest, layouts = laid_out(nest, form.loop, axes[-1] if axes else None)
    if axes and not form.inside:
        nest, layouts = spaced(nest, layouts, form, axes[-1])
    reduce = nest.reduce
    lo, hi = ranges[form.loop]
    tiles: tuple[Tile, ...] = ()
    if form.tile is not None and form.tile[1] < extents[form.tile[0]]:
        axis, size = form.tile
        tiles = (Tile(axis, START, ranges[axis][0], size, extents[axis]),)
        found = transforms.substitute_expr(reduce, {axis: Affine.of(START) + axis})
        assert isinstance(found, ir.Reduce)
        reduce = found
        ranges |= tiles[0].box
    rows = max(1, min(form.rows, hi - lo))
    blocks, last = divmod(hi - lo, rows)
    planner = _Planner(nest, form, axes, ranges, reduce)
    body, cuts = planner.body(rows, blocks) if blocks else (None, ())
    tail = planner.points(Affine.of(ROW) + (hi - last), {ROW: (0, last)}) if last else None
    ranks = rank = None
    if reduce.rank is not None:
        ranks, rank = ranks_of(nest), plan_value(reduce.rank, plain_scope(nest))
    assert isinstance(reduce.reducer, Reducer)
    return Stream(
        reduce.reducer,
        axes,
        tuple(extents[axis] for axis in axes),
        _state(reduce),
        lo,
        rows,
        form.unroll,
        blocks,
        last,
        body,
        tail,
        cuts,
        ranks,
        rank,
        tiles,
        form.inside,
        layouts,
        ends=ends(conditions_of(guarded) if tiles else (), form.loop, [tile.axis for tile in tiles], ranges),
        operations=point_operations(nest),
    )


def _state(reduce: ir.Reduce) -> str:
    """The type of the values that are combined."""
    if reduce.reducer.gives_position:
        return reduce.body.dtype
    return reduce.accumulate


def _minor_last(axes: Axes, ranges: Box) -> Axes:
    """The largest axis last: that one is vectorised."""
    return tuple(sorted(axes, key=lambda axis: ranges[axis][1] - ranges[axis][0]))


@dataclass(frozen=True, slots=True)
class _Planner:
    nest: Nest
    form: LoopSchedule
    axes: Axes
    ranges: Box
    reduce: ir.Reduce

    def body(self, rows: int, blocks: int) -> tuple[Points, tuple[Cut, ...]]:
        """The points of a block, and the tensors that each trip cuts its part from."""
        loop = self.form.loop
        lo, _ = self.ranges[loop]
        # A trip has so many steps at most: `streams` begins with a part of one and a whole one.
        steps = 2 * self.form.unroll
        cuts = self.cuts()
        shapes = {o.name: o.shape for o in self.nest.operands}
        for cut in cuts:
            shape = list(shapes[cut.tensor])
            shape[cut.dimension] = steps * rows
            shapes[cut.tensor] = tuple(shape)
        dimensions = {cut.tensor: cut.dimension for cut in cuts}
        step = Affine.of(STEP).scale(rows) + Affine.of(ROW)

        def visit(expr: ir.Expr) -> ir.Expr:
            expr = ir.rebuild(expr, visit)
            if not isinstance(expr, ir.Access) or expr.tensor.name not in dimensions:
                return expr
            place = dimensions[expr.tensor.name]
            return replace(expr, indices=(*expr.indices[:place], step, *expr.indices[place + 1 :]))

        found = visit(self.reduce)
        assert isinstance(found, ir.Reduce)
        spans = {BLOCK: (0, blocks), STEP: (0, steps), ROW: (0, rows)}
        position = Affine.of(BLOCK).scale(rows) + Affine.of(ROW) + lo
        origins = {cut.tensor: cut.dimension for cut in cuts}
        return self.points(position, spans, found, shapes, origins), cuts

    def cuts(self) -> tuple[Cut, ...]:
        """The tensors that are read along one dimension by the loop index alone, and nowhere else by it."""
        loop = self.form.loop
        found: dict[str, Cut | None] = {}
        known = {o.name: (o.shape, o.origin) for o in self.nest.operands}
        lo, hi = self.ranges[loop]
        for access in ir.accesses(self.reduce):
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

    def points(
        self,
        position: Affine,
        spans: Box,
        reduce: ir.Reduce | None = None,
        shapes: Mapping[str, tuple[int, ...]] | None = None,
        cut: Mapping[str, int] | None = None,
    ) -> Points:
        """The points of the loop index at `position`."""
        found = transforms.substitute_expr(reduce or self.reduce, {self.form.loop: position})
        assert isinstance(found, ir.Reduce)
        box = {**self.ranges, **spans}
        guard = None if found.guard is None else written_out(found.guard, box)
        found = replace(found, body=written_out(found.body, box), guard=guard)
        others = tuple(index for index in found.indices if index != self.form.loop)
        scope = self.scope(box, shapes, cut or {})
        inner = (ROW, *others) if self.form.inside else others
        state = _state(found)
        if inner:
            whole = replace(found, indices=inner, rank=None, dtype=found.accumulate)
            return Points(plan_value(written_out(whole, box), scope), None)
        wide = widened(found.body, found.accumulate)
        live = None if found.guard is None else plan_value(found.guard, scope)
        return Points(scope.cast(plan_value(wide, scope), state), live)

    def scope(
        self,
        box: Box,
        shapes: Mapping[str, tuple[int, ...]] | None,
        cut: Mapping[str, int],
    ) -> Scope:
        origins = {
            o.name: tuple(0 if cut.get(o.name) == number else first for number, first in enumerate(o.origin))
            for o in self.nest.operands
        }
        # Rows that data choose lie as they are gathered: what a block reduces of them is minor.
        first = (*self.axes, ROW) if self.form.inside and ir.looks_up(self.reduce) else (ROW, *self.axes)
        indices = dict.fromkeys((*first, *self.nest.reduce.indices, *box))
        loops = frozenset(index for index in (BLOCK, STEP, START) if index in box)
        return Scope(
            box,
            shapes or {o.name: o.shape for o in self.nest.operands},
            origins,
            {index: number for number, index in enumerate(indices)},
            loops,
        )
