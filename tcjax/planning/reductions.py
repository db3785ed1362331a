"""Which operation computes a reduction, and why not a better one."""

from dataclasses import replace

from .. import ir
from ..ir import Reducer
from ..symbolic import IndexVar
from .contractions import as_contraction, as_products
from .convolutions import as_convolution, is_padding
from .factors import Product, both, depends, distributed, masked, multiply, summands
from .nodes import Fold, Node, OrderStatistic, Position, Unroll
from .scope import Scope, fill, greatest, identity
from .values import plan_value
from .widening import widened
from .windows import as_pool, gathered_indices, window_indices

# Beyond about this many terms an unrolled sum compiles for seconds and runs slower (measured in bench/).
UNROLL_TERMS = 144
UNROLL_GATHERS = 100
# A reduction over at most SHORT points of at least LARGE elements is one fused loop over the elements.
SHORT = 16
LARGE = 4096


def plan_reduce(reduce: ir.Reduce, scope: Scope) -> Node:
    """The reduction at every point of its free indices, in its `dtype`."""
    indices = reduce.indices
    if scope.points(indices) == 0:
        return fill(identity(reduce.reducer, reduce.dtype), reduce.dtype)
    return scope.cast(_plan(reduce, indices, scope), reduce.dtype)


def _plan(reduce: ir.Reduce, indices: tuple[IndexVar, ...], scope: Scope) -> Node:
    body = widened(reduce.body, reduce.accumulate)
    guard, accumulate = reduce.guard, reduce.accumulate
    match reduce.reducer:
        case Reducer.SUM:
            return plan_sum(indices, body, guard, accumulate, scope)
        case Reducer.MEAN:
            return _mean(indices, body, guard, accumulate, scope)
        case Reducer.LOGSUMEXP:
            return _logsumexp(indices, body, guard, accumulate, scope)
        case Reducer.ARGMIN | Reducer.ARGMAX as reducer:
            operand, mask = _candidates(reducer, body, guard, scope)
            axes = _remaining(operand, indices)
            return Position(reducer, operand, indices, _extents(indices, scope), mask, dtype="int32", axes=axes)
        case Reducer.MINK | Reducer.MAXK | Reducer.ARGMINK | Reducer.ARGMAXK as reducer:
            assert reduce.rank is not None
            operand, mask = _candidates(reducer, body, guard, scope)
            rank = plan_value(reduce.rank, scope)
            axes = scope.sorted((*_remaining(operand, indices), *rank.axes))
            dtype = "int32" if reducer in (Reducer.ARGMINK, Reducer.ARGMAXK) else operand.dtype
            extents = _extents(indices, scope)
            return OrderStatistic(reducer, operand, rank, indices, extents, mask, dtype=dtype, axes=axes)
        case Reducer.PRODUCT | Reducer.MIN | Reducer.MAX | Reducer.ANY | Reducer.ALL as reducer:
            return plan_fold(reducer, indices, body, guard, accumulate, scope)


def _extents(indices: tuple[IndexVar, ...], scope: Scope) -> tuple[int, ...]:
    return tuple(map(scope.extent, indices))


def _remaining(operand: Node, indices: tuple[IndexVar, ...]) -> tuple[IndexVar, ...]:
    return tuple(axis for axis in operand.axes if axis not in indices)


def _candidates(reducer: Reducer, body: ir.Expr, guard: ir.Expr | None, scope: Scope) -> tuple[Node, Node | None]:
    """The values, the last in order where they do not take part, and which do (None: all)."""
    extremum = Reducer.MIN if reducer in (Reducer.ARGMIN, Reducer.MINK, Reducer.ARGMINK) else Reducer.MAX
    operand = plan_value(masked(guard, body, identity(extremum, body.dtype)), scope)
    return operand, None if guard is None else plan_value(guard, scope)


def _mean(indices: tuple[IndexVar, ...], body: ir.Expr, guard: ir.Expr | None, accumulate: str, scope: Scope) -> Node:
    """The sum by the number of points; NaN where there is none, in which no derivative takes part."""
    total = plan_sum(indices, body, guard, accumulate, scope)
    if guard is None:
        return scope.apply("/", (total, fill(float(scope.points(indices)), accumulate)), accumulate)
    count = plan_sum(indices, ir.Const(1.0, accumulate), guard, accumulate, scope)
    some = scope.apply(">", (count, fill(0.0, accumulate)), "bool")
    divisor = scope.apply("max", (count, fill(1.0, accumulate)), accumulate)
    mean = scope.apply("/", (total, divisor), accumulate)
    return scope.apply("where", (some, mean, fill(float("nan"), accumulate)), accumulate)


