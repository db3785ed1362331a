"""What each grammar rule becomes: tree nodes with spans, never deeper than MAX_DEPTH."""

from typing import Final

from ...diagnostics import Code, CompileError, Span
from .. import ast
from ..lexing import Token
from ..numerals import integer
from ..pieces import Children, Lists, Piece, between, climb, deeper, nodes
from .number import number
from .precedence import PRECEDENCE
from .spelling import OPERATORS, TYPES

# The beginning of a list of dimensions that starts with `...`.
_BATCH: Final = object()
_SHALLOWER: Final = "compute a part of it in a separate statement, or write a long sum as `sum[k](...)`"


class Builder(Lists):
    """One method for each rule or its alias, in the order of the grammar.

    The parser calls them with the rule's tokens and the results of its subrules: a `Piece`, or a list of them. No
    method recurses, so no text is too deep.
    """

    # ---------------------------------------------------------------- lists

    def pair(self, children: Children) -> Children:
        return [children[0], children[-1]]

    def listed(self, children: Children) -> Children:
        return children[1] or []

    # ---------------------------------------------------------------- definitions

    def program(self, children: Children) -> ast.Program:
        definitions: dict[str, ast.Definition] = {}
        repeated: list[ast.Definition] = []
        for piece in children[0]:
            if definitions.setdefault(piece.node.name, piece.node) is not piece.node:
                repeated.append(piece.node)
        return ast.Program(tuple(definitions.values()), tuple(repeated), span=between(children[0]))

    def kernel(self, children: Children) -> ast.Program:
        span = between(children[0])
        return ast.Program((ast.Definition("kernel", None, (), nodes(children[0]), span=span),), span=span)

    def definition(self, children: Children) -> Piece:
        opening, name, _, parameters, _, _, returns, _, body, closing = children
        parts = (nodes(parameters), nodes(returns), nodes(body))
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
        scalar, _, shape, closing = children
        batch = bool(shape) and shape[0] is _BATCH
        dimensions = tuple(shape[batch:] if shape else ())
        return Piece(
            ast.TensorType(TYPES[scalar.text], dimensions, batch, span=scalar.span_to(closing)), scalar, closing
        )

    def batch_shape(self, children: Children) -> Children:
        return [_BATCH, *(children[2] if len(children) > 1 else ())]

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
            nodes(where),
            span=target.first.span_to(last),
        )
        return Piece(node, target.first, last)

    def bare_target(self, children: Children) -> Piece:
        (name,) = children
        return Piece((name.text, None), name, name)

    def indexed_target(self, children: Children) -> Piece:
        name, _, indices, closing = children
        return Piece((name.text, nodes(indices)), name, closing)

    def call_assign(self, children: Children) -> Piece:
        targets, _, function, _, arguments, closing = children
        names = tuple(target.text for target in targets)
        node = ast.CallAssign(names, function.text, nodes(arguments), span=targets[0].span_to(closing))
        return Piece(node, targets[0], closing)

    def declare(self, children: Children) -> Piece:
        type, name = children
        return Piece(ast.Declare(name.text, type.node, span=type.first.span_to(name)), type.first, name)

    def loop(self, children: Children) -> Piece:
        opening, index, _, lo, _, hi, step, _, body, closing = children
        span = opening.span_to(closing)
        node = ast.For(index.text, lo.node, hi.node, nodes(body), step and step.node, span=span)
        return Piece(node, opening, closing, _deeper(body, span))

    def equivalent(self, children: Children) -> Piece:
        sign, function, _, arguments, closing = children
        return Piece(ast.Equivalent(function.text, nodes(arguments), span=sign.span_to(closing)), sign, closing)

    def range_clause(self, children: Children) -> Piece:
        index, _, lo, _, hi = children
        return Piece(ast.RangeClause(index.text, lo.node, hi.node, span=index.span_to(hi.last)), index, hi.last)

    def let_clause(self, children: Children) -> Piece:
        name, _, value = children
        return Piece(ast.LetClause(name.text, value.node, span=name.span_to(value.last)), name, value.last)

    def exists_clause(self, children: Children) -> Piece:
        exists, value = children
        return Piece(ast.ExistsClause(value.node, span=exists.span_to(value.last)), exists, value.last)

    def unique_clause(self, children: Children) -> Piece:
        unique, value = children
        return Piece(ast.UniqueClause(value.node, span=unique.span_to(value.last)), unique, value.last)

    def guard_clause(self, children: Children) -> Piece:
        (condition,) = children
        node = ast.GuardClause(condition.node, span=condition.first.span_to(condition.last))
        return Piece(node, condition.first, condition.last)

    # ---------------------------------------------------------------- expressions

    def expression(self, children: Children) -> Piece:
        return _climbed(children[0])

    def conditional(self, children: Children) -> Piece:
        chain, _, then, _, otherwise = children
        condition = _climbed(chain)
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
        node = ast.Apply(function.text, nodes(arguments), span=span)
        return Piece(node, function, closing, _deeper(arguments or (), span))

    def extremum(self, children: Children) -> Piece:
        function, _, arguments, closing = children
        given = len(arguments or ())
        if given != 2:
            name = function.text
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"`{name}` takes 2 values, but got {given}",
                function.span_to(closing),
                help=f"write `{name}(a, {name}(b, c))` for three values, `{name}[k](e)` for the values at every `k`",
            )
        return self.apply(children)

    def batch_alone(self, children: Children) -> Children:
        (dots,) = children
        return [Piece(ast.Batch(span=dots.span), dots, dots, 1)]

    def batch_first(self, children: Children) -> Children:
        dots, _, arguments = children
        return [*self.batch_alone([dots]), *arguments]

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
        node = ast.Reduction(reducer.text, nodes(bounds), nodes(guards), nodes(arguments), span=span)
        return Piece(node, reducer, closing, _deeper([*bounds, *(guards or ()), *arguments], span))

    def inferred_bound(self, children: Children) -> Piece:
        (index,) = children
        return Piece(ast.Bound(index.text, span=index.span), index, index)

    def given_bound(self, children: Children) -> Piece:
        index, _, lo, _, hi = children
        node = ast.Bound(index.text, lo.node, hi.node, span=index.span_to(hi.last))
        return Piece(node, index, hi.last, max(lo.depth, hi.depth))


def _climbed(chain: Children) -> Piece:
    return climb(chain, PRECEDENCE, _binary)


def _binary(operator: str, left: Piece, right: Piece) -> Piece:
    span = left.first.span_to(right.last)
    node = ast.Binary(operator, left.node, right.node, span=span)
    return Piece(node, left.first, right.last, _deeper([left, right], span))


def _deeper(parts: "list[Piece] | tuple[Piece, ...]", span: Span) -> int:
    return deeper(parts, span, _SHALLOWER)


def _operator(token: Token) -> str:
    return OPERATORS.get(token.text, token.text)
