"""Independent sums: in ``C(m,n) +=! A(m,kk) * B(k,n)`` the sums over `kk` and `k` share nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..diagnostics import Span, phrases
from ..ir import Monoid, Reducer
from ..symbolic import IndexVar
from ..syntax import ast
from .scope import Let
from .summands import mentions

# The inverses of an operator that a reduction distributes over, and the notation of an inverse operand.
_INVERSES: Final = {"*": (("/", "truediv"), "1.0 / "), "+": (("-",), "-")}


@dataclass(frozen=True, slots=True)
class _Group:
    """Factors that share reduction indices, and these indices."""

    factors: tuple[str, ...]
    indices: tuple[IndexVar, ...]


def independent_sums(
    reducer: Reducer | Monoid,
    body: ast.Expr,
    reduction: Sequence[IndexVar],
    brackets: Mapping[str, str],
    excused: Collection[IndexVar],
    lets: Mapping[str, Let],
) -> tuple[str, Span, str] | None:
    """Message, place and help if the factors fall into groups that share no reduction index; else None.

    `brackets` gives the text of an index with a range in inline reductions. An `excused` index occurs in a guard or in
    a range, which may tie it to another index.
    """
    operator = reducer.distributes_over
    if operator is None or len(reduction) < 2:
        return None
    groups = _groups(body, operator, reduction, lets)
    summed = [group for group in groups if group.indices]
    if len(summed) < 2 or any(index in excused for group in summed for index in group.indices):
        return None
    joint = f" {operator} "
    texts: list[str] = []
    for group in groups:
        over = ", ".join(brackets.get(index.name, index.name) for index in group.indices)
        texts.append(f"{reducer.value}[{over}]({joint.join(group.factors)})" if over else joint.join(group.factors))
    (one, two), (first, second) = summed[:2], (group.indices[0] for group in summed[:2])
    message = (
        f"`{first}` occurs only in `{joint.join(one.factors)}` and `{second}` only in "
        f"`{joint.join(two.factors)}`: the two run independently of each other"
    )
    help = f"if they are one index, give it one name; if not, say so: `{joint.join(texts)}`"
    return message, body.span, help


def _groups(body: ast.Expr, operator: str, reduction: Sequence[IndexVar], lets: Mapping[str, Let]) -> list[_Group]:
    """The factors of the body, grouped by shared reduction indices, in order of first appearance."""
    inverses, prefix = _INVERSES[operator]
    factors = _factors(body, operator, inverses)
    groups: list[tuple[list[int], set[IndexVar]]] = []
    for number, (_, factor) in enumerate(factors):
        numbers, indices = [number], mentions(factor, reduction, lets)
        for group in [group for group in groups if not indices.isdisjoint(group[1])]:
            groups.remove(group)
            numbers, indices = sorted(group[0] + numbers), indices | group[1]
        groups.append((numbers, indices))
    return [
        _Group(
            tuple(
                _written(factors[number][1], prefix if factors[number][0] else "", len(factors)) for number in numbers
            ),
            tuple(index for index in reduction if index in indices),
        )
        for numbers, indices in sorted(groups, key=lambda group: group[0])
    ]


def _factors(node: ast.Expr, operator: str, inverses: Collection[str]) -> list[tuple[bool, ast.Expr]]:
    """The operands of a chain of one operator and its inverses, leftmost first, and whether each is inverted."""
    found: list[tuple[bool, ast.Expr]] = []
    pending = [(False, node)]
    while pending:
        inverse, current = pending.pop()
        if isinstance(current, ast.Binary) and current.operator in (operator, *inverses):
            pending.append((inverse != (current.operator != operator), current.right))
            pending.append((inverse, current.left))
        else:
            found.append((inverse, current))
    return found


def _written(factor: ast.Expr, prefix: str, count: int) -> str:
    """A factor as text next to other factors."""
    text = f"({_text(factor)})" if isinstance(factor, (ast.Binary, ast.Conditional)) and count > 1 else _text(factor)
    return f"({prefix}{text})" if prefix else text


def bracketed(node: ast.RangeClause | ast.Bound) -> dict[str, str]:
    """The text of each index with a range in the brackets of an inline reduction: ``k in 0:3``."""
    if node.lo is None or node.hi is None:
        return {}
    return {node.index: phrases.limits(node.index, _text(node.lo), _text(node.hi), node.span).strip("`")}


def _text(node: ast.Expr) -> str:
    return node.span.text.strip() or "..."
