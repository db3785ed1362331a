"""`solve`: the values of one name for which a condition holds for all values of the other names.

Other names with two finite ends are taken at their worst. Names without finite ends stay: the ends of the answer are
expressions in them. The range of the name itself is ignored, so the answer may exceed it.
"""

from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from . import grids, iterating
from .deciding import composer, negation, total
from .linearity import weights
from .polynomials import All, Any, Choice, Floor, Formula, Least, Poly, Quotient, Sign, Symbol, express, negated
from .trees import Compare, Const, Expr, Var, walk

if TYPE_CHECKING:
    from .facts import End, Prover

# An interval of polynomials, ends included; None is unbounded.
_Span = tuple[Poly | None, Poly | None]

# If no rule applies, this many points are examined, and this many values of the name.
_POINT_LIMIT: Final = 40_000
_WINDOW: Final = 2_000

# In longer sums, names are not taken at their worst; more intervals are not joined.
_NAME_LIMIT: Final = 24
_SPAN_LIMIT: Final = 16


def solve(facts: "Prover", condition: Expr, name: str) -> "tuple[End | None, End | None] | Literal['empty']":
    """The largest interval of `name` on which `condition` holds for every value of the other names, or ``"empty"``."""
    if facts.prove(condition):
        return None, None
    if facts.prove(negation(condition)):
        return "empty"
    solver = _Solver(facts, name)
    spans = solver.spans(facts.formula(condition))
    # Where a part of the condition is undefined, its normal form would claim too much.
    if spans is None or not solver.exact or not total(condition):
        visited = _visited(facts, condition, name)
        if visited is not None:
            return visited
    found = solver.largest(spans or [])
    return "empty" if found is None else (_end(facts, found[0]), _end(facts, found[1]))


