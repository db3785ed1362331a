"""Floors, remainders and clamps that the ranges of their indices decide: the quick part of simplification."""

from collections.abc import Mapping
from math import gcd

from .affine import Affine, Atom, Bounded, Clamp, IndexVar, Quotient, Remainder, clamp
from .hull import Range, numbers
from .size import Size

Ranges = Mapping[IndexVar, Range]


def resolved(affine: Affine, ranges: Ranges) -> Affine:
    """An equal subscript, as linear as interval arithmetic over numbers can make it."""
    if affine.is_linear:
        return affine
    total = Affine((), affine.base)
    for atom, weight in affine.terms:
        total = total + _resolved_atom(atom, ranges).scale(weight)
    return _joined(total)


def _resolved_atom(atom: Atom, ranges: Ranges) -> Affine:
    match atom:
        case Quotient(argument, divisor):
            return _quotient(resolved(argument, ranges), divisor, ranges)
        case Remainder(argument, divisor):
            return _remainder(resolved(argument, ranges), divisor, ranges)
        case Clamp(kind, arguments):
            return _clamp(kind, [resolved(argument, ranges) for argument in arguments], ranges)
        case Bounded():
            return resolved(atom.written_out(), ranges)
        case _:
            return Affine.of(atom)


def _quotient(argument: Affine, divisor: Size, ranges: Ranges) -> Affine:
    by = divisor.constant
    if by is None or by <= 0 or not _is_numeric(argument):
        return argument.quotient(divisor)
    outside, inside = _multiples(argument, by)
    if not inside.terms:
        return outside + (inside.base.constant or 0) // by
    ends = numbers(inside, ranges)
    if ends is not None and ends[0] // by == ends[1] // by:
        return outside + ends[0] // by
    for cell in _cells(inside, by):
        coarse, fine = _multiples(inside, cell)
        ends = numbers(fine, ranges)
        if ends is not None and ends[0] // cell == ends[1] // cell:
            # (c*x + r) // (c*m) = (x + r//c) // m where r stays in one cell of c.
            return outside + (coarse + ends[0] // cell).quotient(by // cell)
    match inside.terms:
        case ((Quotient(nested, Size() as other), weight),) if weight.constant == 1 and other.constant is not None:
            # (x//a + c) // m = (x + a*c) // (a*m)
            if other.constant > 0:
                return outside + _quotient(nested + inside.base * other.constant, Size.of(other.constant * by), ranges)
        case _:
            pass
    return outside + inside.quotient(by)


def _remainder(argument: Affine, divisor: Size, ranges: Ranges) -> Affine:
    by = divisor.constant
    if by is None or by <= 0 or not _is_numeric(argument):
        return argument.remainder(divisor)
    _, inside = _multiples(argument, by)
    if not inside.terms:
        return Affine.of((inside.base.constant or 0) % by)
    ends = numbers(inside, ranges)
    if ends is not None and ends[0] // by == ends[1] // by:
        return inside - ends[0] // by * by
    for cell in _cells(inside, by):
        coarse, fine = _multiples(inside, cell)
        ends = numbers(fine, ranges)
        if ends is not None and ends[0] // cell == ends[1] // cell:
            shift = ends[0] // cell
            return (coarse + shift).remainder(by // cell).scale(cell) + fine - shift * cell
    return inside.remainder(by)


def _clamp(kind: str, arguments: list[Affine], ranges: Ranges) -> Affine:
    """The clamp without the arguments that never win."""
    kept: list[Affine] = []
    for argument in arguments:
        if any(_beats(kind, other, argument, ranges) for other in kept):
            continue
        kept = [other for other in kept if not _beats(kind, argument, other, ranges)]
        kept.append(argument)
    return clamp(kind, kept)


def _beats(kind: str, one: Affine, other: Affine, ranges: Ranges) -> bool:
    difference = one - other if kind == "max" else other - one
    ends = None if difference.is_data else numbers(difference, ranges)
    return ends is not None and min(ends) >= 0


def _joined(affine: Affine) -> Affine:
    """``k*(x // k) + x % k`` as ``x``."""
    for atom, weight in affine.terms:
        if isinstance(atom, Remainder):
            whole = Affine.of(Quotient(atom.argument, atom.divisor)).terms[0][0]
            if affine.weight(whole) == weight * atom.divisor:
                rest = affine - Affine.of(atom).scale(weight) - Affine.of(whole).scale(weight * atom.divisor)
                return _joined(rest + atom.argument.scale(weight))
    return affine


def _multiples(affine: Affine, by: int) -> tuple[Affine, Affine]:
    """``(w, r)`` with ``affine == by*w + r``: `w` has the terms that `by` divides, and the base of `r` is less."""
    base = affine.base.constant or 0
    outside: list[tuple[Atom, Size]] = []
    inside: list[tuple[Atom, Size]] = []
    for atom, weight in affine.terms:
        factor = weight.constant or 0
        if factor % by == 0:
            outside.append((atom, Size.of(factor // by)))
        else:
            inside.append((atom, weight))
    return Affine(tuple(outside), Size.of(base // by)), Affine(tuple(inside), Size.of(base % by))


def _cells(affine: Affine, by: int) -> list[int]:
    """Common divisors of `by` and some weights, largest first."""
    found = {gcd(by, weight.constant or 0) for _, weight in affine.terms}
    return sorted(cell for cell in found if 1 < cell < by)[::-1]


def _is_numeric(affine: Affine) -> bool:
    return affine.base.constant is not None and all(weight.constant is not None for _, weight in affine.terms)
