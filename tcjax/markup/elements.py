"""Elements of HTML, SVG and MathML: all text in them is escaped."""

import re
from dataclasses import dataclass
from html import escape
from typing import Final

# Characters that XML does not allow: control characters, halves of surrogate pairs.
_FORBIDDEN: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Element:
    """``<tag attributes>children</tag>``; `str` gives text that is valid HTML and valid XML."""

    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: "tuple[Element | str, ...]" = ()

    def __str__(self) -> str:
        # Iterative, not recursive: formulas may be deeply nested.
        pieces: list[str] = []
        pending: list[Element | str | _Closing] = [self]
        while pending:
            current = pending.pop()
            match current:
                case Element(tag, attributes, children):
                    given = "".join(f' {name}="{escape(_printable(value))}"' for name, value in attributes)
                    pieces.append(f"<{tag}{given}>")
                    pending.append(_Closing(tag))
                    pending.extend(reversed(children))
                case _Closing(tag):
                    pieces.append(f"</{tag}>")
                case _:
                    pieces.append(escape(_printable(current), quote=False))
        return "".join(pieces)


@dataclass(frozen=True, slots=True)
class _Closing:
    tag: str


def element(tag: str, *children: Element | str, **attributes: str | int | float) -> Element:
    """An element; ``class_`` is the attribute ``class``, ``stroke_width`` is ``stroke-width``."""
    given = tuple((name.rstrip("_").replace("_", "-"), _shown(value)) for name, value in attributes.items())
    return Element(tag, given, children)


def _shown(value: str | int | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _printable(text: str) -> str:
    """The text without characters that no document may contain."""
    return _FORBIDDEN.sub("", text)
