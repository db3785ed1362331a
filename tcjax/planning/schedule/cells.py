"""Splits needs into independent parts, each small enough to enumerate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...symbolic.facts.trees import Expr
from .grids import Array, Grid, Mask, Span, evaluate
from .needs import Need

# Grids up to this many points are enumerated; for larger ones only formulas are used.
MOST_POINTS = 8_000_000

FAR = np.int64(2**62)


Guard = Expr | Mask


def _names(guard: Guard) -> frozenset[str]:
    return frozenset(guard.grid.names) if isinstance(guard, Mask) else guard.variables


def _guards(need: Need) -> tuple[Guard, ...]:
    return (*need.guards, *need.masks)


@dataclass(frozen=True, slots=True)
class Cell:
    """Axes whose needs are related by the loops they run over; the other axes are independent of them.

    `prefix` are the loops of the path that occur, in order. For each need there are the other variables of the cell
    that occur in it, and its guards and masks.
    """

    axes: tuple[int, ...]
    prefix: tuple[str, ...]
    free: tuple[tuple[str, ...], ...]
    guards: tuple[tuple[Guard, ...], ...]

    def size(self, spans: Mapping[str, Span]) -> int:
        """The number of points of the largest grid needed to enumerate the cell."""
        return max((Grid.over((*self.prefix, *free), spans).size for free in self.free), default=1)


@dataclass(frozen=True, slots=True)
class Extremes:
    """For each need of a cell, over the prefix grid: whether it takes anything, and the ends of what it takes.

    ``lows[need][axis]`` is `FAR` if nothing is taken, ``highs`` the negative of that.
    """

    grid: Grid
    taken: tuple[Array, ...]
    lows: tuple[tuple[Array, ...], ...]
    highs: tuple[tuple[Array, ...], ...]


def separate(needs: Sequence[Need], prefix: Sequence[str], rank: int, *, joined: bool = False) -> list[Cell]:
    """The cells of the needs; every subscript is an expression. With `joined` there is only one."""
    around = set(prefix)
    if joined:
        names = [index.variables for need in needs for index in need.indices if index is not None]
        names += [_names(guard) for need in needs for guard in _guards(need)]
        free = frozenset().union(*names) - around
        return [_cell(needs, tuple(range(rank)), set(free), tuple(map(_guards, needs)), prefix)]
    groups = _Groups()
    for axis in range(rank):
        groups.add(axis)
    # Parts that depend only on the path.
    alone: list[tuple[Guard, ...]] = []
    for need in needs:
        for axis, index in enumerate(need.indices):
            assert index is not None
            for name in index.variables - around:
                groups.join(axis, name)
        for guard in _guards(need):
            inner = sorted(_names(guard) - around)
            for name in inner:
                groups.join(inner[0], name)
        alone.append(tuple(guard for guard in _guards(need) if _names(guard) <= around))
    cells: list[Cell] = []
    for members in groups.members():
        axes = tuple(sorted(member for member in members if isinstance(member, int)))
        free = {member for member in members if isinstance(member, str)}
        guards = tuple(tuple(guard for guard in _guards(need) if _names(guard) & free) for need in needs)
        cells.append(_cell(needs, axes, free, guards, prefix))
    if any(alone):
        cells.append(_cell(needs, (), set(), tuple(alone), prefix))
    return cells


def _cell(
    needs: Sequence[Need],
    axes: tuple[int, ...],
    free: set[str],
    guards: tuple[tuple[Guard, ...], ...],
    prefix: Sequence[str],
) -> Cell:
    occurring: list[frozenset[str]] = []
    for need, own in zip(needs, guards, strict=True):
        indices = [need.indices[axis] for axis in axes]
        names = [index.variables for index in indices if index is not None]
        occurring.append(frozenset().union(*names, *map(_names, own)))
    used = frozenset().union(*occurring)
    return Cell(
        axes,
        tuple(name for name in prefix if name in used),
        tuple(tuple(sorted(names & free)) for names in occurring),
        guards,
    )


class _Groups:
    """Sets of axes and variables that are merged."""

    def __init__(self) -> None:
        self.group: dict[int | str, list[int | str]] = {}

    def add(self, member: int | str) -> list[int | str]:
        return self.group.setdefault(member, [member])

    def join(self, first: int | str, second: int | str) -> None:
        one, other = self.add(first), self.add(second)
        if one is not other:
            if len(one) < len(other):
                one, other = other, one
            one.extend(other)
            for member in other:
                self.group[member] = one

    def members(self) -> list[list[int | str]]:
        return list({id(group): group for group in self.group.values()}.values())


@dataclass(frozen=True, slots=True)
class Taken:
    """The points of one need in a cell: whether each is active, and its coordinate per axis of the cell.

    Over the prefix grid of the cell, then the need's own variables; dimensions without variation have length 1.
    """

    grid: Grid
    holds: Array
    places: tuple[Array, ...]


def points_of(cell: Cell, number: int, need: Need, spans: Mapping[str, Span], domain: Sequence[Span]) -> Taken:
    """The points of a need; those outside the half-open `domain` of an axis are inactive."""
    grid = Grid.over((*cell.prefix, *cell.free[number]), spans)
    points, known = grid.points(), {}
    flat = (1,) * len(grid.names)

    def values(expr: Expr) -> Array:
        value = evaluate(expr, points, known)
        return value if value.ndim == len(flat) else value.reshape(flat)

    holds: Array = np.ones(flat, bool)
    for guard in cell.guards[number]:
        holds = holds & (guard.on(grid) if isinstance(guard, Mask) else values(guard))
    places: list[Array] = []
    for axis in cell.axes:
        index = need.indices[axis]
        assert index is not None
        place = values(index)
        lo, hi = domain[axis]
        if place.size and (place.min() < lo or place.max() >= hi):
            holds = holds & (place >= lo) & (place < hi)
        places.append(place)
    return Taken(grid, holds, tuple(places))


def extremes(cell: Cell, needs: Sequence[Need], spans: Mapping[str, Span], domain: Sequence[Span]) -> Extremes:
    """The ends of what each need takes, by enumerating its points."""
    around = Grid.over(cell.prefix, spans)
    taken: list[Array] = []
    lows: list[tuple[Array, ...]] = []
    highs: list[tuple[Array, ...]] = []
    for number, need in enumerate(needs):
        points = points_of(cell, number, need, spans, domain)
        inner = tuple(range(len(cell.prefix), len(points.grid.names)))
        empty = points.grid.size == 0 and around.size > 0
        if empty:
            taken.append(np.zeros(around.shape, bool))
            lows.append(tuple(np.full(around.shape, FAR) for _ in cell.axes))
            highs.append(tuple(np.full(around.shape, -FAR) for _ in cell.axes))
            continue
        taken.append(around.spread(np.asarray(points.holds.any(axis=inner))))
        everywhere = bool(points.holds.all())
        low: list[Array] = []
        high: list[Array] = []
        for place in points.places:
            least = place if everywhere else np.where(points.holds, place, FAR)
            most = place if everywhere else np.where(points.holds, place, -FAR)
            low.append(around.spread(least.min(axis=inner, initial=FAR)))
            high.append(around.spread(most.max(axis=inner, initial=-FAR)))
        lows.append(tuple(low))
        highs.append(tuple(high))
    return Extremes(around, tuple(taken), tuple(lows), tuple(highs))
