"""The residue class that all values of an expression share."""

from __future__ import annotations

from itertools import product
from math import gcd
from typing import TYPE_CHECKING

from . import points, splitting
from .polynomials import Atom, Choice, Floor, Least, Poly, Symbol
from .trees import Expr

if TYPE_CHECKING:
    from .knowledge import Knowledge

Congruence = tuple[int, int]
_MOST_CASES = 36
_MOST_RESIDUES = 300


def modulus(known: Knowledge, expr: Expr) -> Congruence:
    """``(m, r)``: every value is r modulo m, ``0 <= r < m``; m is 0 for the constant r and 1 if nothing is known."""
    values = points.few_values(known, expr)
    if values:
        return _class(gcd(*(value - values[0] for value in values)), values[0])
    known = known.defined(expr)
    return greatest(known, known.normal(expr))


def greatest(known: Knowledge, p: Poly) -> Congruence:
    """The congruence of a polynomial in normal form, split into cases if the terms alone are not enough."""
    if p.value is not None:
        return (0, p.value)
    if known.impossible:
        return (0, 0)
    values = points.every_value(known, p)
    if values is not None and values.exact:
        return _class(values.spacing, values.least)
    found = congruence_of(known, p)
    seen = points.sampled(known, p)
    spacing = gcd(*(value - seen[0] for value in seen)) if seen else 0
    if not seen or spacing == found[0] or found[0] == 0:
        return found
    if _is_periodic(p, spacing):
        return _class(spacing, seen[0])
    return _Search(spacing).refined(known, p, found, 0)


def _is_periodic(p: Poly, m: int) -> bool:
    """Whether `p` modulo m depends only on the residues of its names: true for a polynomial."""
    names = sorted(p.names)
    if m < 2 or m ** len(names) > _MOST_RESIDUES or not all(isinstance(atom, Symbol) for atom in p.atoms):
        return False
    values = (
        points.value(p, dict(zip(names, residues, strict=True))) for residues in product(range(m), repeat=len(names))
    )
    first = next(values)
    return all((value - first) % m == 0 for value in values)


class _Search:
    """A search for a greater modulus, up to the one that sampled values allow."""

    def __init__(self, spacing: int) -> None:
        self.spacing = spacing
        self.left = _MOST_CASES

    def refined(self, known: Knowledge, p: Poly, found: Congruence, depth: int) -> Congruence:
        formulas = self._cases(known, p)
        if depth > 2 or formulas is None or len(formulas) > self.left:
            return found
        self.left -= len(formulas)
        total: Congruence | None = None
        for formula in formulas:
            case = known.given(formula)
            if case.impossible:
                continue
            q = case.again(p)
            one = congruence_of(case, q)
            if one[0] and (self.spacing == 0 or one[0] % self.spacing):
                one = self.refined(case, q, one, depth + 1)
            total = one if total is None else joined(total, one)
            if total[0] == 1:
                return found
        if total is None:
            return found
        return total if total[0] == 0 or total[0] > found[0] else found

    def _cases(self, known: Knowledge, p: Poly) -> list | None:
        by_structure = splitting.cases(known, p)
        if by_structure is not None and any(not isinstance(atom, Symbol) for atom in p.atoms):
            return by_structure
        # A polynomial modulo m depends only on its names modulo m.
        step = self.spacing if 1 < self.spacing <= 12 else 0
        names = sorted({atom.name for m in p.terms if len(m) > 1 for atom in m if isinstance(atom, Symbol)})
        if step and names and names[0].count("//") < 2:
            return splitting.residues(names[0], step)
        return by_structure


def congruence_of(known: Knowledge, p: Poly) -> Congruence:
    """The congruence given by the terms of `p`."""
    key = ("congruence", p)
    found = known.recalled(known.memo, key)
    if found is None:
        known.keep(known.memo, key, (1, 0))  # for facts that speak of the same atoms again
        total = _of_terms(known, p)
        for fact in known.zero:
            # A polynomial that is zero can be added; applying this to facts recursively would be a search.
            if any(m in p.terms for m in fact.terms if m):
                for other in (p - fact, p + fact):
                    total = _better(total, _of_terms(known, other))
        known.memo.pop(key, None)
        found = _class(*total)
        known.keep(known.memo, key, found)
    return found  # type: ignore[return-value]


def _of_terms(known: Knowledge, p: Poly) -> Congruence:
    total: Congruence = (0, 0)
    for monomial, weight in p.terms.items():
        term: Congruence = (0, weight)
        for atom in monomial:
            term = multiplied(term, _of_atom(known, atom))
        total = added(total, term)
    return total


def _better(a: Congruence, b: Congruence) -> Congruence:
    """The stronger of two congruences of one value."""
    return b if a[0] and (b[0] == 0 or b[0] > a[0]) else a


def _of_atom(known: Knowledge, atom: Atom) -> Congruence:
    match atom:
        case Floor():
            k = atom.denominator.value
            m, r = congruence_of(known, atom.numerator)
            if k is not None and m % k == 0:
                return _class(m // k, r // k) if m else (0, r // k)
            return (1, 0)
        case Least():
            return _joined_all([congruence_of(known, arg) for arg in atom.args])
        case Choice():
            then, other = known.given(atom.condition), congruence_of(known, atom.otherwise)
            return joined(congruence_of(then, then.again(atom.then)), other)
        case _:
            return (1, 0)


def _class(m: int, r: int) -> Congruence:
    m = abs(m)
    return (m, r % m) if m else (0, r)


def added(a: Congruence, b: Congruence) -> Congruence:
    """Sums."""
    return gcd(a[0], b[0]), a[1] + b[1]


def multiplied(a: Congruence, b: Congruence) -> Congruence:
    """Products."""
    (m, r), (n, s) = a, b
    return gcd(m * n, m * s, n * r), r * s


def joined(a: Congruence, b: Congruence) -> Congruence:
    """A congruence that holds in both cases."""
    return _class(gcd(a[0], b[0], a[1] - b[1]), a[1])


def _joined_all(parts: list[Congruence]) -> Congruence:
    total = parts[0]
    for part in parts[1:]:
        total = joined(total, part)
    return total
