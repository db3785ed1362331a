"""The trap of C's comparisons: ``0 < i < n`` compares the truth of ``0 < i``, which is 0 or 1, with `n`."""

from collections.abc import Iterator
from typing import Final

from ..diagnostics import Span
from ..syntax import ast

_ORDER: Final = frozenset(("<", "<=", ">", ">="))


def chained_comparisons(node: ast.Assign) -> Iterator[tuple[str, Span, str]]:
    """Message, place and help for each comparison of the result of another, unparenthesised comparison."""
    guards = [clause.condition for clause in node.where if isinstance(clause, ast.GuardClause)]
    lets = [clause.value for clause in node.where if isinstance(clause, ast.LetClause)]
    pending: list[ast.Expr] = [node.value, *guards, *lets]
    while pending:
        current = pending.pop()
        match current:
            case ast.Binary(operator, ast.Binary(inner) as left, right) if {operator, inner} <= _ORDER:
                if not _is_enclosed(left.span) and not current.span.source.is_python:
                    first, middle, last = (each.span.text.strip() for each in (left, left.right, right))
                    yield (
                        f"this compares the truth of `{first}`, 0 or 1, with `{last}`",
                        current.span,
                        f"for both comparisons, write `{first} && {middle} {operator} {last}`",
                    )
            case _:
                pass
        pending.extend(ast.children(current))


def _is_enclosed(span: Span) -> bool:
    line = span.source.line(span.line)
    return line[: span.column - 1].rstrip().endswith("(") and line[span.end - 1 :].lstrip().startswith(")")
