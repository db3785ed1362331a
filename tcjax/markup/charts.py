"""Stacked bars in SVG, one below the other, with an optional line for a limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .elements import Element, element
from .sheets import picture
from .style import COLOURS, LIGHT

_WIDTH: Final = 340.0
_BAR: Final = 13.0
_STEP: Final = 36.0
_LINE: Final = 17.0
_LETTER: Final = 7.0
# A limit more than this many times the longest bar is written, but not drawn.
_FAR: Final = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """The label of a bar, its parts, and their total."""

    name: str
    parts: tuple[float, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit for bars."""

    value: float
    text: str


def bars_svg(title: str, bars: Sequence[Bar], parts: Sequence[str], limit: Limit | None = None) -> Element:
    """Each bar below its name, a legend of the parts, and the limit as a line."""
    longest = max((sum(bar.parts) for bar in bars), default=0.0)
    drawn = limit is not None and limit.value <= _FAR * longest
    most = (max(longest, limit.value) if limit is not None and drawn else longest) or 1.0
    shapes: list[Element] = [element("title", title)]
    for number, bar in enumerate(bars):
        y = number * _STEP
        shapes.append(element("text", _short(bar.name, len(bar.text)), x=0, y=y + 13))
        shapes.append(element("text", bar.text, x=_WIDTH, y=y + 13, text_anchor="end", class_="faint"))
        frame = {"x": 0, "y": y + 18, "width": _WIDTH, "height": _BAR, "class_": "frame", "fill": LIGHT["panel"]}
        shapes.append(element("rect", **frame))
        x = 0.0
        for kind, part in enumerate(bar.parts):
            wide = _WIDTH * part / most
            if wide > 0:
                place = {"x": x, "y": y + 18, "width": wide, "height": _BAR, "shape_rendering": "crispEdges"}
                shapes.append(element("rect", **place, **_paint(kind)))
            x += wide
    bottom = len(bars) * _STEP + 16
    x = 0.0
    for kind, name in enumerate(parts):
        wide = 18 + _LETTER * len(name) + 14
        if x and x + wide > _WIDTH:
            x, bottom = 0.0, bottom + _LINE
        shapes.append(element("rect", x=x, y=bottom - 9, width=12, height=10, **_paint(kind)))
        shapes.append(element("text", name, x=x + 18, y=bottom))
        x += wide
    if limit is not None:
        bottom += _LINE
        shapes.append(element("text", limit.text, x=18 if drawn else 0, y=bottom))
        if drawn:
            at = min(_WIDTH * limit.value / most, _WIDTH - 1)
            given = {"class_": "roof", "stroke": LIGHT["ink"], "stroke_width": 1.6}
            tops = [number * _STEP + 16 for number in range(len(bars))]
            marks = [(at, top) for top in tops] + [(6.0, bottom - 13)]
            shapes += [element("line", x1=x, y1=top, x2=x, y2=top + _BAR + 3, **given) for x, top in marks]
    spoken = "; ".join([title, *(f"{bar.name}: {bar.text}" for bar in bars), *([limit.text] if limit else [])])
    return picture(_WIDTH + 2, bottom + 6, shapes, spoken)


def _short(name: str, beside: int) -> str:
    """The name, as far as there is room next to its text."""
    most = max(8, int(_WIDTH / _LETTER) - beside - 2)
    return name if len(name) <= most else f"{name[: most - 2]}.."


def _paint(kind: int) -> dict[str, str]:
    number = kind % COLOURS
    return {"class_": f"c{number}", "fill": LIGHT[f"c{number}"]}
