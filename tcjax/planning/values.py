"""Expressions as computations over named axes."""

from dataclasses import replace
from typing import assert_never

from .. import ir
from .divisions import divide
from .nodes import CallBuiltin, Fold, Node
from .reads import plan_index, plan_read
from .scope import Scope, fill


def plan_value(expr: ir.Expr, scope: Scope) -> Node:
    """The expression at every point of its free indices (unrolled ones excepted)."""
    match expr:
        case ir.Const(value, dtype):
            return fill(value, dtype)
        case ir.Extent():
            raise AssertionError("sizes are numbers by now")
        case ir.Index(variable):
            return plan_index(variable, scope)
        case ir.Access():
            return _shield(plan_read(expr, scope), 1, scope)
        case ir.Unary(operator, operand, dtype):
            return scope.apply("neg" if operator == "-" else operator, (plan_value(operand, scope),), dtype)
        case ir.Binary("/" | "**" as operator, left, right, dtype):
            arguments = (plan_value(left, scope), _shield(plan_value(right, scope), 1, scope))
            return scope.apply(operator, arguments, dtype)
        case ir.Binary("//" | "%" as operator, left, ir.Const(int() as by), "int32") if by:
            return divide(operator, ir.affine_of(left), plan_value(left, scope), int(by), scope)
        case ir.Binary(operator, left, right, dtype):
            return scope.apply(operator, (plan_value(left, scope), plan_value(right, scope)), dtype)
        case ir.Call(function, arguments, dtype):
            return _call(function, arguments, dtype, scope, foreign=False)
        case ir.Foreign(function, arguments, dtype):
            return _call(function, arguments, dtype, scope, foreign=True)
        case ir.Cast(operand, dtype):
            return scope.cast(plan_value(operand, scope), dtype)
        case ir.Select(condition, then, otherwise, dtype):
            test = plan_value(condition, scope)
            kept = plan_value(then, branch(then, test, scope))
            other = plan_value(otherwise, branch(otherwise, test, scope, negated=True))
            return scope.apply("where", (test, kept, other), dtype)
        case ir.Reduce():
            from .reductions import plan_reduce

            return _shield(plan_reduce(expr, replace(scope, live=_live_within(expr, scope))), 1, scope)
        case _:
            assert_never(expr)


def _call(function: str, arguments: tuple[ir.Expr, ...], dtype: str, scope: Scope, *, foreign: bool) -> Node:
    nodes = tuple(plan_value(argument, scope) for argument in arguments)
    live = None if foreign else scope.live
    axes = scope.sorted(axis for node in (*nodes, *([live] if live else [])) for axis in node.axes)
    return CallBuiltin(function, nodes, foreign, live, dtype=dtype, axes=axes)


def _shield(node: Node, value: float, scope: Scope) -> Node:
    """The node, replaced by `value` where the enclosing branch is not taken: NaN times zero is NaN in a gradient."""
    if scope.live is None or not (ir.types.is_float(node.dtype) or ir.types.is_complex(node.dtype)):
        return node
    return scope.apply("where", (scope.live, node, fill(value, node.dtype)), node.dtype)


def _live_within(reduce: ir.Reduce, scope: Scope) -> Node | None:
    """Where the body of a reduction counts: wherever the reduction does, for any index that it does not depend on."""
    live = scope.live
    if live is None or not any(map(_may_be_infinite, ir.walk(reduce))):
        return None
    gone = tuple(axis for axis in live.axes if axis not in ir.free_indices(reduce))
    if not gone:
        return live
    kept = tuple(axis for axis in live.axes if axis not in gone)
    return Fold(ir.Reducer.ANY, live, gone, dtype="bool", axes=kept)


def branch(expr: ir.Expr, test: Node, scope: Scope, *, negated: bool = False) -> Scope:
    """The scope of an expression that counts where `test` holds.

    Only a branch whose derivative can be infinite needs the condition.
    """
    if not _is_risky(expr):
        return scope
    return scope.where(scope.apply("!", (test,), "bool") if negated else test)


def _is_risky(expr: ir.Expr) -> bool:
    for node in ir.walk(expr):
        match node:
            case ir.Binary("*", left, right):
                if not isinstance(left, ir.Const) and not isinstance(right, ir.Const):
                    return True
            case _ if _may_be_infinite(node):
                return True
            case _:
                continue
    return False


def _may_be_infinite(node: ir.Expr) -> bool:
    """Whether the derivative may be infinite although the arguments are finite."""
    if isinstance(node, ir.Reduce):
        return isinstance(node.reducer, ir.Monoid)
    return isinstance(node, (ir.Call, ir.Foreign)) or (
        isinstance(node, ir.Binary) and node.operator in ("/", "**", "%", "//", "quot", "rem")
    )
