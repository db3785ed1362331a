"""Builds least values and choices in normal form under the known facts."""

from __future__ import annotations

from functools import reduce
from math import gcd
from typing import TYPE_CHECKING

from .polynomials import (
    LARGEST,
    NO,
    ONE,
    YES,
    ZERO,
    All,
    Any,
    Choice,
    Formula,
    Least,
    Poly,
    Quotient,
    Sealed,
    Sign,
    negated,
)

if TYPE_CHECKING:
    from .knowledge import Knowledge

_MOST_ARGUMENTS = 8


def least(known: Knowledge, args: list[Poly]) -> Poly:
    """The least of `args`: arguments that never win are dropped, common terms are moved outside.

    Two arguments always become ``b + min(a - b, 0)`` with one sign of the difference, so that ``min + max`` is the sum.
    """
    flat: dict[Poly, None] = {}
    for arg in args:
        for part in _flattened(arg):
            flat.setdefault(part)
    if len(flat) > _MOST_ARGUMENTS:
        flat = dict.fromkeys(args)
    kept = list(flat)
    index = 0
    few = len(kept) <= _MOST_ARGUMENTS and sum(arg.weight for arg in kept) <= LARGEST // 2
    while index < len(kept) and len(kept) > 1:
        arg = kept[index]
        if any(known.nonneg(arg - other) for other in kept if few and other is not arg):
            kept.pop(index)
        else:
            index += 1
    if len(kept) == 1:
        return kept[0]
    if sum(arg.weight for arg in kept) > LARGEST:
        return Poly.atom(Least(kept))
    if len(kept) == 2:
        return _least_of_two(*sorted(kept, key=lambda p: p.key))
    shared = _shared(kept)
    kept = [arg - shared for arg in kept]
    scale = reduce(gcd, (arg.content for arg in kept))
    return shared + Poly.atom(Least(arg.exactly(scale) for arg in kept), scale)


def _least_of_two(a: Poly, b: Poly) -> Poly:
    difference = a - b
    scale = difference.content
    difference = difference.exactly(scale)
    if _is_turned(difference):
        # min(-d, 0) = min(d, 0) - d
        difference = -difference
        return b + Poly.atom(Least((difference, ZERO)), scale) - difference * scale
    return b + Poly.atom(Least((difference, ZERO)), scale)


def _is_turned(p: Poly) -> bool:
    """Whether `p` rather than its negation has a negative leading weight."""
    lead = max(p.terms, key=lambda m: (len(m), tuple(atom.key for atom in m)))
    return p.terms[lead] < 0


def _flattened(arg: Poly) -> list[Poly]:
    """The arguments of `arg`, with a nested least value replaced by its own."""
    for monomial, weight in arg.terms.items():
        if len(monomial) == 1 and isinstance(monomial[0], Least) and weight > 0:
            rest = Poly({m: c for m, c in arg.terms.items() if m != monomial})
            if any(isinstance(atom, Least) for atom in rest.atoms):
                return [arg]
            return [part * weight + rest for part in monomial[0].args]
    return [arg]


def _shared(args: list[Poly]) -> Poly:
    """The terms common to all arguments, and the constant of the first non-constant one."""
    terms = {m: c for m, c in args[0].terms.items() if m and all(arg.terms.get(m) == c for arg in args)}
    first = min((arg for arg in args if arg.value is None), key=lambda arg: (arg - arg.constant).key)
    return Poly(terms) + first.constant


def choice(known: Knowledge, condition: Formula, then: Poly, otherwise: Poly) -> Poly:
    """``then`` where `condition` holds, else ``otherwise``; the branches are already in normal form."""
    if condition == YES:
        return then
    if condition == NO:
        return otherwise
    if then == otherwise:
        return then
    if _prefers_negation(condition):
        condition, then, otherwise = negated(condition), otherwise, then
    extreme = _as_extreme(known, condition, then, otherwise)
    if extreme is not None:
        return extreme
    shared = Poly({m: c for m, c in then.terms.items() if m and otherwise.terms.get(m) == c})
    then, otherwise = then - shared, otherwise - shared
    scale = gcd(then.content, otherwise.content)
    if scale > 1:
        then, otherwise = then.exactly(scale), otherwise.exactly(scale)
    return shared + Poly.atom(Choice(condition, then, otherwise), scale)


def _prefers_negation(formula: Formula) -> bool:
    match formula:
        case Sign(">=", poly):
            return (-poly - 1).key < poly.key
        case Sign(relation, _):
            return relation == "!="
        case All():
            return False
        case Any():
            return True


def _as_extreme(known: Knowledge, condition: Formula, then: Poly, otherwise: Poly) -> Poly | None:
    """``select(x < y, x, y)`` is a least value; both branches must be defined everywhere."""
    if not isinstance(condition, Sign) or condition.relation != ">=":
        return None
    if not (is_total(then) and is_total(otherwise)):
        return None
    difference = then - otherwise
    if difference in (condition.poly, condition.poly + ONE):
        return -known.least([-then, -otherwise])
    if -difference in (condition.poly, condition.poly + ONE):
        return known.least([then, otherwise])
    return None


def is_total(poly: Poly) -> bool:
    """Whether no part of `poly` can divide by zero."""
    return not any(
        isinstance(atom, Sealed) or (isinstance(atom, Quotient) and atom.denominator.value is None)
        for atom in poly.deep_atoms(choices=True)
    )


def tidied(known: Knowledge, poly: Poly) -> Poly:
    """`poly` with its choices on the same condition merged into one."""
    choices: dict[str, list[tuple[Choice, int]]] = {}
    for monomial, weight in poly.terms.items():
        if len(monomial) == 1 and isinstance(monomial[0], Choice):
            choices.setdefault(monomial[0].condition.key, []).append((monomial[0], weight))
    for group in choices.values():
        if len(group) > 1:
            poly = _merged(known, poly, group)
    return poly


def _merged(known: Knowledge, poly: Poly, group: list[tuple[Choice, int]]) -> Poly:
    then, otherwise, rest = ZERO, ZERO, dict(poly.terms)
    for atom, weight in group:
        then, otherwise = then + atom.then * weight, otherwise + atom.otherwise * weight
        del rest[(atom,)]
    return Poly(rest) + choice(known, group[0][0].condition, then, otherwise)
