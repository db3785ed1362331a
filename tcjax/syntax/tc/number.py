"""The value of a number in a text."""

import re
from typing import Final

from ..lexing import Token, short
from ..numerals import bad, checked_length, decimal, integer, within

_VALUE: Final = re.compile(r"0[xX][0-9a-fA-F]+|[0-9.]+(?:[eE][+-]?[0-9]+)?")


def number(token: Token) -> int | float | complex:
    """The value of ``3``, ``0x1F``, ``.5``, ``3E-5`` or ``2i``; raises TC0107 if it is invalid."""
    text = token.text
    checked_length(token)
    match = _VALUE.match(text)
    assert match is not None
    digits, suffix = match.group(), text[match.end() :]
    if digits.isdigit() and not suffix:
        return integer(digits, token)
    if digits[:2] in ("0x", "0X") and not suffix:
        return within(int(digits, 16), token)
    if digits[:2] in ("0x", "0X") or suffix not in ("", "i"):
        raise bad(token, f"`{short(text)}` is not a number", _without(digits, suffix))
    value = decimal(digits, token)
    return complex(0.0, value) if suffix else value


def _without(digits: str, suffix: str) -> str:
    if suffix in ("f", "F", "d", "h", "L", "l", "u", "U"):
        plain = short(digits)
        return f"TC numbers have no suffix: write `{plain}`; a cast chooses a type, as in `double({plain})`"
    if suffix == "j":
        return f"an imaginary number ends in `i`: write `{short(digits)}i`"
    return f"a name cannot begin with a digit; to multiply write `{short(digits)} * {short(suffix)}`"
