"""A softmax as blocks of scores: what one block computes, for which tile of the result, and which blocks count."""

from dataclasses import dataclass, replace

from ... import ir, transforms
from ...ir import Reducer
from ...symbolic import Affine, Box, IndexVar, Size
from ...transforms.factors import masked
from ..data.blocked_loop import FIRST, ROW, End, Tile
from ..data.groups import Blocks, Softmax, parts
from ..data.layouts import Layout
from ..data.nests import Nest
from ..data.nodes import Axes, Node
from ..data.online_softmax import EXPONENTIALS, Block, OnlineSoftmax
from ..rules import plan_value
from ..scope import Scope
from .domains import ends
from .layouts import laid_out
from .softmax import statistic_of
from .softmax_blocks import conditions, is_divided, is_product
from .terms import written_out


def plan_online_softmax(softmax: Softmax, blocks: Blocks) -> OnlineSoftmax:
    """The blocks of a softmax."""
    ranges = softmax.ranges
    lo, hi = ranges[blocks.loop]
    sizes = dict(blocks.tile)
    tiles = tuple(
        Tile(axis, IndexVar(f"o.{number}"), ranges[axis][0], sizes[axis], ranges[axis][1] - ranges[axis][0])
        for number, axis in enumerate(axis for axis in softmax.rows if axis in sizes)
    )
    width = max(1, min(blocks.width, hi - lo))
    count, last = divmod(hi - lo, width)
    planner = _Planner(softmax, blocks, tiles)
    body = planner.points(Affine.of(FIRST) + ROW, width, {FIRST: (lo, hi - width + 1)}) if count else None
    tail = planner.points(Affine.of(ROW) + (hi - last), last, {}) if last else None
    return OnlineSoftmax(
        planner.axes,
        planner.rows,
        not is_product(softmax),
        tuple(nest.axes for nest in softmax.sums),
        tuple(map(statistic_of, softmax.sums)),
        {index: b - a for index, (a, b) in planner.box().items()},
        tiles,
        lo,
        width,
        count,
        last,
        body,
        tail,
        planner.ends(),
        planner.laid_out()[1],
    )


@dataclass(frozen=True, slots=True)
class _Planner:
    softmax: Softmax
    blocks: Blocks
    tiles: tuple[Tile, ...]

    @property
    def others(self) -> Axes:
        """The loops that run inside of a block, whole."""
        return tuple(index for index in self.softmax.sums[0].reduce.indices if index != self.blocks.loop)

    @property
    def axes(self) -> Axes:
        """How scores lie: XLA reduces along a vector at a time, but a matrix product comes out along its rows."""
        if is_product(self.softmax):
            return (*self.rows, *self.others, ROW)
        return (*self.others, ROW, *self.rows)

    @property
    def rows(self) -> Axes:
        """The largest axis last: that one is vectorised."""
        box = self.box()
        return tuple(sorted(self.softmax.rows, key=lambda axis: box[axis][1] - box[axis][0]))

    def box(self) -> dict[IndexVar, tuple[int, int]]:
        """The ranges within a tile, and those of its starts."""
        return self.softmax.ranges | {index: ends for tile in self.tiles for index, ends in tile.box.items()}

    def points(self, position: Affine, width: int, spans: Box) -> Block:
        """The points of `width` values of the loop, the number ROW of which is at `position`."""
        softmax = self.softmax
        box = {**self.box(), ROW: (0, width), **spans}
        values = {tile.axis: Affine.of(tile.start) + tile.axis for tile in self.tiles} | {self.blocks.loop: position}
        axes = self.axes
        scope = self.scope(box, axes)
        tensor = ir.Tensor(EXPONENTIALS, softmax.scores.dtype, tuple(Size.of(box[a][1] - box[a][0]) for a in axes))
        read = ir.Access(tensor, tuple(map(Affine.of, axes)))

        def moved(expr: ir.Expr) -> ir.Expr:
            return written_out(transforms.substitute_expr(expr, values), box)

        laid, _ = self.laid_out()
        shapes = {operand.name: operand.shape for operand in laid.operands}
        origins = {operand.name: operand.origin for operand in laid.operands}
        own = replace(scope, shapes={**scope.shapes, **shapes}, origins={**scope.origins, **origins})

        def summed(nest: Nest) -> Node:
            _, weight = parts(nest)
            accumulate, indices = nest.reduce.accumulate, (ROW, *self.others)
            # Exponentials of points that do not count are zero, and must not meet an infinite weight.
            guard = None if weight is None or softmax.guard is None else moved(softmax.guard)
            body = read if weight is None else ir.Binary("*", read, moved(weight), read.dtype)
            if weight is not None and ir.free_indices(weight) & frozenset(softmax.rows) and is_divided(nest):
                # Taken apart, a difference would lose the digits that it keeps.
                return scope.cast(plan_value(masked(guard, body, 0), scope), accumulate)
            return plan_value(ir.Reduce(Reducer.SUM, indices, (), guard, body, None, accumulate, accumulate), scope)

        live = None if laid.reduce.guard is None else plan_value(moved(laid.reduce.guard), own)
        return Block(plan_value(moved(laid.reduce.body), own), live, tuple(map(summed, softmax.sums)))

    def laid_out(self) -> tuple[Nest, tuple[Layout, ...]]:
        """The scores as if they were summed, over tensors that lie along the vectors."""
        statistic = self.softmax.statistics[0]
        reduce = replace(self.softmax.sums[0].reduce, body=self.softmax.scores)
        read = {access.tensor.name for access in ir.accesses(reduce)}
        nest = replace(statistic, reduce=reduce, operands=tuple(o for o in self.softmax.operands if o.name in read))
        minor = None if is_product(self.softmax) or not self.rows else self.rows[-1]
        return laid_out(nest, self.blocks.loop, minor)

    def scope(self, box: Box, axes: Axes) -> Scope:
        softmax = self.softmax
        shapes = {o.name: o.shape for o in softmax.operands}
        origins = {o.name: o.origin for o in softmax.operands}
        shapes[EXPONENTIALS] = tuple(box[axis][1] - box[axis][0] for axis in axes)
        origins[EXPONENTIALS] = tuple(box[axis][0] for axis in axes)
        columns = [axis for nest in softmax.sums for axis in nest.axes]
        own = [axis for axis in columns if axis not in softmax.rows]
        # What is vectorised lies last.
        order = dict.fromkeys(
            (*axes, *columns, *box) if is_product(softmax) else (*self.others, ROW, *own, *axes, *box)
        )
        steps = frozenset(tile.start for tile in self.tiles) | {FIRST}
        return Scope(box, shapes, origins, {index: number for number, index in enumerate(order)}, steps & box.keys())

    def ends(self) -> tuple[End, ...]:
        return ends(conditions(self.softmax), self.blocks.loop, [tile.axis for tile in self.tiles], self.box())
