"""Symbolic ends of an expression while some of its names vary: expressions over the other names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .polynomials import Floor, Poly, Symbol, express, express_atom
from .trees import Binary, Const, Expr, Select, Var, binary

if TYPE_CHECKING:
    from .facts import Prover

Hull = tuple[Expr, Expr]


def hull(facts: Prover, expr: Expr, names: frozenset[str]) -> Hull | None:
    """``(lo, hi)`` with ``lo <= expr <= hi`` while `names` take all values that the facts allow, or None."""
    found = _Eliminator(facts, names).hull(facts.simplify(expr))
    return None if found is None else (facts.simplify(found[0]), facts.simplify(found[1]))


class _Eliminator:
    """The names to eliminate, and the facts about them."""

    def __init__(self, facts: Prover, names: frozenset[str]) -> None:
        self.facts = facts
        self.names = names
        self.open: set[str] = set()

    def hull(self, expr: Expr) -> Hull | None:
        if expr.variables.isdisjoint(self.names):
            return expr, expr
        return self._by_shape(expr) or self._by_numbers(expr)

    def _by_shape(self, expr: Expr) -> Hull | None:
        match expr:
            case Var(name):
                return self._of_name(name)
            case Binary("+" | "-" | "*"):
                return self._of_sum(self.facts.normal(expr))
            case Binary("//" | "tdiv" as op, left, right) if self._is_fixed(right):
                inner = self.hull(left)
                if inner is None:
                    return None
                if self.facts.prove(f"{right} > 0"):
                    return binary(op, inner[0], right), binary(op, inner[1], right)
                return None
            case Binary("%", left, Const(k)) if k > 0:
                return self._of_remainder(left, k)
            case Binary("min" | "max" as op, left, right):
                a, b = self.hull(left), self.hull(right)
                return None if a is None or b is None else (binary(op, a[0], b[0]), binary(op, a[1], b[1]))
            case Select(condition, then, otherwise):
                return self._of_choice(condition, then, otherwise)
            case _:
                return None

    def _is_fixed(self, expr: Expr) -> bool:
        return expr.variables.isdisjoint(self.names)

    def _by_numbers(self, expr: Expr) -> Hull | None:
        lo, hi = self.facts.bounds(expr)
        return None if lo is None or hi is None else (Const(lo), Const(hi))

    def _of_sum(self, p: Poly) -> Hull | None:
        """Terms without common names add their ends; a common name would be counted twice."""
        lo: Expr = Const(0)
        hi: Expr = Const(0)
        seen: set[str] = set()
        fixed = Poly({m: c for m, c in p.terms.items() if Poly({m: 1}).names.isdisjoint(self.names)})
        for monomial, weight in p.terms.items():
            moving = Poly({monomial: 1}).names & self.names
            if not moving:
                continue
            if moving & seen:
                return None
            seen |= moving
            ends = self._of_product(monomial)
            if ends is None:
                return None
            a, b = ends if weight > 0 else (ends[1], ends[0])
            lo, hi = lo + a * weight, hi + b * weight
        base = express(fixed)
        return lo + base, hi + base

    def _of_product(self, monomial: tuple) -> Hull | None:
        """One varying factor times factors with known signs."""
        moving = [atom for atom in monomial if not Poly.atom(atom).names.isdisjoint(self.names)]
        factor = Poly({tuple(atom for atom in monomial if atom not in moving): 1})
        if len(moving) != 1:
            return None
        atom = moving[0]
        ends = self._of_name(atom.name) if isinstance(atom, Symbol) else self._by_shape(express_atom(atom))
        if ends is None and isinstance(atom, Floor):
            ends = self._by_numbers(express_atom(atom))
        if ends is None or factor.value == 1:
            return ends
        scale = express(factor)
        lo, _ = self.facts.bounds(scale)
        return (ends[0] * scale, ends[1] * scale) if lo is not None and lo >= 0 else None

    def _of_name(self, name: str) -> Hull | None:
        """Ends of one name: its numeric ends, and every fact that bounds it by others."""
        if name not in self.names:
            return Var(name), Var(name)
        if name in self.open:
            return None
        lows, highs = self._ends_of(name)
        self.open.add(name)
        try:
            low = [ends[0] for ends in map(self.hull, lows) if ends is not None]
            high = [ends[1] for ends in map(self.hull, highs) if ends is not None]
        finally:
            self.open.discard(name)
        if not low or not high:
            return None
        return _joined("max", low), _joined("min", high)

    def _ends_of(self, name: str) -> tuple[list[Expr], list[Expr]]:
        known = self.facts.knowledge
        value = known.symbol(name)
        lo, hi = known.interval(value)
        lows: list[Expr] = [] if lo is None else [Const(lo)]
        highs: list[Expr] = [] if hi is None else [Const(hi)]
        symbol = (Symbol(name),)
        for fact in [*known.positive, *known.zero, *(-zero for zero in known.zero)]:
            weight = fact.terms.get(symbol, 0)
            rest = Poly({m: c for m, c in fact.terms.items() if m != symbol})
            if not weight or name in rest.names:
                continue
            # weight * x + rest >= 0
            if weight > 0:
                lows.append(-binary("//", express(known.shown(rest)), Const(weight)))
            else:
                highs.append(binary("//", express(known.shown(rest)), Const(-weight)))
        return lows, highs

    def _of_remainder(self, left: Expr, k: int) -> Hull | None:
        inner = self.hull(left)
        if inner is not None:
            first, last = binary("//", inner[0], Const(k)), binary("//", inner[1], Const(k))
            if self.facts.prove(f"{first} == {last}"):
                return inner[0] - first * k, inner[1] - first * k
        lo, hi = self.facts.bounds(binary("%", left, Const(k)))
        return Const(0 if lo is None else lo), Const(k - 1 if hi is None else hi)

    def _of_choice(self, condition: Expr, then: Expr, otherwise: Expr) -> Hull | None:
        found: list[Hull] = []
        for test, branch in ((condition, then), (None, otherwise)):
            facts = self.facts.assume(f"not ({condition})" if test is None else test)
            if facts.contradiction is None:
                ends = _Eliminator(facts, self.names).hull(branch)
                if ends is None:
                    return None
                found.append(ends)
        if not found:
            return None
        return _joined("min", [lo for lo, _ in found]), _joined("max", [hi for _, hi in found])


def _joined(op: str, parts: Iterable[Expr]) -> Expr:
    total: Expr | None = None
    for part in parts:
        total = part if total is None else binary(op, total, part)
    assert total is not None
    return total
