"""Wording that the syntax errors of both notations share."""

import unicodedata
from collections.abc import Mapping
from typing import Final

from ..diagnostics import Code, CompileError
from .lexing import Token

_LOOKALIKES: Final = {
    "×": "*", "·": "*", "∗": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "—": "-", "≤": "<=", "≥": ">=", "≠": "!=",
    "→": "->", "¬": "!", "∧": "&&", "∨": "||", "：": ":", "，": ",", "（": "(", "）": ")", "；": ";",
}  # fmt: skip


def unknown_character(found: Token, instead: Mapping[str, str], comment: str) -> CompileError:
    """The error at a character that begins no token, in a notation whose comments begin with `comment`.

    `instead` says what to write in this notation instead of some characters.
    """
    character = found.text
    shown = f"'{character}'" if character.isprintable() else f"U+{ord(character):04X}"
    if character in instead:
        help = instead[character]
    elif character in _LOOKALIKES:
        help = f"write `{_LOOKALIKES[character]}`"
    elif character in "@$":
        help = f"leave the `{character}` out: a text holds names, numbers, operators and brackets"
    elif unicodedata.category(character).startswith("L"):
        help = "a name is made of the letters a to z, A to Z, digits and `_`"
    elif not character.isprintable():
        help = "remove this invisible character, or write a space instead"
    else:
        help = f"a text holds names, numbers, operators and brackets; a comment begins with `{comment}`"
    return CompileError(Code.UNEXPECTED_CHARACTER, f"unexpected character {shown}", found.span, help=help)


def either(words: list[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
