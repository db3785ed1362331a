"""The least and the greatest value of an expression: intervals, all points, combinations of facts, then cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import combining, points, splitting
from .congruence import congruence_of
from .formulas import at_least_zero
from .polynomials import YES, Poly, Sign
from .spans import Span
from .trees import Expr

if TYPE_CHECKING:
    from .knowledge import Knowledge

_MOST_CASES = 40
_DEEPEST = 4


def bounds(known: Knowledge, expr: Expr) -> Span:
    """Inclusive ends of `expr`, None for an end that does not exist or was not found."""
    values = points.few_values(known, expr)
    if values is not None:
        return (min(values), max(values)) if values else (0, 0)
    known = known.defined(expr)
    return ends(known, known.normal(expr))


def ends(known: Knowledge, p: Poly) -> Span:
    """Inclusive ends of a polynomial in normal form."""
    if p.value is not None:
        return (p.value, p.value)
    if known.impossible:
        return (0, 0)
    values = points.every_value(known, p)
    if values is not None and values.exact:
        return (values.least, values.greatest)
    seen = points.sampled(known, p)
    lo = Search().lower(known, p, min(seen, default=None))
    negated_hi = Search().lower(known, -p, -max(seen) if seen else None)
    if lo == combining.UNREACHED or negated_hi == combining.UNREACHED:
        return (0, 0)
    hi = None if negated_hi is None else -negated_hi
    if seen and lo != min(seen) and _proves(known, p - min(seen)):
        lo = min(seen)
    if seen and hi != max(seen) and _proves(known, -p + max(seen)):
        hi = max(seen)
    if lo is not None and hi is not None and lo > hi:
        return (hi, hi)  # no point at all
    if (lo is not None and lo not in seen) or (hi is not None and hi not in seen):
        m, r = congruence_of(known, p)
        if m > 1:
            lo = None if lo is None else lo + (r - lo) % m
            hi = None if hi is None else hi - (hi - r) % m
    return (lo, hi)


def _proves(known: Knowledge, p: Poly) -> bool:
    """Whether ``p >= 0`` can be proved in another form, for example solved for a quotient."""
    from .proving import holds  # proofs search for bounds

    formula = at_least_zero(known, p)
    return formula == YES or (formula != Sign(">=", p) and holds(known, formula))


class Search:
    """One search for a lower bound, with the number of cases it may still look at."""

    def __init__(self, most: int = _MOST_CASES) -> None:
        self.left = most

    def lower(
        self, known: Knowledge, p: Poly, target: int | None, *, proof: bool = False, depth: int = 0
    ) -> int | None:
        """A sound lower bound of `p`, None for none found; stops when it reaches `target`.

        `proof`: only reaching the target matters, so that a point below it ends the search.
        """
        if known.impossible:
            return combining.UNREACHED
        lo = known.interval(p)[0]
        if p.value is not None or _reaches(lo, target):
            return lo
        values = points.every_value(known, p)
        if values is not None:
            if not values.total:
                return combining.UNREACHED
            lo = _greater(lo, values.least)
            if values.exact or _reaches(lo, target):
                return lo
        if proof and target is not None and min(points.sampled(known, p), default=target) < target:
            return lo
        lo = _greater(lo, combining.lower(known, p))
        if _reaches(lo, target) or depth >= _DEEPEST or (target is not None and target < -points.FAR // 10):
            return lo
        return _greater(lo, self._by_cases(known, p, target, proof, depth))

    def _by_cases(self, known: Knowledge, p: Poly, target: int | None, proof: bool, depth: int) -> int | None:
        formulas = splitting.cases(known, p)
        if formulas is None or len(formulas) > self.left or known.ledger.is_spent:
            return None
        self.left -= len(formulas)
        worst = combining.UNREACHED
        for formula in formulas:
            case = known.given(formula)
            if case.depth > 6:
                return None
            found = self.lower(case, case.again(p), target, proof=proof, depth=depth + 1)
            if found is None or (proof and target is not None and found < target):
                return found
            worst = min(worst, found)
        return worst


def _reaches(lo: int | None, target: int | None) -> bool:
    return lo is not None and target is not None and lo >= target


def _greater(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)