def _logsumexp(
    indices: tuple[IndexVar, ...], body: ir.Expr, guard: ir.Expr | None, accumulate: str, scope: Scope
) -> Node:
    """``log sum exp`` about the largest exponent, which passes no derivative; minus infinity where there is none."""
    largest = plan_fold(Reducer.MAX, indices, body, guard, accumulate, scope)
    finite = _call("isfinite", largest, "bool", scope)
    shift = scope.apply(
        "stop", (scope.apply("where", (finite, largest, fill(0.0, accumulate)), accumulate),), accumulate
    )
    operand = plan_value(masked(guard, body, float("-inf")), scope)
    exponent = scope.apply("-", (scope.cast(operand, accumulate), shift), accumulate)
    total = _fold(Reducer.SUM, indices, _call("exp", exponent, accumulate, scope), scope)
    repeats = scope.points(index for index in indices if index not in exponent.axes)
    if repeats != 1:
        total = scope.apply("*", (total, fill(float(repeats), accumulate)), accumulate)
    # The logarithm of zero must not meet a derivative.
    nothing = scope.apply("==", (total, fill(0.0, accumulate)), "bool")
    safe = scope.apply("where", (nothing, fill(1.0, accumulate), total), accumulate)
    result = scope.apply("+", (_call("log", safe, accumulate, scope), shift), accumulate)
    return scope.apply("where", (nothing, fill(float("-inf"), accumulate), result), accumulate)


def _call(function: str, argument: Node, dtype: str, scope: Scope) -> Node:
    from .nodes import CallBuiltin

    return CallBuiltin(function, (argument,), dtype=dtype, axes=argument.axes)


# ---------------------------------------------------------------- sums


def plan_sum(
    indices: tuple[IndexVar, ...], body: ir.Expr, guard: ir.Expr | None, accumulate: str, scope: Scope
) -> Node:
    """A sum, taken apart into sums of products where that saves work."""
    if accumulate == "bool":
        count = plan_sum(indices, ir.Cast(body, "int32"), guard, "int32", scope)
        odd = scope.apply("&", (count, fill(1, "int32")), "int32")
        return scope.cast(odd, "bool")
    products = [
        replace(product, mask=both(guard, product.mask))
        for summand in summands(body)
        for product in distributed(summand, scope.unrolled)
    ]
    if len(products) > 1 and not _worth_splitting(products, frozenset(indices), scope):
        return plan_fold(Reducer.SUM, indices, body, guard, accumulate, scope)
    total: Node | None = None
    for product in products:
        node = _plan_product(indices, product, accumulate, scope)
        if total is None:
            total = scope.apply("neg", (node,), accumulate) if product.negative else node
        else:
            total = scope.apply("-" if product.negative else "+", (total, node), accumulate)
    assert total is not None
    return total


def _worth_splitting(products: list[Product], reduced: frozenset[IndexVar], scope: Scope) -> bool:
    """Whether the summands reduce over less than the whole space, or one of them is a contraction."""
    spaces = [frozenset[IndexVar]().union(*map(ir.free_indices, p.factors)) - scope.unrolled for p in products]
    whole = frozenset[IndexVar]().union(*spaces)
    if any(space & reduced and space < whole for space in spaces):
        return True
    return any(
        sum(depends(factor, reduced) for factor in product.factors) > 1
        and all(ir.free_indices(factor) - scope.unrolled < whole for factor in product.factors)
        for product in products
    )


