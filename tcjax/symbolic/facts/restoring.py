"""Turns polynomials over the engine's own symbols back into polynomials over the names of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .polynomials import (
    ZERO,
    All,
    Any,
    Atom,
    Choice,
    Floor,
    Formula,
    Least,
    Monomial,
    Poly,
    Quotient,
    Sealed,
    Sign,
    Symbol,
)

if TYPE_CHECKING:
    from .knowledge import Knowledge


def restored(known: Knowledge, poly: Poly) -> Poly:
    """`poly` with each symbol ``x//m`` (where x is r modulo m) written through x."""
    if not known.parts:
        return poly
    total = ZERO
    for monomial, weight in poly.terms.items():
        total = total + _term(known, monomial, weight)
    return total


def restored_formula(known: Knowledge, formula: Formula) -> Formula:
    """`formula` with each symbol ``x//m`` written through x."""
    if not known.parts:
        return formula
    match formula:
        case Sign(relation, poly):
            # A multiple of the condition may need no division.
            scale = 1
            for name in sorted(poly.names):
                scale *= known.parts[name][1] if name in known.parts else 1
            return Sign(relation, restored(known, poly * scale if poly.degree <= 1 else poly))
        case All(parts):
            return All(tuple(restored_formula(known, part) for part in parts))
        case Any(parts):
            return Any(tuple(restored_formula(known, part) for part in parts))


def _term(known: Knowledge, monomial: Monomial, weight: int) -> Poly:
    """``weight * monomial``: ``m*q`` is ``x - r``, and the part that does not divide stays a quotient of x."""
    product = Poly.of(1)
    for atom in monomial:
        part = known.parts.get(atom.name) if isinstance(atom, Symbol) else None
        if part is None:
            product = product * Poly.atom(_atom(known, atom))
            continue
        name, m, r = part
        source = restored(known, Poly.atom(Symbol(name)))
        if weight % m == 0:
            weight //= m
            product = product * (source - r)
        elif m % weight == 0 and len(monomial) == 1:
            step = m // abs(weight)
            quotient = Poly.atom(Floor(source, Poly.of(step))) - r // step
            return quotient if weight > 0 else -quotient
        else:
            product = product * Poly.atom(Floor(source, Poly.of(m)))
    return product * weight


def _atom(known: Knowledge, atom: Atom) -> Atom:
    match atom:
        case Quotient():
            return type(atom)(restored(known, atom.numerator), restored(known, atom.denominator))
        case Least():
            return Least(restored(known, arg) for arg in atom.args)
        case Sealed():
            return Sealed(atom.op, (restored(known, atom.args[0]), restored(known, atom.args[1])))
        case Choice():
            return Choice(
                restored_formula(known, atom.condition), restored(known, atom.then), restored(known, atom.otherwise)
            )
        case _:
            return atom
