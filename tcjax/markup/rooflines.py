"""Rooflines in SVG: operations per second against operations per byte, below the machine's limits.

After Williams, Waterman and Patterson 2009.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

from .elements import Element, element
from .sheets import picture
from .style import COLOURS, LIGHT

_WIDTH: Final = 280.0
_HEIGHT: Final = 190.0
_LEFT: Final = 64.0
_TOP: Final = 8.0
_LINE: Final = 17.0
_UNITS: Final = {0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work: operations, bytes moved, and the seconds that it takes."""

    name: str
    flops: int
    bytes: int
    seconds: float

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.bytes

    @property
    def rate(self) -> float:
        """Operations per second."""
        return self.flops / self.seconds


@dataclass(frozen=True, slots=True)
class Roof:
    """The limits of a machine: `peak` operations per second, `traffic` bytes per second."""

    name: str
    peak: float
    traffic: float

    def rate(self, intensity: float) -> float:
        """The attainable operations per second at an intensity."""
        return min(self.peak, intensity * self.traffic)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Powers of ten from the lower left corner, and of the upper right one."""

    x0: int
    x1: int
    y0: int
    y1: int

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Coordinates of an intensity and a rate."""
        across, up = (log10(x) - self.x0) / (self.x1 - self.x0), (log10(y) - self.y0) / (self.y1 - self.y0)
        return _LEFT + across * _WIDTH, _TOP + _HEIGHT - up * _HEIGHT


def roofline_svg(works: Sequence[Work], roofs: Sequence[Roof]) -> Element:
    """A dot for each piece of work on logarithmic axes, and the roofs: sloped where memory is the limit, else flat.

    Work without operations, bytes or time is left out.
    """
    shown = [(n, work) for n, work in enumerate(works) if work.flops > 0 and work.bytes > 0 and work.seconds > 0]
    ridges = [roof.peak / roof.traffic for roof in roofs]
    x0, x1 = _decades([*(work.intensity for _, work in shown), *ridges])
    y0, y1 = _decades([*(work.rate for _, work in shown), *(roof.peak for roof in roofs)])
    scale = _Scale(x0, x1, y0, y1)
    label = "operations per second against operations per byte"
    frame = element("rect", x=_LEFT, y=_TOP, width=_WIDTH, height=_HEIGHT, class_="frame", fill=LIGHT["panel"])
    shapes = [element("title", label), frame]
    for number, roof in enumerate(roofs):
        shapes.append(_line(roof, scale, "" if number == 0 else "5 3"))
    for number, work in shown:
        x, y = scale.place(work.intensity, work.rate)
        anchor, dx = ("end", -8) if x > _LEFT + _WIDTH * 0.6 else ("start", 8)
        colour = number % COLOURS
        shapes.append(element("circle", cx=x, cy=y, r=5, class_=f"c{colour}", fill=LIGHT[f"c{colour}"]))
        # Neighbours have their names above and below.
        above = y > _TOP + _HEIGHT - 20 or (number % 2 == 0 and y > _TOP + 20)
        shapes.append(element("text", work.name, x=x + dx, y=y + (-6 if above else 14), text_anchor=anchor))
    shapes += _labels(scale)
    bottom = _TOP + _HEIGHT + 34
    for number, roof in enumerate(roofs):
        y = bottom + number * _LINE
        line = {"x1": _LEFT, "y1": y - 4, "x2": _LEFT + 22, "y2": y - 4, **_stroke("" if number == 0 else "5 3")}
        shapes += [element("line", **line), element("text", roof.name, x=_LEFT + 28, y=y)]
    spoken = "; ".join([label, *(f"{w.name}: {w.intensity:.2g} per byte, {w.rate:.2g} per second" for _, w in shown)])
    return picture(_LEFT + _WIDTH + 12, bottom + len(roofs) * _LINE - 8, shapes, spoken)


def _line(roof: Roof, scale: _Scale, dashes: str) -> Element:
    """The part of the roof inside the frame."""
    low, high = 10.0**scale.x0, 10.0**scale.x1
    first = max(low, 10.0**scale.y0 / roof.traffic)
    corners = [
        scale.place(x, roof.rate(x)) for x in sorted({first, min(max(first, roof.peak / roof.traffic), high), high})
    ]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    return element("path", d=f"M{path}", fill="none", **_stroke(dashes))


def _stroke(dashes: str) -> dict[str, str | float]:
    given: dict[str, str | float] = {"class_": "roof", "stroke": LIGHT["ink"], "stroke_width": 1.4}
    return {**given, "stroke_dasharray": dashes} if dashes else given


def _labels(scale: _Scale) -> list[Element]:
    below, middle = _TOP + _HEIGHT + 14, _TOP + _HEIGHT / 2
    end = {"text_anchor": "end", "class_": "faint"}
    return [
        element("text", _power(scale.x0), x=_LEFT, y=below, class_="faint"),
        element("text", _power(scale.x1), x=_LEFT + _WIDTH, y=below, **end),
        element("text", "operations per byte", x=_LEFT + _WIDTH / 2, y=below, text_anchor="middle"),
        element("text", f"{_power(scale.y1)}/s", x=_LEFT - 5, y=_TOP + 10, **end),
        element("text", f"{_power(scale.y0)}/s", x=_LEFT - 5, y=_TOP + _HEIGHT, **end),
        element("text", "operations", text_anchor="middle", transform=f"translate(20 {middle:.0f}) rotate(-90)"),
    ]


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around values, with room for the flat part of a roof."""
    low = min((floor(log10(value)) for value in values), default=0)
    high = max((ceil(log10(value) + 0.3) for value in values), default=1)
    return low, max(high, low + 2)


def _power(exponent: int) -> str:
    """``10 k`` for 4."""
    if exponent < 0:
        return f"{10.0**exponent:g}"
    below = exponent // 3 * 3
    return f"{10 ** (exponent - below)} {_UNITS[below]}".rstrip() if below in _UNITS else f"10^{exponent}"
