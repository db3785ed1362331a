"""What a number in a text is worth."""

import math
import re
from typing import Final

from ...diagnostics import Code, CompileError
from .lexer import Token

_LARGEST: Final = 2**64 - 1

# More digits than a double can need, and few enough to convert at once.
_LONGEST: Final = 1000

_VALUE: Final = re.compile(r"0[xX][0-9a-fA-F]+|[0-9.]+(?:[eE][+-]?[0-9]+)?")


def number(token: Token) -> int | float | complex:
    """The value of ``3``, ``0x1F``, ``.5``, ``3E-5`` or ``2i``; raises TC0107 where there is none."""
    text = token.text
    if len(text) > _LONGEST:
        raise _bad(token, f"a number of {len(text)} characters", "write at most 20 digits, or a power of ten: `1e30`")
    match = _VALUE.match(text)
    assert match is not None
    digits, suffix = match.group(), text[match.end() :]
    if digits.isdigit() and not suffix:
        return integer(digits, token)
    if digits[:2] in ("0x", "0X") and not suffix:
        return _within(int(digits, 16), token)
    if digits[:2] in ("0x", "0X") or suffix not in ("", "i"):
        raise _bad(token, f"`{_short(text)}` is not a number", _without(digits, suffix))
    value = float(digits)
    if math.isinf(value):
        raise _bad(token, f"`{_short(text)}` is larger than any double", "the largest number is about `1.8e308`")
    return complex(0.0, value) if suffix else value


def integer(text: str, token: Token) -> int:
    """The value of the whole number `text`, a part of `token`; raises TC0107 where it is none."""
    if not text.isdigit():
        raise _bad(token, f"`{_short(text)}` is not a whole number", "a dimension is a name or a whole number: `4`")
    if len(text) > _LONGEST:
        raise _bad(token, f"a number of {len(text)} digits", f"the largest whole number is {_LARGEST}")
    return _within(int(text), token)


def _within(value: int, token: Token) -> int:
    if value > _LARGEST:
        raise _bad(token, f"`{_short(token.text)}` does not fit in 64 bits", f"the largest whole number is {_LARGEST}")
    return value


def _without(digits: str, suffix: str) -> str:
    if suffix in ("f", "F", "d", "h", "L", "l", "u", "U"):
        plain = _short(digits)
        return f"TC numbers have no suffix: write `{plain}`; a cast chooses a type, as in `double({plain})`"
    if suffix == "j":
        return f"an imaginary number ends in `i`: write `{_short(digits)}i`"
    return f"a name cannot begin with a digit; to multiply write `{_short(digits)} * {_short(suffix)}`"


def _bad(token: Token, message: str, help: str) -> CompileError:
    return CompileError(Code.BAD_NUMBER, message, token.span, help=help)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
