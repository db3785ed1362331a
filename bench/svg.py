"""The parts of charts of measurements: SVG for light and dark pages, with text that is legible on a phone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape

# On a phone one unit is 0.9 pixels, so text is at least 12 units high. Other screens have more room.
WIDTH: Final = 400
LETTER: Final = 6.5  # Approximate width of a letter of that size.
SHOWN: Final = 520  # Width in pixels, where there is room.

# Okabe and Ito's colours, which colour-blind readers can tell apart; lighter ones on a dark page. A picture follows the
# colour scheme of its page.
STYLE: Final = """
text { font: 12px system-ui, sans-serif; fill: var(--ink); }
text.faint { fill: var(--faint); }
text.head { font-weight: 600; }
.ground { fill: var(--ground); }
line { stroke: var(--rule); }
line.axis { stroke: var(--faint); }
line.tcjax { stroke: var(--tcjax); stroke-width: 1.6; }
.mark.tcjax { fill: var(--tcjax); }
.mark.best { fill: var(--best); }
.mark.usual { fill: var(--usual); }
.mark.peer { fill: var(--peer); }
.mark.same { fill: var(--same); }
polyline { fill: none; stroke-width: 2.2; }
polyline.tcjax { stroke: var(--tcjax); }
polyline.usual { stroke: var(--usual); }
polyline.gradient { stroke-dasharray: 7 4; }
polygon.between { fill: var(--tcjax); fill-opacity: .25; }
svg {
  --ground: #fff; --ink: #222; --faint: #5a5a5a; --rule: #ddd;
  --tcjax: #0072b2; --best: #009e73; --usual: #d55e00; --peer: #b5568b; --same: #8a8f98;
}
@media (prefers-color-scheme: dark) {
  svg {
    --ground: #1e2129; --ink: #e6e8ec; --faint: #b0b5c0; --rule: #3a3f4b;
    --tcjax: #56b4e9; --best: #35c79b; --usual: #ff9550; --peer: #e39ac3; --same: #858b98;
  }
}
"""


def document(title: str, height: float, parts: Iterable[str]) -> str:
    """The picture, with its own background: a page may have a different colour than the reader's system."""
    tall = round(height)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" width="{SHOWN}" '
            f'height="{round(tall * SHOWN / WIDTH)}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{tall}" rx="6"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def text(x: float, y: float, said: str, kind: str = "", *, anchor: str = "start") -> str:
    """`said` at a baseline; `anchor` is ``start``, ``middle`` or ``end``."""
    put = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{_short(x)}" y="{_short(y)}"{_class(kind)}{put}>{escape(said)}</text>'


def line(start: tuple[float, float], end: tuple[float, float], kind: str = "") -> str:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    return f'<line{_class(kind)} x1="{_short(x1)}" y1="{_short(y1)}" x2="{_short(x2)}" y2="{_short(y2)}"/>'


def bar(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle."""
    size = f'width="{_short(width)}" height="{_short(height)}"'
    return f'<rect class="mark {kind}" x="{_short(x)}" y="{_short(y)}" {size} rx="1"/>'


def curve(points: Iterable[tuple[float, float]], kind: str) -> str:
    """A line through `points`."""
    return f'<polyline class="{kind}" points="{_points(points)}"/>'


def area(points: Iterable[tuple[float, float]], kind: str) -> str:
    """A polygon through `points`."""
    return f'<polygon class="{kind}" points="{_points(points)}"/>'


def mark(kind: str, x: float, y: float) -> str:
    """A mark: circles, squares and diamonds, so that marks differ in more than colour."""
    match kind:
        case "best":
            return f'<circle class="mark best" cx="{_short(x)}" cy="{_short(y)}" r="4.5"/>'
        case "usual":
            return bar(x - 4, y - 4, 8, 8, kind)
        case _:
            return area([(x, y - 5.5), (x + 5.5, y), (x, y + 5.5), (x - 5.5, y)], f"mark {kind}")


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_short(x)},{_short(y)}" for x, y in points)


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
