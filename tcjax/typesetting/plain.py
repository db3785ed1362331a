"""Formulas as one line of Unicode each, for places that show text only."""

from typing import Final, assert_never

from .formula import (
    Cases,
    Fenced,
    Formula,
    Fraction,
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

_SUPERSCRIPTS: Final = str.maketrans("0123456789-+niT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿⁱᵀ")
_ROOTS: Final = {"": "√", "3": "∛", "4": "∜"}


def plain(lines: Lines) -> str:
    """The statements, one a line: ``C[i] = ∑[k] A[i, k] · exp(B[k])``."""
    return "\n".join(
        f"{_write(line.left)} {_write(line.relation).strip()} {_write(line.right)}" for line in lines.lines
    )


def _write(formula: Formula) -> str:
    match formula:
        case Symbol(name, primes):
            return GREEK.get(name, name) + "′" * primes
        case Number(text) | Word(text):
            return text
        case Sign(",", _):
            return ", "
        case Sign(text, alone):
            return text if alone else f" {text} "
        case Space(width):
            return " · " if width == "thin" else "  "
        case Row(items):
            return _joined(items)
        case Fraction(top, bottom):
            return f"{_closed(top)} / {_closed(bottom)}"
        case Root(body, degree):
            order = "" if degree is None else _write(degree)
            return f"{_ROOTS[order]}({_write(body)})" if order in _ROOTS else f"({_write(body)})^(1/{order})"
        case Scripts(base, sub, sup):
            below = "" if sub is None else f"[{_write(sub)}]"
            return f"{_closed(base)}{below}{'' if sup is None else _raised(_write(sup))}"
        case Over(operator, under, body):
            return f"{_write(operator).strip()}[{', '.join(map(_write, under))}] {_write(body)}"
        case Fenced(left, body, right):
            return f"{left}{_write(body)}{right}"
        case Cases(rows):
            return "{ " + "; ".join(f"{_write(value)} {_when(condition)}" for value, condition in rows) + " }"
        case _:
            assert_never(formula)


def _when(condition: Formula | None) -> str:
    return "otherwise" if condition is None else f"if {_write(condition)}"


def _raised(text: str) -> str:
    raised = text.translate(_SUPERSCRIPTS)
    return raised if not set(raised) & set(text) and " " not in text else f"^({text})"


def _closed(formula: Formula) -> str:
    """In brackets, where the neighbours of a part of it would be read first."""
    text = _write(formula)
    return f"({text})" if _is_open(formula) else text


def _is_open(formula: Formula) -> bool:
    match formula:
        case Row(items):
            return any(isinstance(item, Sign | Space) or _is_open(item) for item in items)
        case Fraction() | Over():
            return True
        case _:
            return False


def _joined(items: tuple[Formula, ...]) -> str:
    """One after the other; a word and what follows it have a space between them, unless that is in brackets."""
    text = ""
    for number, item in enumerate(items):
        before = items[number - 1] if number else None
        match before, item:
            case Word(word), Space() if word in TEXTS:
                text += " "
            case (Word(), Fenced()) | (None, _):
                text += _write(item)
            case (Word(), _) | (Symbol(), Symbol() | Number() | Word()):
                text += f" {_write(item).lstrip()}"
            case _:
                text += _write(item)
    return text
