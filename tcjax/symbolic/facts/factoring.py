"""The cheapest way to write a sum: which common factors to take out, and the order of its terms."""

from collections import Counter
from collections.abc import Callable
from functools import reduce
from math import gcd
from typing import Final

from .costs import cost
from .polynomials import Atom, Monomial, Poly
from .trees import Const, Expr, binary

# With more terms, a sum is written term by term: the number of ways to factor it grows too fast.
TERM_LIMIT: Final = 10

# The number of sums that are factored for one.
_SUM_LIMIT: Final = 20

Show = Callable[[Atom], Expr]


def write_sum(poly: Poly, show: Show) -> Expr:
    """The cheapest sum of products found for `poly`, its atoms written by `show`."""
    return _write(poly, show, {})


def _write(poly: Poly, show: Show, done: dict[Poly, Expr]) -> Expr:
    known = done.get(poly)
    if known is None:
        known = write_terms(poly, show)
        if 1 < len(poly.terms) <= TERM_LIMIT and len(done) < _SUM_LIMIT:
            for factor in _factors(poly):
                other = _factored(poly, factor, show, done)
                if cost(other) < cost(known):
                    known = other
        done[poly] = known
    return known


def write_terms(poly: Poly, show: Show) -> Expr:
    """`poly` term by term: added terms before subtracted ones, a constant last."""
    terms = [(_product(monomial, show), monomial, weight) for monomial, weight in poly.terms.items()]
    terms.sort(key=lambda term: (not term[1], [atom.key for atom in term[1]]))
    start = next((n for n, term in enumerate(terms) if term[2] > 0 and term[1]), None)
    if start is None:
        # A negative constant or a negative multiple needs no sign of its own.
        start = next((n for n, term in enumerate(terms) if not term[1]), None)
    if start is None:
        start = next((n for n, term in enumerate(terms) if term[2] < -1), 0)
    if not terms:
        return Const(0)
    product, _, weight = terms.pop(start)
    total = _weighted(product, weight)
    for product, _, weight in terms:
        total = binary("+" if weight > 0 else "-", total, _weighted(product, abs(weight)))
    return total


def _product(monomial: Monomial, show: Show) -> Expr | None:
    return reduce(lambda a, b: binary("*", a, b), map(show, monomial)) if monomial else None


def _weighted(product: Expr | None, weight: int) -> Expr:
    if product is None:
        return Const(weight)
    if weight == 1:
        return product
    return -product if weight == -1 else binary("*", product, Const(weight))


def _factors(poly: Poly) -> list[Monomial | int]:
    """Atoms and integers that divide two or more terms."""
    atoms = Counter(atom for monomial in poly.terms for atom in set(monomial))
    weights = sorted({abs(weight) for weight in poly.terms.values()} - {1})
    integers = {gcd(a, b) for a in weights for b in weights} | set(weights)
    found: list[Monomial | int] = [(atom,) for atom in sorted(atoms) if atoms[atom] > 1]
    for integer in sorted(integers - {1}):
        if sum(weight % integer == 0 for weight in poly.terms.values()) > 1:
            found += [integer, -integer]
    return found


def _factored(poly: Poly, factor: Monomial | int, show: Show, done: dict[Poly, Expr]) -> Expr:
    inside: dict[Monomial, int] = {}
    outside: dict[Monomial, int] = {}
    for monomial, weight in poly.terms.items():
        if isinstance(factor, int):
            divides, quotient, left = weight % factor == 0, weight // factor, monomial
        else:
            divides, quotient, left = factor[0] in monomial, weight, without(monomial, factor[0])
        (inside if divides else outside)[left if divides else monomial] = quotient if divides else weight
    rest, cofactor = Poly(outside), Poly(inside)
    written = _write(cofactor, show, done)
    other = divide(rest, cofactor) if rest and not isinstance(factor, int) else rest
    if isinstance(factor, int):
        if factor < 0 and rest:
            return binary("-", _write(rest, show, done), binary("*", written, Const(-factor)))
        product = binary("*", written, Const(factor))
    elif other and other * cofactor == rest:
        # f*S + g*S = (f + g)*S
        return binary("*", written, _write(other + Poly.atom(factor[0]), show, done))
    else:
        product = binary("*", show(factor[0]), written)
    return _joined(product, rest, show, done) if rest else product


def _joined(product: Expr, rest: Poly, show: Show, done: dict[Poly, Expr]) -> Expr:
    """``product + rest``; a `rest` without a positive term is subtracted."""
    if all(weight < 0 for weight in rest.terms.values()):
        return binary("-", product, _write(-rest, show, done))
    return binary("+", product, _write(rest, show, done))


def without(monomial: Monomial, atom: Atom) -> Monomial:
    """`monomial` with `atom` taken out once, if it is there."""
    if atom not in monomial:
        return monomial
    index = monomial.index(atom)
    return monomial[:index] + monomial[index + 1 :]


def divide(poly: Poly, divisor: Poly) -> Poly:
    """The quotient by leading terms: exact if `divisor` divides `poly`, else unspecified."""
    leading = max(divisor.terms, key=lambda monomial: (len(monomial), [atom.key for atom in monomial]))
    weight = divisor.terms[leading]
    quotient: dict[Monomial, int] = {}
    for monomial, w in sorted(poly.terms.items(), key=lambda term: (-len(term[0]), [atom.key for atom in term[0]])):
        left = list(monomial)
        try:
            for atom in leading:
                left.remove(atom)
        except ValueError:
            continue
        if w % weight == 0:
            quotient[tuple(left)] = w // weight
    return Poly(quotient)
