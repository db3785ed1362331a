"""Formulas as LaTeX that KaTeX, MathJax and amsmath read."""

import re
from typing import Final, assert_never

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
    is_tall,
)
from .letters import GREEK, TEXTS

# Words that are LaTeX commands; any other becomes an `\operatorname`.
_COMMANDS: Final = frozenset(
    ["exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arccos", "arcsin", "arctan", "min", "max"]
)
_LINE: Final = r" \\ "

_SIGNS: Final = {
    "≤": r"\le",
    "≥": r"\ge",
    "≠": r"\ne",
    "⋅": r"\cdot",
    "∧": r"\land",
    "∨": r"\lor",
    "¬": r"\lnot",
    "∼": r"{\sim}",
    "⊕": r"\oplus",
    "≪": r"\ll",
    "≫": r"\gg",
    "&": r"\mathbin{\&}",
    "|": r"\mathbin{|}",
    "mod": r"\bmod",
    "∑": r"\sum",
    "∏": r"\prod",
    "⋁": r"\bigvee",
    "⋀": r"\bigwedge",
    "←": r"\leftarrow",
    "↦": r"\mapsto",
    "+=": r"\mathrel{+}=",
    "⋅=": r"\mathrel{\cdot}=",
    "∧=": r"\mathrel{\land}=",
    "∨=": r"\mathrel{\lor}=",
    "∞": r"\infty",
}
_BRACKETS: Final = {"⌊": r"\lfloor", "⌋": r"\rfloor", "⌈": r"\lceil", "⌉": r"\rceil", "|": r"\vert"}

# Characters with another meaning in LaTeX. Identifiers contain only underscores, but names come from anywhere.
_ESCAPES: Final = {
    **{character: f"\\{character}" for character in "_{}$&#%"},
    "\\": r"\backslash{}",
    "^": r"\hat{\ }",
    "~": r"{\sim}",
}


def latex(lines: Lines) -> str:
    """The statements: one as it is, several aligned at their relations."""
    if len(lines.lines) == 1:
        (line,) = lines.lines
        return f"{_write(line.left)} {_write(line.relation)} {_write(line.right)}"
    rows = " \\\\\n".join(map(_aligned, lines.lines))
    return f"\\begin{{aligned}}\n{rows}\n\\end{{aligned}}"


def _aligned(line: Line) -> str:
    return f"{_write(line.left)} &{_write(line.relation)} {_write(line.right)}"


def _write(formula: Formula) -> str:
    match formula:
        case Symbol(name, primes):
            return _name(name) + "'" * primes
        case Number(text):
            return _SIGNS.get(text, text)
        case Sign(text, alone):
            sign = _SIGNS.get(text, text)
            # A unary sign has no space on either side.
            return f"{{{sign}}}" if alone and not sign.startswith("{") and text != "-" else sign
        case Word(text):
            return _word(text)
        case Space(width):
            return r"\," if width == "thin" else r"\quad"
        case Row(items):
            return _joined([_write(item) for item in items])
        case Fraction(top, bottom):
            return rf"\frac{{{_write(top)}}}{{{_write(bottom)}}}"
        case Root(body, degree):
            order = "" if degree is None else f"[{_write(degree)}]"
            return rf"\sqrt{order}{{{_write(body)}}}"
        case Scripts(base, sub, sup):
            below = "" if sub is None else f"_{{{_write(sub)}}}"
            above = "" if sup is None else f"^{{{_write(sup)}}}"
            inner = _write(base)
            # Primes are already a superscript.
            if above and inner.endswith("'"):
                inner = f"{{{inner}}}"
            return f"{inner}{below}{above}"
        case Over(operator, under, body):
            sign = _SIGNS[operator.text] if isinstance(operator, Sign) else _word(operator.text, limits=True)
            lines = [_write(line) for line in under]
            below = lines[0] if len(lines) == 1 else rf"\substack{{{_LINE.join(lines)}}}"
            return f"{sign}_{{{below}}} {_write(body)}"
        case Fenced(left, body, right):
            opened, closed = _BRACKETS.get(left, left), _BRACKETS.get(right, right)
            if is_tall(body) or left == "|":
                return _joined([rf"\left{opened}", _write(body), rf"\right{closed}"])
            return _joined([opened, _write(body), closed])
        case Cases(rows):
            lines = [f"{_write(value)} & {_when(condition)}" for value, condition in rows]
            return rf"\begin{{cases}} {_LINE.join(lines)} \end{{cases}}"
        case _:
            assert_never(formula)


def _when(condition: Formula | None) -> str:
    return r"\text{otherwise}" if condition is None else rf"\text{{if }} {_write(condition)}"


def _name(name: str) -> str:
    if name in GREEK:
        return f"\\{name}"
    if len(name) == 1 and name.isascii() and name.isalpha():
        return name
    if not name.isascii():
        return rf"\text{{{_escaped(name)}}}"
    return rf"\mathit{{{_escaped(name)}}}"


def _word(text: str, *, limits: bool = False) -> str:
    if text in _COMMANDS:
        # Arc functions and the like take no limits, but no reduction has such a name.
        return f"\\{text}"
    if text in TEXTS:
        return rf"\text{{{text}}}"
    return rf"\operatorname{'*' if limits else ''}{{{_escaped(text)}}}"


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)


def _joined(pieces: list[str]) -> str:
    """The pieces, with a space where a command would merge with a letter."""
    text = ""
    for piece in pieces:
        runs_on = re.search(r"\\[A-Za-z]+$", text) and (piece[:1].isalpha() or piece[:1] == "\\")
        loose = piece in (r"\,", r"\quad") or text.endswith((r"\,", r"\quad"))
        space = runs_on or loose or piece in _SPACED or any(text.endswith(f" {sign}") for sign in _SPACED)
        if piece == ",":
            text += ","
        elif text.endswith(",") and not text.endswith(r"\,"):
            text += f" {piece}"
        else:
            text += f" {piece}" if text and space else piece
    return text


_SPACED: Final = frozenset(("+", "-", "<", ">", "=", "/", *(sign for sign in _SIGNS.values() if sign[0] == "\\")))
