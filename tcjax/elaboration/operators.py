"""Typed operators: the types that they accept, how these join, and the type of the result."""

import re
from typing import Final

from .. import ir
from ..diagnostics import Code, CompileError, Span, phrases
from ..ir import types
from ..ir.builtins import Builtin, argument_type, result_type
from .literals import (
    Literal,
    Open,
    Value,
    cast,
    chosen,
    combined,
    convert,
    dtype_of,
    fold,
    fold_call,
    joined,
    literal,
    settled,
)

COMPARISONS: Final = frozenset(("<", "<=", ">", ">=", "==", "!="))
# A combining assignment, ``+=`` or ``max=!``, at the end of a text.
_UPDATE: Final = re.compile(r"(?:[^\W_]|[+*])=!*\s*$")
_ORDERED: Final = frozenset(("<", "<=", ">", ">=", "min", "max", "//", "%"))


def binary(operator: str, left: Value, right: Value, span: Span) -> Value:
    """``left operator right``; ``/`` of integers floors, ``truediv`` never does."""
    if operator in ("&&", "||"):
        left, right = (condition(each, phrases.operator(operator, span)) for each in (left, right))
    dtype = joined((left, right))
    operator, dtype = _accepted(operator, dtype, right, span)
    if types.is_integral(dtype) and operator in ("//", "%") and isinstance(right, Literal) and not right.value:
        raise CompileError(Code.DIVISION_BY_ZERO, "this divides by zero", span, help="divide by another number")
    if isinstance(left, Literal) and isinstance(right, Literal):
        return fold(operator, convert(left.value, dtype), convert(right.value, dtype), span)
    return combined(
        (left, right),
        dtype,
        lambda parts, result: ir.Binary(operator, parts[0], parts[1], result, span=span),
        "bool" if operator in COMPARISONS else dtype,
    )


def unary(operator: str, operand: Value, span: Span) -> Value:
    """``-x``, ``!x`` or ``~x``."""
    if operator == "!":
        if dtype_of(operand) != "bool" and not span.source.is_python and _follows_update(span):
            raise CompileError(
                Code.NOT_BOOLEAN,
                f"`!` needs a bool, but this is {dtype_of(operand)}",
                span,
                help="an operator such as `+=!` is one word: write its `!` once, and without a space",
            )
        tested = condition(operand, phrases.operator("!", span))
        if isinstance(tested, Literal):
            return Literal(not tested.value, span)
        return combined((tested,), "bool", lambda parts, result: ir.Unary("!", parts[0], result, span=span))
    dtype = dtype_of(operand)
    if operator == "~" and not (types.is_integral(dtype) or dtype == "bool"):
        raise _wrong_type(operator, "integers or bool", dtype, span)
    if isinstance(operand, Literal):
        value = operand.value
        if operator == "-":
            return literal(-value, span)
        assert isinstance(value, int)
        return literal(not value if isinstance(value, bool) else ~value, span)
    if operator == "-" and dtype == "bool":
        dtype = "int32"
    return combined((operand,), dtype, lambda parts, result: ir.Unary(operator, parts[0], result, span=span))


def conditional(test: Value, then: Value, otherwise: Value, span: Span) -> Value:
    """``test ? then : otherwise``, of the branches' joined type."""
    return chosen(condition(test, f"the condition of {phrases.choice(span)}"), then, otherwise, span)


def condition(value: Value, where: str) -> Value:
    """The value, which must be bool."""
    dtype = dtype_of(value)
    if dtype != "bool":
        inner = value.expr if isinstance(value, Open) else value
        match inner.variable.name.lower() if isinstance(inner, ir.Index) else "":
            case "true" | "false":
                instead = "write `bool(1)` or `bool(0)`: any other word is an index"
            case "unique":
                instead = f"name the subscript that differs at every point: {phrases.promised('I(i)', value.span)}"
            case _:
                instead = f"write a comparison, such as `{phrases.written(value.span, 'x')} != 0`"
        raise CompileError(Code.NOT_BOOLEAN, f"{where} needs a bool, but this is {dtype}", value.span, help=instead)
    return value


def integer(value: Value, where: str) -> Value:
    """The value, which must be an integer."""
    dtype = dtype_of(value)
    if not types.is_integral(dtype):
        inner = value.expr if isinstance(value, Open) else value
        raise CompileError(
            Code.NOT_INTEGRAL,
            f"{where} must be an integer, but this is {dtype}",
            value.span,
            help=f"a mask selects nothing by itself: guard with it, or cast it to 0 and 1, {_cast(value.span)}"
            if dtype == "bool"
            else f"cast it: {_cast(value.span)} truncates"
            + ("; `//` divides and floors" if isinstance(inner, ir.Binary) and inner.operator == "/" else ""),
        )
    return value


