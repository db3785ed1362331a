"""Needs over fused loops rewritten over the original loops: many short loops instead of one long one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...symbolic import Facts
from ...symbolic.facts.trees import Binary, Compare, Const, Expr, Var, walk
from .grids import Span
from .needs import Need


@dataclass(frozen=True, slots=True)
class Unfused:
    """The same needs over other variables; `values` gives these in terms of the former ones."""

    needs: tuple[Need, ...]
    prefix: tuple[str, ...]
    spans: Mapping[str, Span]
    values: Mapping[str, Expr]

    def restored(self, expr: Expr) -> Expr:
        """An expression over the new variables, rewritten over the former."""
        while not self.values.keys().isdisjoint(expr.variables):
            expr = expr.substitute(self.values)
        return expr


def unfused(needs: Sequence[Need], prefix: Sequence[str], spans: Mapping[str, Span]) -> Unfused:
    """The needs with ``v // w`` and ``v % w`` as variables if `v` occurs only in these.

    Every pair of their values corresponds to one value of `v` if `w` divides its extent, so nothing is lost.
    """
    facts = Facts()
    used = {name for need in needs for expr in _exprs(need) for name in expr.variables}
    for name in sorted(used):
        lo, hi = spans[name]
        facts = facts.define(name, lo, hi - 1)
    found = Unfused(tuple(_changed(need, facts.simplify) for need in needs), tuple(prefix), dict(spans), {})
    pending = sorted(used)
    while pending:
        name = pending.pop()
        width = _width(found, name)
        if width is None:
            continue
        outer, inner = f"{name}.__q", f"{name}.__r"
        whole, rest = Binary("//", Var(name), Const(width)), Binary("%", Var(name), Const(width))
        parts = {whole: Var(outer), rest: Var(inner)}
        found = Unfused(
            tuple(_changed(need, lambda expr, parts=parts: _replaced(expr, parts)) for need in found.needs),
            tuple(part for old in found.prefix for part in ((outer, inner) if old == name else (old,))),
            {**found.spans, outer: (0, found.spans[name][1] // width), inner: (0, width)},
            {**found.values, outer: whole, inner: rest},
        )
        pending += [outer, inner]
    return found


def _exprs(need: Need) -> list[Expr]:
    return [expr for expr in (*need.indices, *need.guards) if expr is not None]


def _changed(need: Need, change) -> Need:  # type: ignore[no-untyped-def]
    indices = tuple(None if index is None else change(index) for index in need.indices)
    return replace(need, indices=indices, guards=tuple(map(change, need.guards)))


def _width(found: Unfused, name: str) -> int | None:
    """The only divisor of a variable that always occurs divided; None if there is none, or it does not fit."""
    if any(name in mask.grid.names for need in found.needs for mask in need.masks):
        return None
    variable = Var(name)
    widths: set[int] = set()
    for need in found.needs:
        for expr in _exprs(need):
            for node in walk(expr):
                match node:
                    case Binary(op="//" | "%", left=left, right=Const(value=value)) if left is variable:
                        widths.add(value)
                    case _ if variable in node.children:
                        return None
    lo, hi = found.spans[name]
    if len(widths) != 1:
        return None
    width = widths.pop()
    return width if lo == 0 and 1 < width < hi and hi % width == 0 else None


def _replaced(expr: Expr, parts: Mapping[Expr, Expr]) -> Expr:
    known = parts.get(expr)
    if known is not None:
        return known
    match expr:
        case Binary(op=op, left=left, right=right):
            return Binary(op, _replaced(left, parts), _replaced(right, parts))
        case Compare(op=op, left=left, right=right):
            return Compare(op, _replaced(left, parts), _replaced(right, parts))
        case _:
            return expr
