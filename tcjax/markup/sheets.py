"""SVG documents: one picture, pictures next to each other, and as files of their own."""

from collections.abc import Sequence
from typing import Final

from .elements import Element, element
from .style import STYLE

# Number of pictures per row.
_ACROSS: Final = 3


def picture(width: float, height: float, shapes: Sequence[Element], label: str) -> Element:
    """Shapes on a sheet of this size; the label is for screen readers."""
    box = f"0 0 {width:.0f} {height:.0f}"
    size = {"width": f"{width:.0f}", "height": f"{height:.0f}"}
    return element(
        "svg", *shapes, xmlns="http://www.w3.org/2000/svg", viewBox=box, **size, role="img", aria_label=label
    )


def standalone(svg: Element) -> str:
    """The picture as a file of its own, with its style."""
    attributes = (*svg.attributes, ("class", "tcjax"))
    return str(Element("svg", attributes, (element("style", STYLE), *svg.children)))


def beside(pictures: Sequence[Element], label: str, across: int = _ACROSS) -> Element:
    """Pictures in rows of up to `across`, as one."""
    shapes: list[Element] = []
    x = y = widest = 0.0
    high = 0.0
    for number, inner in enumerate(pictures):
        given = dict(inner.attributes)
        width, height = float(given["width"]), float(given["height"])
        if number % across == 0 and number:
            x, y, high = 0.0, y + high + 12, 0.0
        moved = (("x", f"{x:.0f}"), ("y", f"{y:.0f}"))
        shapes.append(Element("svg", (*moved, *inner.attributes), inner.children))
        x, high = x + width + 12, max(high, height)
        widest = max(widest, x - 12)
    return picture(max(widest, 1.0), max(y + high, 1.0), shapes, label)
