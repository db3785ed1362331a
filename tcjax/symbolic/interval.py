"""Half-open intervals of sizes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .size import Size, SizeLike, SizeVar, maximum, minimum


@dataclass(frozen=True, slots=True)
class Interval:
    """``[lo, hi)``, in elements."""

    lo: Size
    hi: Size

    @staticmethod
    def of(lo: Size | int, hi: Size | int) -> "Interval":
        return Interval(Size.of(lo), Size.of(hi))

    @property
    def extent(self) -> Size:
        return self.hi - self.lo

    @property
    def is_constant(self) -> bool:
        """Whether both ends are numbers."""
        return self.lo.constant is not None and self.hi.constant is not None

    def substitute(self, sizes: Mapping[SizeVar, SizeLike]) -> "Interval":
        """The interval with size variables replaced."""
        return self if self.is_constant else Interval(self.lo.substitute(sizes), self.hi.substitute(sizes))

    def intersect(self, other: "Interval") -> "Interval":
        return Interval(maximum(self.lo, other.lo), minimum(self.hi, other.hi))

    @staticmethod
    def hull(intervals: Iterable["Interval"]) -> "Interval":
        """The smallest interval that covers all of them (at least one)."""
        intervals = list(intervals)
        return Interval(minimum(*(i.lo for i in intervals)), maximum(*(i.hi for i in intervals)))

    @staticmethod
    def extremum(kind: str, intervals: Sequence["Interval"]) -> "Interval":
        """The values that the ``min`` or ``max`` of one value from each interval can take."""
        pick = minimum if kind == "min" else maximum
        return Interval(pick(*(i.lo for i in intervals)), pick(*(i.hi for i in intervals)))

    def __str__(self) -> str:
        return f"[{self.lo}, {self.hi})"
