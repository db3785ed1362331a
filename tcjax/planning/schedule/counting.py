"""Exact boxes and counts of needs, by enumeration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import gcd, prod

import numpy as np

from ...symbolic.facts.trees import Expr
from .cells import FAR, MOST_POINTS, Cell, Extremes, extremes, points_of, separate
from .grids import Array, Grid, Mask, Span
from .needs import Need

# Canvases up to this many elements, one for each point of each box, are painted.
_MOST_PAINTED = 64_000_000
_MOST_NEEDS = 63


@dataclass(frozen=True, slots=True)
class Table:
    """The box of one axis at every point of `grid`, over the relevant loops of the path.

    `low` and `extent` are valid where `live`; elsewhere nothing is needed.
    """

    grid: Grid
    low: Array
    extent: Array
    live: Array


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a stage computes, and where.

    There are `instances` of boxes, where all of `live` hold, with `total_box` points altogether, of which `total_exact`
    are needed (None: too many to count), and `distinct` are different. `strides` per axis is the common step of what is
    needed in one box.
    """

    instances: int
    total_box: int
    total_exact: int | None
    distinct: int
    strides: tuple[int, ...]
    live: tuple[Mask, ...] = ()


@dataclass(frozen=True, slots=True)
class _Group:
    """Cells that share loops of the path; `live` tells, over their common grid, which needs take anything."""

    cells: tuple[int, ...]
    grid: Grid
    live: Array


def enumerate_needs(
    needs: Sequence[Need], prefix: Sequence[str], spans: Mapping[str, Span], domain: Sequence[Span]
) -> tuple[tuple[Table, ...], Counts] | None:
    """The box of every axis per point of the path, and the counts; None if there are too many points.

    `spans` are the half-open ranges of all variables, `domain` those of everything the stage computes.
    """
    rank = len(domain)
    cells = separate(needs, prefix, rank, joined=len(needs) > _MOST_NEEDS)
    if any(cell.size(spans) > MOST_POINTS for cell in cells):
        return None
    found = [extremes(cell, needs, spans, domain) for cell in cells]
    # If one read happens and another does not, the boxes of all axes depend on it.
    differing = any(len(one.taken) > 1 and any((t != one.taken[0]).any() for t in one.taken[1:]) for one in found)
    if differing:
        used = {name for cell in cells for name in cell.prefix}
        cells = [replace(cell, prefix=tuple(name for name in prefix if name in used)) for cell in cells]
        if any(cell.size(spans) > MOST_POINTS for cell in cells):
            return None
        found = [extremes(cell, needs, spans, domain) for cell in cells]
    groups = _grouped(cells, found, prefix, spans, together=differing)
    if groups is None:
        return None
    tables: dict[int, Table] = {}
    for group in groups:
        for number in group.cells:
            for place, axis in enumerate(cells[number].axes):
                tables[axis] = _table(found[number], place, _live(group, found[number], differing))
    ordered = tuple(tables[axis] for axis in range(rank))
    return ordered, _count(cells, found, groups, ordered, needs, prefix, spans, domain, differing=differing)


def tabulate(
    lows: Sequence[Expr], sizes: Sequence[Expr], prefix: Sequence[str], spans: Mapping[str, Span]
) -> tuple[tuple[Table, ...], Counts] | None:
    """The boxes given by formulas, and their counts; None if there are too many."""
    used = frozenset().union(*(expr.variables for expr in (*lows, *sizes)))
    grid = Grid.over([name for name in prefix if name in used], spans)
    if grid.size > MOST_POINTS:
        return None
    live = np.ones(grid.shape, bool)
    boxes = [
        (grid.spread(grid.evaluate(low)), grid.spread(grid.evaluate(size)))
        for low, size in zip(lows, sizes, strict=True)
    ]
    for _, extent in boxes:
        live &= extent > 0
    tables = tuple(Table(grid, low, np.where(live, extent, 0), live) for low, extent in boxes)
    volume = reduce(np.multiply, [table.extent for table in tables], live.astype(np.int64))
    others = prod(max(0, spans[name][1] - spans[name][0]) for name in prefix if name not in used)
    distinct = _union(_Group((), grid, live[None]), range(len(tables)), tables, live)
    ones = (1,) * len(tables)
    return tables, Counts(int(live.sum()) * others, int(volume.sum()) * others, None, distinct if others else 0, ones)


