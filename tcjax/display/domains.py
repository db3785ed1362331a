"""The iteration domain of a statement on a plane of two of its indices: which points take part, in which tiles."""

from collections.abc import Iterator
from typing import Final

from .. import ir, planning
from ..markup import Axis, Layer, Plane, Rectangle
from ..planning.blocked.domains import spans
from ..planning.data.groups import Blocks
from ..planning.data.nests import LoopSchedule
from ..planning.data.nodes import LoopNest, Node, operands
from ..symbolic import IndexVar
from .cells import FINEST, where
from .points import Points, variables
from .subjects import Drawn, Kind, Subject


def _planes(subject: Subject) -> Drawn:
    for heading, points in subject.statements:
        plane = None if points.is_empty else _plane(points)
        if plane is not None:
            yield heading, plane


def _plane(points: Points) -> Plane | None:
    """The domain, where conditions cut it or tiles divide it; otherwise it is the box given by the ranges."""
    nest = _nest(points.stage)
    steps = {} if nest is None else {index: n for index, n in _steps(nest, points).items() if index in points.box}
    deciding = variables(points.condition)
    if not deciding and not steps:
        return None
    axes = _axes(points, list(steps), deciding)
    if axes is None:
        return None
    row, column = axes
    rows, columns = _axis(points, row), _axis(points, column)
    middle = points.middle()

    def takes_part(i: int, j: int) -> bool:
        return points.holds({**middle, row: i, column: j})

    layers = [Layer("takes part", where(takes_part, rows, columns), 0)] if deciding else []
    blocks = tuple(_blocks(rows, columns, steps.get(row), steps.get(column)))
    if blocks:
        left_out = tuple(_left_out(nest, blocks, rows, steps.get(row)))
        if left_out:
            layers.append(Layer("skipped blocks", left_out, 2, hatch=True))
        layers.append(Layer(_said(steps), blocks, 1, outline=True))
    others = [index for index in deciding - {row, column} if index in middle]
    at = "".join(f", {index} = {middle[index]}" for index in sorted(others, key=str))
    return Plane(f"{ir.tensor_name(points.statement.target)}: its points{at}", rows, columns, tuple(layers))


def _axis(points: Points, index: IndexVar) -> Axis:
    lo, hi = points.box[index]
    return Axis(str(index), lo, hi)


def _axes(points: Points, stepped: list[IndexVar], deciding: frozenset[IndexVar]) -> tuple[IndexVar, IndexVar] | None:
    """The indices drawn downwards and to the right: an index of the result and a loop if both matter."""
    long = [index for index in (*points.left, *points.loops) if points.extent(index) > 1]
    matter = [index for index in long if index in deciding or index in stepped]
    order = [*matter, *(index for index in long if index not in matter)]
    outer = [index for index in order if index in points.left]
    inner = [index for index in order if index in points.loops]
    if outer and inner and (inner[0] in matter or len([i for i in outer if i in matter]) < 2):
        return outer[0], inner[0]
    return (order[0], order[1]) if len(order) >= 2 else None


# ---------------------------------------------------------------- tiles


def _nest(stage: planning.Compute | None) -> LoopNest | None:
    pending: list[Node] = [] if stage is None else [stage.value]
    while pending:
        node = pending.pop()
        if isinstance(node, LoopNest):
            return node
        pending.extend(operands(node))
    return None


def _steps(node: LoopNest, points: Points) -> dict[IndexVar, int]:
    """Values of each index in one iteration of a nest's loops, or in one block of a pass."""
    form = node.whole.schedule
    if isinstance(form, Blocks):
        return _cuts(node, form, points)
    if form.whole:
        return {}
    steps = {form.loop: form.rows * form.unroll}
    return steps if form.tile is None else {**steps, form.tile[0]: form.tile[1]}


def _cuts(node: LoopNest, blocks: Blocks, points: Points) -> dict[IndexVar, int]:
    """The blocks of a pass in a statement's own indices: statements that share a pass may name them differently."""
    nest = node.nest
    ranges = nest.ranges
    names = dict(zip(nest.axes, node.axes, strict=True))
    alike = [index for index in points.loops if points.box[index] == ranges[blocks.loop]]
    if alike:
        names[blocks.loop] = blocks.loop if blocks.loop in alike else alike[0]
    cut = {axis: size for axis, size in blocks.tile if axis in names}
    lo, hi = ranges[blocks.loop]
    if blocks.loop in names and (cut or blocks.width < hi - lo):
        cut[blocks.loop] = blocks.width
    return {names[index]: size for index, size in cut.items()}


