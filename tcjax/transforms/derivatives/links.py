"""How a node of an expression depends on its operands, to first order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from ... import ir
from ...diagnostics import Code, CompileError
from .arithmetic import call, cast, constant, negative, over, times
from .builtins import extremum_partials, partials, power_partials, remainder_partial

Linear = Callable[[ir.Expr], ir.Expr]


@dataclass(frozen=True, slots=True)
class Link:
    """An operand with its derivative rules: its tangent `forward`, the node's cotangent `backward`.

    It applies where `condition` holds.
    """

    operand: ir.Expr
    forward: Linear
    backward: Linear
    condition: ir.Expr | None = None
    holds: bool = True


def is_smooth(dtype: str) -> bool:
    """Whether values of the type have tangents."""
    return ir.types.is_float(dtype) or ir.types.is_complex(dtype)


def links(node: ir.Expr) -> tuple[Link, ...]:
    """The links from a node's operands, without reductions; operands that are not floats have none.

    Raises `CompileError` (TC0309) for a function whose derivative has no name.
    """
    if not is_smooth(node.dtype):
        return ()
    return tuple([link for link in _links(node) if is_smooth(link.operand.dtype)])


def derivative_name(function: str, argument: int) -> str:
    """The name of a Python function's derivative with respect to one argument, which `fns` must contain, too."""
    return f"d{argument}_{function}"


def _links(node: ir.Expr) -> tuple[Link, ...]:
    match node:
        case ir.Const() | ir.Extent() | ir.Index() | ir.Access() | ir.Reduce():
            return ()
        case ir.Unary("-", operand):
            return (Link(operand, negative, negative),)
        case ir.Unary():
            return ()
        case ir.Binary():
            return _binary(node)
        case ir.Cast(operand, dtype):
            back = operand.dtype
            return (Link(operand, lambda t: cast(t, dtype), lambda t: cast(t, back)),)
        case ir.Select(condition, then, otherwise):
            same = _same
            return Link(then, same, same, condition), Link(otherwise, same, same, condition, holds=False)
        case ir.Call():
            return _call(node)
        case ir.Foreign(function, arguments, dtype):
            found = []
            for number, argument in enumerate(arguments):
                derivative = ir.Foreign(derivative_name(function, number), arguments, dtype)
                found.append(_times(argument, cast(derivative, dtype), dtype))
            return tuple(found)
        case _:
            assert_never(node)


def _same(value: ir.Expr) -> ir.Expr:
    return value


def _times(operand: ir.Expr, weight: ir.Expr, dtype: str) -> Link:
    """The link that multiplies by a factor of the node's type."""
    back = operand.dtype
    return Link(operand, lambda t: times(cast(t, dtype), weight), lambda t: cast(times(t, weight), back))


def _binary(node: ir.Binary) -> tuple[Link, ...]:
    left, right, dtype = node.left, node.right, node.dtype
    match node.operator:
        case "+":
            return Link(left, _same, _same), Link(right, _same, _same)
        case "-":
            return Link(left, _same, _same), Link(right, negative, negative)
        case "*" if left == right:
            two = constant(2, dtype)
            return (Link(left, lambda t: times(two, times(left, t)), lambda t: times(two, times(t, left))),)
        case "*":
            return (
                Link(left, lambda t: times(t, right), lambda t: times(t, right)),
                Link(right, lambda t: times(left, t), lambda t: times(left, t)),
            )
        case "/":
            return (
                Link(left, lambda t: over(t, right), lambda t: over(t, right)),
                _times(right, negative(over(over(left, right), right)), dtype),
            )
        case "**":
            weights = power_partials(node, left, right)
        case "%":
            weights = constant(1, dtype), remainder_partial(left, right)
        case "min" | "max":
            weights = extremum_partials(node.operator, left, right)
        case _:
            return ()
    return tuple([_times(operand, weight, dtype) for operand, weight in zip((left, right), weights, strict=True)])


def _call(node: ir.Call) -> tuple[Link, ...]:
    match node:
        case ir.Call("real", (operand,)):
            return (Link(operand, lambda t: call("real", t), lambda t: cast(t, operand.dtype)),)
        case ir.Call("imag", (operand,)):
            turn = constant(-1j, operand.dtype) if ir.types.is_complex(operand.dtype) else constant(0, operand.dtype)
            return (Link(operand, lambda t: call("imag", t), lambda t: times(turn, cast(t, operand.dtype))),)
        case ir.Call("conj", (operand,)):
            return (Link(operand, lambda t: call("conj", t), lambda t: call("conj", t)),)
        case ir.Call("abs", (operand,)) if ir.types.is_complex(operand.dtype):
            return (_modulus(node, operand),)
        case _:
            pass
    weights = partials(node)
    if weights is None:
        if not any(is_smooth(argument.dtype) for argument in node.arguments):
            return ()
        raise CompileError(
            Code.NO_DERIVATIVE,
            f"the derivative of `{node.function}` is no function of the language",
            node.span,
            help="use `jax.grad`, which knows it, or pass a function of your own in `fns`",
        )
    pairs = zip(node.arguments, weights, strict=True)
    return tuple([_times(operand, weight, node.dtype) for operand, weight in pairs if weight is not None])


def _modulus(node: ir.Call, operand: ir.Expr) -> Link:
    """The link of a complex number's modulus, 0 at 0."""
    at_zero = ir.Binary("==", node, constant(0, node.dtype), "bool")
    size = ir.Select(at_zero, constant(1, node.dtype), node, node.dtype)
    turn = over(call("conj", operand), cast(size, operand.dtype))
    return Link(operand, lambda t: call("real", times(turn, t)), lambda t: times(cast(t, operand.dtype), turn))
