"""Reductions over boxes with symbolic sizes: the operations that need no numbers.

These are matrix products of whole tensors, and a loop over points, with all elements of the result at once, so that
memory stays bounded.
"""

from dataclasses import replace
from typing import Final

from .. import ir
from ..diagnostics import Code, CompileError, Span
from ..ir import Reducer
from ..symbolic import IndexVar
from ..transforms.widening import widened
from .access.reads import plan_read
from .data.nodes import Node, Strip, Unroll
from .folds import fold
from .operations import contraction
from .operations.reduction import Reduction
from .rules import plan_value
from .scope import Scope, fill, masked_by

# Up to this many values of an index are unrolled.
UNROLLED: Final = 16


def plan_unsized(reduce: ir.Reduce, scope: Scope) -> Node:
    """The reduction at every point of its free indices. Raises `CompileError` (TC0901) if it needs numbers."""
    reducer, accumulate = reduce.reducer, reduce.accumulate
    if reducer.is_ranked:
        raise open_question(f"`{reducer.value}` needs a plan", reduce.span)
    body = widened(reduce.body, accumulate)
    if reducer is Reducer.MEAN:
        parts = (body, ir.Const(1.0, accumulate))
        sums = (replace(reduce, reducer=Reducer.SUM, body=part, dtype=accumulate) for part in parts)
        total, count = (plan_unsized(each, scope) for each in sums)
        node = scope.apply("/", (total, count), accumulate)
    else:
        node = _counted(reduce, scope) or _contracted(reduce, body, scope) or _walked(reduce, body, scope)
    return scope.cast(node, reduce.dtype)


def _counted(reduce: ir.Reduce, scope: Scope) -> Node | None:
    """The sum of a constant over all points; None for anything else."""
    accumulate = reduce.accumulate
    constant = isinstance(reduce.body, ir.Const) and reduce.guard is None
    if not constant or reduce.reducer is not Reducer.SUM or accumulate == "bool":
        return None
    node = scope.cast(plan_value(reduce.body, scope), accumulate)
    for index in reduce.indices:
        extent = scope.cast(fill(scope.extent(index), "int32"), accumulate)
        node = scope.apply("*", (node, extent), accumulate)
    return node


def _contracted(reduce: ir.Reduce, body: ir.Expr, scope: Scope) -> Node | None:
    """A sum of products of whole tensors; None for anything else."""
    factors = tuple(ir.factors(body))
    if reduce.reducer is not Reducer.SUM or reduce.guard is not None or reduce.accumulate == "bool":
        return None
    if not all(_is_whole(factor, scope) for factor in factors):
        return None
    product = Reduction(Reducer.SUM, reduce.indices, factors, None, reduce.accumulate)
    found = next(contraction.propose(product, scope), None)
    return fold(Reducer.SUM, reduce.indices, product.values(scope), scope) if found is None else found


def _is_whole(factor: ir.Expr, scope: Scope) -> bool:
    """Whether a factor is a whole tensor, in any type."""
    access = factor.operand if isinstance(factor, ir.Cast) else factor
    return isinstance(access, ir.Access) and all(isinstance(d, Strip) for d in plan_read(access, scope).dimensions)


def _walked(reduce: ir.Reduce, body: ir.Expr, scope: Scope) -> Node:
    """One point after another, the last index fastest; short ranges are unrolled if the order is free."""
    reducer, guard, indices = reduce.reducer, reduce.guard, reduce.indices
    inner = scope.unrolling(indices)
    if isinstance(reducer, ir.Monoid) or reducer.gives_position:
        mask = None if guard is None else plan_value(guard, inner)
        node = plan_value(body, inner)
        if isinstance(reducer, ir.Monoid):
            node = scope.cast(node, reduce.accumulate)
        return _loop(reducer, indices, node, mask, scope)
    masked = masked_by(guard, body, reducer, reduce.accumulate)
    node = scope.cast(plan_value(masked, inner), reduce.accumulate)
    short = tuple(index for index in indices if _is_short(index, scope))
    long = tuple(index for index in indices if index not in short)
    if short:
        node = Unroll(reducer, _box(short, scope), node, dtype=node.dtype, axes=node.axes)
    return _loop(reducer, long, node, None, scope) if long else node


def _is_short(index: IndexVar, scope: Scope) -> bool:
    ends = scope.number(scope.box[index][0]), scope.extent(index)
    return all(isinstance(end, int) for end in ends) and ends[1] <= UNROLLED


def _loop(
    reducer: Reducer | ir.Monoid, indices: tuple[IndexVar, ...], body: Node, mask: Node | None, scope: Scope
) -> Unroll:
    axes = scope.sorted((*body.axes, *(() if mask is None else mask.axes)))
    dtype = reducer.components(body.dtype)[0] if isinstance(reducer, ir.Monoid) else body.dtype
    dtype = "int32" if reducer.gives_position else dtype
    return Unroll(reducer, _box(indices, scope), body, rolled=True, mask=mask, dtype=dtype, axes=axes)


def _box(indices: tuple[IndexVar, ...], scope: Scope) -> tuple[tuple[IndexVar, int, int], ...]:
    first = {index: scope.number(scope.box[index][0]) for index in indices}
    return tuple((index, lo, lo + scope.extent(index)) for index, lo in first.items())


def open_question(message: str, span: Span) -> CompileError:
    """The error for a decision that needs numeric sizes (TC0901)."""
    return CompileError(
        Code.NOT_STATIC,
        f"{message}: this needs numbers for the sizes",
        span,
        help="export it for the shapes that will be passed, one `jax.ShapeDtypeStruct` of numbers each",
    )
