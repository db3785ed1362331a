"""The trap of C's division: ``1/2 * x(i)`` rounds the integer quotient down before it becomes a float."""

from collections.abc import Iterator, Sequence
from typing import Final

from ..diagnostics import Code
from ..ir import types
from ..syntax import ast
from .literals import Value, dtype_of
from .scope import Scope

_KEEP: Final = frozenset(("+", "-", "*", "**"))
_REDUCE: Final = frozenset(("sum", "prod", "min", "max"))


def warn_of_quotients(operands: Sequence[tuple[ast.Expr, Value]], dtype: str, scope: Scope) -> None:
    """Warns of operands that are integer quotients and become values of this type."""
    if scope.is_quiet or not (types.is_float(dtype) or types.is_complex(dtype)):
        return
    for node, operand in operands:
        if types.is_integral(dtype_of(operand)):
            for quotient in quotients(node, scope):
                _warn(quotient, scope)


def quotients(node: ast.Expr, scope: Scope) -> Iterator[ast.Binary]:
    """The divisions behind an integer value, through lets and temporaries, except exact ones of two numbers."""
    seen: set[int] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        match current:
            case ast.Binary("/", ast.Number(int(left)), ast.Number(int(right))) if right and left % right == 0:
                pass
            case ast.Binary("/"):
                yield current
            case ast.Binary(operator, left, right) if operator in _KEEP:
                pending += (right, left)
            case ast.Unary("-", operand):
                pending.append(operand)
            case ast.Conditional(_, then, otherwise):
                pending += (otherwise, then)
            case ast.Reduction(reducer, arguments=arguments) if reducer in _REDUCE:
                pending.append(arguments[0])
            case ast.Name(name) if name in scope.lets:
                pending.append(scope.lets[name].node)
            case ast.Name(name) | ast.Apply(name) if name in scope.environment.quotients:
                yield from scope.environment.quotients[name]
            case ast.Apply("min" | "max" | "abs", arguments):
                pending += reversed(arguments)
            case _:
                pass


def divided(text: str) -> str:
    """An integer division rewritten for floats: ``1.0/N`` for ``1/N``, ``1.0 * (i+1)/N`` for ``(i+1)/N``."""
    number = text.partition("/")[0].rstrip()
    return f"{number}.0{text[len(number) :]}" if number.isdecimal() else f"1.0 * {text}"


def _warn(quotient: ast.Binary, scope: Scope) -> None:
    text = quotient.span.text.strip()
    scope.environment.warn(
        Code.INTEGER_DIVISION,
        f"`{text}` divides integers, so it is rounded down before it becomes a float",
        quotient.span,
        f"for the quotient write `{divided(text)}`; if rounding down is meant, write `//` for this `/`",
    )
