"""Formulas for tables: the simplest expression that is correct at every point."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np

from ...symbolic.facts.trees import Binary, Compare, Const, Expr, Select, Var
from .grids import Array, Grid
from .linear import Linear

# A table that no formula fits is written out if it has at most this many different runs.
_MOST_STRETCHES: Final = 4096

# The number of formulas tried.
_MOST_CANDIDATES: Final = 100

# A few runs are written as a sum of steps, which stays affine.
_MOST_STEPS: Final = 40


def fits(expr: Expr, grid: Grid, values: Array, live: Array) -> bool:
    """Whether an expression has these values wherever `live` holds."""
    return bool(((grid.evaluate(expr) == values) | ~live).all())


def constant(values: Array, live: Array) -> Expr | None:
    """The single value wherever `live` holds; 0 if it holds nowhere."""
    if not live.any():
        return Const(0)
    least, most = int(values[live].min()), int(values[live].max())
    return Const(least) if least == most else None


def fitted(grid: Grid, values: Array, live: Array, candidates: Iterable[Expr]) -> Expr | None:
    """The first that fits of a linear formula, the candidates, a linear formula clipped at its ends, and the table.

    None if the table is too long to write out.
    """
    shapes = _shapes(grid, values, live)
    # Two values always lie on a line, which means nothing.
    few = int(live.sum()) <= 2
    tried: set[Expr] = set()
    for expr in (
        *(() if few else shapes),
        *islice(candidates, _MOST_CANDIDATES),
        *shapes,
        *_cut_off(shapes, values, live),
    ):
        if expr not in tried and expr.variables <= set(grid.names) and fits(expr, grid, values, live):
            return expr
        tried.add(expr)
    return written_out(grid, values, live)


def written_out(grid: Grid, values: Array, live: Array) -> Expr | None:
    """The table as a sum of steps, or as nested choices; None if it has too many runs."""
    flat, holds = values.ravel(), live.ravel()
    # At unused points the previous value is repeated, so that runs are long.
    last = np.maximum.accumulate(np.where(holds, np.arange(flat.size), -1))
    first = int(np.argmax(holds))
    flat = flat[np.where(last < 0, first, last)]
    starts = [0, *(np.flatnonzero(np.diff(flat)) + 1).tolist()]
    if len(starts) > _MOST_STRETCHES:
        return None
    heights = [int(flat[start]) for start in starts]
    strides = _strides(grid)
    place = _line(grid, strides, -sum(stride * lo for stride, (lo, _) in zip(strides, grid.spans, strict=True)))
    if len(starts) > _MOST_STEPS:
        return _choice(place, starts, heights)
    total: Expr = Const(heights[0])
    for start, before, after in zip(starts[1:], heights, heights[1:], strict=False):
        step = Binary("max", Const(0), Binary("min", Const(1), place - (start - 1)))
        total = total + step * (after - before) if after > before else total - step * (before - after)
    return total


def _strides(grid: Grid) -> list[int]:
    """The distance between values of each variable in row-major order."""
    strides = [1]
    for extent in reversed(grid.shape[1:]):
        strides.insert(0, strides[0] * extent)
    return strides[: len(grid.shape)]


def _choice(place: Expr, starts: list[int], values: list[int]) -> Expr:
    if len(starts) == 1:
        return Const(values[0])
    half = len(starts) // 2
    below, above = _choice(place, starts[:half], values[:half]), _choice(place, starts[half:], values[half:])
    return Select(Compare("<", place, Const(starts[half])), below, above)


def _line(grid: Grid, slopes: Sequence[int], base: int) -> Expr:
    terms = tuple((Var(name), slope) for name, slope in zip(grid.names, slopes, strict=True) if slope)
    return Linear(terms, base).expr()


def _shapes(grid: Grid, values: Array, live: Array) -> list[Expr]:
    """Linear formulas through three points."""
    places = np.flatnonzero(live.ravel())
    shapes: list[Expr] = []
    for place in dict.fromkeys((int(places[0]), int(places[len(places) // 2]), int(places[-1]))):
        shape = _through(grid, values, live, np.unravel_index(place, grid.shape))
        if shape not in shapes:
            shapes.append(shape)
    return shapes


def _cut_off(shapes: list[Expr], values: Array, live: Array) -> Iterator[Expr]:
    """Linear formulas clipped at the least and the greatest value, and by each other."""
    least, most = int(values[live].min()), int(values[live].max())
    for shape in shapes:
        yield Binary("min", Const(most), shape)
        yield Binary("max", Const(least), shape)
    for shape in shapes:
        yield Binary("max", Const(least), Binary("min", Const(most), shape))
    for one in shapes:
        for other in shapes:
            if one is not other:
                yield Binary("min", one, other)
                yield Binary("max", one, other)
                yield Binary("min", Const(most), Binary("min", one, other))


def _through(grid: Grid, values: Array, live: Array, point: tuple[np.intp, ...]) -> Expr:
    """The linear formula with the table's slopes next to a point."""
    base = int(values[point])
    slopes: list[int] = []
    for dimension, extent in enumerate(grid.shape):
        slope = 0
        for step in (1, -1):
            at = int(point[dimension]) + step
            beside = (*point[:dimension], np.intp(at), *point[dimension + 1 :])
            if 0 <= at < extent and live[beside]:
                slope = step * (int(values[beside]) - base)
                break
        slopes.append(slope)
    for slope, place, (lo, _) in zip(slopes, point, grid.spans, strict=True):
        base -= slope * (int(place) + lo)
    return _line(grid, slopes, base)