def ordered(dtype: str, what: str, span: Span) -> None:
    """Raises TC0306 for complex numbers, which have no order."""
    if types.is_complex(dtype):
        raise CompileError(
            Code.NOT_ORDERED,
            f"{what} is not defined for complex numbers",
            span,
            help="use `abs(z)`, `real(z)` or `imag(z)`",
        )


def convert_to(dtype: str, operand: Value, span: Span) -> ir.Expr:
    """``dtype(operand)``."""
    source = dtype_of(operand)
    if types.is_complex(source) and not types.is_complex(dtype):
        raise CompileError(
            Code.WRONG_TYPE,
            f"a complex number does not convert to {dtype}",
            span,
            help=_PARTS,
        )
    if isinstance(operand, Literal):
        return ir.Const(cast(operand.value, dtype, span), dtype, span=span)
    if source == dtype:
        return settled(operand)
    return ir.Cast(settled(operand), dtype, span=span)


def call(name: str, builtin: Builtin, arguments: list[Value], span: Span) -> Value:
    """A builtin applied to as many values as it takes."""
    dtype = joined(arguments)
    if types.is_complex(dtype) and not builtin.complex:
        raise _wrong_type(name, "real numbers", dtype, span)
    if builtin.result == "int" and not (types.is_integral(dtype) or dtype == "bool"):
        raise _wrong_type(name, "integers or bool", dtype, span)
    dtype = argument_type(builtin, dtype)
    if dtype == "bool" and builtin.result != "bool":
        dtype = "int32"
    if builtin.result == "bool" and not (types.is_float(dtype) or types.is_complex(dtype)):
        dtype = "float32"
    if types.is_float(dtype) and all(isinstance(argument, Literal) for argument in arguments):
        folded = fold_call(name, [float(a.value) for a in arguments if isinstance(a, Literal)], span)  # type: ignore[arg-type]
        if folded is not None:
            return folded
    return combined(
        arguments,
        dtype,
        lambda parts, result: ir.Call(name, tuple(parts), result, span=span),
        result_type(builtin, dtype),
    )


def _accepted(operator: str, dtype: str, right: Value, span: Span) -> tuple[str, str]:
    """The operator of the IR, and the type both operands are converted to."""
    if operator in _ORDERED:
        ordered(dtype, f"`{operator}`", span)
    match operator:
        case "/" | "//" | "%":
            dtype = "int32" if dtype == "bool" else dtype
            return "//" if operator == "/" and types.is_integral(dtype) else operator, dtype
        case "truediv":
            return "/", dtype if types.is_float(dtype) or types.is_complex(dtype) else "float32"
        case "**":
            if not (types.is_integral(dtype) or dtype == "bool"):
                return operator, dtype
            # An integer to a power that may be negative is not an integer.
            counted = isinstance(right, Literal) and isinstance(right.value, int) and right.value >= 0
            return operator, ("int32" if dtype == "bool" else dtype) if counted else "float32"
        case "&" | "|" | "^":
            if not (types.is_integral(dtype) or dtype == "bool"):
                raise _wrong_type(operator, "integers or bool", dtype, span)
        case "<<" | ">>":
            if not types.is_integral(dtype):
                raise _wrong_type(operator, "integers", dtype, span)
            if isinstance(right, Literal) and isinstance(right.value, int) and right.value < 0:
                raise CompileError(
                    Code.BAD_NUMBER, "this shifts by a negative number", span, help="shift the other way"
                )
        case _:
            pass
    return operator, dtype


def _wrong_type(operator: str, accepted: str, dtype: str, span: Span) -> CompileError:
    return CompileError(
        Code.WRONG_TYPE,
        f"`{operator}` takes {accepted}, but got {dtype}",
        span,
        help=f"write a power as {phrases.power(span)}: `^` is the exclusive or of bits"
        if operator == "^"
        else _PARTS
        if types.is_complex(dtype)
        else "convert the operands, for instance with `int32(...)`",
    )


_PARTS: Final = "take a part of it first: `real(z)`, `imag(z)` or `abs(z)`"


def _cast(span: Span) -> str:
    """A conversion of the written expression to an integer."""
    text = phrases.written(span, "...")
    return f"`int32({text.removeprefix('(').removesuffix(')') if text.startswith('(') else text})`"


def _follows_update(span: Span) -> bool:
    """Whether the text before is a combining assignment, ``+=`` or ``max=!``, whose ``!`` this may be."""
    return _UPDATE.search(span.source.line(span.line)[: span.column - 1]) is not None
