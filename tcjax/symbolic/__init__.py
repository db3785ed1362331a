"""Index variables, sizes and what is known about them; knows no tensors."""

from .affine import Affine, AffineLike, Atom, Clamp, IndexVar, Opaque, Quotient, Remainder, clamp
from .conditions import FALSE, TRUE, AllOf, AnyOf, AtLeastZero, Condition, all_of, any_of, compare
from .domain import Search, find_point
from .interval import Interval
from .size import Extremum, Floor, Size, SizeLike, SizeVar, maximum, minimum

__all__ = [
    "FALSE",
    "TRUE",
    "Affine",
    "AffineLike",
    "AllOf",
    "AnyOf",
    "AtLeastZero",
    "Atom",
    "Clamp",
    "Condition",
    "Extremum",
    "Floor",
    "IndexVar",
    "Interval",
    "Opaque",
    "Quotient",
    "Remainder",
    "Search",
    "Size",
    "SizeLike",
    "SizeVar",
    "all_of",
    "any_of",
    "clamp",
    "compare",
    "find_point",
    "maximum",
    "minimum",
]
