"""A schedule as text and as a drawing: the loops, where each stage is computed, and what one tile needs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from ... import ir, markup, ranges
from .grids import Span
from .regions import Region, domain_of, infer_regions
from .stages import Stage, Stages

# The size of a text drawing in characters, and the maximum number of tiles outlined in an SVG.
_COLUMNS: Final = 64
_ROWS: Final = 24
_MOST_TILES: Final = 1024

Rectangle = tuple[Span, Span]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The part of a stage that one iteration needs, on the plane of two of its axes (one: the second has a single row).

    `whole` is everything that the stage computes, `tile` the box of the iteration `at`, `shared` the parts of it that
    neighbouring iterations recompute, and `tiles` are the boxes of all iterations, unless there are too many.
    """

    stage: str
    axes: tuple[str, ...]
    at: str
    whole: Rectangle
    tile: Rectangle
    shared: tuple[Rectangle, ...]
    tiles: tuple[Rectangle, ...]

    def scale(self) -> tuple[int, int]:
        """The number of rows and columns per character."""
        (top, bottom), (left, right) = self.whole
        return max(1, -(-(bottom - top) // _ROWS)), max(1, -(-(right - left) // _COLUMNS))

    def legend(self) -> str:
        high, wide = self.scale()
        several = (
            "" if high == wide == 1 else f" (each {high} x {wide} elements)" if high > 1 else f" (each {wide} elements)"
        )
        return f"# this tile, + computed again, . the rest{several}"

    def text(self) -> list[str]:
        """``#`` only this tile, ``+`` also another's, ``.`` the rest; a character may stand for several elements."""
        (top, bottom), (left, right) = self.whole
        high, wide = self.scale()
        lines: list[str] = []
        for row in range(top, bottom, high):
            marks = [self._mark((row, row + high), (column, column + wide)) for column in range(left, right, wide)]
            lines.append("".join(marks))
        return lines

    def _mark(self, rows: Span, columns: Span) -> str:
        cell = (rows, columns)
        if not _meet(cell, self.tile):
            return "."
        return "+" if any(_meet(cell, shared) for shared in self.shared) else "#"

    def plane(self) -> markup.Plane:
        """The drawing as layers: outlines of all tiles, this tile, and the recomputed parts."""
        (top, bottom), (left, right) = self.whole
        layers = [markup.Layer("tiles", self.tiles, 2, outline=True)] if self.tiles else []
        layers.append(markup.Layer("this tile", (self.tile,), 0))
        if self.shared:
            layers.append(markup.Layer("computed again", self.shared, 4, opacity=0.8))
        rows = markup.Axis(self.axes[0], top, bottom) if len(self.axes) == 2 else None
        columns = markup.Axis(self.axes[-1], left, right)
        return markup.Plane(f"{self.stage}({', '.join(self.axes)}) for {self.at}", rows, columns, tuple(layers))

    def svg(self) -> str:
        """A document without scripts."""
        return markup.standalone(markup.plane_svg(self.plane()))


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing of a schedule: `str` gives text, a notebook shows SVG."""

    text: str
    drawings: tuple[Drawing, ...]

    def svg(self) -> str:
        """Every drawing, as SVG."""
        return "\n".join(drawing.svg() for drawing in self.drawings)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [markup.code(self.text.partition(_RULE)[0].rstrip())]
        for drawing in self.drawings:
            plane = drawing.plane()
            parts.append(markup.figure(plane.title, markup.plane_svg(plane)))
        return str(markup.block(*parts))


_RULE: Final = "\n\n"


def loops(stages: Stages) -> Picture:
    """The loop nest of stages that have been checked."""
    return Picture("\n".join(_nest(stages, {})), ())


def draw(stages: Stages, bound: ranges.Bound) -> Picture:
    """The loop nest, and what one tile of each inner stage needs. The stages have been checked."""
    regions = infer_regions(stages, bound)
    drawings = [
        drawing
        for stage in stages.values()
        if stage.attach is not None and (drawing := _drawing(stage, regions[stage.name], bound)) is not None
    ]
    blocks = ["\n".join(_nest(stages, regions))]
    for drawing in drawings:
        heading = f"{drawing.stage}({', '.join(drawing.axes)}) for {drawing.at}: {drawing.legend()}"
        blocks.append("\n".join([heading, *(f"  {line}" for line in drawing.text())]))
    return Picture(_RULE.join(blocks), tuple(drawings))


# ------------------------------------------------------------ the loops as text


def _nest(stages: Stages, regions: Mapping[str, Region]) -> Iterator[str]:
    for stage in stages.values():
        if stage.attach is None:
            yield from _of_stage(stage, stages, regions, "")


def _of_stage(stage: Stage, stages: Stages, regions: Mapping[str, Region], margin: str) -> Iterator[str]:
    region = regions.get(stage.name)
    said = f"  {region}" if region is not None and not stage.is_call else ""
    yield f"{margin}{stage.name}:{said}"
    margin += "  "
    for loop in stage.leaves:
        extent = "" if region is None else f" in 0:{region.loops[loop]}"
        yield f"{margin}for {loop}{extent}"
        margin += "  "
        for inner in stages.values():
            if inner.attach is not None and (inner.attach.consumer, inner.attach.loop) == (stage.name, loop):
                shared = "".join(f" (one copy for all {name})" for name in inner.attach.relax)
                lines = list(_of_stage(inner, stages, regions, margin))
                yield f"{lines[0]}{shared}"
                yield from lines[1:]
    if region is not None and region.guards:
        yield f"{margin}if {' and '.join(map(str, region.guards))}"
        margin += "  "
    for line in ir.printer.show_statement(stage.statement).splitlines():
        yield f"{margin}{line}"


# ------------------------------------------------------------ what one tile needs


def _drawing(stage: Stage, region: Region, bound: ranges.Bound) -> Drawing | None:
    """None if the boxes vary along no axis, or nothing is needed."""
    assert isinstance(stage.statement, (ir.Define, ir.Accumulate))
    domain = domain_of(stage, bound)
    long = [axis for axis, (lo, hi) in enumerate(domain) if hi - lo > 1]
    varying = [axis for axis in long if 0 < region.extent[axis] < domain[axis][1] - domain[axis][0]]
    # A plane of two axes is drawn completely; of more, those along which the box is only a part.
    drawn = (long if len(long) <= 2 else varying)[-2:]
    if not varying or not region.instances:
        return None
    spans = _extents(region)
    middle = {loop: extent // 2 for loop, extent in spans.items()}
    tile = _rectangle(region, drawn, middle)
    if tile is None:
        middle = {loop: 0 for loop in spans}
        tile = _rectangle(region, drawn, middle)
    if tile is None:
        return None
    moving = frozenset().union(*(expr.variables for expr in (*region.min, *region.extent_expr)))
    loops = [loop for loop in region.prefix if loop in moving][-4:]
    # Iterations of a loop that does not move the box recompute all of it.
    again = any(spans[loop] > 1 for loop in region.prefix if loop not in moving)
    shared: dict[Rectangle, None] = {tile: None} if again else {}
    for steps in product((-1, 0, 1), repeat=len(loops)):
        beside = middle | {loop: middle[loop] + step for loop, step in zip(loops, steps, strict=True)}
        if any(steps) and all(0 <= beside[loop] < spans[loop] for loop in loops):
            other = _rectangle(region, drawn, beside)
            common = other and _common(tile, other)
            # Parts shared only with neighbours along other axes are not on this plane.
            if common and _same_elsewhere(region, drawn, middle, beside):
                shared.setdefault(common)
    return Drawing(
        stage=stage.name,
        axes=tuple(str(stage.statement.indices[axis]) for axis in drawn),
        at=", ".join(f"{loop} = {value}" for loop, value in middle.items()) or "all",
        whole=_plane([domain[axis] for axis in drawn]),
        tile=tile,
        shared=tuple(shared),
        tiles=tuple(_tiles(region, drawn, middle, loops, spans)),
    )


def _extents(region: Region) -> dict[str, int]:
    return dict(zip(region.prefix, region.prefix_extents, strict=True))


def _tiles(
    region: Region, varying: Sequence[int], middle: Mapping[str, int], loops: Sequence[str], spans: Mapping[str, int]
) -> Iterator[Rectangle]:
    count = 1
    for loop in loops:
        count *= spans[loop]
    if count > _MOST_TILES:
        return
    seen: set[Rectangle] = set()
    for values in product(*(range(spans[loop]) for loop in loops)):
        point = {**middle, **dict(zip(loops, values, strict=True))}
        tile = _rectangle(region, varying, point)
        if tile is not None and tile not in seen and _same_elsewhere(region, varying, middle, point):
            seen.add(tile)
            yield tile


def _rectangle(region: Region, axes: Sequence[int], point: Mapping[str, int]) -> Rectangle | None:
    sides: list[Span] = []
    for axis in axes:
        low, extent = region.min[axis].evaluate(point), region.extent_expr[axis].evaluate(point)
        if extent <= 0:
            return None
        sides.append((low, low + extent))
    return _plane(sides)


def _plane(sides: Sequence[Span]) -> Rectangle:
    return (sides[0], sides[1]) if len(sides) == 2 else ((0, 1), sides[0])


def _same_elsewhere(region: Region, axes: Sequence[int], one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Whether two boxes begin at the same index of every axis that is not drawn."""
    return all(low.evaluate(one) == low.evaluate(other) for axis, low in enumerate(region.min) if axis not in axes)


def _common(one: Rectangle, other: Rectangle) -> Rectangle | None:
    rows, columns = ((max(a[0], b[0]), min(a[1], b[1])) for a, b in zip(one, other, strict=True))
    return (rows, columns) if rows[0] < rows[1] and columns[0] < columns[1] else None


def _meet(one: Rectangle, other: Rectangle) -> bool:
    return _common(one, other) is not None
