"""Builds conditions in normal form: a sign is decided if facts decide it, and solved for a quotient or the like."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

from .polynomials import LARGEST, NO, YES, All, Any, Floor, Formula, Least, Poly, Sign, Symbol, Trunc, negated

if TYPE_CHECKING:
    from .knowledge import Knowledge


_MOST_LEAST = 4


def at_least_zero(known: Knowledge, p: Poly) -> Formula:
    """``p >= 0``."""
    g = p.slope
    if g == 0:
        return YES if p.constant >= 0 else NO
    if g > 1:
        p = Poly({m: c // g for m, c in p.terms.items() if m}) + p.constant // g
    lo, hi = known.interval(p)
    if lo is not None and lo >= 0:
        return YES
    if hi is not None and hi < 0:
        return NO
    decided = known.decide(p)
    if decided is not None:
        return YES if decided else NO
    return _solved(known, p) or Sign(">=", p)


def _solved(known: Knowledge, p: Poly) -> Formula | None:
    for monomial in sorted((m for m in p.terms if len(m) == 1), key=lambda m: m[0].key):
        atom, weight = monomial[0], p.terms[monomial]
        rest = Poly({m: c for m, c in p.terms.items() if m != monomial})
        match atom:
            case Floor() if weight in (1, -1) and not _mentions(rest, atom):
                d = atom.denominator
                if d.value is None and not known.nonneg(d):
                    continue
                if weight == 1:  # n // d >= -rest
                    return at_least_zero(known, known.again(atom.numerator + d * rest))
                return at_least_zero(known, known.again(d * rest + d - 1 - atom.numerator))
            case Trunc() if weight in (1, -1) and atom.denominator.value is not None and rest.value is not None:
                return at_least_zero(known, _trunc_bound(atom, weight, rest.value))
            case Least() if not _mentions(rest, atom) and _few(p):
                parts = [at_least_zero(known, known.again(arg * weight + rest)) for arg in atom.args]
                return both(parts) if weight > 0 else either(parts)
            case _:
                continue
    return None


def _names_value(rest: Poly, atom: Floor) -> bool:
    """Whether the equation gives a name the value of a quotient."""
    names = Poly.atom(atom).names
    return any(
        len(m) == 1 and isinstance(m[0], Symbol) and c in (1, -1) and m[0].name not in names
        for m, c in rest.terms.items()
    )


def _few(p: Poly) -> bool:
    """Whether `p` contains few least values: solving for each doubles the condition."""
    return p.weight <= LARGEST and sum(isinstance(atom, Least) for atom in p.deep_atoms()) <= _MOST_LEAST


def _mentions(rest: Poly, atom: Floor | Least) -> bool:
    return any(atom in m for m in rest.terms)


def _trunc_bound(atom: Trunc, weight: int, rest: int) -> Poly:
    n, d = atom.numerator, atom.denominator.value
    assert d is not None
    if weight == -1:  # tdiv(n, d) <= rest  is  tdiv(-n, d) >= -rest
        n = -n
    bound = -rest
    return n - (d * bound if bound > 0 else d * bound - (d - 1))


def is_zero(known: Knowledge, p: Poly) -> Formula:
    """``p == 0``."""
    g = p.slope
    if g == 0:
        return YES if not p.constant else NO
    if p.constant % g:
        return NO
    p = p.exactly(g)
    if _is_no_square(p):
        return NO
    lo, hi = known.interval(p)
    if (lo is not None and lo > 0) or (hi is not None and hi < 0):
        return NO
    if lo == hi == 0:
        return YES
    for monomial in sorted((m for m in p.terms if len(m) == 1), key=lambda m: m[0].key):
        atom, weight = monomial[0], p.terms[monomial]
        if isinstance(atom, Floor) and weight in (1, -1):
            rest = Poly({m: c for m, c in p.terms.items() if m != monomial}) * -weight
            d = atom.denominator
            if (
                _names_value(rest, atom)
                or any(isinstance(other, Floor) for other in rest.atoms)
                or (d.value is None and not known.nonneg(d))
            ):
                continue  # an equation of two quotients, or of a name, says more than the ends of one quotient
            left = known.again(atom.numerator - d * rest)
            return both([at_least_zero(known, left), at_least_zero(known, d - 1 - left)])
    first = max(p.terms, key=lambda m: (len(m), tuple(a.key for a in m)))
    return Sign("==", p if p.terms[first] > 0 else -p)


def _is_no_square(p: Poly) -> bool:
    """Whether ``p == 0`` says that a square equals a number that is not a square."""
    squares = [m for m in p.terms if m]
    if len(squares) != 1 or len(squares[0]) != 2 or squares[0][0] != squares[0][1]:
        return False
    number = -p.constant * p.terms[squares[0]]
    return number < 0 or isqrt(number) ** 2 != number


def both(parts: list[Formula]) -> Formula:
    """All of `parts`, flat and without duplicates."""
    flat: dict[Formula, None] = {}
    for part in parts:
        for one in part.parts if isinstance(part, All) else (part,):
            flat.setdefault(one)
    if NO in flat:
        return NO
    for one in list(flat):
        if isinstance(one, Sign) and one.relation == ">=" and one in flat:
            other = Sign(">=", -one.poly)
            if other in flat:  # p >= 0 and -p >= 0
                flat = {Sign("==", one.poly) if f == one else f: None for f in flat if f != other}
    return next(iter(flat)) if len(flat) == 1 else All(tuple(flat))


def either(parts: list[Formula]) -> Formula:
    """Some of `parts`, flat and without duplicates."""
    flat: dict[Formula, None] = {}
    for part in parts:
        for one in part.parts if isinstance(part, Any) else (part,):
            flat.setdefault(one)
    if YES in flat:
        return YES
    return next(iter(flat)) if len(flat) == 1 else Any(tuple(flat))


def compared(known: Knowledge, op: str, difference: Poly) -> Formula:
    """``difference op 0``."""
    match op:
        case ">=":
            return at_least_zero(known, difference)
        case ">":
            return at_least_zero(known, difference - 1)
        case "<=":
            return at_least_zero(known, -difference)
        case "<":
            return at_least_zero(known, -difference - 1)
        case "==":
            return is_zero(known, difference)
        case _:
            return negated(is_zero(known, difference))