def _grouped(
    cells: Sequence[Cell],
    found: Sequence[Extremes],
    prefix: Sequence[str],
    spans: Mapping[str, Span],
    *,
    together: bool,
) -> list[_Group] | None:
    """The cells grouped by the loops of the path that they share; None if these have too many points."""
    parts: list[tuple[set[str], list[int]]] = []
    for number, cell in enumerate(cells):
        names, members = set(cell.prefix), [number]
        for part in [part for part in parts if together or part[0] & names]:
            names |= part[0]
            members += part[1]
            parts.remove(part)
        parts.append((names, members))
    groups: list[_Group] = []
    for names, members in parts:
        grid = Grid.over([name for name in prefix if name in names], spans)
        count = max(len(found[members[0]].taken), 1)
        if grid.size * count > MOST_POINTS:
            return None
        live = np.ones((count, *grid.shape), bool)
        for member in members:
            for need, taken in enumerate(found[member].taken):
                live[need] &= _moved(taken, found[member].grid, grid)
        groups.append(_Group(tuple(sorted(members)), grid, live))
    return groups


def _moved(values: Array, grid: Grid, onto: Grid) -> Array:
    """Values over one grid broadcast to a larger one, with length 1 in the new dimensions."""
    shape = tuple(values.shape[grid.names.index(name)] if name in grid.names else 1 for name in onto.names)
    return values.reshape(shape)


def _live(group: _Group, found: Extremes, differing: bool) -> Array:
    """For each need whether it takes anything, over the cell's grid, for any values of the group's other loops."""
    if differing:
        return group.live
    others = tuple(place for place, name in enumerate(group.grid.names) if name not in found.grid.names)
    holds = np.asarray(np.any(group.live.any(axis=0), axis=others))
    return np.broadcast_to(holds, (len(found.taken), *holds.shape))


def _table(found: Extremes, place: int, live: Array) -> Table:
    low, high = _ends(found, place, live)
    holds = np.asarray(live.any(axis=0))
    return Table(found.grid, np.where(holds, low, 0), np.where(holds, high - low + 1, 0), holds)


def _ends(found: Extremes, place: int, live: Array) -> tuple[Array, Array]:
    """The ends of everything that the needs together take along an axis."""
    lows = [np.where(holds, ends[place], FAR) for holds, ends in zip(live, found.lows, strict=True)]
    highs = [np.where(holds, ends[place], -FAR) for holds, ends in zip(live, found.highs, strict=True)]
    return reduce(np.minimum, lows), reduce(np.maximum, highs)


def _count(
    cells: Sequence[Cell],
    found: Sequence[Extremes],
    groups: Sequence[_Group],
    tables: Sequence[Table],
    needs: Sequence[Need],
    prefix: Sequence[str],
    spans: Mapping[str, Span],
    domain: Sequence[Span],
    *,
    differing: bool,
) -> Counts:
    used = {name for group in groups for name in group.grid.names}
    others = prod(max(0, spans[name][1] - spans[name][0]) for name in prefix if name not in used)
    instances = total_box = distinct = 1
    exact: dict[int, int] | None = {-1: 1}
    strides = [0] * len(tables)
    live: list[Mask] = []
    for group in groups:
        alive = np.asarray(group.live.any(axis=0))
        if not alive.all():
            live.append(Mask(group.grid, alive))
        axes = sorted(axis for number in group.cells for axis in cells[number].axes)
        instances *= int(alive.sum())
        volume = np.asarray(alive.astype(np.int64))
        for axis in axes:
            volume = volume * _moved(tables[axis].extent, tables[axis].grid, group.grid)
        total_box *= int(volume.sum())
        distinct *= _union(group, axes, tables, alive)
        painted = _paint(group, cells, found, needs, spans, domain, strides, differing=differing)
        exact = None if exact is None or painted is None else _joined(exact, painted)
    total = None if exact is None else sum(exact.values()) * others
    steps = tuple(max(1, stride) for stride in strides)
    return Counts(instances * others, total_box * others, total, distinct if others else 0, steps, tuple(live))


def _joined(left: Mapping[int, int], right: Mapping[int, int]) -> dict[int, int]:
    """The number of combinations of two parts, by the set of reads that take both."""
    both: dict[int, int] = {}
    for one, count in left.items():
        for other, times in right.items():
            if one & other:
                both[one & other] = both.get(one & other, 0) + count * times
    return both


