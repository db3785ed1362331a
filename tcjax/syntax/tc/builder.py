"""What each rule of the grammar becomes: the tree, with spans, never deeper than MAX_DEPTH."""

from dataclasses import dataclass
from typing import Any, Final

from ...diagnostics import Code, CompileError, Span
from .. import ast
from .lexer import Token
from .number import integer, number
from .precedence import PRECEDENCE
from .spelling import OPERATORS, TYPES

MAX_DEPTH: Final = 200


@dataclass(slots=True)
class Piece:
    """A node, the tokens that it stands between (parentheses included), and the depth of its expression."""

    node: Any
    first: Token
    last: Token
    depth: int = 0


Children = list[Any]


class Builder:
    """One method for each rule, or its alias, in the order of the grammar.

    The parser calls them as it goes, with the rule's tokens and with what its rules became: a `Piece`, or a list of
    them. No method recurses, so no text is too deep for it.
    """

    # ---------------------------------------------------------------- lists

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

    def pair(self, children: Children) -> Children:
        return [children[0], children[-1]]

    def listed(self, children: Children) -> Children:
        return children[1] or []

    # ---------------------------------------------------------------- definitions

    def program(self, children: Children) -> ast.Program:
        definitions: dict[str, ast.Definition] = {}
        for piece in children[0]:
            definitions.setdefault(piece.node.name, piece.node)
        return ast.Program(tuple(definitions.values()), span=_between(children[0]))

    def kernel(self, children: Children) -> ast.Program:
        span = _between(children[0])
        return ast.Program((ast.Definition("kernel", None, (), _nodes(children[0]), span=span),), span=span)

    def definition(self, children: Children) -> Piece:
        opening, name, _, parameters, _, _, returns, _, body, closing = children
        parts = (_nodes(parameters), _nodes(returns), _nodes(body))
        node = ast.Definition(name.text, *parts, span=opening.span_to(closing))
        return Piece(node, opening, closing)

    def untyped_parameter(self, children: Children) -> Piece:
        (name,) = children
        return Piece(ast.Parameter(name.text, span=name.span), name, name)

    def typed_parameter(self, children: Children) -> Piece:
        type, name = children
        return Piece(ast.Parameter(name.text, type.node, span=type.first.span_to(name)), type.first, name)

    def scalar_type(self, children: Children) -> Piece:
        (scalar,) = children
        return Piece(ast.TensorType(TYPES[scalar.text], (), span=scalar.span), scalar, scalar)

    def tensor_type(self, children: Children) -> Piece:
        scalar, _, dimensions, closing = children
        node = ast.TensorType(TYPES[scalar.text], tuple(dimensions or ()), span=scalar.span_to(closing))
        return Piece(node, scalar, closing)

    def size_dimension(self, children: Children) -> str:
        return children[0].text

    def fixed_dimension(self, children: Children) -> int:
        return integer(children[0].text, children[0])

    # ---------------------------------------------------------------- statements

    def assign(self, children: Children) -> Piece:
        target, operator, value, equivalent, where = children
        name, indices = target.node
        last = where[-1].last if where else (equivalent or value).last
        node = ast.Assign(
            name,
            indices,
            operator.text.rstrip("!")[:-1] or None,
            operator.text.endswith("!"),
            value.node,
            equivalent and equivalent.node,
            _nodes(where),
            span=target.first.span_to(last),
        )
        return Piece(node, target.first, last)

    def bare_target(self, children: Children) -> Piece:
        (name,) = children
        return Piece((name.text, None), name, name)

    def indexed_target(self, children: Children) -> Piece:
        name, _, indices, closing = children
        return Piece((name.text, _nodes(indices)), name, closing)

    def call_assign(self, children: Children) -> Piece:
        targets, _, function, _, arguments, closing = children
        names = tuple(target.text for target in targets)
        node = ast.CallAssign(names, function.text, _nodes(arguments), span=targets[0].span_to(closing))
        return Piece(node, targets[0], closing)

    def declare(self, children: Children) -> Piece:
        type, name = children
        return Piece(ast.Declare(name.text, type.node, span=type.first.span_to(name)), type.first, name)

    def equivalent(self, children: Children) -> Piece:
        sign, function, _, arguments, closing = children
        return Piece(ast.Equivalent(function.text, _nodes(arguments), span=sign.span_to(closing)), sign, closing)

    def range_clause(self, children: Children) -> Piece:
        index, _, lo, _, hi = children
        return Piece(ast.RangeClause(index.text, lo.node, hi.node, span=index.span_to(hi.last)), index, hi.last)

    def let_clause(self, children: Children) -> Piece:
        name, _, value = children
        return Piece(ast.LetClause(name.text, value.node, span=name.span_to(value.last)), name, value.last)

    def exists_clause(self, children: Children) -> Piece:
        exists, value = children
        return Piece(ast.ExistsClause(value.node, span=exists.span_to(value.last)), exists, value.last)

    def guard_clause(self, children: Children) -> Piece:
        (condition,) = children
        node = ast.GuardClause(condition.node, span=condition.first.span_to(condition.last))
        return Piece(node, condition.first, condition.last)

    # ---------------------------------------------------------------- expressions

    def expression(self, children: Children) -> Piece:
        return _climb(children[0])

    def conditional(self, children: Children) -> Piece:
        chain, _, then, _, otherwise = children
        condition = _climb(chain)
        span = condition.first.span_to(otherwise.last)
        node = ast.Conditional(condition.node, then.node, otherwise.node, span=span)
        return Piece(node, condition.first, otherwise.last, _deeper([condition, then, otherwise], span))

    def longer_chain(self, children: Children) -> Children:
        chain, operator, operand = children
        chain += (_operator(operator), operand)
        return chain

    def name(self, children: Children) -> Piece:
        (name,) = children
        return Piece(ast.Name(name.text, span=name.span), name, name, 1)

    def number(self, children: Children) -> Piece:
        (token,) = children
        return Piece(ast.Number(number(token), span=token.span), token, token, 1)

    def size(self, children: Children) -> Piece:
        (token,) = children
        tensor, _, dimension = token.text.partition(".")
        return Piece(ast.SizeOf(tensor, integer(dimension, token), span=token.span), token, token, 1)

    def parenthesised(self, children: Children) -> Piece:
        opening, inner, closing = children
        return Piece(inner.node, opening, closing, inner.depth)

    def apply(self, children: Children) -> Piece:
        function, _, arguments, closing = children
        span = function.span_to(closing)
        node = ast.Apply(function.text, _nodes(arguments), span=span)
        return Piece(node, function, closing, _deeper(arguments or (), span))

    def extremum(self, children: Children) -> Piece:
        function, _, arguments, closing = children
        given = len(arguments or ())
        if given != 2:
            name = function.text
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"`{name}` takes 2 values, here are {given}",
                function.span_to(closing),
                help=f"write `{name}(a, {name}(b, c))` for three values, `{name}[k](e)` for the values at every `k`",
            )
        return self.apply(children)

    def cast(self, children: Children) -> Piece:
        scalar, _, operand, closing = children
        span = scalar.span_to(closing)
        node = ast.Cast(TYPES[scalar.text], operand.node, span=span)
        return Piece(node, scalar, closing, _deeper([operand], span))

    def prefix(self, children: Children) -> Piece:
        operator, operand = children
        span = operator.span_to(operand.last)
        node = ast.Unary(_operator(operator), operand.node, span=span)
        return Piece(node, operator, operand.last, _deeper([operand], span))

    def reduction(self, children: Children) -> Piece:
        reducer, _, bounds, guards, _, _, arguments, closing = children
        span = reducer.span_to(closing)
        given = len(arguments or ())
        if given not in (1, 2):
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"a reduction takes 1 value, or 2 as in `mink[j](e, r)`; here are {given}",
                span,
                help=f"write `{reducer.text}[...](e)`, with what is reduced in the parentheses",
            )
        node = ast.Reduction(reducer.text, _nodes(bounds), _nodes(guards), _nodes(arguments), span=span)
        return Piece(node, reducer, closing, _deeper([*bounds, *(guards or ()), *arguments], span))

    def inferred_bound(self, children: Children) -> Piece:
        (index,) = children
        return Piece(ast.Bound(index.text, span=index.span), index, index)

    def given_bound(self, children: Children) -> Piece:
        index, _, lo, _, hi = children
        node = ast.Bound(index.text, lo.node, hi.node, span=index.span_to(hi.last))
        return Piece(node, index, hi.last, max(lo.depth, hi.depth))


