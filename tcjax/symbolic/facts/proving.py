"""Proofs that a condition holds everywhere, or that there is no point at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import combining, points, splitting
from .bounding import Search
from .congruence import congruence_of
from .formulas import both
from .polynomials import YES, All, Any, Formula, Poly, Sign, negated, polynomials
from .trees import Expr

if TYPE_CHECKING:
    from .knowledge import Knowledge

_DEEPEST = 3
_MOST_CASES = 40


def prove(known: Knowledge, condition: Expr) -> bool:
    """Whether `condition` is proved to hold at every point."""
    values = points.few_values(known, condition)
    if values is not None:
        return all(values)
    known = known.defined(condition)
    return holds(known, known.formula(condition))


def holds(known: Knowledge, formula: Formula) -> bool:
    """Whether `formula` (in normal form) is proved to hold at every point."""
    return _Proof().holds(known, formula, 0)


def impossible(known: Knowledge) -> bool:
    """Whether the facts are proved to exclude one another."""
    if known.impossible:
        return True
    found = known.recalled(known.memo, "impossible")
    if found is None:
        found = _is_impossible(known)
        known.keep(known.memo, "impossible", found)
    return bool(found)


def _is_impossible(known: Knowledge) -> bool:
    if not (known.positive or known.zero or known.nonzero or known.clauses):
        return False
    names = frozenset().union(*(poly.names for fact in (*known.facts, *known.clauses) for poly in polynomials(fact)))
    if points.samples(known, names):
        return False
    if combining.is_contradiction(known):
        return True
    return any(_Proof().holds(known, negated(fact), 1) for fact in list(known.facts)[-3:])


class _Proof:
    """One proof, with the number of cases it may still examine."""

    def __init__(self) -> None:
        self.left = _MOST_CASES

    def holds(self, known: Knowledge, formula: Formula, depth: int) -> bool:
        if known.impossible or formula == YES:
            return True
        if known.ledger.is_spent:
            return False
        match formula:
            case All(parts):
                return all(self.holds(known, part, depth) for part in parts)
            case Sign(">=", poly):
                return self._reaches(known, poly, 0)
            case _:
                pass
        exact = points.holds_everywhere(known, formula)
        if exact is not None:
            return exact
        if _fails_somewhere(known, formula):
            return False
        match formula:
            case Sign("==", poly):
                return self._reaches(known, poly, 0) and self._reaches(known, -poly, 0)
            case Sign(_, poly):
                if self._is_never_zero(known, poly):
                    return True
            case Any(parts) if parts:
                if self._some(known, parts, depth):
                    return True
            case _:
                pass
        return depth < _DEEPEST and self._by_cases(known, formula, depth)

    def _reaches(self, known: Knowledge, poly: Poly, target: int) -> bool:
        search = Search(self.left)
        low = search.lower(known, poly, target, proof=True)
        self.left = search.left
        if low is not None and low >= target:
            return True
        return self._is_refuted(known, poly - target)

    def _is_refuted(self, known: Knowledge, poly: Poly) -> bool:
        """Whether products of facts exclude ``poly < 0``."""
        if not any(fact.degree > 1 for fact in (*known.positive, *known.zero)) or known.ledger.is_spent:
            return False
        if min(points.sampled(known, poly), default=0) < 0:
            return False
        case = known.given(Sign(">=", -poly - 1))
        return case.impossible or combining.is_contradiction(case)

    def _is_never_zero(self, known: Knowledge, poly: Poly) -> bool:
        if poly in known.nonzero or -poly in known.nonzero:
            return True
        m, r = congruence_of(known, poly)
        if (m == 0 and r != 0) or (m > 1 and r % m):
            return True
        lo, hi = known.interval(poly)
        return (
            (lo is not None and lo > 0)
            or (hi is not None and hi < 0)
            or (known.nonneg(poly - 1) or known.nonneg(-poly - 1))
        )

    def _some(self, known: Knowledge, parts: tuple[Formula, ...], depth: int) -> bool:
        """Proves one part under the assumption that all others fail."""
        for i in range(len(parts) - 1, -1, -1):
            others = both([negated(part) for j, part in enumerate(parts) if j != i])
            case = known if others == YES else known.given(others)
            if case.impossible or combining.is_contradiction(case):
                return True
            if self.left <= 0 or depth >= _DEEPEST:
                return False
            self.left -= 1
            from .normalizing import rebuilt_formula

            if self.holds(case, rebuilt_formula(case, parts[i]), depth + 1):
                return True
        return False

    def _by_cases(self, known: Knowledge, formula: Formula, depth: int) -> bool:
        from .normalizing import rebuilt_formula

        for poly in polynomials(formula):
            formulas = splitting.cases(known, poly)
            if formulas is None or len(formulas) > self.left:
                continue
            self.left -= len(formulas)
            for part in formulas:
                case = known.given(part)
                if not self.holds(case, rebuilt_formula(case, formula), depth + 1):
                    return False
            return True
        return False


def _fails_somewhere(known: Knowledge, formula: Formula) -> bool:
    """Whether some sampled point of the domain is a counterexample."""
    names = frozenset().union(*(poly.names for poly in polynomials(formula)))
    for point in points.samples(known, names):
        try:
            if not points.truth(formula, point):
                return True
        except ZeroDivisionError:
            continue
    return False