def _left_out(
    nest: LoopNest | None, blocks: tuple[Rectangle, ...], rows: Axis, down: int | None
) -> Iterator[Rectangle]:
    """The blocks that the loop skips, because none of their points takes part."""
    if nest is None or down is None or nest.nest.reduce.guard is None:
        return
    form = nest.whole.schedule
    if isinstance(form, Blocks):
        cut = dict(form.tile)
        own = next((axis for axis, size in cut.items() if size == down), None)
        if own is None or len(cut) > 1:
            return
        form = LoopSchedule(form.loop, form.width, 1, tile=(own, down))
    if form.tile is None or form.tile[1] != down:
        return
    visited = spans(nest.nest, form)
    for block in blocks:
        (top, _), (left, right) = block
        first, end = visited[(top - rows.lo) // down]
        if right <= first or end <= left:
            yield block


def _said(steps: dict[IndexVar, int]) -> str:
    return f"blocks of {' x '.join(f'{step} {index}' for index, step in steps.items())}"


def _blocks(rows: Axis, columns: Axis, down: int | None, across: int | None) -> Iterator[Rectangle]:
    """The blocks, unless they are too small to be visible."""
    if down is None and across is None:
        return
    down, across = down or rows.extent, across or columns.extent
    if max(-(-rows.extent // down), -(-columns.extent // across)) > FINEST:
        return
    for top in range(rows.lo, rows.hi, down):
        for left in range(columns.lo, columns.hi, across):
            yield (top, min(top + down, rows.hi)), (left, min(left + across, columns.hi))


def _tiles(subject: Subject) -> Drawn:
    """The tiles of a scheduled result, and what one tile needs."""
    tiles = dict(_tiled(subject))
    for heading, points in subject.statements:
        if points.is_empty:
            continue
        tile = tiles.get(points.statement.target.name)
        plane = None if tile is None else _tile_plane(tile, points)
        if plane is not None:
            yield heading, plane
        needed = subject.needed.get(points.statement.target.name)
        if needed is not None:
            yield heading, needed


def _tiled(subject: Subject) -> Iterator[tuple[str, planning.Compute]]:
    """Statements that a schedule computes tile by tile, by target, except those computed inside another's loops."""
    for stage in subject.plan.scheduled or ():
        if isinstance(stage, planning.Tiled):
            own = [compute for compute, loops in stage.computes() if loops and compute.target == stage.target]
            if own:
                yield stage.target, own[-1]


def _tile_plane(stage: planning.Compute, points: Points) -> Plane | None:
    """The result in the tiles of a schedule, on its last two axes that are tiled or long."""
    piece, shape = stage.piece, points.bound.shapes[stage.target]
    cut = [n for n, (part, extent) in enumerate(zip(piece, shape, strict=True)) if 0 < part < extent]
    if not cut:
        return None
    drawn = sorted({*cut, *(n for n, extent in enumerate(shape) if extent > 1)}, key=lambda n: (n not in cut, -n))[:2]
    drawn.sort()
    axes = [Axis(str(points.statement.indices[n]), *_placed(points, n)) for n in drawn]
    rows = axes[0] if len(axes) == 2 else Axis("", 0, 1)
    columns = axes[-1]
    steps = [piece[n] for n in drawn]
    blocks = tuple(_blocks(rows, columns, steps[0] if len(axes) == 2 else None, steps[-1]))
    said = " x ".join(map(str, steps))
    title = f"{stage.target} in tiles"
    return Plane(title, axes[0] if len(axes) == 2 else None, columns, (Layer(f"tiles of {said}", blocks, 1, True),))


def _placed(points: Points, dimension: int) -> tuple[int, int]:
    name = points.statement.target.name
    origin = points.bound.origins[name][dimension]
    return origin, origin + points.bound.shapes[name][dimension]


DOMAIN: Final = Kind(
    "domain",
    _planes,
    "which points take part, and in which blocks",
    lambda _: "every point of its ranges takes part; a guard on indices, such as `where j <= i`, would exclude some",
)
TILES: Final = Kind(
    "tiles",
    _tiles,
    "the tiles of a schedule",
    lambda _: "tiles come from a schedule: k.with_schedule(...).picture(...)",
)
