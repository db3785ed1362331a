"""Which operation computes a reduction, and why not a better one."""

from dataclasses import replace
from math import prod
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, IndexVar
from ..transforms.factors import masked
from ..transforms.widening import widened
from .branches import counted, projected
from .choice import cheapest, plan_fold, within_contract
from .data.nests import as_extremum
from .data.nodes import Apply, CallBuiltin, Fold, LoopNest, Node, OrderStatistic, Position, Unroll
from .folds import fold, remaining
from .monoids import plan_monoid
from .operations import loop
from .operations.scan import running
from .operations.unrolled import propose_order
from .rules import plan_value, rule
from .scope import Scope, fill
from .sums import plan_sum
from .unsized import plan_unsized
from .values import shield


@rule(ir.Reduce)
def _value(expr: ir.Reduce, scope: Scope) -> Node:
    """A reduction within an expression."""
    given = expr if isinstance(expr.reducer, ir.Monoid) else counted(expr, scope)
    return shield(_once(given, _within(expr, scope).binding(given.indices)), 1, scope)


def _once(reduce: ir.Reduce, scope: Scope) -> Node:
    """The reduction, planned once for all proposals of those around it: of nested ones these would become 2^depth."""
    # Of steps it matters which the reduction depends on, and whether there are any around it.
    key = reduce, scope.unrolled & ir.free_indices(reduce), scope.is_term
    known = scope.planned.setdefault(key, [])
    for other, node in known:
        if other.is_like(scope):
            return node
    node = plan_reduce(reduce, scope)
    known.append((scope, node))
    return node


def _within(reduce: ir.Reduce, scope: Scope) -> Scope:
    """The scope of a reduction: a registered one has no guard that keeps the derivative of its `finish` finite."""
    live = scope.live
    if live is None or not isinstance(reduce.reducer, ir.Monoid):
        return replace(scope, live=None, counts=frozenset())
    axes = tuple(axis for axis in live.axes if axis in ir.free_indices(reduce))
    counts = projected(scope.counts, (*axes, *scope.unrolled), scope)
    gone = tuple(axis for axis in live.axes if axis not in axes)
    if gone:
        live = Fold(ir.Reducer.ANY, live, gone, dtype="bool", axes=axes)
    return replace(scope, live=live, counts=counts)


def plan_reduce(reduce: ir.Reduce, scope: Scope) -> Node:
    """The reduction at every point of its free indices, in its `dtype`."""
    indices = reduce.indices
    if isinstance(reduce.reducer, ir.Monoid):
        return scope.cast(cheapest((*running(reduce, scope), plan_monoid(reduce, scope)), scope), reduce.dtype)
    if reduce.reducer.gives_position:
        # No derivative distinguishes them.
        reduce = as_extremum(reduce)
    if scope.points(indices) == 0:
        return fill(reduce.reducer.empty(reduce.dtype), reduce.dtype)
    if scope.sizes is not None:
        node = plan_unsized(reduce, scope)
        return fixed(node) if reduce.fixed else node
    node = _plan(reduce, indices, scope)
    if reduce.reducer.inject is not None or reduce.reducer.gives_position or reduce.reducer.is_ranked:
        # Folds have become nests where they were planned; each product of a sum is planned separately.
        node = within_contract(node, replace(reduce, dtype=node.dtype), scope)
    if reduce.fixed:
        node = fixed(node)
    return scope.cast(node, reduce.dtype)


def fixed(node: Node) -> Node:
    """The values without a derivative; a pass that absorbs a nest keeps this."""
    match node:
        case LoopNest(nest=nest):
            node = node.changed(group=replace(nest, reduce=replace(nest.reduce, fixed=True)))
        case Apply("cast", (operand,)):
            return replace(node, arguments=(fixed(operand),))
        case _:
            pass
    return Apply("stop", (node,), dtype=node.dtype, axes=node.axes)


# A selection is faster than a sort if it takes at most this share.
FEW: Final = 8


