"""The value of a numeral, and the messages for invalid ones."""

import math
from typing import Final

from ..diagnostics import Code, CompileError
from .lexing import Token, short

_LARGEST: Final = 2**64 - 1

# More digits than a double can need, and few enough to convert quickly.
LONGEST: Final = 1000


def integer(text: str, token: Token) -> int:
    """The value of the whole number `text`, a part of `token`; raises TC0107 if it is not one."""
    if not text.isdigit():
        raise bad(token, f"`{short(text)}` is not a whole number", "a dimension is a name or a whole number: `4`")
    if len(text) > LONGEST:
        raise bad(token, f"a number of {len(text)} digits", f"the largest whole number is {_LARGEST}")
    return within(int(text), token)


def within(value: int, token: Token) -> int:
    """`value`, the value of `token`, if it fits in 64 bits; raises TC0107 otherwise."""
    if value > _LARGEST:
        raise bad(token, f"`{short(token.text)}` does not fit in 64 bits", f"the largest whole number is {_LARGEST}")
    return value


def decimal(text: str, token: Token) -> float:
    """The double nearest to `text`, a part of `token`; raises TC0107 if it is too large."""
    value = float(text)
    if math.isinf(value):
        raise bad(token, f"`{short(token.text)}` is larger than any double", "the largest number is about `1.8e308`")
    return value


def checked_length(token: Token) -> None:
    """Raises TC0107 for a numeral that would take long to convert."""
    if len(token.text) > LONGEST:
        raise bad(
            token,
            f"a number of {len(token.text)} characters",
            "write at most 20 digits, or a power of ten: `1e30`",
        )


def bad(token: Token, message: str, help: str) -> CompileError:
    """The error TC0107 at `token`."""
    return CompileError(Code.BAD_NUMBER, message, token.span, help=help)
