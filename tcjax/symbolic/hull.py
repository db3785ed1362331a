"""The hull of a subscript's values over a box: interval arithmetic, with numbers and with sizes."""

from collections.abc import Callable, Mapping

from .affine import Affine, Atom, Bounded, Clamp, IndexVar, Quotient, Remainder
from .interval import Interval
from .size import ZERO, Size

Range = tuple[int, int] | Interval


def numbers(affine: Affine, ranges: Mapping[IndexVar, Range]) -> tuple[int, int] | None:
    """The least and the greatest value (ends inclusive) over the half-open `ranges`.

    None if it depends on data or a size, or if a range is missing or not numeric. Exact for linear expressions. An
    empty range extends from its start to the point before: the second end may be the smaller one.
    """
    low = high = affine.base.constant
    if low is None or high is None:
        return None
    for atom, weight in affine.terms:
        factor = weight.constant
        inner = None if factor is None else _atom_numbers(atom, ranges)
        if inner is None or factor is None:
            return None
        if factor > 0:
            low, high = low + factor * inner[0], high + factor * inner[1]
        else:
            low, high = low + factor * inner[1], high + factor * inner[0]
    return low, high


def _atom_numbers(atom: Atom, ranges: Mapping[IndexVar, Range]) -> tuple[int, int] | None:
    match atom:
        case IndexVar():
            given = ranges.get(atom)
            if isinstance(given, Interval):
                first, end = given.lo.constant, given.hi.constant
                return None if first is None or end is None else (first, end - 1)
            return None if given is None else (given[0], given[1] - 1)
        case Quotient(argument, divisor) | Remainder(argument, divisor):
            inner, by = numbers(argument, ranges), divisor.constant
            if inner is None or by is None or by <= 0:
                return None
            first, last = inner[0] // by, inner[1] // by
            if isinstance(atom, Quotient):
                return first, last
            return (inner[0] - first * by, inner[1] - first * by) if first == last else (0, by - 1)
        case Clamp(kind, arguments):
            inners = [numbers(argument, ranges) for argument in arguments]
            known = [inner for inner in inners if inner is not None]
            if len(known) < len(inners):
                return None
            pick = min if kind == "min" else max
            return pick(first for first, _ in known), pick(last for _, last in known)
        case Bounded(_, argument, Size() as first, extent):
            start, count, inner = first.constant, extent.constant, numbers(argument, ranges)
            if start is None or count is None:
                return None
            is_inside = inner is not None and start <= inner[0] and inner[1] < start + count
            return inner if is_inside else (start, start + count - 1)
        case _:
            return None


def formulas(
    affine: Affine, ranges: Mapping[IndexVar, Interval], at_least_zero: Callable[[Size], bool]
) -> Interval | None:
    """The half-open hull of the values over non-empty `ranges`; None if it depends on data or a range is missing.

    `at_least_zero` tells which sizes are never negative: a weight of unknown sign has no hull. For an empty range the
    ends follow the sign of the weight, so that ``h + k`` with ``k in 0:0`` still has the ends that give a convolution's
    extent ``H - KH + 1``.
    """
    lo = last = affine.base
    for atom, weight in affine.terms:
        inner = _atom_formulas(atom, ranges, at_least_zero)
        if inner is None:
            return None
        first, final = inner.lo, inner.hi - 1
        if not at_least_zero(weight):
            if not at_least_zero(-weight):
                return None
            first, final = final, first
        lo = lo + weight * first
        last = last + weight * final
    return Interval(lo, last + 1)


def _atom_formulas(
    atom: Atom, ranges: Mapping[IndexVar, Interval], at_least_zero: Callable[[Size], bool]
) -> Interval | None:
    match atom:
        case IndexVar():
            return ranges.get(atom)
        case Quotient(argument, divisor) | Remainder(argument, divisor):
            inner = formulas(argument, ranges, at_least_zero)
            if inner is None or not at_least_zero(divisor):
                return None
            first, last = inner.lo // divisor, (inner.hi - 1) // divisor
            if isinstance(atom, Quotient):
                return Interval(first, last + 1)
            if first == last:
                return Interval(inner.lo - first * divisor, inner.hi - first * divisor)
            return Interval(ZERO, divisor)
        case Clamp(kind, arguments):
            inners = [formulas(argument, ranges, at_least_zero) for argument in arguments]
            known = [inner for inner in inners if inner is not None]
            return None if len(known) < len(inners) else Interval.extremum(kind, known)
        case Bounded(_, _, first, extent):
            return Interval(first, first + extent)
        case _:
            return None
