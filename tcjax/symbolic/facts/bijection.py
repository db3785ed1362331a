"""`bijective`: whether index expressions visit every point of a box exactly once."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Final

from . import grids, iterating
from .polynomials import Poly, Symbol
from .trees import Compare, Expr, Var

if TYPE_CHECKING:
    from .facts import Prover

# Domains of at most this many points are enumerated.
_POINT_LIMIT: Final = 20_000

# A map over sizes is tried for this many combinations of small sizes before the answer is unknown.
_TRIALS: Final = 24
_SIZE_LIMIT: Final = 5


def bijective(facts: "Prover", exprs: Sequence[Expr]) -> bool | None:
    """Whether the map from the indices to `exprs` is injective and onto the box around its values; None if unknown.

    Every name between two ends is an index, also one that `exprs` leave out. A name without ends is a size: the answer
    holds for all sizes. Points at which some expression divides by zero do not belong to the map.
    """
    used = frozenset().union(*(expr.variables for expr in exprs))
    names = sorted(facts.variables | used)
    sizes = [name for name in names if None in facts.bounds(Var(name)) and not _ended(facts, name)]
    indices = [name for name in names if name not in sizes]
    tied = grids.related(facts, used.union(indices))
    sizes = [name for name in sizes if name in tied]
    if used and not indices:
        return None
    if not sizes:
        box = grids.ranges(facts, indices)
        visited = None if box is None else _visited(facts, exprs, box, {}, _POINT_LIMIT)
        if visited is not None:
            return visited
    if iterating.tiles(facts, exprs, indices, frozenset(sizes)):
        return True
    for instance, values in _instances(facts, sizes):
        box = grids.ranges(instance, indices)
        if box is not None and _visited(instance, exprs, box, values, _POINT_LIMIT // _TRIALS) is False:
            return False
    return False if _too_small(facts, exprs, indices) else None


def _visited(
    facts: "Prover", exprs: Sequence[Expr], box: dict[str, range], sizes: dict[str, Expr], limit: int
) -> bool | None:
    """The answer for these sizes, by enumeration; None if there is no point, or too many."""
    known = box.keys() | sizes.keys()
    conditions = [fact.condition.substitute(sizes) for fact in facts.facts if fact.condition.variables <= known]
    columns = grids.points(box, conditions, limit)
    if columns is None:
        return None
    count = len(next(iter(columns.values()), [()]))
    values = [grids.column(expr.substitute(sizes), columns, count) for expr in exprs]
    seen = [image for image in zip(*values, strict=True) if None not in image] if values else [()] * count
    if not seen:
        return None
    image = set(seen)
    volume = prod(max(axis) - min(axis) + 1 for axis in zip(*image, strict=True))  # type: ignore[operator, type-var]
    return len(image) == len(seen) == volume


def _ended(facts: "Prover", name: str) -> bool:
    """Whether some fact bounds `name` from above in terms of other names."""
    if facts.bounds(Var(name))[0] is None:
        return False
    for poly in iterating.bounds(facts):
        weight = poly.terms.get((Symbol(name),), 0)
        if weight < 0 and name not in (poly - Poly.atom(Symbol(name), weight)).names:
            return True
    return False


def _instances(facts: "Prover", sizes: Sequence[str]) -> "Iterator[tuple[Prover, dict[str, Expr]]]":
    """The facts for small values of the sizes, at most `_TRIALS` of them."""
    choices: list[list[int]] = []
    for name in sizes if len(sizes) <= _SIZE_LIMIT else ():
        low, high = facts.bounds(Var(name))
        start = low if low is not None else (high - 3 if high is not None else 1)
        step = max(facts.modulus(Var(name))[0], 1)
        values = [start + step * n for n in range(5)]
        choices.append([value for value in values if high is None or value <= high])
    if not choices:
        return
    trials = sorted(product(*choices), key=lambda values: (sum(values), values))
    for values in trials[:_TRIALS]:
        bound = {name: Expr.of(value) for name, value in zip(sizes, values, strict=True)}
        instance = facts
        for name, value in bound.items():
            instance = instance.assume(Compare("==", Var(name), value))
        if instance.contradiction is None:
            yield instance, bound


def _too_small(facts: "Prover", exprs: Sequence[Expr], indices: Sequence[str]) -> bool:
    """Whether the box around the values has fewer points than the box of indices, which no fact cuts."""
    box = grids.ranges(facts, indices)
    if box is None or any(len(fact.condition.variables) > 1 for fact in facts.facts):
        return False
    volume = 1
    for expr in exprs:
        low, high = facts.bounds(expr)
        if low is None or high is None:
            return False
        volume *= high - low + 1
    return volume < grids.size(box)
