"""Lines in pictures: arrows and hatches, drawn without ids, which would clash on pages with several pictures."""

from math import atan2, cos, hypot, pi, sin
from typing import Final

from .elements import Element, element
from .style import COLOURS, LIGHT

Point = tuple[float, float]

_HEAD: Final = 5.5
_GAP: Final = 6.0
_SPACING: Final = 5.0
# An arc rises by this share of its length, up to a limit.
_BEND: Final = 0.45
_MOST_BEND: Final = 44.0


def arrow(start: Point, end: Point, colour: int, *, is_arc: bool = False) -> list[Element]:
    """A line with a head at its end; an arc rises above both ends."""
    (x1, y1), (x2, y2) = start, end
    length = hypot(x2 - x1, y2 - y1)
    stroke = _stroke(colour)
    if is_arc and length:
        rise = min(_BEND * length + 8, _MOST_BEND)
        y1, y2 = y1 - 5, y2 - 5
        middle = (x1 + x2) / 2, min(y1, y2) - rise
        path = f"M{x1:.1f} {y1:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {x2:.1f} {y2:.1f}"
        turn = atan2(y2 - middle[1], x2 - middle[0])
    else:
        # The middle of a cell is left free for its label.
        gap = min(_GAP, length / 4)
        dx, dy = (gap * (x2 - x1) / length, gap * (y2 - y1) / length) if length else (0.0, 0.0)
        x1, y1, x2, y2 = x1 + dx / 2, y1 + dy / 2, x2 - dx, y2 - dy
        path = f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
        turn = atan2(y2 - y1, x2 - x1)
    return [
        element("path", d=path, fill="none", stroke_width=1.3, **stroke),
        element("path", d=_head((x2, y2), turn), fill="none", stroke_width=1.3, **stroke),
    ]


def _head(tip: Point, turn: float) -> str:
    ends = [(tip[0] - _HEAD * cos(turn + side), tip[1] - _HEAD * sin(turn + side)) for side in (pi / 6, -pi / 6)]
    (ax, ay), (bx, by) = ends
    return f"M{ax:.1f} {ay:.1f}L{tip[0]:.1f} {tip[1]:.1f}L{bx:.1f} {by:.1f}"


def hatched(x: float, y: float, wide: float, high: float, colour: int) -> Element:
    """Slanted lines inside a rectangle."""
    lines: list[str] = []
    # Lines with x + y constant, which continue in adjacent rectangles.
    at = (x + y) // _SPACING * _SPACING + _SPACING
    while at < x + y + wide + high:
        left = max(x, at - y - high)
        right = min(x + wide, at - y)
        if right > left:
            lines.append(f"M{left:.1f} {at - left:.1f}L{right:.1f} {at - right:.1f}")
        at += _SPACING
    return element("path", d="".join(lines), fill="none", stroke_width=1.0, **_stroke(colour))


def _stroke(colour: int) -> dict[str, str]:
    """A class for the style sheet, and a colour in case there is none."""
    number = colour % COLOURS
    return {"class_": f"s{number}", "stroke": LIGHT[f"c{number}"]}
