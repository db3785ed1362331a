"""The points of small finite domains, one column for each name, and the values of expressions at all of them."""

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from math import prod
from typing import TYPE_CHECKING, Final

from .trees import And, Binary, Compare, Const, Expr, Not, Or, Select, Var, spine, tdiv, tmod

if TYPE_CHECKING:
    from .facts import Prover

# The value at each point; None if something divides by zero.
Column = list[int | None]

_FUNCTIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "tdiv": tdiv,
    "tmod": tmod,
    "min": min,
    "max": max,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def ranges(facts: "Prover", names: Iterable[str]) -> dict[str, range] | None:
    """The range of each name, or None if one is unbounded or too long for a list."""
    found: dict[str, range] = {}
    for name in names:
        low, high = facts.bounds(Var(name))
        if low is None or high is None or high - low >= sys.maxsize:
            return None
        found[name] = range(low, high + 1)
    return found


def related(facts: "Prover", names: Iterable[str]) -> frozenset[str]:
    """`names` and those that facts relate to them, directly or indirectly."""
    found = frozenset(names)
    while True:
        more = found.union(*(f.condition.variables for f in facts.facts if not found.isdisjoint(f.condition.variables)))
        if more == found:
            return found
        found = more


def size(box: Mapping[str, range]) -> int:
    """The number of points of a box."""
    return prod(map(len, box.values()))


def points(box: Mapping[str, range], conditions: Iterable[Expr], limit: int) -> dict[str, list[int]] | None:
    """The points of `box` where the conditions hold, as a column for each name; None if there are more than `limit`.

    Name by name, starting with those of short conditions: each condition filters points as early as possible.
    """
    left = sorted(conditions, key=lambda condition: len(condition.variables))
    related = [name for condition in left if len(condition.variables) > 1 for name in sorted(condition.variables)]
    columns: dict[str, list[int]] = {}
    count = 1
    for name in dict.fromkeys([*(name for name in related if name in box), *box]):
        values = box[name]
        if count * len(values) > limit:
            return None
        columns = {known: [value for value in old for _ in values] for known, old in columns.items()}
        columns[name] = list(values) * count
        count *= len(values)
        ready = [condition for condition in left if condition.variables <= columns.keys()]
        left = [condition for condition in left if condition not in ready]
        for condition in ready:
            holds = column(condition, columns, count)
            columns = {known: list(compress(old, holds)) for known, old in columns.items()}
            count = len(columns[name])
    return columns


def column(expr: Expr, columns: Mapping[str, Sequence[int]], count: int) -> Column:
    """The values of `expr` at `count` points."""
    done: dict[Expr, Column] = {}

    def go(node: Expr) -> Column:
        known = done.get(node)
        if known is None:
            known = done[node] = value(node)
        return known

    def value(node: Expr) -> Column:
        match node:
            case Const(constant):
                return [constant] * count
            case Var(name):
                return list(columns[name])
            case Binary("+" | "-"):
                first, rest = spine(node)
                total = go(first)
                for op, term in rest:
                    total = _combined(op, total, go(term))
                return total
            case Binary(op, left, right) | Compare(op, left, right):
                return _combined(op, go(left), go(right))
            case Select(condition, then, otherwise):
                chosen = zip(go(condition), go(then), go(otherwise), strict=True)
                return [None if c is None else a if c else b for c, a, b in chosen]
            case Not(operand):
                return [None if held is None else not held for held in go(operand)]
            case And(parts):
                return _joined([go(part) for part in parts], count, stops=False)
            case Or(parts):
                return _joined([go(part) for part in parts], count, stops=True)
            case _:
                raise AssertionError(node)

    return go(expr)


def _combined(op: str, left: Column, right: Column) -> Column:
    function = _FUNCTIONS[op]
    pairs = zip(left, right, strict=True)
    if op in ("//", "%", "tdiv", "tmod"):
        return [None if a is None or not b else function(a, b) for a, b in pairs]
    return [None if a is None or b is None else function(a, b) for a, b in pairs]


def _joined(parts: list[Column], count: int, *, stops: bool) -> Column:
    """``and`` (`stops` False) or ``or`` from the left: parts after the first one equal to `stops` do not matter."""
    result: Column = [not stops] * count
    for part in parts:
        result = [now if now is None or now == stops else value for now, value in zip(result, part, strict=True)]
    return result
