"""Subscripts where they are computed: their ends and their simplest form, as what is known there decides them."""

from dataclasses import dataclass, field

from ..symbolic import Affine, Box, Facts
from ..symbolic.affine import Clamp, Quotient, Remainder


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Facts about indices, and the subscripts that were simplified by them. Sizes must be numbers."""

    facts: Facts
    memo: dict[Affine, Affine] = field(default_factory=dict, repr=False)

    @staticmethod
    def over(box: Box) -> "Known":
        """What the ranges of the indices say. One without values says nothing: what uses it is never computed."""
        return Known(Facts.over({index: ends for index, ends in box.items() if ends[0] < ends[1]}))

    def bounds(self, affine: Affine) -> tuple[int, int] | None:
        """The least and the greatest value; None where data decides it, or an index has no values."""
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
    """How many floors, remainders and clamps there are, those inside of others counted."""
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
