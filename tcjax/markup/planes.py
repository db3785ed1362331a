"""Planes of index values, in SVG: coloured or hatched regions, labels in cells, arrows between cells."""

from dataclasses import dataclass
from typing import Final

from .elements import Element, element
from .sheets import picture
from .strokes import arrow, hatched
from .style import COLOURS, LIGHT

Span = tuple[int, int]
# The rows and the columns of a rectangle, both half-open.
Rectangle = tuple[Span, Span]

_WIDTH: Final = 300.0
_HEIGHT: Final = 220.0
_LARGEST_CELL: Final = 26.0
_LEAST_SIDE: Final = 18.0
_LEAST_MARK: Final = 3.0
_LEFT: Final = 52.0
_TOP: Final = 8.0
_LETTER: Final = 7.0
# Letters of a label that fit in a cell of the largest size.
_LABEL: Final = 11.0
# Height of a row with arrows from row to row.
_LEAST_ROW: Final = 26.0
# Room above a line of cells for the arcs of its arrows.
_ARCS: Final = 34.0


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of a plane, from `lo` to `hi`."""

    name: str
    lo: int
    hi: int

    @property
    def extent(self) -> int:
        return max(1, self.hi - self.lo)


@dataclass(frozen=True, slots=True)
class Layer:
    """Rectangles of one colour, and their name; `outline` shows only borders, `hatch` slanted lines in them."""

    name: str
    rectangles: tuple[Rectangle, ...]
    colour: int
    outline: bool = False
    opacity: float = 0.6
    hatch: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """A few letters in the middle of a rectangle."""

    place: Rectangle
    text: str


@dataclass(frozen=True, slots=True)
class Arrows:
    """Arrows of one colour, each from the middle of a rectangle to that of another, and their name."""

    name: str
    pairs: tuple[tuple[Rectangle, Rectangle], ...]
    colour: int


@dataclass(frozen=True, slots=True)
class Plane:
    """Index values as positions: rows downwards, columns to the right; a line has no `rows`."""

    title: str
    rows: Axis | None
    columns: Axis
    layers: tuple[Layer, ...]
    labels: tuple[Label, ...] = ()
    arrows: tuple[Arrows, ...] = ()

    @property
    def spoken(self) -> str:
        """The title and the legend, for screen readers."""
        return "; ".join([self.title, *(part.name for part in (*self.layers, *self.arrows))])


def cell(row: int, column: int) -> Rectangle:
    """One position as a rectangle."""
    return (row, row + 1), (column, column + 1)


def plane_svg(plane: Plane) -> Element:
    """The plane in a frame, the ends of its axes next to it, and a legend."""
    rows = plane.rows or Axis("", 0, 1)
    width, height = _sides(rows, plane.columns, plane.rows is None)
    if plane.arrows and plane.rows is not None:
        # Arrows between neighbouring rows need room.
        height = max(height, min(rows.extent * _LEAST_ROW, _HEIGHT))
    grid = _Grid(rows, plane.columns, width, height, _TOP + (_ARCS if plane.arrows and plane.rows is None else 0.0))
    shapes: list[Element] = [element("title", plane.title)]
    frame = {"x": _LEFT, "y": grid.top, "width": width, "height": height}
    shapes.append(element("rect", **frame, class_="frame", fill=LIGHT["panel"]))
    for layer in plane.layers:
        for rectangle in layer.rectangles:
            shapes += _shown(layer, *grid.box(rectangle))
    shapes += _labels(plane, grid)
    for label in plane.labels:
        shapes += _inside(label, *grid.box(label.place))
    for group in plane.arrows:
        for start, end in group.pairs:
            shapes += arrow(grid.middle(start), grid.middle(end), group.colour, is_arc=plane.rows is None)
    bottom = grid.top + height + 34
    names = [part.name for part in (*plane.layers, *plane.arrows)]
    total = max(_LEFT + width + 26.0, *(_LEFT + 22 + _LETTER * len(name) for name in names), 120.0)
    for part in (*plane.layers, *plane.arrows):
        if isinstance(part, Layer):
            shapes += _shown(part, _LEFT, bottom - 9, 12.0, 10.0)
        else:
            shapes += arrow((_LEFT, bottom - 4), (_LEFT + 13, bottom - 4), part.colour)
        shapes.append(element("text", part.name, x=_LEFT + 18, y=bottom))
        bottom += 17
    return picture(total, bottom - 6, shapes, plane.spoken)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Coordinates of positions on the sheet."""

    rows: Axis
    columns: Axis
    width: float
    height: float
    top: float

    def box(self, rectangle: Rectangle) -> tuple[float, float, float, float]:
        """The left and the upper edge, the width and the height, large enough to be visible."""
        (top, bottom), (left, right) = rectangle
        across, down = self.width / self.columns.extent, self.height / self.rows.extent
        x, wide = _seen((left - self.columns.lo) * across, (right - left) * across, self.width)
        y, high = _seen((top - self.rows.lo) * down, (bottom - top) * down, self.height)
        return _LEFT + x, self.top + y, wide, high

    def middle(self, rectangle: Rectangle) -> tuple[float, float]:
        x, y, wide, high = self.box(rectangle)
        return x + wide / 2, y + high / 2


