"""Reductions of an elementwise body: shifted slices for small windows, pools for large ones, else one fold."""

from collections.abc import Sequence
from dataclasses import replace

from .. import ir
from ..ir import Reducer
from ..symbolic import IndexVar
from ..transforms.factors import depends, multiply
from .branches import is_risky
from .nesting import nested
from .nodes import Apply, Fill, Fold, Iota, Node, Read, Strip, Unroll, holds_data, operands
from .reads import as_stored
from .scope import Scope, fill, identity, masked_by
from .values import plan_value
from .windows import as_pool, gathered_indices, window_indices

# Beyond about this many terms an unrolled sum compiles for seconds and runs slower (measured in bench/).
UNROLL_TERMS = 144
UNROLL_GATHERS = 100
# What a derivative needs of an operand of so many bytes is computed anew: to store it takes longer.
STORED = 1 << 20
# A reduction over at most SHORT points of at least LARGE elements is one fused loop over the elements.
SHORT = 16
LARGE = 4096


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
    node = plan_nonrepeating(reducer, kept, body, guard, accumulate, scope)
    node = nested(node, ir.Reduce(reducer, kept, (), guard, body, None, accumulate, accumulate), scope)
    if repeats == 1 or reducer not in (Reducer.SUM, Reducer.PRODUCT) or accumulate == "bool":
        return node
    if reducer is Reducer.SUM:
        return scope.apply("*", (node, fill(as_number(repeats, accumulate), accumulate)), accumulate)
    return scope.apply("power", (node, fill(repeats, "int32")), accumulate)


def plan_nonrepeating(
    reducer: Reducer,
    indices: tuple[IndexVar, ...],
    body: ir.Expr,
    guard: ir.Expr | None,
    accumulate: str,
    scope: Scope,
) -> Node:
    if guard is None or not (depends(guard, frozenset(indices)) or is_risky(body)):
        pool = as_pool(reducer, indices, body, accumulate, scope)
        if pool is not None and guard is not None:
            nothing = fill(identity(reducer, pool.dtype), pool.dtype)
            return scope.apply("where", (plan_value(guard, scope), pool, nothing), pool.dtype)
        if pool is not None:
            return pool
    steps = unrolled_indices(indices, body, guard, scope, pooled=True) or _short(indices, body, scope)
    if steps:
        rest = tuple(index for index in indices if index not in steps)
        inner = plan_nonrepeating(reducer, rest, body, guard, accumulate, scope.unrolling(steps))
        unrolled = unroll(reducer, steps, inner, scope, why_steps(steps, [body], scope))
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
    operand = scope.cast(plan_value(masked_by(guard, body, reducer, accumulate), scope), accumulate)
    return fold(reducer, indices, operand, scope)


def _short(indices: tuple[IndexVar, ...], body: ir.Expr, scope: Scope) -> tuple[IndexVar, ...]:
    """All indices of a short reduction of many large elements, unless it runs along memory."""
    axes = scope.sorted(ir.free_indices(body) - scope.unrolled)
    kept = [axis for axis in axes if axis not in indices]
    if not indices or scope.points(indices) > SHORT or scope.points(kept) < LARGE:
        return ()
    read = body.operand if isinstance(body, ir.Cast) else body
    if isinstance(read, ir.Access) and read.indices and read.indices[-1].variables & frozenset(indices):
        return ()
    return indices


def fold(reducer: Reducer, indices: tuple[IndexVar, ...], operand: Node, scope: Scope) -> Node:
    present = tuple(index for index in indices if index in operand.axes)
    if not present:
        return operand
    if scope.nests is not None:
        operand = as_stored(operand)
    size = scope.points(operand.axes) * ir.types.width(operand.dtype)
    anew = scope.nests is not None and size >= STORED and _is_curved(operand)
    return Fold(reducer, operand, present, anew, dtype=operand.dtype, axes=remaining(operand, present))


def _is_curved(node: Node) -> bool:
    """Whether a value is computed from slices by arithmetic whose derivative needs more than these."""
    match node:
        case Apply(operator=operator, arguments=arguments):
            data = sum(map(holds_data, arguments))
            curved = operator in ("/", "**", "min", "max") or (operator == "*" and data > 1)
            return all(map(_is_arithmetic, arguments)) and (curved or any(map(_is_curved, arguments)))
        case _:
            return False


def _is_arithmetic(node: Node) -> bool:
    if isinstance(node, (Fill, Iota)):
        return True
    if isinstance(node, Read):
        return all(isinstance(dimension, Strip) for dimension in node.dimensions)
    return isinstance(node, Apply) and all(map(_is_arithmetic, operands(node)))


def unroll(reducer: Reducer, steps: tuple[IndexVar, ...], body: Node, scope: Scope, why: str) -> Unroll:
    box = tuple((index, *scope.box[index]) for index in steps)
    return Unroll(reducer, box, body, dtype=body.dtype, axes=body.axes, why=why)


def why_steps(steps: tuple[IndexVar, ...], body: Sequence[ir.Expr], scope: Scope) -> str:
    count = scope.points(steps)
    if window_indices(steps, multiply(body), scope, pooled=True):
        return f"{count} shifted reads in one fused loop: no array of windows is stored"
    if gathered_indices(steps, multiply(body), scope):
        return f"{count} row gathers in one fused loop: the gathered rows are not stored"
    return f"{count} terms each: one fused loop over the elements"


def unrolled_indices(
    indices: tuple[IndexVar, ...], body: ir.Expr, mask: ir.Expr | None, scope: Scope, *, pooled: bool = False
) -> tuple[IndexVar, ...]:
    """The reduction indices to unroll: those of small windows, and those that gather rows."""
    expr = body if mask is None else ir.Select(mask, body, body, body.dtype)
    if scope.unrolled and any(index.is_data for access in ir.accesses(expr) for index in access.indices):
        # Gathers that are unrolled inside of other steps become so many that XLA compiles for minutes.
        return ()
    windows = window_indices(indices, expr, scope, pooled=pooled)
    if windows and scope.points(windows) <= UNROLL_TERMS:
        every = tuple(indices)
        return windows if pooled or scope.points(every) > UNROLL_TERMS else every
    rows = gathered_indices(indices, expr, scope)
    if rows and scope.points(rows) <= UNROLL_GATHERS:
        return rows
    return ()


def as_number(value: int, dtype: str) -> int | float:
    if ir.types.is_integral(dtype):
        bits = ir.types.BITS[dtype]
        value %= 2**bits
        return value - 2**bits if dtype in ir.types.SIGNED and value >= 2 ** (bits - 1) else value
    return float(value)


def remaining(operand: Node, indices: tuple[IndexVar, ...]) -> tuple[IndexVar, ...]:
    return tuple(axis for axis in operand.axes if axis not in indices)
