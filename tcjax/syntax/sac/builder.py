"""What each grammar rule becomes: tree nodes with spans, never deeper than MAX_DEPTH."""

from typing import Final

from ...diagnostics import Code, CompileError, Span
from ..lexing import Token
from ..numerals import integer
from ..pieces import Children, Lists, Piece, between, climb, deeper, nodes
from . import tree
from .number import number
from .patterns import generator, index_pattern, with_one_gap
from .precedence import PRECEDENCE
from .spelling import TYPES

_SHALLOWER: Final = "compute a part of it in a separate definition: `b = ...;`"


class Builder(Lists):
    """One method for each rule or its alias, in the order of the grammar.

    The parser calls them with the rule's tokens and the results of its subrules: a `Piece`, or a list of them. No
    method recurses, so no text is too deep.
    """

    # ---------------------------------------------------------------- functions

    def program(self, children: Children) -> tree.Program:
        functions, (lets, result) = children
        span = between([*(functions or ()), *(lets or ()), result])
        return tree.Program(nodes(functions), nodes(lets), result.node, span=span)

    def library(self, children: Children) -> tree.Program:
        (functions,) = children
        return tree.Program(nodes(functions), (), None, span=between(functions))

    def function(self, children: Children) -> Piece:
        results, name, _, parameters, _, guards, _, lets, _, values, _, closing = children
        node = tree.Function(
            name.text,
            nodes(results),
            nodes(parameters),
            nodes(guards),
            nodes(lets),
            nodes(values),
            span=results[0].first.span_to(closing),
        )
        return Piece(node, results[0].first, closing)

    def parameter(self, children: Children) -> Piece:
        type, name = children
        return Piece(tree.Parameter(name.text, type.node, span=type.first.span_to(name)), type.first, name)

    def several(self, children: Children) -> Children:
        _, first, _, others, _ = children
        return [first, *others]

    def scalar_type(self, children: Children) -> Piece:
        (scalar,) = children
        return Piece(tree.TypePattern(TYPES[scalar.text], (), span=scalar.span), scalar, scalar)

    def array_type(self, children: Children) -> Piece:
        scalar, _, features, closing = children
        node = tree.TypePattern(TYPES[scalar.text], tuple(features or ()), span=scalar.span_to(closing))
        return Piece(node, scalar, closing)

    def any_axis(self, children: Children) -> tree.Axis:
        return tree.Axis(span=children[0].span)

    def fixed_axis(self, children: Children) -> tree.Axis:
        (extent,) = children
        return tree.Axis(integer(extent.text, extent), span=extent.span)

    def named_axis(self, children: Children) -> tree.Axis:
        (name,) = children
        return tree.Axis(name.text, span=name.span)

    def any_axes(self, children: Children) -> tree.Axes:
        return tree.Axes(span=children[0].span)

    def some_axes(self, children: Children) -> tree.Axes:
        return tree.Axes(least=1, span=children[0].span)

    def counted_axes(self, children: Children) -> tree.Axes:
        count, _, name = children
        counted = count.text if count.type == "NAME" else integer(count.text, count)
        return tree.Axes(counted, 0, name.text, span=count.span_to(name))

    def least_axes(self, children: Children) -> tree.Axes:
        count, _, limit, _, name = children
        return tree.Axes(count.text, integer(limit.text, limit) + 1, name.text, span=count.span_to(name))

    # ---------------------------------------------------------------- statements

    def statements(self, children: Children) -> Children:
        lets, result, _ = children
        return [lets, result]

    def let(self, children: Children) -> Piece:
        names, _, value, _ = children
        node = tree.Let(tuple([name.text for name in names]), value.node, span=names[0].span_to(value.last))
        return Piece(node, names[0], value.last)

    # ---------------------------------------------------------------- comprehensions

    def partition(self, children: Children) -> Piece:
        index, _, body, restriction = children
        last = (restriction or body).last
        generated = generator(index, restriction) if restriction else None
        node = tree.Partition(index.node, body.node, generated, span=index.first.span_to(last))
        return Piece(node, index.first, last, max(body.depth, restriction.depth if restriction else 0))

    def index_vector(self, children: Children) -> Piece:
        (name,) = children
        return Piece(tree.IndexVector(name.text, span=name.span), name, name)

    def index_pattern(self, children: Children) -> Piece:
        opening, components, closing = children
        return Piece(index_pattern(components or [], opening.span_to(closing)), opening, closing)

    def one_sided(self, children: Children) -> Piece:
        left, relation, right, stride = children
        return _range([left, relation, right], stride or [])

    def two_sided(self, children: Children) -> Piece:
        *limits, stride = children
        return _range(limits, stride or [])

    def stride(self, children: Children) -> Children:
        return [part for part in children if isinstance(part, Piece)]

    # ---------------------------------------------------------------- expressions

    def expression(self, children: Children) -> Piece:
        return climb(children[0], PRECEDENCE, _binary)

    def conditional(self, children: Children) -> Piece:
        chain, _, then, _, otherwise = children
        condition = climb(chain, PRECEDENCE, _binary)
        span = condition.first.span_to(otherwise.last)
        node = tree.Conditional(condition.node, then.node, otherwise.node, span=span)
        return Piece(node, condition.first, otherwise.last, _deeper([condition, then, otherwise], span))

    def longer_chain(self, children: Children) -> Children:
        chain, operator, operand = children
        chain += (operator.text, operand)
        return chain

    def prefix(self, children: Children) -> Piece:
        operator, operand = children
        span = operator.span_to(operand.last)
        node = tree.Unary(operator.text, operand.node, span=span)
        return Piece(node, operator, operand.last, _deeper([operand], span))

    def name(self, children: Children) -> Piece:
        (name,) = children
        return Piece(tree.Name(name.text, span=name.span), name, name, 1)

    def number(self, children: Children) -> Piece:
        (token,) = children
        return Piece(number(token), token, token, 1)

    def bool(self, children: Children) -> Piece:
        (token,) = children
        return Piece(tree.Number(token.text == "true", span=token.span), token, token, 1)

    def call(self, children: Children) -> Piece:
        function, _, arguments, closing = children
        if function.type == "TYPE" and len(arguments or ()) != 1:
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"the cast `{function.text}` takes 1 value, but got {len(arguments or ())}",
                function.span_to(closing),
                help=f"write `{function.text}(a)`, for an array of any rank",
            )
        span = function.span_to(closing)
        name = TYPES[function.text] if function.type == "TYPE" else function.text
        return Piece(tree.Call(name, nodes(arguments), span=span), function, closing, _deeper(arguments or (), span))

    def parenthesised(self, children: Children) -> Piece:
        opening, inner, closing = children
        return Piece(inner.node, opening, closing, inner.depth)

    def vector(self, children: Children) -> Piece:
        opening, elements, closing = children
        span = opening.span_to(closing)
        return Piece(tree.Vector(nodes(elements), span=span), opening, closing, _deeper(elements or (), span))

    def comprehension(self, children: Children) -> Piece:
        opening, partitions, _, closing = children
        span = opening.span_to(closing)
        return Piece(tree.Comprehension(nodes(partitions), span=span), opening, closing, _deeper(partitions, span))

    def select(self, children: Children) -> Piece:
        array, _, elements, closing = children
        return _selected(array, elements or [], closing)

    def select_by_vector(self, children: Children) -> Piece:
        array, _, _, elements, _, closing = children
        return _selected(array, elements, closing)

    def dot(self, children: Children) -> Piece:
        (token,) = children
        return Piece(tree.Dot(token.type == "DOTS", span=token.span), token, token)


def _range(limits: Children, stride: list[Piece]) -> Piece:
    """The parts of a generator; only the partition knows the index."""
    parts = [*limits[::2], *stride]
    return Piece((limits, stride), parts[0].first, parts[-1].last, max(part.depth for part in parts))


def _selected(array: Piece, elements: list[Piece], closing: Token) -> Piece:
    with_one_gap(elements, "a selection")
    span = array.first.span_to(closing)
    node = tree.Select(array.node, nodes(elements), span=span)
    return Piece(node, array.first, closing, _deeper([array, *elements], span))


def _binary(operator: str, left: Piece, right: Piece) -> Piece:
    span = left.first.span_to(right.last)
    node = tree.Binary(operator, left.node, right.node, span=span)
    return Piece(node, left.first, right.last, _deeper([left, right], span))


def _deeper(parts: "list[Piece] | tuple[Piece, ...]", span: Span) -> int:
    return deeper(parts, span, _SHALLOWER)
