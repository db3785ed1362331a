"""Formulas as MathML, which browsers typeset without scripts."""

from typing import assert_never

from ..markup import Element, element
from .formula import (
    Cases,
    Fenced,
    Formula,
    Fraction,
    Line,
    Lines,
    Number,
    Over,
    Root,
    Row,
    Scripts,
    Sign,
    Space,
    Symbol,
    Word,
)
from .letters import GREEK, TEXTS


def mathml(lines: Lines) -> Element:
    """The statements below each other, aligned at their relations."""
    if len(lines.lines) == 1:
        (line,) = lines.lines
        row = (_write(line.left), _relation(line.relation), _write(line.right))
        return element("math", *row, displaystyle="true")
    rows = [_aligned(line) for line in lines.lines]
    return element("math", element("mtable", *rows), displaystyle="true")


def inline(formula: Formula) -> Element:
    """A formula within a text."""
    return element("math", _write(formula))


def _aligned(line: Line) -> Element:
    cells = (_write(line.left), _relation(line.relation), _write(line.right))
    # Browsers do not know `columnalign`, and not all of them apply the style sheet.
    sides = ("right", "center", "left")
    styles = [f"text-align: {side}; padding: 0.35em 0.15em" for side in sides]
    shown = zip(cells, styles, strict=True)
    return element("mtr", *(element("mtd", cell, style=style, displaystyle="true") for cell, style in shown))


def _relation(relation: Sign | Word) -> Element:
    if isinstance(relation, Word):
        return element("mrow", _space("0.28em"), element("mi", relation.text), _space("0.28em"))
    return element("mo", relation.text, lspace="0.28em", rspace="0.28em")


def _write(formula: Formula) -> Element:
    match formula:
        case Symbol(name, primes):
            return _symbol(name, primes)
        case Number(text):
            return element("mn", text)
        case Sign(text, alone):
            return _sign(text, alone)
        case Word(text):
            return element("mtext", f"{text}\u00a0") if text in TEXTS else _upright(text)
        case Space(width):
            return _space("0.1667em" if width == "thin" else "1.2em")
        case Row(items):
            return element("mrow", *map(_write, items))
        case Fraction(top, bottom):
            return element("mfrac", _write(top), _write(bottom))
        case Root(body, None):
            return element("msqrt", _write(body))
        case Root(body, degree):
            assert degree is not None
            return element("mroot", _write(body), _write(degree))
        case Scripts(base, sub, sup):
            return _scripts(base, sub, sup)
        case Over(operator, under, body):
            return element(
                "mrow", element("munder", _operator(operator), _under(under)), _space("0.1667em"), _write(body)
            )
        case Fenced(left, body, right):
            opened = element("mo", left, fence="true", form="prefix", stretchy="true")
            closed = element("mo", right, fence="true", form="postfix", stretchy="true")
            return element("mrow", opened, _write(body), closed)
        case Cases(rows):
            brace = element("mo", "{", fence="true", form="prefix", stretchy="true")
            return element("mrow", brace, element("mtable", *(_case(value, when) for value, when in rows)))
        case _:
            assert_never(formula)


def _symbol(name: str, primes: int) -> Element:
    text = GREEK.get(name, name)
    # MathML makes single letters italic; longer names need a style.
    symbol = element("mi", text) if len(text) == 1 else element("mi", text, style="font-style: italic")
    return element("msup", symbol, element("mo", "′" * primes)) if primes else symbol


def _upright(text: str) -> Element:
    return element("mi", text, mathvariant="normal") if len(text) == 1 else element("mi", text)


def _sign(text: str, alone: bool) -> Element:
    shown = {"-": "−"}.get(text, text)
    if alone:
        return element("mo", shown, form="prefix", lspace="0em", rspace="0em")
    if text == ",":
        return element("mo", text, separator="true")
    if text == "mod":
        return element("mo", text, lspace="0.28em", rspace="0.28em")
    if text == "/":
        return element("mo", text, lspace="0.05em", rspace="0.05em")
    return element("mo", shown)


def _operator(operator: Sign | Word) -> Element:
    if isinstance(operator, Word):
        return _upright(operator.text)
    return element("mo", operator.text, largeop="true", movablelimits="false")


def _under(lines: tuple[Formula, ...]) -> Element:
    if len(lines) == 1:
        return _write(lines[0])
    rows = [element("mtr", element("mtd", _write(line), style="padding: 0 0 0.1em")) for line in lines]
    return element("mtable", *rows)


def _scripts(base: Formula, sub: Formula | None, sup: Formula | None) -> Element:
    inner = _write(base)
    match sub, sup:
        case None, None:
            return inner
        case None, _:
            return element("msup", inner, _write(sup))
        case _, None:
            return element("msub", inner, _write(sub))
        case _:
            return element("msubsup", inner, _write(sub), _write(sup))


def _case(value: Formula, when: Formula | None) -> Element:
    style = "text-align: left; padding: 0.15em 0.9em 0.15em 0"
    condition = (
        element("mtext", "otherwise") if when is None else element("mrow", element("mtext", "if\u00a0"), _write(when))
    )
    return element("mtr", element("mtd", _write(value), style=style), element("mtd", condition, style=style))


def _space(width: str) -> Element:
    return element("mspace", width=width)


__all__ = ["inline", "mathml"]
