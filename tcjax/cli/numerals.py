"""Numbers in formatted text stay as written: `0xFF`, `1e-3` and twenty digits of pi say more than their values."""

import re
from typing import Final

from ..syntax.lexing import Token

_NUMERAL: Final = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9.]+(?:[eE][+-]?[0-9]+)?)(\w*)")


def respelt(text: str, own: list[Token], written: list[Token]) -> str:
    """A line whose tokens are `own`, with the numbers spelt as in the tokens `written` that it was made from.

    If the numbers or their order differ, the line stays unchanged.
    """
    now, before = (_numbers(tokens) for tokens in (own, written))
    if [_worth(token.text) for token in now] != [_worth(token.text) for token in before]:
        return text
    for token, spelt in reversed(list(zip(now, before, strict=True))):
        text = text[: token.column - 1] + tidy(spelt.text) + text[token.end - 1 :]
    return text


def tidy(numeral: str) -> str:
    """The same digits, with lower-case letters and a digit on both sides of a point."""
    if numeral[:2] in ("0x", "0X"):
        return f"0x{numeral[2:]}"
    padded = re.sub(r"^\.", "0.", numeral.lower())
    return re.sub(r"\.(?![0-9])", ".0", padded)


def _numbers(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.type == "NUMBER"]


def _worth(numeral: str) -> tuple[int | float, str]:
    match = _NUMERAL.fullmatch(numeral)
    assert match is not None
    digits, suffix = match.groups()
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16), suffix.lower()
    return int(digits) if digits.isdigit() else float(digits), suffix.lower()
