"""Planes as text, for places without pictures."""

from typing import Final

from .planes import Arrows, Axis, Layer, Plane, Rectangle, Span

# Width and height of a drawing, in characters.
_COLUMNS: Final = 64
_ROWS: Final = 24
_MARKS: Final = "#+*o%"
_HATCHES: Final = "/x"
# Most arrows of a kind that are listed.
_MOST_ARROWS: Final = 6


def plane_text(plane: Plane) -> str:
    """A mark for each layer, the last one on top, ``.`` for the rest; one character may cover several positions.

    Labels replace marks if all of them fit; arrows are listed with their ends.
    """
    rows = plane.rows or Axis("", 0, 1)
    filled = _marked(plane.layers)
    high = -(-rows.extent // _ROWS)
    wide = -(-plane.columns.extent // _COLUMNS)
    several = "" if high == wide == 1 else f" (each {high} x {wide})" if high > 1 else f" (each {wide})"
    legend = ", ".join(f"{mark} {layer.name}" for mark, layer in filled)
    lines = [f"{plane.title}: {legend}{several}" if legend else f"{plane.title}{several}"]
    labels = _labels(plane) if high == wide == 1 else {}
    broad = max(map(len, labels.values()), default=0) + 1 if labels else 1
    for top in range(rows.lo, rows.lo + rows.extent, high):
        line = ""
        for left in range(plane.columns.lo, plane.columns.lo + plane.columns.extent, wide):
            found = [mark for mark, layer in filled if _meets(layer, (top, top + high), (left, left + wide))]
            line += labels.get((top, left), found[-1] if found else ".").rjust(broad)
        lines.append(f"  {line}")
    return "\n".join([*lines, *(_arrows(group, plane) for group in plane.arrows)])


def _marked(layers: tuple[Layer, ...]) -> list[tuple[str, Layer]]:
    """The layers that are more than outlines, each with its mark."""
    marks, hatches = iter(_MARKS), iter(_HATCHES)
    found = [(next(hatches if layer.hatch else marks, ""), layer) for layer in layers if not layer.outline]
    return [(mark, layer) for mark, layer in found if mark]


def _labels(plane: Plane) -> dict[tuple[int, int], str]:
    """The labels of single cells, if all fit into a line."""
    found = {
        (top, left): label.text
        for label in plane.labels
        for (top, bottom), (left, right) in (label.place,)
        if bottom - top == right - left == 1
    }
    broad = max(map(len, found.values()), default=0) + 1
    return found if plane.columns.extent * broad <= _COLUMNS + 16 else {}


def _arrows(group: Arrows, plane: Plane) -> str:
    told = [f"{_place(start, plane)} to {_place(end, plane)}" for start, end in group.pairs[:_MOST_ARROWS]]
    more = f", and {len(group.pairs) - _MOST_ARROWS} more" if len(group.pairs) > _MOST_ARROWS else ""
    return f"  -> {group.name}: {', '.join(told)}{more}"


def _place(place: Rectangle, plane: Plane) -> str:
    ends = [f"{lo}" if hi - lo == 1 else f"{lo}:{hi}" for lo, hi in (place if plane.rows else place[1:])]
    return f"({', '.join(ends)})" if len(ends) > 1 else ends[0]


def _meets(layer: Layer, rows: Span, columns: Span) -> bool:
    return any(
        top < rows[1] and rows[0] < bottom and left < columns[1] and columns[0] < right
        for (top, bottom), (left, right) in layer.rectangles
    )
