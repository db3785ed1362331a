"""Lower bounds from linear combinations of facts, with every product of atoms as one unknown (Farkas' lemma).

A ``p - sum(l * f)`` with all ``l >= 0`` and without unknowns is a lower bound of p. The l come from the simplex method
on integers (Bareiss pivots), which may be stopped at any pivot without losing soundness, so the budget is a fixed
number of pivots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .polynomials import Floor, Least, Monomial, Poly, Quotient, Symbol, Trunc
from .quotients import lowered
from .spanning import span_of_atom, span_of_monomial

if TYPE_CHECKING:
    from .knowledge import Knowledge

UNREACHED = 1 << 100  # a bound where the facts exclude one another
_MOST_PIVOTS = 60
_MOST_TERMS = 30
_BLAND_AFTER = 25
# Pivots multiply weights: with longer numbers each would take milliseconds. Sizes have 31 bits.
_MOST_BITS = 512


def lower(known: Knowledge, p: Poly, *, few: bool = False) -> int | None:
    """A sound lower bound of `p`, or None; `UNREACHED` where the facts exclude one another. `few`: no products."""
    if not p.terms:
        return 0
    if len(p.terms) > _MOST_TERMS or not known.ledger.spend(1):
        return None
    facts, monomials = _gathered(known, p, few=few)
    known.ledger.spend(len(facts) * len(monomials) // 48)
    return _least_rest(p, facts, monomials)


def is_contradiction(known: Knowledge) -> bool:
    """Whether a combination of the facts gives ``-1 >= 0``."""
    seeds = {m for poly in [*known.positive, *known.zero] for m in poly.terms if m}
    if not seeds or not known.ledger.spend(3):
        return False
    zero = Poly(dict.fromkeys(seeds, 1))
    facts, monomials = _gathered(known, zero, few=False)
    return _least_rest(Poly.of(-1), facts, monomials) == UNREACHED


def _gathered(known: Knowledge, p: Poly, *, few: bool) -> tuple[list[Poly], list[Monomial]]:
    """The facts to combine, each >= 0, and their unknowns."""
    most = 10 if few else 28
    monomials: dict[Monomial, None] = dict.fromkeys(m for m in p.terms if m)
    chosen: dict[Poly, None] = {}
    pool = [*known.positive, *known.zero, *(-poly for poly in known.zero)]
    done: set[Monomial] = set()
    atoms_seen: set[object] = set()
    for _ in range(2 if few else 3):
        fresh = [m for m in monomials if m not in done]
        if not fresh:
            break
        done.update(fresh)
        names = {atom for m in fresh for atom in m}
        found: list[Poly] = []
        for atom in sorted(names - atoms_seen):  # type: ignore[type-var]
            atoms_seen.add(atom)
            found += axioms(known, atom)
        fresh_set = set(fresh)
        found += [f for f in pool if f not in chosen and not fresh_set.isdisjoint(f.terms)]
        if not few:
            found += [f for f in pool if f not in chosen and any(not names.isdisjoint(m) for m in f.terms)]
            found += [f for f in pool if f not in chosen and not f.names.isdisjoint(p.names)]
        for fact in found:
            if fact not in chosen and len(chosen) < most:
                chosen[fact] = None
                monomials.update(dict.fromkeys(m for m in fact.terms if m))
    if not few and any(len(m) > 1 for m in monomials):
        for fact in _products(known, chosen, monomials):
            chosen.setdefault(fact)
            monomials.update(dict.fromkeys(m for m in fact.terms if m))
    ends = []
    for monomial in monomials:
        lo, hi = span_of_monomial(known, monomial)
        if lo is not None:
            ends.append(Poly({monomial: 1}) - lo)
        if hi is not None:
            ends.append(Poly({monomial: -1}) + hi)
    return [*ends, *chosen], list(monomials)


def axioms(known: Knowledge, atom: object) -> list[Poly]:
    """Facts about an atom that hold wherever it is evaluated, as polynomials >= 0."""
    if isinstance(atom, Floor):
        n, d, q = atom.numerator, atom.denominator, Poly.atom(atom)
        left = n - d * q
        lo, hi = known.interval(d)
        if lo is not None and lo >= 0:  # zero is outside the domain
            return [left, d - 1 - left, *_quotient_ends(known, atom)]
        if hi is not None and hi <= 0:
            return [-left, left - d - 1]
    elif isinstance(atom, Trunc):
        n, d = atom.numerator, atom.denominator
        left, k = n - d * Poly.atom(atom), d.value
        if k is not None:
            return [left + (k - 1), -left + (k - 1)]
    elif isinstance(atom, Least):
        return [arg - Poly.atom(atom) for arg in atom.args]
    return []


def _quotient_ends(known: Knowledge, atom: Floor) -> list[Poly]:
    """Bounds on a quotient from facts that bound its numerator, if dividing the bound creates no new quotient."""
    n, d, found = atom.numerator, atom.denominator, []
    lead = next((m for m in sorted(n.terms, key=len, reverse=True) if m), None)
    if lead is None or known.depth > 2:
        return []
    for fact in list(known.positive)[:8]:
        weight = fact.terms.get(lead, 0)
        if weight == 0 or abs(weight) != abs(n.terms[lead]):
            continue
        upper = (weight > 0) != (n.terms[lead] > 0)
        bound = known.floor(n + fact if upper else n - fact, d)
        if atom not in bound.atoms and all(a in n.atoms or not isinstance(a, Quotient) for a in bound.atoms):
            found.append(bound - Poly.atom(atom) if upper else Poly.atom(atom) - bound)
    return found


def _products(known: Knowledge, chosen: dict[Poly, None], monomials: dict[Monomial, None]) -> list[Poly]:
    """Products of two facts that share an unknown with the current system."""
    wanted = {m for m in monomials if len(m) > 1}
    atoms = sorted({atom for m in wanted for atom in m})
    factors: dict[Poly, None] = {}
    for atom in atoms[:6]:
        lo, hi = span_of_atom(known, atom) if isinstance(atom, Symbol | Quotient) else (None, None)
        if lo is not None:
            factors[Poly.atom(atom) - lo] = None
        if hi is not None:
            factors[Poly.atom(atom, -1) + hi] = None
    for fact in chosen:
        if fact.degree <= 2 and len(fact.terms) <= 5:
            factors.setdefault(fact)
    pool = list(factors)[:16]
    found: dict[Poly, None] = {}
    for fact in chosen:
        for multiplier in _multipliers(known, fact, wanted):
            found.setdefault(fact * multiplier)
    names = [atom for atom in atoms if isinstance(atom, Symbol)][:4]
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if tuple(sorted((a, b))) in wanted:
                for square in (Poly.atom(a) - Poly.atom(b), Poly.atom(a) + Poly.atom(b)):
                    found.setdefault(square * square)
    for i, f in enumerate(pool):
        for g in pool[i:]:
            if len(found) >= 32:
                return list(found)
            product = f * g
            if product.degree <= 4 and any(m in wanted for m in product.terms if len(m) > 1):
                found.setdefault(product)
    return list(found)


def _multipliers(known: Knowledge, fact: Poly, wanted: set[Monomial]) -> list[Poly]:
    """Products of non-negative atoms that turn a term of `fact` into a wanted unknown."""
    found: dict[Monomial, None] = {}
    for monomial in fact.terms:
        for goal in wanted:
            rest = lowered(goal, monomial) if monomial else None
            if rest and all((lo := span_of_atom(known, atom)[0]) is not None and lo >= 0 for atom in rest):
                found.setdefault(rest)
    return [Poly({rest: 1}) for rest in sorted(found, key=lambda m: [a.key for a in m])][:4]


def _least_rest(p: Poly, facts: list[Poly], monomials: list[Monomial]) -> int | None:
    """The greatest constant ``p - sum(l * f)``, rounded up; None if there is none."""
    if max(weight.bit_length() for fact in (p, *facts) for weight in fact.terms.values()) > _MOST_BITS:
        return None
    rows: list[list[int]] = []
    basis: list[int] = []
    width = len(facts)
    units: dict[tuple[Monomial, int], int] = {}
    for j, fact in enumerate(facts):
        if len(fact.terms) <= 2:
            for monomial, weight in fact.terms.items():
                if monomial and weight in (1, -1) and len(fact.terms) - (() in fact.terms) == 1:
                    units.setdefault((monomial, weight), j)
    artificial = 0
    starts: list[int | None] = []
    for monomial in monomials:
        goal = p.terms.get(monomial, 0)
        sign = 1 if goal > 0 or (goal == 0 and (monomial, 1) in units) else -1
        row = [sign * fact.terms.get(monomial, 0) for fact in facts]
        start = units.get((monomial, sign))
        starts.append(start)
        artificial += start is None
        rows.append([*row, sign * goal])
    # Columns: facts, then one artificial unknown for each row without a fact to start from, then the right side.
    extra = 0
    for i, start in enumerate(starts):
        right = rows[i].pop()
        rows[i] += [0] * artificial
        if start is None:
            rows[i][width + extra] = 1
            basis.append(width + extra)
            extra += 1
        else:
            basis.append(start)
        rows[i].append(right)
    total = width + artificial
    cost = [fact.terms.get((), 0) for fact in facts] + [0] * artificial + [0]
    phase = [0] * width + [1] * artificial + [0]
    for row, column in zip(rows, basis, strict=True):
        for line in (cost, phase):
            if line[column]:
                factor = line[column]
                for k in range(total + 1):
                    line[k] -= factor * row[k]
    state = _Tableau(rows, basis, cost, phase, width)
    if artificial:
        state.run(first=True)
        if state.phase[-1] != 0:
            return None
    if not state.run(first=False):
        return UNREACHED
    return _certified(p, facts, state)


def _certified(p: Poly, facts: list[Poly], state: _Tableau) -> int | None:
    """The bound given by the basis, recomputed from its definition: soundness rests on this sum, not on the pivots."""
    left = p * state.den
    for row, column in zip(state.rows, state.basis, strict=True):
        if row[-1] < 0:
            return None
        if row[-1] and column < state.width:
            left = left - facts[column] * row[-1]
    value = left.value
    # p is an integer: its bound is rounded up.
    return None if value is None else -(-value // state.den)


class _Tableau:
    """Rows over one common denominator; the last column is the right side, `cost` and `phase` are reduced costs."""

    def __init__(self, rows: list[list[int]], basis: list[int], cost: list[int], phase: list[int], width: int) -> None:
        self.rows, self.basis, self.cost, self.phase, self.width = rows, basis, cost, phase, width
        self.den = 1
        self.pivots = 0

    def run(self, *, first: bool) -> bool:
        """Pivots until no reduced cost is negative or the budget is spent; False if the cost is unbounded."""
        while self.pivots < _MOST_PIVOTS:
            line = self.phase if first else self.cost
            if first and line[-1] == 0:
                return True
            column = self._entering(line)
            if column is None:
                return True
            pivot = self._leaving(column, first)
            if pivot is None:
                return first
            self._pivot(pivot, column)
            self.pivots += 1
        return True

    def _entering(self, line: list[int]) -> int | None:
        # Artificial unknowns never return. Bland's rule, used later, prevents cycles.
        best, where = 0, None
        for k in range(self.width):
            if line[k] < best:
                best, where = line[k], k
                if self.pivots > _BLAND_AFTER:
                    break
        return where

    def _leaving(self, column: int, first: bool) -> int | None:
        best: tuple[int, int] | None = None
        where = None
        for i, row in enumerate(self.rows):
            weight = row[column]
            if weight < 0 and not first and self.basis[i] >= self.width and row[-1] == 0:
                return i  # an artificial unknown at zero must not grow
            if weight > 0:
                ratio = (row[-1], weight)
                if best is None or ratio[0] * best[1] < best[0] * ratio[1]:
                    best, where = ratio, i
                elif ratio[0] * best[1] == best[0] * ratio[1]:
                    assert where is not None
                    if self.basis[i] < self.basis[where]:
                        where = i
        return where

    def _pivot(self, r: int, column: int) -> None:
        pivot_row = self.rows[r]
        pivot = pivot_row[column]
        if pivot < 0:
            self.rows[r] = pivot_row = [-value for value in pivot_row]
            pivot = -pivot
        den = self.den
        for i, row in enumerate(self.rows):
            if i != r:
                self.rows[i] = _reduced(row, row[column], pivot_row, pivot, den)
        self.cost = _reduced(self.cost, self.cost[column], pivot_row, pivot, den)
        self.phase = _reduced(self.phase, self.phase[column], pivot_row, pivot, den)
        self.den = pivot
        self.basis[r] = column


def _reduced(row: list[int], factor: int, pivot_row: list[int], pivot: int, den: int) -> list[int]:
    if not factor:
        return row if pivot == den else [value * pivot // den for value in row]
    return [(value * pivot - factor * other) // den for value, other in zip(row, pivot_row, strict=True)]
