"""The consequences of a list of facts: intervals and values of names, signs, clauses; and the quick questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from . import extrema, learning, normalizing, points, quotients, restoring, spanning
from .ledger import LEARNING, Ledger
from .polynomials import LARGEST, Any, Atom, Formula, Poly, Sign, Symbol
from .spans import ALL, Span
from .trees import And, Compare, Const, Expr

K = TypeVar("K")
V = TypeVar("V")
_DEEPEST = 6


class Knowledge:
    """Facts in normal form. Immutable once built; answers are cached here, so that the cache lives as long as the
    facts.

    A name that is known to be ``r`` modulo ``m`` is replaced by ``m*q + r`` with a new symbol q (named ``x//m``), so
    that every rule sees the congruence; `shown` turns q back.
    """

    def __init__(self) -> None:
        self.intervals: dict[str, Span] = {}
        self.solved: dict[str, Poly] = {}
        self.parts: dict[str, tuple[str, int, int]] = {}
        self.positive: dict[Poly, None] = {}  # each is >= 0
        self.zero: dict[Poly, None] = {}
        self.nonzero: dict[Poly, None] = {}
        self.clauses: dict[Any, None] = {}
        self.impossible = False
        self.depth = 0
        self.building = False
        self.ledger = Ledger()
        self.forget()

    def forget(self) -> None:
        """Clears the cache: for `learning`, while facts are still being added."""
        self._normal: dict[Expr, Poly] = {}
        self._formula: dict[Expr, Formula] = {}
        self._again: dict[Poly, Poly] = {}
        self._atoms: dict[Atom, Poly] = {}
        self._intervals: dict[Poly, Span] = {}
        self._nonneg: dict[Poly, bool] = {}
        self._given: dict[Formula, Knowledge] = {}
        self._defined: dict[Expr, Knowledge] = {}
        self._excluded: dict[Formula, Knowledge] = {}
        self._proving = 0
        self.memo: dict[object, object] = {}
        # Found by a question without steps left: see `keep`.
        self._late: dict[tuple[int, object], object] = {}
        self._late_for = 0

    def copy(self) -> Knowledge:
        """The same facts in a new object, to which facts can be added."""
        new = Knowledge()
        new.intervals = dict(self.intervals)
        new.solved = dict(self.solved)
        new.parts = dict(self.parts)
        new.positive = dict(self.positive)
        new.zero = dict(self.zero)
        new.nonzero = dict(self.nonzero)
        new.clauses = dict(self.clauses)
        new.impossible = self.impossible
        new.depth = self.depth
        new.ledger = self.ledger
        return new

    def assuming(self, conditions: Iterable[Expr]) -> Knowledge:
        """These facts and further conditions, which are defined: no divisor that they evaluate is zero."""
        new = self.copy()
        new.ledger = Ledger()
        new.building = True
        with new.ledger.question(LEARNING):
            for condition in conditions:
                for part in condition.parts if isinstance(condition, And) else (condition,):
                    for divisor in normalizing.divisors(part):
                        learning.learn(new, new.formula(Compare("!=", divisor, Const(0))))
                learning.learn(new, new.formula(condition), condition)
        new.forget()
        new.building = False
        return new

    def given(self, formula: Formula) -> Knowledge:
        """These facts and one further formula."""
        found = self.recalled(self._given, formula)
        if found is None:
            found = self.copy()
            found.depth += 1
            if found.depth <= _DEEPEST and self.ledger.spend(2):
                found.building = True
                learning.learn(found, normalizing.rebuilt_formula(found, formula))
                found.forget()
                found.building = False
            self.keep(self._given, formula, found)
        return found

    def defined(self, expr: Expr) -> Knowledge:
        """These facts, and that no divisor evaluated by `expr` at every point is zero."""
        found = self.recalled(self._defined, expr)
        if found is None:
            found = self
            for divisor in normalizing.divisors(expr):
                poly = found.normal(divisor)
                lo, hi = found.interval(poly)
                if poly.value is None and (lo is None or lo <= 0) and (hi is None or hi >= 0):
                    found = found._excluding(poly)
            self.keep(self._defined, expr, found)
        return found

    def _excluding(self, zero: Poly) -> Knowledge:
        key = Sign("!=", zero)
        found = self.recalled(self._excluded, key)
        if found is None:
            found = self.copy()
            found.building = True
            learning.learn(found, normalizing.rebuilt_formula(found, key))
            found.forget()
            found.building = False
            self.keep(self._excluded, key, found)
        return found

    def recalled(self, table: dict[K, V], key: K) -> V | None:
        """The value that `keep` stored under `key`."""
        found = table.get(key)
        if found is None and self.ledger.is_spent and self._late_for == self.ledger.number:
            return self._late.get((id(table), key))  # type: ignore[return-value]
        return found

    def keep(self, table: dict[K, V], key: K, found: V) -> None:
        """Stores `found` in a table of this object; if the question's steps are spent, only until it ends.

        A later question has more steps and may find more: its result must not depend on earlier ones.
        """
        if not self.ledger.is_spent:
            table[key] = found
            return
        if self._late_for != self.ledger.number:
            self._late, self._late_for = {}, self.ledger.number
        self._late[id(table), key] = found

    def normal(self, expr: Expr) -> Poly:
        """The normal form of a number."""
        found = self.recalled(self._normal, expr)
        if found is None:
            found = normalizing.normalized(self, expr)
            self.keep(self._normal, expr, found)
        return found

    def formula(self, expr: Expr) -> Formula:
        """The normal form of a condition."""
        found = self.recalled(self._formula, expr)
        if found is None:
            found = normalizing.formula(self, expr)
            self.keep(self._formula, expr, found)
        return found

    def again(self, poly: Poly) -> Poly:
        """The normal form of a polynomial built under fewer facts."""
        found = self.recalled(self._again, poly)
        if found is None:
            self.ledger.spend(poly.weight // 32)
            found = normalizing.rebuilt(self, poly)
            self.keep(self._again, poly, found)
        return found

    def atom(self, atom: Atom) -> Poly:
        """The normal form of an atom built under fewer facts."""
        found = self.recalled(self._atoms, atom)
        if found is None:
            found = normalizing.rebuilt_atom(self, atom)
            self.keep(self._atoms, atom, found)
        return found

    def symbol(self, name: str) -> Poly:
        """The value of a name: itself, or what an equation or a congruence replaces it with."""
        found = self.solved.get(name)
        return found if found is not None else Poly.atom(Symbol(name))

    def shown(self, poly: Poly) -> Poly:
        """`poly` over the names of the text."""
        return restoring.restored(self, poly)

    def shown_formula(self, formula: Formula) -> Formula:
        """`formula` over the names of the text."""
        return restoring.restored_formula(self, formula)

    def interval(self, poly: Poly) -> Span:
        """Sound ends of `poly`, computed quickly."""
        found = self.recalled(self._intervals, poly)
        if found is None:
            found = spanning.interval(self, poly)
            self.keep(self._intervals, poly, found)
        return found

    def span_of(self, name: str) -> Span:
        """The ends of a symbol."""
        return self.intervals.get(name, ALL)

    def nonneg(self, poly: Poly) -> bool:
        """Whether ``poly >= 0`` is proved quickly: by intervals, else by one linear combination of facts."""
        lo, hi = self.interval(poly)
        if lo is not None and lo >= 0:
            return True
        if hi is not None and hi < 0:
            return False
        if poly.weight > LARGEST:
            return False
        found = self._nonneg.get(poly)
        if found is None:
            if self._proving >= 2:
                return False  # a proof inside a proof inside a proof: not remembered, for it may still succeed alone
            from . import combining  # combining asks this object for intervals

            if self.refutes(poly):
                found = False
            else:
                self._proving += 1
                try:
                    low = combining.lower(self, poly, few=True)
                finally:
                    self._proving -= 1
                found = low is not None and low >= 0
                if not found and self.ledger.is_spent:
                    return False  # not remembered: a question with more steps left may find a proof
            self._nonneg[poly] = found
        return found

    def refutes(self, poly: Poly) -> bool:
        """Whether ``poly < 0`` at a sampled point of the domain; its cases are not sampled."""
        return not self.depth and not self.building and min(points.sampled(self, poly), default=0) < 0

    def decide(self, poly: Poly) -> bool | None:
        """Whether ``poly >= 0`` holds everywhere or nowhere, from facts about several names, or None."""
        if not (self.positive or self.zero):
            return None
        if poly in self.positive:
            return True
        if self.nonneg(poly):
            return True
        return False if self.nonneg(-poly - 1) else None

    def floor(self, n: Poly, d: Poly) -> Poly:
        """``n // d``."""
        return quotients.floor(self, n, d)

    def trunc(self, n: Poly, d: Poly) -> Poly:
        """``tdiv(n, d)``."""
        return quotients.trunc(self, n, d)

    def least(self, args: list[Poly]) -> Poly:
        """The least of `args`."""
        return extrema.least(self, args)

    def choice(self, condition: Formula, then: Poly, otherwise: Poly) -> Poly:
        """``select(condition, then, otherwise)``."""
        return extrema.choice(self, condition, then, otherwise)

    @property
    def facts(self) -> Iterator[Sign]:
        """The signs that are known, other than intervals of names."""
        for relation, polys in ((">=", self.positive), ("==", self.zero), ("!=", self.nonzero)):
            for poly in polys:
                yield Sign(relation, poly)


NOTHING = Knowledge()