class _Solver:
    """Intervals of `name` for formulas. `exact` becomes False if they may be too small."""

    def __init__(self, facts: "Prover", name: str) -> None:
        self.facts = facts
        self.name = name
        self.exact = True
        self.relaxed = False
        self._tied = grids.related(facts, [name])

    def spans(self, formula: Formula) -> list[_Span] | None:
        """Intervals on which `formula` holds, or None if no rule applies."""
        match formula:
            case Sign(">=", poly):
                return self._nonnegative(poly)
            case Sign("==", poly):
                return self.spans(All((Sign(">=", poly), Sign(">=", -poly))))
            case Sign(_, poly):
                return self.spans(Any((Sign(">=", poly - 1), Sign(">=", -poly - 1))))
            case All(parts):
                spans: list[_Span] = [(None, None)]
                for part in parts:
                    found = self.spans(part)
                    if found is None:
                        return None
                    if len(spans) * len(found) > _SPAN_LIMIT:
                        return None
                    spans = [both for a in spans for b in found if (both := self._intersection(a, b)) is not None]
                return spans
            case Any(parts):
                united: list[_Span] = []
                before, self.relaxed = self.relaxed, False
                for part in parts:
                    found = self.spans(part)
                    if found is None:
                        return None
                    united += found
                # Each value of the others may satisfy a different part, even if no single part holds for all.
                self.exact = self.exact and not (self.relaxed and len(parts) > 1)
                self.relaxed = self.relaxed or before
                return self._merged(united)

    def largest(self, spans: list[_Span]) -> _Span | None:
        """The span with the most values of the name; the lower one on ties."""
        low, high = self.facts.bounds(Var(self.name))

        def length(span: _Span) -> tuple[int, int]:
            start = span[0].value if span[0] is not None else low
            end = span[1].value if span[1] is not None else high
            if start is None or end is None:
                return (1 + (span[0] is None) + (span[1] is None), 0)
            start, end = max(start, low if low is not None else start), min(end, high if high is not None else end)
            return 0, end - start

        spans = [span for span in spans if not self._vanishes(span)]
        return max(spans, key=length) if spans else None

    # ------------------------------------------------------------ one inequality

    def _nonnegative(self, poly: Poly) -> list[_Span] | None:
        held = {m: w for m, w in poly.terms.items() if any(self.name in Poly.atom(atom).names for atom in m)}
        rest = poly - Poly(held)
        if not held:
            least = self._least(rest)
            holds = least is not None and self._holds(least)
            return [(None, None)] if holds else []
        parts = weights(Poly(held), [self.name])
        if parts is not None:
            return self._ray(parts[0], rest)
        if len(held) > 1:
            return None
        ((monomial, weight),) = held.items()
        match monomial[0] if len(monomial) == 1 else None:
            case Quotient() as quotient if self.name not in quotient.denominator.names:
                return self._quotient(quotient, weight, rest)
            case Least(args=args):
                signs = tuple(Sign(">=", arg * weight + rest) for arg in args)
                return self.spans(All(signs) if weight > 0 else Any(signs))
            case Choice(condition=condition, then=then, otherwise=otherwise):
                yes = All((condition, Sign(">=", then * weight + rest)))
                no = All((negated(condition), Sign(">=", otherwise * weight + rest)))
                return self.spans(Any((yes, no)))
            case _:
                return None

    def _ray(self, weight: Poly, rest: Poly) -> list[_Span] | None:
        """``weight * name + rest >= 0``."""
        value = weight.value
        if value is None:
            if self._bounded(weight):
                return None
            sign = 1 if self._holds(weight - 1) else -1 if self._holds(-weight - 1) else 0
        else:
            sign = 1 if value > 0 else -1
        least = self._least(rest)
        if not sign or least is None:
            return None
        quotient = self._divided(least, weight * sign)
        return [(-quotient, None)] if sign > 0 else [(None, quotient)]

    def _quotient(self, atom: Quotient, weight: int, rest: Poly) -> list[_Span] | None:
        """``weight * (n // d) + rest >= 0``."""
        step, least = atom.denominator, self._least(rest)
        if least is None or self._bounded(step) or not self._holds(step - 1):
            return None
        # weight > 0: n // d >= -end;  weight < 0: n // d <= end
        end = self._divided(least, Poly.of(abs(weight)))
        if isinstance(atom, Floor):
            found = atom.numerator + end * step if weight > 0 else (end + 1) * step - 1 - atom.numerator
            return self._nonnegative(found)
        if end.value is None or step.value is None:
            return None
        # Rounded towards zero, a quotient of 0 covers values from both sides.
        beyond = step - 1 if end.value >= 0 else Poly({})
        sign = 1 if weight > 0 else -1
        return self._nonnegative(atom.numerator * sign + end * step + beyond)

    def _divided(self, poly: Poly, divisor: Poly) -> Poly:
        value = divisor.value
        if value == 1:
            return poly
        return self.facts.normal(express(poly) // express(divisor))

    # ------------------------------------------------------------ the other names

    def _bounded(self, poly: Poly) -> list[str]:
        """The names of `poly` that have two constant ends."""
        names = sorted(poly.names)
        if len(names) > _NAME_LIMIT:
            return []
        return [name for name in names if None not in self.facts.bounds(Var(name))]

    def _least(self, poly: Poly, done: frozenset[str] = frozenset()) -> Poly | None:
        """The least value of `poly` over the names with two ends, as a polynomial in the others; None if unknown.

        Names in `done` have already been replaced by others.
        """
        bounded = frozenset(self._bounded(poly))
        if bounded:
            self.relaxed = True
            # The range of the other name depends on the one being solved for.
            self.exact = self.exact and self._tied.isdisjoint(bounded)
            low = Poly({m: w for m, w in poly.terms.items() if not bounded.isdisjoint(Poly({m: w}).names)})
            if low.names <= bounded:
                least = self.facts.bounds(express(low))[0]
                return None if least is None else self._least(poly - low + least, done)
            for name in sorted(bounded):
                parts = weights(poly, [name])
                if parts is None:
                    continue
                start, end = self.facts.bounds(Var(name))
                assert start is not None and end is not None
                if self._holds(parts[0]):
                    return self._least(parts[1] + parts[0] * start, done)
                if self._holds(-parts[0]):
                    return self._least(parts[1] + parts[0] * end, done)
            return None
        for name in sorted(poly.names - done) if len(poly.names) <= _NAME_LIMIT else ():
            replaced = self._at_its_end(poly, name)
            if replaced is not None:
                self.relaxed = True
                return self._least(replaced, done | {name})
        return poly

    def _at_its_end(self, poly: Poly, name: str) -> Poly | None:
        """The least value of `poly` over `name` alone, if facts bound it by other names."""
        parts = weights(poly, [name])
        if parts is None or parts[0].value is None or not self._between(name):
            return None
        sign = 1 if parts[0].value > 0 else -1
        ends: list[Poly] = []
        for fact in iterating.bounds(self.facts):
            if fact.terms.get((Symbol(name),), 0) == sign:
                end = Poly.atom(Symbol(name)) - fact * sign
                if name not in end.names and self.name not in end.names:
                    ends.append(end)
        strongest = [end for end in ends if all(self._holds((end - other) * sign) for other in ends)]
        return parts[1] + parts[0] * strongest[0] if strongest else None

    def _between(self, name: str) -> bool:
        signs = {fact.terms.get((Symbol(name),), 0) for fact in iterating.bounds(self.facts)}
        return name != self.name and {1, -1} <= signs and None in self.facts.bounds(Var(name))

    # ------------------------------------------------------------ intervals

    def _holds(self, poly: Poly) -> bool:
        """Whether `poly` is known not to be negative."""
        value = poly.value
        return value >= 0 if value is not None else self.facts.prove(Compare(">=", express(poly), Const(0)))

    def _vanishes(self, span: _Span) -> bool:
        low, high = span
        return low is not None and high is not None and self._holds(low - high - 1)

    def _intersection(self, a: _Span, b: _Span) -> _Span | None:
        low = self._later(a[0], b[0], 1)
        high = self._later(a[1], b[1], -1)
        return None if self._vanishes((low, high)) else (low, high)

    def _later(self, a: Poly | None, b: Poly | None, sign: int) -> Poly | None:
        """The greater (`sign` 1) or the smaller end."""
        if a is None or b is None:
            return b if a is None else a
        if self._holds((a - b) * sign):
            return a
        if self._holds((b - a) * sign):
            return b
        return Poly.atom(Least([a * -sign, b * -sign]), -sign)

    def _merged(self, spans: list[_Span]) -> list[_Span]:
        """The spans, with adjacent ones joined."""
        for i, (low, high) in enumerate(spans):
            for j, (start, end) in enumerate(spans):
                if i == j:
                    continue
                # The second begins inside the first, or next to it, and the first begins no later.
                begins = low is None or (start is not None and self._holds(start - low))
                touches = high is None or start is None or self._holds(high + 1 - start)
                if begins and touches and not (start is None and low is not None):
                    ends = None if high is None or end is None else end if self._holds(end - high) else high
                    if ends is high and high is not None and end is not None and not self._holds(high - end):
                        continue
                    others = [span for n, span in enumerate(spans) if n not in (i, j)]
                    return self._merged([*others, (low, ends)])
        return spans


# ---------------------------------------------------------------- point by point


def _visited(facts: "Prover", condition: Expr, name: str) -> "tuple[End | None, End | None] | Literal['empty'] | None":
    """The answer by enumeration, with what is proved beyond the points; None if there are too many."""
    others = sorted((condition.variables | grids.related(facts, condition.variables | {name})) - {name})
    box = grids.ranges(facts, others)
    if box is None:
        return None
    low, high = facts.bounds(Var(name))
    window = min(_WINDOW, _POINT_LIMIT // max(grids.size(box), 1) // 2)
    reach = min(window, 16 + 2 * sum(abs(node.value) for node in walk(condition) if isinstance(node, Const)))
    if window < 4:
        return None
    start = low if low is not None else (high - 2 * reach if high is not None and high < -reach else -reach)
    end = high if high is not None else max(start, 0) + reach
    if end - start > 2 * window:
        return None
    values = range(start, end + 1)
    inside = [fact.condition for fact in facts.facts if fact.condition.variables <= {name, *others}]
    columns = grids.points({**box, name: values}, inside, 2 * _POINT_LIMIT)
    if columns is None:
        return None
    count = len(columns[name])
    holds = grids.column(condition, columns, count)
    bad = {value for value, held in zip(columns[name], holds, strict=True) if held is not None and not held}
    if count == 0:
        return None
    below = low is None and facts.assume(Compare("<", Var(name), Const(start))).prove(condition)
    above = high is None and facts.assume(Compare(">", Var(name), Const(end))).prove(condition)
    runs = [list(group) for good, group in groupby(values, lambda value: value not in bad) if good]
    spans = [
        (None if below and run[0] == start else run[0], None if above and run[-1] == end else run[-1]) for run in runs
    ]
    if not spans:
        return "empty"
    return max(spans, key=lambda span: (None in span, (span[1] or 0) - (span[0] or 0) if None not in span else 0))


def _end(facts: "Prover", poly: Poly | None) -> "End | None":
    if poly is None:
        return None
    expr = composer(facts).write(poly)
    return expr.value if isinstance(expr, Const) else expr