def _union(group: _Group, axes: Sequence[int], tables: Sequence[Table], alive: Array) -> int:
    """The number of points in the union of the boxes, on the coarse grid formed by the ends of all boxes."""
    if not axes:
        return int(alive.any())
    ends: list[tuple[Array, Array]] = []
    for axis in axes:
        table = tables[axis]
        low = np.broadcast_to(_moved(table.low, table.grid, group.grid), group.grid.shape)[alive]
        extent = np.broadcast_to(_moved(table.extent, table.grid, group.grid), group.grid.shape)[alive]
        ends.append((low, low + extent))
    if not len(ends[0][0]):
        return 0
    boxes = np.unique(np.stack([end for pair in ends for end in pair], axis=-1), axis=0)
    places = [np.unique(boxes[:, 2 * n : 2 * n + 2]) for n in range(len(axes))]
    if prod(len(p) for p in places) > _MOST_PAINTED:
        # Boxes too large for a grid: count along one axis, with the others given by their hull.
        return int(prod(int(b.max() - a.min()) for a, b in ends))
    corners = [
        (np.searchsorted(places[n], boxes[:, 2 * n]), np.searchsorted(places[n], boxes[:, 2 * n + 1]))
        for n in range(len(axes))
    ]
    steps = np.zeros(tuple(len(p) for p in places), np.int64)
    for choice in np.ndindex(*(2,) * len(axes)):
        at = tuple(corners[n][side] for n, side in enumerate(choice))
        np.add.at(steps, at, -1 if sum(choice) % 2 else 1)
    for n in range(len(axes)):
        steps = steps.cumsum(axis=n)
    covered: Array = steps > 0
    weights = [np.diff(p, append=p[-1]) for p in places]
    total: Array = covered.astype(np.int64)
    for weight in reversed(weights):
        total = total @ weight
    return int(total)


def _paint(
    group: _Group,
    cells: Sequence[Cell],
    found: Sequence[Extremes],
    needs: Sequence[Need],
    spans: Mapping[str, Span],
    domain: Sequence[Span],
    strides: list[int],
    *,
    differing: bool,
) -> dict[int, int] | None:
    """The number of points, over the group's grid, by the set of needs that take them; records the strides."""
    counts: dict[int, Array] = {-1: np.ones((1,) * len(group.grid.names), np.int64)}
    for number in group.cells:
        live = _live(group, found[number], differing)
        own = _cell_counts(cells[number], found[number], live, needs, spans, domain, strides)
        if own is None:
            return None
        both: dict[int, Array] = {}
        for one, left in counts.items():
            for other, right in own.items():
                if one & other:
                    product = left * _moved(right, found[number].grid, group.grid)
                    both[one & other] = both[one & other] + product if one & other in both else product
        counts = both
    return {mask: int(np.broadcast_to(count, group.grid.shape).sum()) for mask, count in counts.items()}


def _cell_counts(
    cell: Cell,
    found: Extremes,
    live: Array,
    needs: Sequence[Need],
    spans: Mapping[str, Span],
    domain: Sequence[Span],
    strides: list[int],
) -> dict[int, Array] | None:
    """For each set of needs (as bits) the number of points that exactly these take, over the cell's grid."""
    around = found.grid
    if not cell.axes:
        masks = reduce(np.add, [t.astype(np.int64) << _bit(n, needs) for n, t in enumerate(found.taken)])
        return {int(mask): (masks == mask).astype(np.int64) for mask in np.unique(masks) if mask}
    ends = [_ends(found, place, live) for place in range(len(cell.axes))]
    holding = live.any(axis=0)
    if not holding.any():
        return {}
    widths = [int((high - low + 1)[holding].max()) for low, high in ends]
    if around.size * prod(widths) > _MOST_PAINTED:
        return None
    canvas = np.zeros((around.size, *widths), np.int64 if len(needs) > 8 else np.uint8)
    rows = np.arange(around.size).reshape(around.shape)
    for number, need in enumerate(needs):
        points = points_of(cell, number, need, spans, domain)
        if not points.grid.size:
            continue
        inner = (1,) * (len(points.grid.names) - len(around.names))
        holds = points.holds & live[number].reshape((*around.shape, *inner))
        everywhere = bool(holds.all())
        at = [np.broadcast_to(rows.reshape((*around.shape, *inner)), points.grid.shape)]
        for place, (low, _) in zip(points.places, ends, strict=True):
            at.append(np.broadcast_to(place - low.reshape((*around.shape, *inner)), points.grid.shape))
        if not everywhere:
            holds = np.broadcast_to(holds, points.grid.shape)
            at = [one[holds] for one in at]
        canvas[tuple(at)] |= canvas.dtype.type(1 << _bit(number, needs))
    for place, axis in enumerate(cell.axes):
        strides[axis] = gcd(strides[axis], _stride(canvas, place + 1))
    shape = around.shape
    flat = canvas.reshape(around.size, -1)
    return {int(mask): (flat == mask).sum(axis=1).reshape(shape) for mask in np.unique(canvas) if mask}


def _bit(number: int, needs: Sequence[Need]) -> int:
    return number if len(needs) <= _MOST_NEEDS else 0


def _stride(canvas: Array, dimension: int) -> int:
    """The greatest common divisor of the positions along a dimension, relative to the first of a row."""
    others = tuple(n for n in range(1, canvas.ndim) if n != dimension)
    hit = (canvas != 0).any(axis=(0, *others))
    return int(np.gcd.reduce(np.flatnonzero(hit))) if hit.any() else 0
