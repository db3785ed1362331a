"""What a condition says of the ranges of indices."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ... import ir
from ...ir import types
from ...symbolic import IndexVar, Size
from ..subscripts import affine

_NEGATED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


def narrowed(
    test: ir.Expr, outcome: bool, ranges: Mapping[IndexVar, tuple[int, int]], number: Callable[[Size], int]
) -> dict[IndexVar, tuple[int, int]]:
    """The half-open ranges of indices where the condition has the outcome, as far as comparisons of one say."""
    found = dict(ranges)
    for operator, left, right in _comparisons(test, outcome):
        difference = affine(left) - affine(right)
        index = (difference - difference.base).bare
        if index is None:
            difference, operator = -difference, _MIRRORED[operator]
            index = (difference - difference.base).bare
        if index is None or index not in found:
            continue
        # index + base `operator` 0
        end = -number(difference.base)
        lo, hi = found[index]
        match operator:
            case "<":
                hi = min(hi, end)
            case "<=":
                hi = min(hi, end + 1)
            case ">":
                lo = max(lo, end + 1)
            case ">=":
                lo = max(lo, end)
            case _:
                lo, hi = max(lo, end), min(hi, end + 1)
        found[index] = (lo, max(lo, hi))
    return found


def _comparisons(test: ir.Expr, outcome: bool) -> Iterator[tuple[str, ir.Expr, ir.Expr]]:
    """The comparisons of integers that hold for sure."""
    pending = [(test, outcome)]
    while pending:
        current, holds = pending.pop()
        match current:
            case ir.Unary("!", operand):
                pending.append((operand, not holds))
            case ir.Binary("&&", left, right) if holds:
                pending += [(right, True), (left, True)]
            case ir.Binary("||", left, right) if not holds:
                pending += [(right, False), (left, False)]
            case ir.Binary(operator, left, right) if operator in _NEGATED and types.is_integral(left.dtype):
                operator = operator if holds else _NEGATED[operator]
                if operator in _MIRRORED:
                    yield operator, left, right
            case _:
                continue