def _climb(chain: Children) -> Piece:
    """The tree of ``a + b * c``, given as operands and operators in turn: an operator waits for a looser one."""
    operands: list[Piece] = [chain[0]]
    operators: list[str] = []
    for position in range(1, len(chain), 2):
        level = PRECEDENCE[chain[position]]
        while operators and PRECEDENCE[operators[-1]] >= level:
            _combine(operands, operators.pop())
        operators.append(chain[position])
        operands.append(chain[position + 1])
    while operators:
        _combine(operands, operators.pop())
    return operands[0]


def _combine(operands: list[Piece], operator: str) -> None:
    right, left = operands.pop(), operands.pop()
    span = left.first.span_to(right.last)
    node = ast.Binary(operator, left.node, right.node, span=span)
    operands.append(Piece(node, left.first, right.last, _deeper([left, right], span)))


def _deeper(parts: "list[Piece] | tuple[Piece, ...]", span: Span) -> int:
    """The depth of an expression of these parts. Raises TC0103 when a later pass could not follow it."""
    depth = 1 + max((part.depth for part in parts), default=0)
    if depth > MAX_DEPTH:
        raise CompileError(
            Code.TOO_DEEP,
            f"this expression is more than {MAX_DEPTH} operations deep",
            span,
            help="compute a part of it in a statement of its own, or write a long sum as `sum[k](...)`",
        )
    return depth


def _operator(token: Token) -> str:
    return OPERATORS.get(token.text, token.text)


def _nodes(pieces: list[Piece] | None) -> tuple[Any, ...]:
    return tuple([piece.node for piece in pieces]) if pieces else ()


def _between(pieces: list[Piece]) -> Span:
    return pieces[0].first.span_to(pieces[-1].last)