def _plan(reduce: ir.Reduce, indices: tuple[IndexVar, ...], scope: Scope) -> Node:
    body = widened(reduce.body, reduce.accumulate)
    guard, accumulate = reduce.guard, reduce.accumulate
    match reduce.reducer:
        case Reducer.SUM:
            return plan_sum(indices, body, guard, accumulate, scope)
        case Reducer.MEAN:
            return _mean(indices, body, guard, accumulate, scope)
        case Reducer.LOGSUMEXP:
            plain = _logsumexp(indices, body, guard, accumulate, scope)
            return cheapest((*running(replace(reduce, body=body), scope), plain), scope)
        case Reducer() as reducer if reducer.operator is not None:
            return plan_fold(reducer, indices, body, guard, accumulate, scope)
        case Reducer() as reducer if not reducer.is_ranked:
            operand, mask = _candidates(reducer, body, guard, body.dtype, scope)
            axes = remaining(operand, indices)
            found = Position(reducer, operand, indices, _extents(indices, scope), mask, dtype="int32", axes=axes)
            given = replace(reduce, body=body, accumulate=body.dtype)
            return cheapest((*running(given, scope), *propose_order(reduce, body, scope), found), scope)
        case Reducer() as reducer:
            assert reduce.rank is not None
            kind = body.dtype if reducer.gives_position else accumulate
            operand, mask = _candidates(reducer, body, guard, kind, scope)
            rank = plan_value(reduce.rank, scope)
            axes = scope.sorted((*remaining(operand, indices), *rank.axes))
            dtype = reducer.result(operand.dtype, kind)
            extents = _extents(indices, scope)
            first = _first(ir.affine_of(reduce.rank), prod(extents), scope)
            found = OrderStatistic(reducer, operand, rank, indices, extents, mask, first, dtype=dtype, axes=axes)
            of_kind = body if body.dtype == kind else ir.Cast(body, kind)
            written = (_as_slices(node, reduce, scope) for node in propose_order(reduce, of_kind, scope))
            return cheapest((*written, found), scope)
        case ir.Monoid():
            raise AssertionError("registered reductions are planned apart")


def _first(rank: Affine, count: int, scope: Scope) -> int | None:
    """The number of first values that ranks ask for, if it is small compared to `count`."""
    ends = scope.facts.values(rank)
    return ends[1] + 1 if ends is not None and ends[0] >= 0 and FEW * (ends[1] + 1) <= count else None


def _as_slices(node: Unroll, reduce: ir.Reduce, scope: Scope) -> Unroll:
    """The order statistic of windows with the derivative of a loop, which finds the position of the selected value."""
    if scope.nests is None or not ir.types.is_float(node.dtype):
        return node
    return replace(node, derivative=loop.of_slices(node, reduce, scope))


def _extents(indices: tuple[IndexVar, ...], scope: Scope) -> tuple[int, ...]:
    return tuple(map(scope.extent, indices))


def _candidates(
    reducer: Reducer, body: ir.Expr, guard: ir.Expr | None, dtype: str, scope: Scope
) -> tuple[Node, Node | None]:
    """The values in this type, masked ones replaced by the last in order, and the mask (None: all are active)."""
    extremum = reducer.variant(is_ranked=False, gives_position=False)
    body = body if body.dtype == dtype else ir.Cast(body, dtype)
    operand = plan_value(masked(guard, body, extremum.empty(dtype)), scope)
    return operand, None if guard is None else plan_value(guard, scope)


def _mean(indices: tuple[IndexVar, ...], body: ir.Expr, guard: ir.Expr | None, accumulate: str, scope: Scope) -> Node:
    """The sum divided by the number of points; NaN if there are none, which no derivative uses."""
    total = plan_sum(indices, body, guard, accumulate, scope)
    if guard is None:
        return scope.scaled("/", (total, fill(float(scope.points(indices)), accumulate)), accumulate)
    count = plan_sum(indices, ir.Const(1.0, accumulate), guard, accumulate, scope)
    some = scope.apply(">", (count, fill(0.0, accumulate)), "bool")
    divisor = scope.apply("max", (count, fill(1.0, accumulate)), accumulate)
    mean = scope.apply("/", (total, divisor), accumulate)
    return scope.apply("where", (some, mean, fill(float("nan"), accumulate)), accumulate)


def _logsumexp(
    indices: tuple[IndexVar, ...], body: ir.Expr, guard: ir.Expr | None, accumulate: str, scope: Scope
) -> Node:
    """``log sum exp`` relative to the largest exponent, which passes no derivative; minus infinity if there is none."""
    largest = plan_fold(Reducer.MAX, indices, body, guard, accumulate, scope)
    finite = _call("isfinite", largest, "bool", scope)
    shift = scope.apply(
        "stop", (scope.apply("where", (finite, largest, fill(0.0, accumulate)), accumulate),), accumulate
    )
    operand = plan_value(masked(guard, body, float("-inf")), scope)
    exponent = scope.apply("-", (scope.cast(operand, accumulate), shift), accumulate)
    total = fold(Reducer.SUM, indices, _call("exp", exponent, accumulate, scope), scope)
    repeats = scope.points(index for index in indices if index not in exponent.axes)
    if repeats != 1:
        total = scope.apply("*", (total, fill(float(repeats), accumulate)), accumulate)
    # The derivative must not reach the logarithm of zero.
    nothing = scope.apply("==", (total, fill(0.0, accumulate)), "bool")
    safe = scope.apply("where", (nothing, fill(1.0, accumulate), total), accumulate)
    result = scope.apply("+", (_call("log", safe, accumulate, scope), shift), accumulate)
    return scope.apply("where", (nothing, fill(float("-inf"), accumulate), result), accumulate)


def _call(function: str, argument: Node, dtype: str, scope: Scope) -> Node:
    return CallBuiltin(function, (argument,), dtype=dtype, axes=argument.axes)