def _shown(layer: Layer, x: float, y: float, wide: float, high: float) -> list[Element]:
    place = {"x": x, "y": y, "width": wide, "height": high, "shape_rendering": "crispEdges"}
    shapes = [element("rect", **place, **_paint(layer))]
    return [*shapes, hatched(x, y, wide, high, layer.colour)] if layer.hatch else shapes


def _inside(label: Label, x: float, y: float, wide: float, high: float) -> list[Element]:
    """The label, smaller in a small cell; none if it would not fit."""
    size = min(_LABEL, 1.6 * wide / max(1, len(label.text)), 0.9 * high)
    if size < 5:
        return []
    place = {"x": x + wide / 2, "y": y + high / 2 + 0.36 * size, "text_anchor": "middle"}
    return [element("text", label.text, **place, style=f"font-size:{size:.1f}px")]


def _seen(start: float, length: float, whole: float) -> tuple[float, float]:
    """A stretch wide enough to be visible, inside the whole."""
    if length >= _LEAST_MARK:
        return start, length
    middle = start + length / 2
    return min(max(0.0, middle - _LEAST_MARK / 2), whole - _LEAST_MARK), _LEAST_MARK


def _sides(rows: Axis, columns: Axis, is_line: bool) -> tuple[float, float]:
    """Pixels per cell: cells are square, unless one axis is much longer than the other."""
    scale = min(_WIDTH / columns.extent, _LARGEST_CELL if is_line else _HEIGHT / rows.extent, _LARGEST_CELL)
    width, height = columns.extent * scale, rows.extent * scale
    return max(width, _LEAST_SIDE * 2), _LEAST_SIDE if is_line else max(height, _LEAST_SIDE * 2)


def _labels(plane: Plane, grid: _Grid) -> list[Element]:
    labels: list[Element] = []
    rows, columns, top, height = grid.rows, grid.columns, grid.top, grid.height
    beside, below = _LEFT - 6, top + height + 14
    if plane.rows is not None:
        labels.append(element("text", str(rows.lo), x=beside, y=top + 10, text_anchor="end", class_="faint"))
        labels.append(element("text", str(rows.hi), x=beside, y=top + height, text_anchor="end", class_="faint"))
        labels.append(_beside(rows.name, top + height / 2, is_flat=height <= 44))
    labels.append(element("text", str(columns.lo), x=_LEFT, y=below, class_="faint"))
    end = _LEFT + grid.width
    labels.append(element("text", str(columns.hi), x=end, y=below, text_anchor="middle", class_="faint"))
    labels.append(element("text", columns.name, x=_LEFT + grid.width / 2, y=below, text_anchor="middle"))
    return labels


def _beside(name: str, y: float, *, is_flat: bool) -> Element:
    """The label of the rows; a long one is rotated upwards."""
    if len(name) <= 3:
        return element("text", name, x=_LEFT - (24 if is_flat else 6), y=y + 4, text_anchor="end")
    return element("text", name, text_anchor="middle", transform=f"translate({_LEFT - 24:.0f} {y:.0f}) rotate(-90)")


def _paint(layer: Layer) -> dict[str, str | float]:
    """A class for the style sheet, and a colour in case there is none."""
    number = layer.colour % COLOURS
    colour = LIGHT[f"c{number}"]
    if layer.outline:
        return {"class_": f"s{number}", "fill": "none", "stroke": colour, "stroke_width": 1.0}
    opacity = 0.12 if layer.hatch else layer.opacity
    return {"class_": f"c{number}", "fill": colour, "fill_opacity": opacity}
