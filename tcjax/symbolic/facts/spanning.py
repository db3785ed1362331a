"""Quick intervals: term by term, and with quotients rewritten as remainders."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import gcd
from typing import TYPE_CHECKING

from .polynomials import Atom, Choice, Floor, Least, Monomial, Poly, Quotient, Sealed, Symbol
from .quotients import lowered
from .spans import (
    ALL,
    Span,
    at,
    floor_quotients,
    floor_remainders,
    is_empty,
    join,
    least,
    meet,
    parabola,
    plus,
    power,
    rounded,
    scaled,
    times,
    trunc_quotients,
    trunc_remainders,
)

if TYPE_CHECKING:
    from .knowledge import Knowledge

_DEEPEST = 3
_MOST_TERMS = 24
_MOST_ALTERNATIVES = (8, 4, 2)


def interval(known: Knowledge, poly: Poly, depth: int = 0) -> Span:
    """Sound ends of `poly`."""
    key = (poly, depth)
    found = known.memo.get(key)
    if found is None:
        found = known.memo[key] = _interval(known, poly, depth)
    return found  # type: ignore[return-value]


def _interval(known: Knowledge, poly: Poly, depth: int) -> Span:
    span = by_terms(known, poly)
    if depth >= _DEEPEST or len(poly.terms) > _MOST_TERMS or (span[0] is not None and span[0] == span[1]):
        return span
    for alternative in islice(_alternatives(known, poly, depth), _MOST_ALTERNATIVES[depth]):
        span = meet(span, alternative)
    if is_empty(span):
        return at(span[0] or 0)  # an empty domain: any interval is sound
    slope = poly.slope
    return rounded(span, slope, poly.constant) if slope > 1 else span


def by_terms(known: Knowledge, poly: Poly) -> Span:
    """The sum of the intervals of the terms."""
    lo: int | None = 0
    hi: int | None = 0
    for monomial, weight in poly.terms.items():
        if not monomial:
            a, b = weight, weight
        else:
            a, b = scaled(span_of_monomial(known, monomial), weight)
        lo = None if lo is None or a is None else lo + a
        hi = None if hi is None or b is None else hi + b
    return (lo, hi)


def span_of_monomial(known: Knowledge, monomial: Monomial) -> Span:
    """Ends of a product; an even power is never negative."""
    if len(monomial) == 1:
        return span_of_atom(known, monomial[0])
    span = at(1)
    for atom in dict.fromkeys(monomial):
        span = times(span, power(span_of_atom(known, atom), monomial.count(atom)))
    return span


def span_of_atom(known: Knowledge, atom: Atom) -> Span:
    """Ends of an atom."""
    if isinstance(atom, Symbol):
        return known.span_of(atom.name)
    found = known.memo.get(atom)
    if found is None:
        found = known.memo[atom] = _span_of_atom(known, atom)
    return found  # type: ignore[return-value]


def _span_of_atom(known: Knowledge, atom: Atom) -> Span:
    match atom:
        case Floor():
            return floor_quotients(known.interval(atom.numerator), known.interval(atom.denominator))
        case Quotient():
            return trunc_quotients(known.interval(atom.numerator), known.interval(atom.denominator))
        case Least():
            return least(known.interval(arg) for arg in atom.args)
        case Sealed() if atom.op == "*":
            return times(*map(known.interval, atom.args))
        case Sealed():
            remainders = floor_remainders if atom.op == "%" else trunc_remainders
            return remainders(*map(known.interval, atom.args))
        case Choice():
            return join([known.interval(atom.then), known.interval(atom.otherwise)])
        case _:
            return ALL


def _alternatives(known: Knowledge, poly: Poly, depth: int) -> Iterator[Span]:
    """Further sound intervals of `poly`, each through one of its atoms."""
    if any(len(monomial) == 2 and monomial[0] == monomial[1] for monomial in poly.terms):
        yield _by_squares(known, poly)
    for atom in sorted(poly.atoms):
        if isinstance(atom, Quotient):
            for step in _steps(poly, atom):
                # d*q = n - remainder
                rest = poly - step * atom.denominator * Poly.atom(atom) + step * atom.numerator
                left = interval(known, rest, depth + 1)
                value = step.value
                if value is None:
                    yield plus(left, times(interval(known, -step, depth + 1), remainder(known, atom)))
                else:
                    yield plus(left, scaled(remainder(known, atom), -value))
        elif isinstance(atom, Least) and (weight := poly.terms.get((atom,))):
            rest = Poly({m: c for m, c in poly.terms.items() if m != (atom,)})
            spans = [interval(known, arg * weight + rest, depth + 1) for arg in atom.args]
            yield least(spans) if weight > 0 else scaled(least(scaled(span, -1) for span in spans), -1)
        elif isinstance(atom, Choice) and (weight := poly.terms.get((atom,))):
            rest = Poly({m: c for m, c in poly.terms.items() if m != (atom,)})
            yield join([interval(known, arg * weight + rest, depth + 1) for arg in (atom.then, atom.otherwise)])


def _by_squares(known: Knowledge, poly: Poly) -> Span:
    """Ends of the sum with each ``a*x*x + b*x`` taken together, if x occurs in no other term."""
    terms = dict(poly.terms)
    span = at(0)
    for monomial in list(terms):
        if len(monomial) == 2 and monomial[0] == monomial[1]:
            x = monomial[0]
            if sum(x in other for other in poly.terms) == 1 + ((x,) in poly.terms):
                a, b = terms.pop(monomial), terms.pop((x,), 0)
                span = plus(span, parabola(a, b, span_of_atom(known, x)))
    return plus(span, by_terms(known, Poly(terms)))


def _steps(poly: Poly, atom: Quotient) -> Iterator[Poly]:
    """The multiples of ``denominator * atom`` that are worth separating from `poly`."""
    d = atom.denominator
    value = d.value
    if value is not None:
        weight = poly.terms.get((atom,), 0)
        for step in sorted({weight // value, -(-weight // value)} - {0}):
            yield Poly.of(step)
        # The same for products: (d*q) * others.
        for monomial, c in poly.terms.items():
            others = lowered(monomial, (atom,))
            if others and atom not in others and c % value == 0:
                yield Poly({others: c // value})
        return
    lead = max(d.terms, key=lambda m: (len(m), tuple(a.key for a in m)))
    whole = tuple(sorted((*lead, atom)))
    for monomial, c in poly.terms.items():
        others = lowered(monomial, whole)
        if others is not None and c % d.terms[lead] == 0:
            yield Poly({others: c // d.terms[lead]})


def remainder(known: Knowledge, atom: Quotient) -> Span:
    """Ends of ``numerator - denominator * atom``."""
    n, d = known.interval(atom.numerator), known.interval(atom.denominator)
    if not isinstance(atom, Floor):
        return trunc_remainders(n, d)
    span = floor_remainders(n, d)
    value = atom.denominator.value
    if value is not None:
        g = gcd(value, atom.numerator.slope)
        return rounded(span, g, atom.numerator.constant)
    return span
