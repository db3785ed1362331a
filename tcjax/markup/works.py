"""Roofline plots in SVG: operations against bytes, which shows whether arithmetic or memory is the bottleneck."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Final

from .elements import Element, element
from .sheets import picture
from .style import COLOURS, LIGHT

_WIDTH: Final = 280.0
_HEIGHT: Final = 190.0
_LEFT: Final = 52.0
_TOP: Final = 8.0
# More lines of equal intensity, one for each power of ten, would stand in each other's way.
_MOST_LINES: Final = 6
_UNITS: Final = {0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}


@dataclass(frozen=True, slots=True)
class Work:
    """A cost: operations, and bytes moved."""

    name: str
    flops: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _Scale:
    """Powers of ten from the lower left corner, and of the upper right one."""

    x0: int
    x1: int
    y0: int
    y1: int

    def place(self, x: float, y: float) -> tuple[float, float]:
        across, up = (x - self.x0) / (self.x1 - self.x0), (y - self.y0) / (self.y1 - self.y0)
        return _LEFT + across * _WIDTH, _TOP + _HEIGHT - up * _HEIGHT


def work_svg(works: Sequence[Work]) -> Element:
    """A dot for each cost on logarithmic axes, with lines of 1, 10, 100... operations per byte."""
    shown = [(number, work) for number, work in enumerate(works) if work.flops > 0 and work.bytes > 0]
    scale = _Scale(*_decades([work.bytes for _, work in shown]), *_decades([work.flops for _, work in shown]))
    label = "operations against bytes moved"
    frame = element("rect", x=_LEFT, y=_TOP, width=_WIDTH, height=_HEIGHT, class_="frame", fill=LIGHT["panel"])
    shapes = [element("title", label), frame, *_lines(scale)]
    for number, work in shown:
        x, y = scale.place(log10(work.bytes), log10(work.flops))
        colour = number % COLOURS
        anchor, dx = ("end", -8) if x > _LEFT + _WIDTH * 0.7 else ("start", 8)
        shapes.append(element("circle", cx=x, cy=y, r=5, class_=f"c{colour}", fill=LIGHT[f"c{colour}"]))
        shapes.append(element("text", work.name, x=x + dx, y=y - 6, text_anchor=anchor))
    shapes += _labels(scale)
    return picture(_LEFT + _WIDTH + 10, _TOP + _HEIGHT + 23, shapes, label)


def _lines(scale: _Scale) -> list[Element]:
    """The lines of equal intensity, as far as they lie in the frame."""
    shapes: list[Element] = []
    seen = range(scale.y0 - scale.x1 + 1, scale.y1 - scale.x0)
    for intensity in seen[:: -(-len(seen) // _MOST_LINES)]:
        first, last = max(scale.x0, scale.y0 - intensity), min(scale.x1, scale.y1 - intensity)
        (x1, y1), (x2, y2) = scale.place(first, first + intensity), scale.place(last, last + intensity)
        ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        shapes.append(element("line", **ends, class_="rule", stroke=LIGHT["line"], stroke_dasharray="4 3"))
        dx, anchor = (-4, "end") if last == scale.x1 else (4, "start")
        name = f"{_power(intensity) if intensity >= 0 else f'{10.0**intensity:g}'} / B"
        shapes.append(element("text", name, x=x2 + dx, y=y2 + 12, text_anchor=anchor, class_="faint"))
    return shapes


def _labels(scale: _Scale) -> list[Element]:
    below, middle = _TOP + _HEIGHT + 15, _TOP + _HEIGHT / 2
    end = {"text_anchor": "end", "class_": "faint"}
    return [
        element("text", _power(scale.x0, "B"), x=_LEFT, y=below, class_="faint"),
        element("text", _power(scale.x1, "B"), x=_LEFT + _WIDTH, y=below, **end),
        element("text", "bytes moved", x=_LEFT + _WIDTH / 2, y=below, text_anchor="middle"),
        element("text", _power(scale.y1), x=_LEFT - 5, y=_TOP + 10, **end),
        element("text", _power(scale.y0), x=_LEFT - 5, y=_TOP + _HEIGHT, **end),
        element("text", "operations", text_anchor="middle", transform=f"translate(14 {middle:.0f}) rotate(-90)"),
    ]


def _decades(values: Sequence[int]) -> tuple[int, int]:
    low = min((floor(log10(value)) for value in values), default=0)
    high = max((floor(log10(value)) + 1 for value in values), default=1)
    return low, max(high, low + 2)


def _power(exponent: int, unit: str = "") -> str:
    """``10 kB`` for 4."""
    below = exponent // 3 * 3
    if below not in _UNITS:
        return f"10^{exponent} {unit}".rstrip()
    return f"{10 ** (exponent - below)} {_UNITS[below]}{unit}".rstrip()
