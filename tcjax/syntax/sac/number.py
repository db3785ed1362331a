"""The value of a number in a text, and the type named by its suffix."""

import re
from typing import Final

from ..lexing import Token, short
from ..numerals import bad, checked_length, decimal, integer, within
from . import tree
from .spelling import SUFFIXES

_FLOATS: Final = ("float32", "float64")
_VALUE: Final = re.compile(r"0[xX][0-9a-fA-F]+|[0-9.]+(?:[eE][+-]?[0-9]+)?")


def number(token: Token) -> tree.Number:
    """The literal ``3``, ``0x1F``, ``.5``, ``3E-5``, ``2f`` or ``4l``; raises TC0107 if it is invalid."""
    text = token.text
    checked_length(token)
    match = _VALUE.match(text)
    assert match is not None
    digits, suffix = match.group(), text[match.end() :]
    scalar = SUFFIXES.get(suffix.lower())
    if suffix and scalar is None:
        raise bad(token, f"`{short(text)}` is not a number", _without(digits, suffix))

    hexadecimal = digits[:2] in ("0x", "0X")
    whole = hexadecimal or digits.isdigit()
    if not whole and scalar not in (None, *_FLOATS):
        raise bad(
            token,
            f"`{short(text)}` is a fraction, and its suffix `{suffix}` names a type of whole numbers",
            f"write `{short(digits)}`, or `{short(digits)}d` for a double",
        )
    if not whole or scalar in _FLOATS:
        return tree.Number(decimal(digits, token), scalar, span=token.span)
    value = within(int(digits, 16), token) if hexadecimal else integer(digits, token)
    if scalar and value > _largest(scalar):
        raise bad(token, f"`{short(text)}` does not fit in an {scalar}", f"the largest {scalar} is {_largest(scalar)}")
    return tree.Number(value, scalar, span=token.span)


def _largest(scalar: str) -> int:
    bits = int(scalar.lstrip("uint"))
    return 2**bits - 1 if scalar.startswith("u") else 2 ** (bits - 1) - 1


def _without(digits: str, suffix: str) -> str:
    if suffix[0] in "eE":
        return f"a power of ten is written `{short(digits)}e3`"
    return (
        f"a name cannot begin with a digit; to multiply write `{short(digits)} * {short(suffix)}`; "
        "the suffixes are `i l f d` and `b s` for integers of 8 and 16 bits"
    )
