"""Planes of index values with coloured regions, in SVG."""

from dataclasses import dataclass
from typing import Final

from .elements import Element, element
from .sheets import picture
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
    """Rectangles of one colour, and what they are; `outline` shows only their borders."""

    name: str
    rectangles: tuple[Rectangle, ...]
    colour: int
    outline: bool = False
    opacity: float = 0.6


@dataclass(frozen=True, slots=True)
class Plane:
    """Index values as positions: rows downwards, columns to the right; a line has no `rows`."""

    title: str
    rows: Axis | None
    columns: Axis
    layers: tuple[Layer, ...]


def plane_svg(plane: Plane) -> Element:
    """The plane in a frame, the ends of its axes beside it, and a legend."""
    rows = plane.rows or Axis("", 0, 1)
    width, height = _sides(rows, plane.columns, plane.rows is None)
    across, down = width / plane.columns.extent, height / rows.extent
    shapes: list[Element] = [element("title", plane.title)]
    shapes.append(element("rect", x=_LEFT, y=_TOP, width=width, height=height, class_="frame", fill=LIGHT["panel"]))
    for layer in plane.layers:
        for (top, bottom), (left, right) in layer.rectangles:
            x, wide = _seen((left - plane.columns.lo) * across, (right - left) * across, width)
            y, high = _seen((top - rows.lo) * down, (bottom - top) * down, height)
            place = {"x": _LEFT + x, "y": _TOP + y, "width": wide, "height": high, "shape_rendering": "crispEdges"}
            shapes.append(element("rect", **place, **_paint(layer)))
    shapes += _labels(plane, rows, width, height)
    bottom = _TOP + height + 34
    total = max(_LEFT + width + 26.0, *(_LEFT + 22 + _LETTER * len(layer.name) for layer in plane.layers), 120.0)
    for layer in plane.layers:
        shapes.append(element("rect", x=_LEFT, y=bottom - 9, width=12, height=10, **_paint(layer)))
        shapes.append(element("text", layer.name, x=_LEFT + 18, y=bottom))
        bottom += 17
    return picture(total, bottom - 6, shapes, plane.title)


def _seen(start: float, length: float, whole: float) -> tuple[float, float]:
    """A stretch that is wide enough to be seen, inside of the whole."""
    if length >= _LEAST_MARK:
        return start, length
    middle = start + length / 2
    return min(max(0.0, middle - _LEAST_MARK / 2), whole - _LEAST_MARK), _LEAST_MARK


def _sides(rows: Axis, columns: Axis, is_line: bool) -> tuple[float, float]:
    """Cells are squares, unless one axis is much longer than the other."""
    scale = min(_WIDTH / columns.extent, _LARGEST_CELL if is_line else _HEIGHT / rows.extent, _LARGEST_CELL)
    width, height = columns.extent * scale, rows.extent * scale
    return max(width, _LEAST_SIDE * 2), _LEAST_SIDE if is_line else max(height, _LEAST_SIDE * 2)


def _labels(plane: Plane, rows: Axis, width: float, height: float) -> list[Element]:
    labels: list[Element] = []
    beside, below = _LEFT - 6, _TOP + height + 14
    if plane.rows is not None:
        labels.append(element("text", str(rows.lo), x=beside, y=_TOP + 10, text_anchor="end", class_="faint"))
        labels.append(element("text", str(rows.hi), x=beside, y=_TOP + height, text_anchor="end", class_="faint"))
        labels.append(_beside(rows.name, _TOP + height / 2, is_flat=height <= 44))
    labels.append(element("text", str(plane.columns.lo), x=_LEFT, y=below, class_="faint"))
    end = _LEFT + width
    labels.append(element("text", str(plane.columns.hi), x=end, y=below, text_anchor="middle", class_="faint"))
    labels.append(element("text", plane.columns.name, x=_LEFT + width / 2, y=below, text_anchor="middle"))
    return labels


def _beside(name: str, y: float, *, is_flat: bool) -> Element:
    """The name of the rows; a long one reads upwards."""
    if len(name) <= 3:
        return element("text", name, x=_LEFT - (24 if is_flat else 6), y=y + 4, text_anchor="end")
    return element("text", name, text_anchor="middle", transform=f"translate({_LEFT - 24:.0f} {y:.0f}) rotate(-90)")


def _paint(layer: Layer) -> dict[str, str | float]:
    """A class for the style, and a colour for where no style is."""
    number = layer.colour % COLOURS
    colour = LIGHT[f"c{number}"]
    if layer.outline:
        return {"class_": f"s{number}", "fill": "none", "stroke": colour, "stroke_width": 1.0}
    return {"class_": f"c{number}", "fill": colour, "fill_opacity": layer.opacity}
