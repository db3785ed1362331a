"""Every node knows where it was written."""

import dataclasses
from collections.abc import Iterator

import pytest

from tcjax.diagnostics import NOWHERE
from tcjax.syntax import ast, tc

from .programs import PROGRAMS


def nodes(node: object) -> Iterator[ast.Node]:
    if isinstance(node, tuple):
        for part in node:
            yield from nodes(part)
    elif isinstance(node, ast.Node):
        yield node
        for field in dataclasses.fields(node):
            yield from nodes(getattr(node, field.name))


def quoted(text: str, node: ast.Node) -> str:
    """The part of `text` at the node's span."""
    line, column, end = node.span
    return text.splitlines()[line - 1][column - 1 : end - 1]


def test_spans_cover_what_was_written() -> None:
    text = "O(i) min=! -(a + b) * f(c, 2.5) ? x : y where i in 0 : N, t = A.1, exists q, i<3"
    (statement,) = tc.read(text).definitions[0].body
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Conditional)
    product = statement.value.condition
    assert isinstance(product, ast.Binary) and isinstance(product.left, ast.Unary)

    assert quoted(text, statement) == text
    assert quoted(text, statement.value) == "-(a + b) * f(c, 2.5) ? x : y"
    assert quoted(text, product) == "-(a + b) * f(c, 2.5)"
    assert quoted(text, product.left) == "-(a + b)"
    assert quoted(text, product.left.operand) == "a + b"
    assert quoted(text, product.right) == "f(c, 2.5)"
    assert [quoted(text, clause) for clause in statement.where] == ["i in 0 : N", "t = A.1", "exists q", "i<3"]


def test_a_node_of_several_lines_ends_on_its_first() -> None:
    text = "\n  O(i) = a(i) +  # one\n    b(i)\n"
    (statement,) = tc.read(text).definitions[0].body

    assert tuple(statement.span) == (2, 3, len("  O(i) = a(i) +  # one") + 1)


@pytest.mark.parametrize("text", PROGRAMS)
def test_every_node_has_a_span_with_its_source(text: str) -> None:
    for node in nodes(tc.read(text, "a.tc")):
        line, column, end = node.span
        assert node.span is not NOWHERE and node.span.source.name == "a.tc"
        assert 1 <= column < end <= len(text.splitlines()[line - 1]) + 1


def test_names_and_numbers_stand_where_their_spans_say() -> None:
    for text in PROGRAMS:
        for node in nodes(tc.read(text)):
            if isinstance(node, ast.Name):
                assert quoted(text, node) == node.id
