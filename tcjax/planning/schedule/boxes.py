"""The smallest box that contains everything needed, per point of a path: exact if its points can be enumerated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ...symbolic.facts.trees import Const, Expr
from .counting import Counts, Table, enumerate_needs, tabulate
from .formulas import constant, fitted
from .grids import Span
from .hulls import Hulls, bounding
from .needs import Need
from .unfusing import Unfused, unfused


@dataclass(frozen=True, slots=True)
class NeededBox:
    """Per axis the first index and the extent as expressions over the path, and the largest extent.

    `tables` hold the same as numbers, unless there are too many points.
    """

    lows: tuple[Expr, ...]
    sizes: tuple[Expr, ...]
    extents: tuple[int, ...]
    counts: Counts
    tables: tuple[Table, ...] = ()


def infer_box(
    needs: Sequence[Need], prefix: tuple[str, ...], spans: Mapping[str, Span], domain: Sequence[Span]
) -> NeededBox:
    """The box of everything that the needs take together inside a `domain`, per point of the `prefix`."""
    needs = [need for need in needs if all(spans[name][1] > spans[name][0] for name in need.inner)]
    if not needs or any(hi <= lo for lo, hi in domain):
        return nothing(domain)
    # Fused loops are split again only if there is too much to enumerate.
    over = Unfused(tuple(needs), prefix, spans, {})
    inferred = enumerate_needs(needs, prefix, spans, domain)
    if inferred is None:
        over = unfused(needs, prefix, spans)
        inferred = enumerate_needs(over.needs, over.prefix, over.spans, domain)
    if inferred is None:
        return _by_formulas(needs, prefix, spans, domain)
    tables, counts = inferred
    if not counts.instances:
        return nothing(domain)
    if over.values:
        counts = replace(counts, live=())
    found = [
        _formulas(axis, table, over.needs, over.prefix, over.spans, domain[axis]) for axis, table in enumerate(tables)
    ]
    lows = tuple(over.restored(low) for low, _ in found)
    sizes = tuple(over.restored(size) for _, size in found)
    return NeededBox(lows, sizes, _widest(tables), counts, tables)


def whole(domain: Sequence[Span]) -> NeededBox:
    """The whole domain, once."""
    extents = tuple(hi - lo for lo, hi in domain)
    points = prod(extents)
    counts = Counts(1 if points else 0, points, points, points, (1,) * len(domain))
    return NeededBox(tuple(Const(lo) for lo, _ in domain), tuple(map(Const, extents)), extents, counts)


def nothing(domain: Sequence[Span]) -> NeededBox:
    """An empty box."""
    zeros = (0,) * len(domain)
    counts = Counts(0, 0, 0, 0, (1,) * len(domain))
    return NeededBox(tuple(Const(lo) for lo, _ in domain), tuple(map(Const, zeros)), zeros, counts)


def _widest(tables: Sequence[Table]) -> tuple[int, ...]:
    return tuple(int(table.extent.max(initial=0)) for table in tables)


def _formulas(
    axis: int, table: Table, needs: Sequence[Need], prefix: Sequence[str], spans: Mapping[str, Span], domain: Span
) -> tuple[Expr, Expr]:
    """The first index and the extent of an axis as expressions over the path."""
    grid, low, extent, live = table.grid, table.low, table.extent, table.live
    first, size = constant(low, live), constant(extent, live)
    if first is None or size is None:
        hulls = Hulls(axis, needs, prefix, spans, domain)
        first = first or fitted(grid, low, live, hulls.lows())
        size = size or fitted(grid, extent, live, hulls.extents())
    if first is None or size is None:
        # Too many different boxes to write down: use everything that is ever needed.
        lo, hi = int(low[live].min()), int((low + extent)[live].max())
        return Const(lo), Const(hi - lo)
    return first, size


def _by_formulas(
    needs: Sequence[Need], prefix: tuple[str, ...], spans: Mapping[str, Span], domain: Sequence[Span]
) -> NeededBox:
    """Used if there are too many points to enumerate; nonlinear subscripts may make the box larger than necessary."""
    found = [bounding(axis, needs, prefix, spans, ends) for axis, ends in enumerate(domain)]
    lows, sizes = tuple(low for low, _, _ in found), tuple(size for _, size, _ in found)
    tabulated = tabulate(lows, sizes, prefix, spans)
    if tabulated is not None:
        tables, counts = tabulated
        return NeededBox(lows, sizes, _widest(tables), counts, tables)
    extents = tuple(extent for _, _, extent in found)
    instances = prod(hi - lo for lo, hi in (spans[name] for name in prefix))
    total = instances * prod(extents)
    distinct = min(total, prod(hi - lo for lo, hi in domain))
    return NeededBox(lows, sizes, extents, Counts(instances, total, None, distinct, (1,) * len(domain)))
