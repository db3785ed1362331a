"""Planes as text, for places without pictures."""

from typing import Final

from .planes import Axis, Layer, Plane, Span

# So many characters wide and high is a drawing.
_COLUMNS: Final = 64
_ROWS: Final = 24
_MARKS: Final = "#+*o%"


def plane_text(plane: Plane) -> str:
    """A mark for each layer, the last one on top, ``.`` for the rest; one character may cover several positions."""
    rows = plane.rows or Axis("", 0, 1)
    filled = [(mark, layer) for mark, layer in zip(_MARKS, (x for x in plane.layers if not x.outline), strict=False)]
    high = -(-rows.extent // _ROWS)
    wide = -(-plane.columns.extent // _COLUMNS)
    several = "" if high == wide == 1 else f" (each {high} x {wide})" if high > 1 else f" (each {wide})"
    legend = ", ".join(f"{mark} {layer.name}" for mark, layer in filled)
    lines = [f"{plane.title}: {legend}{several}" if legend else f"{plane.title}{several}"]
    for top in range(rows.lo, rows.lo + rows.extent, high):
        line = ""
        for left in range(plane.columns.lo, plane.columns.lo + plane.columns.extent, wide):
            found = [mark for mark, layer in filled if _meets(layer, (top, top + high), (left, left + wide))]
            line += found[-1] if found else "."
        lines.append(f"  {line}")
    return "\n".join(lines)


def _meets(layer: Layer, rows: Span, columns: Span) -> bool:
    return any(
        top < rows[1] and rows[0] < bottom and left < columns[1] and columns[0] < right
        for (top, bottom), (left, right) in layer.rectangles
    )
