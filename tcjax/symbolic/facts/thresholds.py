"""A condition on one name that is equivalent to a threshold: `x < tdiv(x, 4)` is `x < 0`, and `2*j*n > j` is `j > 0`.

A few points suggest the threshold, two proofs confirm it.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from . import grids
from .trees import OPPOSITE, Compare, Const, Var

if TYPE_CHECKING:
    from .facts import Prover

# The number of values examined per name, by the number of names: with more names, none are.
_WIDTHS: Final = {1: 25, 2: 9, 3: 5}


def threshold(facts: "Prover", condition: Compare) -> Compare | None:
    """A comparison of one name with a number that holds exactly where `condition` does, or None."""
    names = sorted(condition.variables)
    width = _WIDTHS.get(len(names))
    if width is None:
        return None
    box = {name: _near(facts.bounds(Var(name)), width) for name in names}
    inside = [fact.condition for fact in facts.facts if fact.condition.variables <= box.keys()]
    columns = grids.points(box, inside, width ** len(names))
    if columns is None:
        return None
    holds = grids.column(condition, columns, len(columns[names[0]]))
    for candidate in _candidates(columns, holds):
        opposite = Compare(OPPOSITE[candidate.op], candidate.left, candidate.right)
        otherwise = Compare(OPPOSITE[condition.op], condition.left, condition.right)
        if facts.assume(candidate).prove(condition) and facts.assume(opposite).prove(otherwise):
            return candidate
    return None


def _near(ends: tuple[int | None, int | None], width: int) -> range:
    """The values near the ends and near zero."""
    low, high = ends
    if low is not None:
        return range(low, low + width if high is None else min(high + 1, low + width))
    return range(-(width // 2), width // 2 + 1) if high is None else range(high - width + 1, high + 1)


def _candidates(columns: Mapping[str, list[int]], holds: grids.Column) -> Iterator[Compare]:
    """Comparisons that agree with the points."""
    for name, column in columns.items():
        good = sorted({value for value, held in zip(column, holds, strict=True) if held})
        bad = sorted({value for value, held in zip(column, holds, strict=True) if held is not None and not held})
        if not good or not bad or not set(good).isdisjoint(bad):
            continue
        if len(good) == 1:
            yield Compare("==", Var(name), Const(good[0]))
        elif len(bad) == 1:
            yield Compare("!=", Var(name), Const(bad[0]))
        if good[-1] < bad[0]:
            yield Compare("<", Var(name), Const(bad[0]))
        elif bad[-1] < good[0]:
            yield Compare(">", Var(name), Const(bad[-1]))