def _plan_product(indices: tuple[IndexVar, ...], product: Product, accumulate: str, scope: Scope) -> Node:
    """``sum over indices of factors where mask``: what does not change with the indices comes out in front."""
    reduced = frozenset(indices)
    inside = [factor for factor in product.factors if depends(factor, reduced)]
    outside = [factor for factor in product.factors if not depends(factor, reduced)]
    mask = product.mask
    if mask is not None and not depends(mask, reduced):
        outside = [masked(mask, multiply(outside) if outside else ir.Const(1, product.factors[0].dtype), 0)]
        mask = None
    used = frozenset[IndexVar]().union(*map(ir.free_indices, inside), ir.free_indices(mask) if mask else ())
    kept = tuple(index for index in indices if index in used)
    repeats = scope.points(index for index in indices if index not in used)
    node = _plan_inside(kept, inside, mask, accumulate, product.factors[0].dtype, scope)
    if repeats != 1:
        node = scope.apply("*", (node, fill(_number(repeats, accumulate), accumulate)), accumulate)
    for factor in outside:
        node = scope.apply("*", (node, scope.cast(plan_value(factor, scope), accumulate)), accumulate)
    if mask is not None and not ir.types.is_integral(accumulate) and not all(isinstance(f, ir.Const) for f in outside):
        # Where no point takes part, an infinite factor must not meet the zero of the empty sum.
        some = plan_fold(Reducer.ANY, indices, mask, None, "bool", scope)
        node = scope.apply("where", (some, node, fill(0, accumulate)), accumulate)
    return node


def _number(value: int, dtype: str) -> int | float:
    if ir.types.is_integral(dtype):
        bits = ir.types.BITS[dtype]
        value %= 2**bits
        return value - 2**bits if dtype in ir.types.SIGNED and value >= 2 ** (bits - 1) else value
    return float(value)


def _plan_inside(
    indices: tuple[IndexVar, ...],
    factors: list[ir.Expr],
    mask: ir.Expr | None,
    accumulate: str,
    dtype: str,
    scope: Scope,
) -> Node:
    if not factors:
        if mask is None:
            return fill(1 if ir.types.is_integral(accumulate) else 1.0, accumulate)
        return _fold(Reducer.SUM, indices, scope.cast(plan_value(mask, scope), accumulate), scope)
    if len(factors) == 1:
        return _plan_fold(Reducer.SUM, indices, factors[0], mask, accumulate, scope)
    convolution = as_convolution(indices, factors, mask, accumulate, scope)
    if convolution is not None:
        return convolution
    if mask is not None and is_padding(mask, [factor for factor in factors if isinstance(factor, ir.Access)], scope):
        mask = None
    steps = _steps(indices, multiply(factors), mask, scope)
    if steps:
        rest = tuple(index for index in indices if index not in steps)
        body = _plan_inside(rest, factors, mask, accumulate, dtype, scope.unrolling(steps))
        unrolled = _unroll(Reducer.SUM, steps, scope.cast(body, accumulate), scope, _why_steps(steps, factors, scope))
        if not gathered_indices(steps, multiply(factors), scope):
            return unrolled
        return replace(unrolled, derivative=_contracted(indices, factors, mask, accumulate, scope))
    steps = as_products(indices, factors, mask, scope)
    if steps:
        body = scope.cast(plan_value(multiply(factors), scope.unrolling(steps)), accumulate)
        why = f"{scope.points(steps)} products each: too few for a matrix multiplication"
        return _unroll(Reducer.SUM, steps, body, scope, why)
    return _contracted(indices, factors, mask, accumulate, scope)


def _contracted(
    indices: tuple[IndexVar, ...], factors: list[ir.Expr], mask: ir.Expr | None, accumulate: str, scope: Scope
) -> Node:
    """The sum of a product as a contraction, or as an elementwise product that is summed."""
    contraction = as_contraction(indices, factors, mask, accumulate, scope)
    if contraction is not None:
        return contraction
    return _fold(
        Reducer.SUM, indices, scope.cast(plan_value(masked(mask, multiply(factors), 0), scope), accumulate), scope
    )


# ---------------------------------------------------------------- folds


def plan_fold(
    reducer: Reducer,
    indices: tuple[IndexVar, ...],
    body: ir.Expr,
    guard: ir.Expr | None,
    accumulate: str,
    scope: Scope,
) -> Node:
    """A reduction of an elementwise body: shifted slices for small windows, `reduce_window` for large, else a fold."""
    used = ir.free_indices(body) | (ir.free_indices(guard) if guard is not None else frozenset())
    kept = tuple(index for index in indices if index in used)
    repeats = scope.points(index for index in indices if index not in used)
    node = _plan_fold(reducer, kept, body, guard, accumulate, scope)
    if repeats == 1 or reducer not in (Reducer.SUM, Reducer.PRODUCT):
        return node
    if reducer is Reducer.SUM:
        return scope.apply("*", (node, fill(_number(repeats, accumulate), accumulate)), accumulate)
    return scope.apply("power", (node, fill(repeats, "int32")), accumulate)


