"""Builds quotients in normal form: everything that can be moved out of the quotient under the known facts is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from math import gcd
from typing import TYPE_CHECKING

from . import points
from .polynomials import LARGEST, ZERO, Choice, Floor, Least, Monomial, Poly, Trunc

if TYPE_CHECKING:
    from .knowledge import Knowledge


def floor(known: Knowledge, n: Poly, d: Poly) -> Poly:
    """``n // d``."""
    if not n:
        return ZERO
    k = d.value
    if k is None:
        return _floor_by_symbols(known, n, d)
    if k == 0:
        return ZERO  # no point of the domain divides by zero
    if k < 0:
        n, k = -n, -k
    return _floor_by_number(known, n, k)


def _floor_by_number(known: Knowledge, n: Poly, k: int) -> Poly:
    if k == 1:
        return n
    whole = {m: c // k for m, c in n.terms.items() if c // k and (not m or c % k == 0)}
    rest = Poly({m: c % k if not m else c for m, c in n.terms.items() if c % k})
    out = Poly(whole)
    if rest.value is not None:
        return out
    span = known.interval(rest)
    if span[0] is not None and span[1] is not None and span[0] // k == span[1] // k:
        return out + span[0] // k
    shared = _shared_cells(known, rest, k)
    if shared is not None:
        return out + _floor_by_number(known, *shared)
    flat = _unnested(rest, k)
    if flat is not None:
        return out + _floor_by_number(known, *flat)
    inner = _pushed(rest, lambda part: _floor_by_number(known, part, k), known)
    if inner is not None:
        return out + inner
    return out + Poly.atom(Floor(rest, Poly.of(k)))


def _shared_cells(known: Knowledge, n: Poly, k: int) -> tuple[Poly, int] | None:
    """``(g*b + r) // (g*k') = (b + r//g) // k'`` where r stays inside one cell of length g; the greatest such g."""
    for g in sorted({gcd(c, k) for m, c in n.terms.items() if m} - {1}, reverse=True):
        small = Poly({m: c for m, c in n.terms.items() if c % g})
        lo, hi = known.interval(small)
        if lo is not None and hi is not None and lo // g == hi // g:
            large = Poly({m: c // g for m, c in n.terms.items() if c % g == 0})
            return large + lo // g, k // g
    return None


def _unnested(n: Poly, k: int) -> tuple[Poly, int] | None:
    """``(m//a + rest) // k = (m + a*rest) // (a*k)``."""
    for monomial in sorted(n.terms, key=_text):
        if n.terms[monomial] == 1 and len(monomial) == 1 and isinstance(monomial[0], Floor):
            a = monomial[0].denominator.value
            if a is not None:
                rest = Poly({m: c for m, c in n.terms.items() if m != monomial})
                return monomial[0].numerator + rest * a, a * k
    return None


def _text(monomial: Monomial) -> str:
    return "*".join(atom.key for atom in monomial)


def _pushed(n: Poly, divide: Callable[[Poly], Poly], known: Knowledge) -> Poly | None:
    """A division moved into a least value or a choice, if that frees a branch from the division."""
    if n.weight > LARGEST // 4:
        return None
    for monomial in sorted(n.terms, key=_text):
        if len(monomial) != 1:
            continue
        atom, weight = monomial[0], n.terms[monomial]
        rest = Poly({m: c for m, c in n.terms.items() if m != monomial})
        if isinstance(atom, Least) and len(atom.args) <= 4:
            parts = [divide(arg * weight + rest) for arg in atom.args]
            if any(_is_free(part, n) for part in parts):
                return known.least(parts) if weight > 0 else -known.least([-part for part in parts])
        elif isinstance(atom, Choice):
            then, other = divide(atom.then * weight + rest), divide(atom.otherwise * weight + rest)
            if _is_free(then, n) or _is_free(other, n):
                return known.choice(atom.condition, then, other)
    return None


def _is_free(part: Poly, whole: Poly) -> bool:
    """Whether dividing created no new quotient."""
    return all(atom in whole.atoms for atom in part.atoms if isinstance(atom, Floor | Trunc))


def _floor_by_symbols(known: Knowledge, n: Poly, d: Poly) -> Poly:
    reduced = _reduced(n, d)
    n, d = reduced
    k = d.value
    if k is not None:
        return floor(known, n, d)
    out, n = _divided(n, d)
    if not n:
        return out
    if out:
        n, d = _reduced(n, d)
        if d.value is not None:
            return out + floor(known, n, d)
    cell = _cell(known, n, d)
    if cell is not None:
        return out + cell
    for factor, b, quotient in _factored(n, d):
        small = n - b * factor
        if known.nonneg(small) and known.nonneg(factor - small - 1) and known.nonneg(quotient - 1):
            return out + floor(known, b, quotient)
    atom = n.as_atom
    if isinstance(atom, Floor) and known.nonneg(d - 1):
        return out + floor(known, atom.numerator, atom.denominator * d)
    if known.nonneg(d - 1):
        inner = _pushed(n, lambda part: _floor_by_symbols(known, part, d), known)
        if inner is not None:
            return out + inner
    return out + Poly.atom(Floor(n, d))


def _reduced(n: Poly, d: Poly) -> tuple[Poly, Poly]:
    """Numerator and denominator without common factors, the leading weight of the denominator positive."""
    g = gcd(n.content, d.content)
    if d.terms[_leading(d)] < 0:
        g = -g
    if g != 1:
        n, d = Poly({m: c // g for m, c in n.terms.items()}), Poly({m: c // g for m, c in d.terms.items()})
    common = _common(list(n.terms) + list(d.terms))
    if common:
        n, d = _lowered(n, common), _lowered(d, common)
    return n, d


def _common(monomials: list[Monomial]) -> Monomial:
    shared = list(monomials[0])
    for monomial in monomials[1:]:
        if not shared:
            break
        left = list(monomial)
        kept = []
        for atom in shared:
            if atom in left:
                left.remove(atom)
                kept.append(atom)
        shared = kept
    return tuple(shared)


def lowered(monomial: Monomial, by: Monomial) -> Monomial | None:
    """`monomial` divided by another, or None."""
    left = list(monomial)
    for atom in by:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _lowered(p: Poly, by: Monomial) -> Poly:
    terms: dict[Monomial, int] = {}
    for monomial, c in p.terms.items():
        rest = lowered(monomial, by)
        assert rest is not None
        terms[rest] = c
    return Poly(terms)


def _leading(p: Poly) -> Monomial:
    return max(p.terms, key=lambda m: (len(m), tuple(atom.key for atom in m)))


def _divided(n: Poly, d: Poly) -> tuple[Poly, Poly]:
    """``(q, r)`` with ``n = q*d + r``: polynomial division while it makes r shorter."""
    lead = _leading(d)
    weight = d.terms[lead]
    out = ZERO
    for _ in range(16):
        best: tuple[Poly, Poly] | None = None
        for monomial, c in sorted(n.terms.items(), key=lambda t: (-len(t[0]), _text(t[0]))):
            q = lowered(monomial, lead)
            if q is None:
                continue
            steps = {c // weight, -(-c // weight)} - {0} if c % weight else {c // weight}
            for step in sorted(steps):
                part = Poly({q: step})
                rest = n - part * d
                if _size(rest) < _size(best[1] if best else n):
                    best = (part, rest)
        if best is None:
            break
        out, n = out + best[0], best[1]
        if not n:
            break
    return out, n


def _size(p: Poly) -> tuple[int, int, int]:
    return (len(p.terms), sum(len(m) for m in p.terms), sum(abs(c) for c in p.terms.values()))


def _cell(known: Knowledge, n: Poly, d: Poly) -> Poly | None:
    """The quotient, if it is proved between which multiples of `d` the numerator lies."""
    lo, hi = known.interval(d)
    if (lo is not None and lo >= 0) or (known.nonneg(d)):
        pass  # zero is outside the domain
    elif (hi is not None and hi <= 0) or known.nonneg(-d):
        n, d = -n, -d
    else:
        return None
    for q in _likely(known, n, d):
        left = n - d * q
        if known.nonneg(left) and known.nonneg(d - left - 1):
            return Poly.of(q)
    return None


def _likely(known: Knowledge, n: Poly, d: Poly) -> list[int]:
    """The quotient common to all sampled points; without points, the two values next to zero."""
    seen = set() if known.depth or known.building else set(points.sampled(known, Poly.atom(Floor(n, d))))
    return [0, -1] if not seen else list(seen) if len(seen) == 1 else []


def _factored(n: Poly, d: Poly) -> Iterator[tuple[Poly, Poly, Poly]]:
    """``(factor, b, quotient)`` with ``d = factor * quotient`` and b the terms of n that the factor divides."""
    if len(d.terms) != 1:
        return
    ((monomial, weight),) = d.terms.items()
    seen = set()
    choices: list[tuple[int, Monomial]] = [(weight, ())] if abs(weight) != 1 else []
    for size in range(len(monomial) - (abs(weight) == 1), 0, -1):
        for subset in combinations(monomial, size):
            for w in {1, weight}:
                if subset not in seen and (subset, w) != (monomial, weight):
                    choices.append((w, subset))
    for w, subset in choices:
        quotient = lowered(monomial, subset)
        assert quotient is not None
        b: dict[Monomial, int] = {}
        for m, c in n.terms.items():
            q = lowered(m, subset)
            if q is not None and c % w == 0:
                b[q] = c // w
        if b and len(b) < len(n.terms):
            yield Poly({subset: w}), Poly(b), Poly({quotient: weight // w})


def trunc(known: Knowledge, n: Poly, d: Poly) -> Poly:
    """``tdiv(n, d)``."""
    if not n or d.value == 0:
        return ZERO
    n, d = _reduced(n, d)
    k = d.value
    if k is not None and k < 0:
        n, d, k = -n, -d, -k
    if k == 1:
        return n
    sign_d = _sign(known, d)
    sign_n = _sign(known, n)
    if sign_d and sign_n:
        n, d = n * sign_n, d * sign_d
        quotient = floor(known, n, d)
        return quotient if sign_n == sign_d else -quotient
    if k is None:
        out, rest = _divided(n, d)
        if not rest:
            return out
    atom = n.as_atom
    if isinstance(atom, Trunc):
        return trunc(known, atom.numerator, atom.denominator * d)
    if (-n).as_atom is not None and isinstance((-n).as_atom, Trunc):
        return -trunc(known, -n, d)
    span = known.interval(n)
    if k is not None and span[0] is not None and span[1] is not None and -k < span[0] and span[1] < k:
        return ZERO
    if n.terms[_leading(n)] < 0:
        return -trunc(known, -n, d) if _leading(n) else Poly.atom(Trunc(n, d))
    return Poly.atom(Trunc(n, d))


def _sign(known: Knowledge, p: Poly) -> int:
    """1 if p >= 0 is known, -1 if p <= 0 is known, else 0."""
    if known.nonneg(p):
        return 1
    return -1 if known.nonneg(-p) else 0
