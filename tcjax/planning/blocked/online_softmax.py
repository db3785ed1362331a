"""Online softmax in blocks of scores: the computation of a block, the tiles of the result, and the blocks to visit."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ... import ir
from ...ir import Reducer
from ...symbolic import Affine, Box, Size
from ...transforms.factors import masked
from ..data.blocked_loop import BEGIN, BLOCK, ROW, Block, BlockedLoop, End, Points
from ..data.groups import Blocks, Softmax, parts
from ..data.layouts import Layout
from ..data.nests import Nest, Operand
from ..data.nodes import Axes, Node
from ..data.online_softmax import EXPONENTIALS, OnlineSoftmax
from ..rules import plan_value
from ..scope import Scope, scope_of
from .domains import ends
from .layouts import laid_out
from .softmax import statistic_of
from .softmax_blocks import conditions, is_divided, is_product
from .spaces import Part, Space, tiled
from .terms import written_out


def plan_online_softmax(softmax: Softmax, blocks: Blocks) -> BlockedLoop:
    """The blocks of a softmax."""
    ranges = softmax.ranges
    lo, hi = ranges[blocks.loop]
    tiles = tiled(softmax.rows, dict(blocks.tile), ranges)
    space = Space(ranges, blocks.loop, max(1, min(blocks.width, hi - lo)), tiles, follows=blocks.follows)
    planner = _Planner(softmax, blocks, space)
    columns, relative = tuple(nest.axes for nest in softmax.sums), tuple(map(statistic_of, softmax.sums))
    return BlockedLoop(
        planner.axes,
        space.extents,
        tiles,
        lo,
        space.count,
        None if space.body is None else planner.block(space.body),
        None if space.tail is None else planner.block(space.tail),
        OnlineSoftmax(planner.rows, columns, relative, not is_product(softmax)),
        planner.laid_out()[1],
        planner.ends(),
        follows=space.latest,
    )


@dataclass(frozen=True, slots=True)
class _Planner:
    softmax: Softmax
    blocks: Blocks
    space: Space

    @property
    def others(self) -> Axes:
        """The loops that run completely inside a block."""
        return tuple(index for index in self.softmax.sums[0].reduce.indices if index != self.blocks.loop)

    @property
    def axes(self) -> Axes:
        """The layout of the scores: XLA reduces vector by vector, but a matrix product is row-major."""
        if is_product(self.softmax):
            return (*self.rows, *self.others, ROW)
        return (*self.others, ROW, *self.rows)

    @property
    def rows(self) -> Axes:
        """The axes with the largest last: it is vectorised."""
        extents = self.space.extents
        return tuple(sorted(self.softmax.rows, key=extents.__getitem__))

    def block(self, part: Part) -> Block:
        """The scores of a block, and the sums of their exponentials."""
        softmax, box, moved = self.softmax, part.box, part.of
        axes = self.axes
        shape, origin = tuple(box[a][1] - box[a][0] for a in axes), tuple(box[a][0] for a in axes)
        exponentials = Operand(EXPONENTIALS, softmax.scores.dtype, shape, origin)
        scope = self.scope(box, (*softmax.operands, exponentials))
        tensor = ir.Tensor(EXPONENTIALS, exponentials.dtype, tuple(map(Size.of, shape)))
        read = ir.Access(tensor, tuple(map(Affine.of, axes)))

        laid, _ = self.laid_out()
        own = self.scope(box, laid.operands)

        def summed(nest: Nest) -> Node:
            _, weight = parts(nest)
            accumulate, indices = nest.reduce.accumulate, (ROW, *self.others)
            # Exponentials of masked points are zero, and must not multiply an infinite weight.
            guard = None if weight is None or softmax.guard is None else moved(softmax.guard)
            body = read if weight is None else ir.Binary("*", read, moved(weight), read.dtype)
            if weight is not None and ir.free_indices(weight) & frozenset(softmax.rows) and is_divided(nest):
                # Split, a difference would lose the digits that it keeps.
                return scope.cast(plan_value(masked(guard, body, 0), scope), accumulate)
            return plan_value(ir.Reduce(Reducer.SUM, indices, (), guard, body, None, accumulate, accumulate), scope)

        live = None if laid.reduce.guard is None else plan_value(moved(laid.reduce.guard), own)
        scores = Points(plan_value(moved(laid.reduce.body), own), live)
        return Block(part.width, (scores,), tuple(map(summed, softmax.sums)))

    def ends(self) -> tuple[End, ...]:
        """The range in which the guard may hold in a tile."""
        laid, _ = self.laid_out()
        scope = self.scope(self.space.box, laid.operands)

        def planned(data: ir.Expr) -> Node:
            return plan_value(written_out(self.space.in_tile(data), self.space.box), scope)

        found = conditions(laid.reduce.guard, laid.reduce.body, laid.reduce.indices)
        return ends(found, self.blocks.loop, self.space.axes, self.space.box, planned)

    def laid_out(self) -> tuple[Nest, tuple[Layout, ...]]:
        """The scores as the operand of a sum, with tensors laid out along the vectors."""
        statistic = self.softmax.statistics[0]
        reduce = replace(self.softmax.sums[0].reduce, body=self.softmax.scores)
        read = {access.tensor.name for access in ir.accesses(reduce)}
        nest = replace(statistic, reduce=reduce, operands=tuple(o for o in self.softmax.operands if o.name in read))
        minor = None if is_product(self.softmax) or not self.rows else self.rows[-1]
        return laid_out(nest, self.blocks.loop, minor)

    def scope(self, box: Box, operands: Iterable[Operand]) -> Scope:
        softmax, axes = self.softmax, self.axes
        columns = [axis for nest in softmax.sums for axis in nest.axes]
        own = [axis for axis in columns if axis not in softmax.rows]
        # The vectorised axis is last.
        order = (*axes, *columns) if is_product(softmax) else (*self.others, ROW, *own, *axes)
        return scope_of(operands, order, box, (BLOCK, BEGIN, *(tile.start for tile in self.space.tiles)))
