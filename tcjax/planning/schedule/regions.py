"""Which part of every stage is computed at a time: bound inference, consumers first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ... import ranges
from ...symbolic import IndexVar
from ...symbolic.facts.trees import Const, Expr, Var
from .boxes import NeededBox, infer_box, whole
from .grids import Span
from .needs import Need, needs_of
from .roots import Roots, plain, plus, qualified, shown, unfold
from .stages import CALLS, Stage, Stages, consumers_of, prefix_of


@dataclass(frozen=True)
class Region:
    """The box of a stage that is computed at each point of its `prefix`, per axis of its tensor.

    * `prefix`: the loops of the path that the box may depend on, outermost first; empty at the root.
    * `min`: the first index of each axis, an expression over the prefix. Indices are the statement's own.
    * `extent`: the largest number of elements along each axis, which is what a buffer has to hold; `extent_expr`: the
      exact number.
    * `stride`: every needed index is `min` plus a multiple of it.
    * `full_tile`: whether every box has the whole `extent`; `in_bounds`: whether ``min`` never lies before, and
      ``min + extent`` never beyond, what the statement computes.
    * `box_is_exact`: whether each element of each box is needed.
    * `overlap`: for each loop of the prefix, how many indices of each axis the boxes of neighbouring iterations share.
    * `loops`: the extent of each leaf loop, reductions included; `prefix_extents` those of the prefix.
    * `guards`: the conditions on the loops for a point to belong to the box.
    * `instances` boxes with `total_box` points in all are computed; `total_exact` of them are needed, and `distinct`
      are different: `recompute` is ``total_box / distinct`` and `waste` ``total_box / total_exact``.
    """

    prefix: tuple[str, ...]
    min: tuple[Expr, ...]
    extent: tuple[int, ...]
    extent_expr: tuple[Expr, ...]
    stride: tuple[int, ...]
    full_tile: tuple[bool, ...]
    in_bounds: tuple[tuple[bool, bool], ...]
    box_is_exact: bool
    overlap: Mapping[str, tuple[int, ...]] = field(hash=False)
    loops: Mapping[str, int] = field(hash=False)
    prefix_extents: tuple[int, ...]
    guards: tuple[Expr, ...]
    instances: int
    total_box: int
    total_exact: int
    distinct: int

    @property
    def recompute(self) -> float:
        """The average number of times a point is computed."""
        return self.total_box / self.distinct if self.distinct else 1.0

    @property
    def waste(self) -> float:
        """The number of points computed per needed point."""
        return self.total_box / self.total_exact if self.total_exact else 1.0

    def __str__(self) -> str:
        box = " x ".join(f"[{low} : +{extent}]" for low, extent in zip(self.min, self.extent_expr, strict=True))
        at = f" per ({', '.join(self.prefix)})" if self.prefix else ""
        again = f", recompute {self.recompute:.2f}" if self.recompute != 1 else ""
        more = f", {self.waste:.2f} computed for each that is needed" if self.waste != 1 else ""
        return f"{box or 'one value'}{at}, {self.instances} times{again}{more}"


@dataclass(frozen=True)
class Placed:
    """A stage with its box; the names of the loops of all stages are distinct.

    `spans` are the half-open ranges of the loops around it and of its leaves, `values` the indices of the statement and
    `guards` the conditions for a point of the leaves to belong to it.
    """

    stage: Stage
    prefix: tuple[str, ...]
    box: NeededBox
    domain: tuple[Span, ...]
    roots: Roots
    spans: Mapping[str, Span]
    values: Mapping[IndexVar, Expr]
    guards: tuple[Expr, ...]


def infer_regions(stages: Stages, bound: ranges.Bound) -> dict[str, Region]:
    """The region of every stage, in order. The stages have been checked."""
    return {name: region_of(placed) for name, placed in place_stages(stages, bound).items()}


def place_stages(stages: Stages, bound: ranges.Bound) -> dict[str, Placed]:
    """Every stage with its box, in order."""
    placed: dict[str, Placed] = {}
    for stage in reversed(list(stages.values())):
        placed[stage.name] = _placed(stage, stages, placed, bound)
    return {name: placed[name] for name in stages}


def _placed(stage: Stage, stages: Stages, known: Mapping[str, Placed], bound: ranges.Bound) -> Placed:
    domain = domain_of(stage, bound)
    readers = consumers_of(stage, stages)
    if stage.fixed or not readers or any(reader.is_call for reader in readers):
        return finished(stage, (), whole(domain), domain, {}, bound)
    prefix = tuple(qualified(*place) for place in prefix_of(stage, stages))
    needs, spans = needs_among([known[reader.name] for reader in readers], stage.target.name, domain, bound)
    return finished(stage, prefix, infer_box(needs, prefix, spans, domain), domain, spans, bound)


def needs_among(
    readers: Sequence[Placed], tensor: str, domain: Sequence[Span], bound: ranges.Bound
) -> tuple[list[Need], dict[str, Span]]:
    """Every read of a tensor in some stages, and the half-open ranges of the variables."""
    needs: list[Need] = []
    spans: dict[str, Span] = {}
    for reader in readers:
        spans |= reader.spans
        if all(hi > lo for lo, hi in reader.spans.values()):
            read = needs_of(reader.stage, tensor, reader.values, reader.guards, bound)
            needs += [replace(need, masks=reader.box.counts.live) for need in read]
    for number, need in enumerate(needs):
        spans |= need.inner
        needs[number] = _whole_axes(tensor, need, domain, spans)
    return needs, spans


def domain_of(stage: Stage, bound: ranges.Bound) -> tuple[Span, ...]:
    """The half-open range of each axis of the tensor that the stage writes."""
    name = stage.target.name
    origins, shape = bound.origins[name], bound.shapes[name]
    whole = [(origin, origin + extent) for origin, extent in zip(origins, shape, strict=True)]
    if stage.is_call:
        return tuple(whole)
    box = bound.boxes[stage.number]
    for axis, index in enumerate(stage.statement.indices):  # type: ignore[union-attr]
        if index.bare is not None:
            lo, hi = box[index.bare]
            whole[axis] = lo, max(lo, hi)
    return tuple(whole)


def _whole_axes(tensor: str, need: Need, domain: Sequence[Span], spans: dict[str, Span]) -> Need:
    """The need with a variable for each data-dependent subscript: it takes the whole axis."""
    indices: list[Expr | None] = []
    for axis, index in enumerate(need.indices):
        if index is None:
            name = f"{tensor}.{axis}''"
            spans[name] = domain[axis]
            index = Var(name)
        indices.append(index)
    return replace(need, indices=tuple(indices))


def finished(
    stage: Stage,
    prefix: tuple[str, ...],
    box: NeededBox,
    domain: tuple[Span, ...],
    around: Mapping[str, Span],
    bound: ranges.Bound,
) -> Placed:
    """The loops of a stage whose box is known."""
    if isinstance(stage.statement, CALLS):
        return Placed(stage, prefix, box, domain, Roots({}, {}, ()), {}, {}, ())
    reach: dict[str, int] = {}
    limits: dict[str, Expr] = {}
    starts: dict[str, Expr] = {}
    axes = {index.bare: axis for axis, index in enumerate(stage.statement.indices)}
    for loop, index in stage.roots.items():
        lo, hi = bound.boxes[stage.number][index]
        starts[loop], reach[loop] = Const(lo), max(0, hi - lo)
        if index in axes:
            axis = axes[index]
            starts[loop], reach[loop] = box.lows[axis], box.extents[axis]
            if box.sizes[axis] != Const(box.extents[axis]):
                limits[loop] = box.sizes[axis]
    roots = unfold(stage, reach, limits)
    spans = {name: around[name] for name in prefix}
    spans |= {qualified(stage.name, loop): (0, roots.extents[loop]) for loop in stage.leaves}
    values = {index: plus(starts[loop], roots.values[loop]) for loop, index in stage.roots.items()}
    return Placed(stage, prefix, box, domain, roots, spans, values, roots.guards)


def region_of(placed: Placed) -> Region:
    """The region in the names of the schedule: qualified only if two loops of the path have the same name."""
    names = plain_names(placed.prefix)
    own_names = {name: Var(own) for name, own in names.items()}
    box = placed.box
    extents, counts = box.extents, box.counts
    total_exact = counts.total_box if counts.total_exact is None else counts.total_exact
    return Region(
        prefix=tuple(names[name] for name in placed.prefix),
        min=tuple(low.substitute(own_names) for low in box.lows),
        extent=extents,
        extent_expr=tuple(size.substitute(own_names) for size in box.sizes),
        stride=counts.strides,
        full_tile=tuple(size == Const(extent) for size, extent in zip(box.sizes, extents, strict=True)),
        in_bounds=_in_bounds(placed),
        box_is_exact=counts.total_box == counts.total_exact,
        overlap={names[name]: _overlap(placed, name) for name in placed.prefix},
        loops={loop: placed.roots.extents[loop] for loop in placed.stage.leaves} if placed.roots.extents else {},
        prefix_extents=tuple(placed.spans[name][1] for name in placed.prefix),
        guards=tuple(guard.substitute(_inside(placed)) for guard in placed.guards),
        instances=counts.instances,
        total_box=counts.total_box,
        total_exact=total_exact,
        distinct=counts.distinct,
    )


def _inside(placed: Placed) -> dict[str, Expr]:
    """The names of the loops around a stage and of its own, as written."""
    leaves = [qualified(placed.stage.name, loop) for loop in placed.stage.leaves]
    return {name: Var(own) for name, own in plain_names([*placed.prefix, *leaves]).items()}


def plain_names(prefix: Sequence[str]) -> dict[str, str]:
    """Each qualified name without its stage, unless that is ambiguous."""
    short = {name: plain(name) for name in prefix}
    taken = list(short.values())
    return {name: own if taken.count(own) == 1 else shown(name) for name, own in short.items()}


def _in_bounds(placed: Placed) -> tuple[tuple[bool, bool], ...]:
    if not placed.box.tables:
        whole = placed.box.counts.total_exact is not None
        return tuple((whole, whole) for _ in placed.domain)
    found: list[tuple[bool, bool]] = []
    for table, extent, (lo, hi) in zip(placed.box.tables, placed.box.extents, placed.domain, strict=True):
        lows = table.low[table.live]
        found.append((bool((lows >= lo).all()), bool((lows + extent <= hi).all())))
    return tuple(found)


def _overlap(placed: Placed, name: str) -> tuple[int, ...]:
    """The maximum number of indices of each axis that neighbouring iterations of a loop share."""
    if not placed.box.tables:
        return placed.box.extents
    shared: list[int] = []
    for table, extent in zip(placed.box.tables, placed.box.extents, strict=True):
        steps = [own for own in table.grid.names if own == name or own.startswith(f"{name}.__")]
        if not steps or steps[-1].endswith(".__q"):
            shared.append(extent)
            continue
        dimension = table.grid.names.index(steps[-1])
        low, size, live = (np.moveaxis(values, dimension, 0) for values in (table.low, table.extent, table.live))
        both = np.minimum(low[1:] + size[1:], low[:-1] + size[:-1]) - np.maximum(low[1:], low[:-1])
        shared.append(int(np.where(live[1:] & live[:-1], both, 0).max(initial=0)))
    return tuple(shared)
