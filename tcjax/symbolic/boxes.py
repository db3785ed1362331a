"""Boxes of index variables, and conditions that interval arithmetic alone can decide."""

from collections.abc import Iterable, Mapping

from . import hull
from .affine import Affine, Box, IndexVar
from .conditions import AllOf, AnyOf, AtLeastZero, Condition
from .hull import Range
from .interval import Interval
from .size import SizeVar


def as_interval(given: Range) -> Interval:
    """A range as an interval of sizes."""
    return given if isinstance(given, Interval) else Interval.of(*given)


def box_of(ranges: Mapping[IndexVar, Range]) -> Box | None:
    """The ranges as pairs of numbers, None if one is not numeric."""
    box: Box = {}
    for index, given in ranges.items():
        if isinstance(given, Interval):
            lo, hi = given.lo.constant, given.hi.constant
            if lo is None or hi is None:
                return None
            box[index] = lo, hi
        else:
            box[index] = given
    return box


def sizes_of(ranges: Iterable[Range]) -> frozenset[SizeVar]:
    """The sizes in the ends of ranges."""
    ends = [end for given in ranges if isinstance(given, Interval) for end in (given.lo, given.hi)]
    return frozenset[SizeVar]().union(*(end.variables() for end in ends))


def variables(condition: Condition) -> frozenset[IndexVar]:
    """The indices that a condition compares."""
    match condition:
        case AtLeastZero(affine):
            return affine.variables
        case AllOf(parts) | AnyOf(parts):
            return frozenset[IndexVar]().union(*map(variables, parts))


def is_numeric(condition: Condition) -> bool:
    """Whether it contains no sizes."""
    match condition:
        case AtLeastZero(affine):
            return not affine.has_sizes
        case AllOf(parts) | AnyOf(parts):
            return all(map(is_numeric, parts))


def verdict(condition: Condition, ranges: Mapping[IndexVar, Range], *, exactly: bool) -> bool | None:
    """Whether the condition holds on the whole box (True) or nowhere (False); None if intervals cannot decide.

    Data-dependent conditions may be false. With `exactly` every point of the box exists: a linear expression attains
    its minimum at one of them.
    """
    match condition:
        case AtLeastZero(affine):
            if affine.is_data:
                return False
            found = hull.numbers(affine, ranges)
            if found is None:
                return None
            if min(found) >= 0:
                return True
            return False if max(found) < 0 or (exactly and affine.is_linear) else None
        case AllOf(parts):
            unsure = False
            for part in parts:
                one = verdict(part, ranges, exactly=exactly)
                if one is False:
                    return False
                unsure = unsure or one is None
            return None if unsure else True
        case AnyOf(parts):
            return True if any(verdict(part, ranges, exactly=exactly) for part in parts) else None


def is_absorbed(condition: Condition) -> bool:
    """Whether the condition is fully expressed by the ranges that `narrowed` makes."""
    match condition:
        case AtLeastZero(Affine(((IndexVar(), weight),), base)):
            return weight.constant is not None and base.constant is not None
        case AllOf(parts):
            return all(map(is_absorbed, parts))
        case _:
            return False


def narrowed(ranges: Mapping[IndexVar, Range], condition: Condition) -> Mapping[IndexVar, Range]:
    """The ranges where the condition holds, as far as comparisons of one index with numbers tell."""
    match condition:
        case AtLeastZero(Affine(((IndexVar() as index, weight),), base)):
            factor, given, offset = weight.constant, ranges.get(index), base.constant
            if factor is None or offset is None or not isinstance(given, tuple):
                return ranges
            lo, hi = given
            # factor*index + offset >= 0
            if factor > 0:
                lo = max(lo, -(offset // factor))
            else:
                hi = min(hi, offset // -factor + 1)
            return {**ranges, index: (lo, max(lo, hi))} if (lo, hi) != given else ranges
        case AllOf(parts):
            for part in parts:
                ranges = narrowed(ranges, part)
            return ranges
        case _:
            return ranges