def _plan_fold(
    reducer: Reducer,
    indices: tuple[IndexVar, ...],
    body: ir.Expr,
    guard: ir.Expr | None,
    accumulate: str,
    scope: Scope,
) -> Node:
    if guard is None:
        pool = as_pool(reducer, indices, body, accumulate, scope)
        if pool is not None:
            return pool
    steps = _steps(indices, body, guard, scope, pooled=True) or _short(indices, body, scope)
    if steps:
        rest = tuple(index for index in indices if index not in steps)
        inner = _plan_fold(reducer, rest, body, guard, accumulate, scope.unrolling(steps))
        unrolled = _unroll(reducer, steps, inner, scope, _why_steps(steps, [body], scope))
        if not gathered_indices(steps, body, scope):
            return unrolled
        return replace(unrolled, derivative=_folded(reducer, indices, body, guard, accumulate, scope))
    return _folded(reducer, indices, body, guard, accumulate, scope)


def _folded(
    reducer: Reducer,
    indices: tuple[IndexVar, ...],
    body: ir.Expr,
    guard: ir.Expr | None,
    accumulate: str,
    scope: Scope,
) -> Node:
    operand = scope.cast(plan_value(masked(guard, body, identity(reducer, body.dtype)), scope), accumulate)
    return _fold(reducer, indices, operand, scope)


def _short(indices: tuple[IndexVar, ...], body: ir.Expr, scope: Scope) -> tuple[IndexVar, ...]:
    """All indices of a short reduction of many large elements, unless it runs along memory."""
    axes = scope.sorted(ir.free_indices(body) - scope.unrolled)
    kept = [axis for axis in axes if axis not in indices]
    if not indices or scope.points(indices) > SHORT or scope.points(kept) < LARGE:
        return ()
    read = body.operand if isinstance(body, ir.Cast) else body
    if isinstance(read, ir.Access) and read.indices[-1].variables & frozenset(indices):
        return ()
    return indices


def _fold(reducer: Reducer, indices: tuple[IndexVar, ...], operand: Node, scope: Scope) -> Node:
    present = tuple(index for index in indices if index in operand.axes)
    if not present:
        return operand
    return Fold(reducer, operand, present, dtype=operand.dtype, axes=_remaining(operand, present))


def _unroll(reducer: Reducer, steps: tuple[IndexVar, ...], body: Node, scope: Scope, why: str) -> Unroll:
    box = tuple((index, *scope.box[index]) for index in steps)
    return Unroll(reducer, box, body, dtype=body.dtype, axes=body.axes, why=why)


def _why_steps(steps: tuple[IndexVar, ...], body: list[ir.Expr], scope: Scope) -> str:
    count = scope.points(steps)
    if window_indices(steps, multiply(body), scope, pooled=True):
        return f"{count} shifted reads in one fused loop: no array of windows is stored"
    if gathered_indices(steps, multiply(body), scope):
        return f"{count} row gathers in one fused loop: the gathered rows are not stored"
    return f"{count} terms each: one fused loop over the elements"


def _steps(
    indices: tuple[IndexVar, ...], body: ir.Expr, mask: ir.Expr | None, scope: Scope, *, pooled: bool = False
) -> tuple[IndexVar, ...]:
    """The reduction indices to unroll: those of small windows, and those that gather rows."""
    expr = body if mask is None else ir.Select(mask, body, body, body.dtype)
    windows = window_indices(indices, expr, scope, pooled=pooled)
    if windows and scope.points(windows) <= UNROLL_TERMS:
        every = tuple(indices)
        return windows if pooled or scope.points(every) > UNROLL_TERMS else every
    rows = gathered_indices(indices, expr, scope)
    if rows and scope.points(rows) <= UNROLL_GATHERS:
        return rows
    return ()


__all__ = ["greatest", "plan_fold", "plan_reduce", "plan_sum"]
