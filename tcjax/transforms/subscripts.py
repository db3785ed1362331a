"""Subscripts in context: their bounds and their simplest form under the known facts."""

from dataclasses import dataclass, field

from ..symbolic import Affine, Box, Facts
from ..symbolic.affine import Clamp, Quotient, Remainder


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Facts about indices, and a cache of simplified subscripts. Sizes must be numbers."""

    facts: Facts
    memo: dict[Affine, Affine] = field(default_factory=dict, repr=False)

    @staticmethod
    def over(box: Box) -> "Known":
        """The ranges of the indices as facts. An empty range is ignored: code that uses its index never runs."""
        return Known(Facts.over({index: ends for index, ends in box.items() if ends[0] < ends[1]}))

    def bounds(self, affine: Affine) -> tuple[int, int] | None:
        """The least and the greatest value; None if it depends on data, or an index has no values."""
        return self.facts.values(affine)

    def within(self, affine: Affine, lo: int, hi: int) -> bool:
        """Whether every value is in ``lo:hi``."""
        found = self.bounds(affine)
        return found is not None and lo <= found[0] and found[1] < hi

    def simplify(self, affine: Affine) -> Affine:
        """The subscript without the floors, remainders and clamps that the facts decide."""
        if affine.is_linear or affine.is_data or not affine.variables <= self.facts.ranges.keys():
            return affine
        if affine not in self.memo:
            found = self.facts.simplify(affine)
            self.memo[affine] = found if curves(found) <= curves(affine) else affine
        return self.memo[affine]


def curves(affine: Affine) -> int:
    """The number of floors, remainders and clamps, including nested ones."""
    count = 0
    for atom, _ in affine.terms:
        match atom:
            case Quotient(argument, _) | Remainder(argument, _):
                count += 1 + curves(argument)
            case Clamp(_, arguments):
                count += 1 + sum(map(curves, arguments))
            case _:
                continue
    return count
