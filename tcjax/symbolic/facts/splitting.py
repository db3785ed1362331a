"""Splits a domain into easier cases: by a choice, a least value, a sign, a clause, a value or a residue."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, lcm
from typing import TYPE_CHECKING

from .polynomials import All, Atom, Choice, Floor, Formula, Least, Poly, Quotient, Sign, Symbol, Trunc, negated

if TYPE_CHECKING:
    from .knowledge import Knowledge

_MOST_VALUES = 12
_MOST_RESIDUES = 24


def cases(known: Knowledge, poly: Poly) -> list[Formula] | None:
    """Formulas of which one holds at every point where `poly` is evaluated, or None."""
    return next(_splits(known, poly), None)


def _splits(known: Knowledge, poly: Poly) -> Iterator[list[Formula]]:
    atoms = list(poly.deep_atoms())
    for atom in atoms:
        if isinstance(atom, Choice):
            yield [atom.condition, negated(atom.condition)]
    for atom in atoms:
        if isinstance(atom, Least):
            yield _winners(atom)
    for clause in known.clauses:
        if any(not part_names(part).isdisjoint(poly.names) for part in clause.parts):
            yield list(clause.parts)
    for atom in atoms:
        if isinstance(atom, Quotient) and atom.denominator.value is None:
            lo, hi = known.interval(atom.denominator)
            if (lo is None or lo < 0) and (hi is None or hi > 0):
                # Zero is outside the domain.
                yield [Sign(">=", atom.denominator - 1), Sign(">=", -atom.denominator - 1)]
    yield from _values(known, poly, atoms)
    for atom in atoms:
        if isinstance(atom, Trunc):
            lo, hi = known.interval(atom.numerator)
            if (lo is None or lo < 0) and (hi is None or hi > 0):
                yield [Sign(">=", atom.numerator), Sign(">=", -atom.numerator - 1)]
    for hole in known.nonzero:
        if not hole.names.isdisjoint(poly.names):
            yield [Sign(">=", hole - 1), Sign(">=", -hole - 1)]
    yield from _residues(known, poly, atoms)
    yield from _signs(known, poly)
    for fact in known.zero:
        if not fact.names.isdisjoint(poly.names):
            yield from _signs(known, fact)


def part_names(formula: Formula) -> frozenset[str]:
    """The names in a formula."""
    if isinstance(formula, Sign):
        return formula.poly.names
    return frozenset().union(*(part_names(part) for part in formula.parts))


def _winners(atom: Least) -> list[Formula]:
    """The cases that each argument in turn is the least."""
    found: list[Formula] = []
    for i, arg in enumerate(atom.args):
        found.append(All(tuple(Sign(">=", other - arg - (j < i)) for j, other in enumerate(atom.args) if j != i)))
    return found


def _values(known: Knowledge, poly: Poly, atoms: list[Atom]) -> Iterator[list[Formula]]:
    """The values of a name with a short range: first of denominators, then of names in quotients and products."""
    wanted: dict[str, None] = {}
    for atom in atoms:
        if isinstance(atom, Quotient) and atom.denominator.value is None:
            wanted.update(dict.fromkeys(sorted(atom.denominator.names)))
    for monomial in poly.terms:
        if len(monomial) > 1:
            wanted.update(dict.fromkeys(atom.name for atom in monomial if isinstance(atom, Symbol)))
    for atom in atoms:
        if isinstance(atom, Quotient):
            wanted.update(dict.fromkeys(sorted(atom.numerator.names)))
    for name in wanted:
        lo, hi = known.span_of(name)
        if lo is not None and hi is not None and 0 < hi - lo < _MOST_VALUES:
            symbol = Poly.atom(Symbol(name))
            yield [Sign("==", symbol - value) for value in range(lo, hi + 1)]


def _residues(known: Knowledge, poly: Poly, atoms: list[Atom]) -> Iterator[list[Formula]]:
    """The residues of a name in a quotient by a number."""
    periods: dict[str, int] = {}
    for atom in atoms:
        if not isinstance(atom, Floor) or atom.denominator.value is None:
            continue
        k = atom.denominator.value
        for monomial, weight in atom.numerator.terms.items():
            for symbol in monomial:
                if isinstance(symbol, Symbol) and weight % k:
                    periods[symbol.name] = lcm(periods.get(symbol.name, 1), k // gcd(k, weight))
    for name, period in sorted(periods.items(), key=lambda item: (item[1], item[0])):
        if 1 < period <= _MOST_RESIDUES and name.count("//") < 3:
            yield residues(name, period)


def residues(name: str, period: int) -> list[Formula]:
    """``name % period == r`` for every r."""
    symbol = Poly.atom(Symbol(name))
    left = symbol - Poly.atom(Floor(symbol, Poly.of(period))) * period
    return [Sign("==", left - r) for r in range(period)]


def _signs(known: Knowledge, poly: Poly) -> Iterator[list[Formula]]:
    """Both signs of a name in a product."""
    for monomial in sorted(poly.terms, key=lambda m: [atom.key for atom in m]):
        if len(monomial) > 1:
            for atom in monomial:
                lo, hi = known.interval(Poly.atom(atom))
                if (lo is None or lo <= 0) and (hi is None or hi > 0):
                    yield [Sign(">=", Poly.atom(atom) - 1), Sign(">=", -Poly.atom(atom))]
