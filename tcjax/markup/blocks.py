"""The parts of notebook output: blocks with their style, tables, bars, figures."""

from collections.abc import Iterable, Sequence

from .elements import Element, element
from .style import STYLE


def block(*children: Element | str) -> Element:
    """A self-contained part of a page: no scripts, nothing loaded from elsewhere."""
    return element("div", element("style", STYLE), *children, class_="tcjax")


def document(name: str, body: str) -> str:
    """A whole page for a browser around a part of one."""
    head = element("meta", charset="utf-8"), element("meta", name="viewport", content="width=device-width")
    dark = element("style", ":root{color-scheme:light dark}body{margin:0 auto;max-width:64em;padding:.5em}")
    start = "".join(str(part).removesuffix("</meta>") for part in (*head, element("title", name), dark))
    return f'<!doctype html>\n<html lang="en"><head>{start}</head><body>{body}</body></html>\n'


def title(text: str, faint: str = "") -> Element:
    """A heading, and the note next to it."""
    beside = (element("span", f" {faint}", class_="faint", style="font-weight: 400"),) if faint else ()
    return element("div", text, *beside, class_="title")


def code(text: str) -> Element:
    """Lines of a program."""
    return element("pre", text)


def formula(math: Element) -> Element:
    """A formula on lines of its own."""
    return element("div", math, class_="formula")


def details(summary: str, *children: Element | str) -> Element:
    """A part of the page that is hidden until it is opened."""
    return element("details", element("summary", summary), *children)


Cell = Element | str | int | float


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Element:
    """A table, which scrolls on its own where it is wider than the page; numbers are right-aligned."""
    body = [list(row) for row in rows]
    numeric = [any(isinstance(row[n], (int, float)) for row in body) for n in range(len(headings))]
    head = [
        element("th", name, **_class("number" if is_number else ""))
        for name, is_number in zip(headings, numeric, strict=True)
    ]
    lines = [element("tr", *(_cell(value, numeric[n]) for n, value in enumerate(row))) for row in body]
    inside = element("table", element("thead", element("tr", *head)), element("tbody", *lines))
    return element("div", inside, class_="scroll")


def _cell(value: Cell, is_number: bool) -> Element:
    if isinstance(value, Element):
        return element("td", value, **_class("meter" if ("class", "bar") in value.attributes else ""))
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    is_long = isinstance(value, str) and len(value) > 40
    return element("td", text, **_class("number" if is_number else "wide" if is_long else ""))


def _class(name: str) -> dict[str, str]:
    return {"class_": name} if name else {}


def bar(share: float) -> Element:
    """A bar filled to a fraction from 0 to 1."""
    filled = max(0.0, min(1.0, share))
    return element("div", element("div", style=f"width: {100 * filled:.1f}%"), class_="bar")


def figure(caption: str, picture: Element) -> Element:
    """A picture under its caption."""
    return element("figure", element("figcaption", caption), picture)
