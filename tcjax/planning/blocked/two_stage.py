"""Order statistics in two stages: the first value of every block, then all values of the blocks that come first.

The first r values are in the r blocks whose own first values come first: any other block has r values before its own.
So a nest is visited once, and then a small part of it, instead of once for every rank.
"""

from dataclasses import replace
from typing import Final

from ... import ir, transforms
from ...ir import Reducer
from ...symbolic import Affine, Box, IndexVar, Size
from ...transforms.widening import widened
from ..data.nests import LoopSchedule, Nest, Operand
from ..data.two_stage import BLOCK, BLOCKS, FIRSTS, LEFT, PLACE, RANK, VALUES, Part, TwoStage
from ..rules import plan_value
from ..scope import scope_of
from .loop_schedules import choose
from .ranks import ranks, reads, sieve_axes, sieve_tile
from .terms import written_out

MOST_GATHERS: Final = 16

Ranges = Box


def form_of(sieve: TwoStage) -> LoopSchedule:
    """The schedule for finding the first values: without a loop, if that does not need too much memory."""
    usual = replace(choose(sieve.firsts), sieve=0)
    return replace(usual, rows=1, unroll=sieve.size) if usual.unroll * 2 >= sieve.size else usual


def plan_two_stage(nest: Nest, size: int) -> TwoStage:
    """The steps of an order statistic whose values lie in few of its blocks."""
    free, wanted, tile = sieve_axes(nest), ranks(nest), sieve_tile(nest, size)
    assert tile is not None
    axis, parts = None, ()
    if tile:
        axis = free[-1]
        nest, parts = _cut(nest, axis, tile)
    reduce, ranges = nest.reduce, nest.ranges
    [loop] = reduce.indices
    lo, hi = ranges[loop]
    guarded = (hi - lo) % size > 0
    value = reduce.body.dtype if reduce.reducer.gives_position else reduce.accumulate
    box = {axis: ranges[axis] for axis in free}
    inner = {i: ranges[i] for node in ir.walk(reduce.body) if isinstance(node, ir.Reduce) for i in node.indices}
    body = widened(reduce.body, value)

    def tensor(name: str, dtype: str, index: IndexVar, extent: int) -> tuple[ir.Access, Operand]:
        """An element of a tensor along ``(index, *free)``, and the tensor."""
        shape = (extent, *(hi - lo for lo, hi in box.values()))
        access = ir.Access(ir.Tensor(name, dtype, tuple(map(Size.of, shape))), tuple(map(Affine.of, (index, *free))))
        return access, Operand(name, dtype, shape, (0, *(lo for lo, _ in box.values())))

    # Positions count from the start of the loop.
    blocks = -(-(hi - lo) // size)
    place = Affine.of(BLOCK).scale(size) + Affine.of(PLACE)
    assert isinstance(reduce.reducer, Reducer)
    best = reduce.reducer.variant(is_ranked=False, gives_position=False)
    find = reduce.reducer.variant(gives_position=True)
    firsts = Nest(
        ir.Reduce(
            best,
            (PLACE,),
            (),
            _below(ir.integer(place), hi - lo) if guarded else None,
            transforms.substitute_expr(body, {loop: place + lo}),
            None,
            value,
            value,
        ),
        (BLOCK, *free),
        _boxed({**inner, **box, BLOCK: (0, blocks), PLACE: (0, size)}),
        nest.operands,
    )
    first, operand = tensor(FIRSTS, value, BLOCK, blocks)
    numbers = Nest(
        ir.Reduce(find, (BLOCK,), (), None, first, ir.Index(RANK), value, "int32"),
        (RANK, *free),
        _boxed({**box, BLOCK: (0, blocks), RANK: (0, wanted)}),
        (operand,),
    )
    block, chosen = tensor(BLOCKS, "int32", RANK, wanted)
    at = Affine.of(ir.Data(block)).scale(size) + Affine.of(PLACE) + lo
    # A few reads become gathers of elements; with many, whole rows are gathered and then summed.
    terms = written_out(body, ranges) if reads(body, loop, nest) <= MOST_GATHERS else body
    span = {**inner, **box, RANK: (0, wanted), PLACE: (0, size)}
    scope = scope_of((*nest.operands, chosen), (RANK, PLACE, *free), span)
    values = scope.cast(plan_value(transforms.substitute_expr(terms, {loop: at}), scope), value)
    left, known = tensor(VALUES, value, LEFT, wanted * size)
    rest = Nest(
        replace(reduce, indices=(LEFT,), body=left),
        nest.axes,
        _boxed({**{axis: ranges[axis] for axis in nest.axes}, LEFT: (0, wanted * size)}),
        (known,),
    )
    return TwoStage(size, hi - lo, firsts, numbers, values, rest, free, axis, tile, parts)


def _below(place: ir.Expr, extent: int) -> ir.Expr:
    return ir.Binary("<", place, ir.Const(extent, "int32"), "bool")


def _boxed(box: Ranges) -> tuple[tuple[IndexVar, int, int], ...]:
    return tuple((index, *box[index]) for index in sorted(box, key=str))


def _cut(nest: Nest, axis: IndexVar, extent: int) -> tuple[Nest, tuple[Part, ...]]:
    """The nest for the first `extent` values of an axis, from tensors sliced to these."""
    lo, _ = nest.ranges[axis]
    operands = {o.name: o for o in nest.operands}
    parts: dict[str, Part] = {}

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        if not isinstance(expr, ir.Access) or axis not in ir.free_indices(expr):
            return expr
        source = operands[expr.tensor.name]
        places = tuple(number for number, index in enumerate(expr.indices) if index.bare == axis)
        part = parts.setdefault(source.name, Part(f"s.{source.name}", source.name, places))
        shape = tuple(extent if n in places else size for n, size in enumerate(source.shape))
        origin = tuple(lo if n in places else first for n, first in enumerate(source.origin))
        operands[part.name] = Operand(part.name, source.dtype, shape, origin)
        return replace(expr, tensor=ir.Tensor(part.name, source.dtype, tuple(map(Size.of, shape))))

    reduce = visit(nest.reduce)
    assert isinstance(reduce, ir.Reduce)
    used = {access.tensor.name for access in ir.accesses(reduce)}
    kept = tuple(o for o in operands.values() if o.name in used)
    return Nest(reduce, nest.axes, _boxed({**nest.ranges, axis: (lo, lo + extent)}), kept), tuple(parts.values())
