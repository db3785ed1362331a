"""The results of a parser's rules: nodes, the tokens around them, and their depth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..diagnostics import Code, CompileError, Span
from .lexing import Token

MAX_DEPTH: Final = 200


@dataclass(slots=True)
class Piece:
    """A node, its first and last token (parentheses included), and the depth of its expression."""

    node: Any
    first: Token
    last: Token
    depth: int = 0


Children = list[Any]


class Lists:
    """The rules for lists, with the same names in every grammar."""

    def one(self, children: Children) -> Children:
        return [children[0]]

    def more(self, children: Children) -> Children:
        # The only reference to this list is on the parser's stack.
        children[0].append(children[-1])
        return children[0]

    def first(self, children: Children) -> Any:
        return children[0]

    def last(self, children: Children) -> Any:
        return children[-1]


def climb(chain: Children, precedence: Mapping[str, int], combine: Callable[[str, Piece, Piece], Piece]) -> Piece:
    """The tree of ``a + b * c``, given as operands and operators in turn: an operator waits for a looser one."""
    operands: list[Piece] = [chain[0]]
    operators: list[str] = []

    def apply() -> None:
        right, left = operands.pop(), operands.pop()
        operands.append(combine(operators.pop(), left, right))

    for position in range(1, len(chain), 2):
        level = precedence[chain[position]]
        while operators and precedence[operators[-1]] >= level:
            apply()
        operators.append(chain[position])
        operands.append(chain[position + 1])
    while operators:
        apply()
    return operands[0]


def deeper(parts: "list[Piece] | tuple[Piece, ...]", span: Span, help: str) -> int:
    """The depth of an expression with these parts. Raises TC0103 if it is too deep for a later pass."""
    depth = 1 + max((part.depth for part in parts), default=0)
    if depth > MAX_DEPTH:
        raise CompileError(Code.TOO_DEEP, f"this expression is more than {MAX_DEPTH} operations deep", span, help=help)
    return depth


def nodes(pieces: list[Piece] | None) -> tuple[Any, ...]:
    """The nodes of a list that may be missing."""
    return tuple([piece.node for piece in pieces]) if pieces else ()


def between(pieces: list[Piece]) -> Span:
    """The span from the first piece to the last."""
    return pieces[0].first.span_to(pieces[-1].last)
