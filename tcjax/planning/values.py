"""Expressions as computations over named axes."""

from dataclasses import replace
from typing import Final, assert_never

from .. import ir
from .access.divisions import divide
from .access.reads import plan_index, plan_read
from .branches import branch
from .data.nodes import CallBuiltin, Node, holds_data
from .rules import plan_value, rule
from .scope import Scope, fill

# Numbers that float16 can represent, and so can their reciprocals.
_LEAST: Final = 2.0**-14
_MOST: Final = 2.0**14


@rule(ir.Const, ir.Extent, ir.Index, ir.Access, ir.Unary, ir.Binary, ir.Call, ir.Foreign, ir.Cast, ir.Select)
def _plan(expr: ir.Expr, scope: Scope) -> Node:
    """An elementwise computation."""
    match expr:
        case ir.Const(value, dtype):
            return fill(value, dtype)
        case ir.Extent(size, dtype):
            return scope.cast(fill(scope.number(size), "int32"), dtype)
        case ir.Index(variable):
            return plan_index(variable, scope)
        case ir.Access():
            return shield(plan_read(expr, scope), 1, scope)
        case ir.Unary(operator, operand, dtype):
            return scope.apply("neg" if operator == "-" else operator, (plan_value(operand, scope),), dtype)
        case ir.Binary("**", base, exponent) | ir.Call("pow", (base, exponent)) if _is_stepped(exponent, expr, scope):
            # The steps of a loop are numbers there, and powers with such exponents are products.
            return scope.apply("power", (plan_value(base, scope), plan_value(exponent, scope)), expr.dtype)
        case ir.Binary("/" | "**" as operator, left, right, dtype):
            divisor = plan_value(right, scope)
            # A number has no derivative with respect to an exponent.
            plain = is_scale(right) if operator == "/" else isinstance(right, ir.Const)
            arguments = (plan_value(left, scope), divisor if plain else shield(divisor, 1, scope))
            compute = scope.scaled if operator == "/" else scope.apply
            return compute(operator, arguments, dtype)
        case ir.Binary("*", left, right, dtype):
            return scope.scaled("*", (plan_value(left, scope), plan_value(right, scope)), dtype)
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
            kept = plan_value(then, branch(then, condition, test, scope))
            if isinstance(kept, CallBuiltin) and kept.function == "exp" and _is_zero(otherwise):
                return _masked_exponential(kept, test, scope)
            other = plan_value(otherwise, branch(otherwise, condition, test, scope, otherwise=True))
            return scope.apply("where", (test, kept, other), dtype)
        case ir.Reduce():
            raise AssertionError("a reduction has a rule of its own")
        case _:
            assert_never(expr)


def _is_stepped(exponent: ir.Expr, power: ir.Expr, scope: Scope) -> bool:
    """Whether an exponent is an integer known only from the steps of the loop around it."""
    used = ir.free_indices(exponent)
    data = scope.live is not None and holds_data(scope.live)
    return not data and ir.types.is_float(power.dtype) and bool(used) and used <= scope.unrolled and _is_whole(exponent)


def _is_whole(expr: ir.Expr) -> bool:
    match expr:
        case ir.Const(value):
            return not isinstance(value, complex) and value == int(value)
        case ir.Index():
            return True
        case ir.Cast(operand):
            return _is_whole(operand)
        case ir.Binary("+" | "-" | "*" | "==", left, right):
            return _is_whole(left) and _is_whole(right)
        case ir.Select(condition, then, otherwise):
            return all(map(_is_whole, (condition, then, otherwise)))
        case _:
            return False


def is_scale(expr: ir.Expr) -> bool:
    """Whether a factor or a divisor is a number that keeps zeros and their derivatives, in any type."""
    match expr:
        case ir.Call("sqrt", (argument,)):
            number = ir.number_of(argument)
            return number is not None and number > 0 and is_scale(argument)
        case _:
            number = ir.number_of(expr)
            return number is not None and _LEAST <= abs(number) <= _MOST


def _call(function: str, arguments: tuple[ir.Expr, ...], dtype: str, scope: Scope, *, foreign: bool) -> Node:
    nodes = tuple(plan_value(argument, scope) for argument in arguments)
    # A number has no derivative.
    plain = foreign or all(ir.number_of(argument) is not None for argument in arguments)
    live = None if plain else scope.live
    axes = scope.sorted(axis for node in (*nodes, *([live] if live else [])) for axis in node.axes)
    return CallBuiltin(function, nodes, foreign, live, dtype=dtype, axes=axes)


def _is_zero(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and expr.value == 0 and ir.types.is_float(expr.dtype)


def _masked_exponential(call: CallBuiltin, test: Node, scope: Scope) -> Node:
    """``test ? exp(x) : 0`` as ``exp(test ? x : -inf)``: the derivative needs only the result, which is stored."""
    (exponent,) = call.arguments
    masked = scope.apply("where", (test, exponent, fill(-float("inf"), exponent.dtype)), exponent.dtype)
    return replace(call, arguments=(masked,), live=scope.live, axes=scope.sorted((*call.axes, *masked.axes)))


def shield(node: Node, value: float, scope: Scope) -> Node:
    """The node, replaced by `value` where the enclosing branch is not taken: NaN times zero is NaN in a gradient."""
    if scope.live is None or not (ir.types.is_float(node.dtype) or ir.types.is_complex(node.dtype)):
        return node
    return scope.apply("where", (scope.live, node, fill(value, node.dtype)), node.dtype)
