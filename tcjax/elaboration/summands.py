"""The whole-right-side trap: ``y(i) += x(i) + A(i,j)`` adds ``x(i)`` once per ``j``."""

from collections.abc import Collection, Mapping, Sequence

from ..diagnostics import Span
from ..symbolic import IndexVar
from ..syntax import ast
from .scope import Let

_LOOSE = (ast.Conditional, ast.Binary)


def uneven_sum(
    node: ast.Assign, reduction: Sequence[IndexVar], lets: Mapping[str, Let]
) -> tuple[str, Span, str] | None:
    """Message, place and help if a summand of the right side lacks a reduction index that another one has."""
    if not isinstance(node.value, ast.Binary) or node.value.operator not in ("+", "-") or not reduction:
        return None
    summands = _summands(node.value)
    indices = [[index for index in reduction if index in mentions(term, reduction, lets)] for _, term in summands]
    everywhere = [index for index in reduction if all(index in inner for inner in indices)]
    somewhere = [index for index in reduction if any(index in inner for inner in indices)]
    if len(everywhere) == len(somewhere):
        return None
    text = ""
    for (sign, term), inner in zip(summands, indices, strict=True):
        shown = _text(term.span)
        if inner:
            shown = f"sum[{', '.join(index.name for index in inner)}]({shown})"
        elif isinstance(term, _LOOSE):
            shown = f"({shown})"
        text += f" {sign} {shown}" if text else shown if sign == "+" else f"-{shown}"
    left = next(index for index in somewhere if index not in everywhere)
    return (
        f"`{node.target}` adds up the whole right side, so a term that does not mention `{left}` is added once for "
        f"every `{left}`",
        node.value.span,
        f"to sum only the terms that do, write `{text}`",
    )


def mentions(node: ast.Expr, reduction: Collection[IndexVar], lets: Mapping[str, Let]) -> set[IndexVar]:
    """The reduction indices that an expression mentions, also through lets, except those of its own brackets."""
    by_name = {index.name: index for index in reduction}
    found: set[IndexVar] = set()
    pending: list[tuple[ast.Expr, frozenset[str]]] = [(node, frozenset())]
    while pending:
        current, hidden = pending.pop()
        match current:
            case ast.Name(id) if id not in hidden:
                if id in lets:
                    found.update(index for index in lets[id].mentions if index in reduction)
                elif id in by_name:
                    found.add(by_name[id])
            case ast.Reduction(bounds=bounds):
                inner = hidden | {bound.index for bound in bounds}
                pending.extend((child, inner) for child in ast.children(current))
            case _:
                pending.extend((child, hidden) for child in ast.children(current))
    return found


def is_subscript(name: str, node: ast.Expr) -> bool:
    """Whether the name occurs inside the brackets of a read or call below."""
    pending = [(node, False)]
    while pending:
        current, inside = pending.pop()
        if inside and isinstance(current, ast.Name) and current.id == name:
            return True
        inside = inside or isinstance(current, ast.Apply)
        pending.extend((child, inside) for child in ast.children(current))
    return False


def _summands(node: ast.Expr) -> list[tuple[str, ast.Expr]]:
    """The terms of a sum, each with its sign, leftmost first."""
    found: list[tuple[str, ast.Expr]] = []
    pending = [("+", node)]
    while pending:
        sign, current = pending.pop()
        match current:
            case ast.Binary("+" | "-" as operator, left, right):
                pending.append((sign if operator == "+" else "+" if sign == "-" else "-", right))
                pending.append((sign, left))
            case _:
                found.append((sign, current))
    return found


def _text(span: Span) -> str:
    """The text written there; if it has several lines, the first."""
    return span.text.strip() or "..."
