"""The keywords and names of the language: which one is at a place, and what each means."""

import re
from typing import Final

from ... import ir
from ..texts import Text

_WORD: Final = re.compile(r"[A-Za-z_]\w*")

REDUCTIONS: Final = {
    "sum": "the sum of all points",
    "prod": "the product of all points",
    "min": "the least value; NaN if one is NaN",
    "max": "the greatest value; NaN if one is NaN",
    "any": "whether the condition holds at some point",
    "all": "whether the condition holds at every point",
    "mean": "the sum divided by the number of points",
    "logsumexp": "the logarithm of the sum of exponentials, without overflow",
    "argmin": "the position of the least value, the first of equal ones",
    "argmax": "the position of the greatest value, the first of equal ones",
    "mink": "`mink[j](e, r)`: the r-th least value, from 0",
    "maxk": "`maxk[j](e, r)`: the r-th greatest value, from 0",
    "argmink": "`argmink[j](e, r)`: the position of the r-th least value, from 0",
    "argmaxk": "`argmaxk[j](e, r)`: the position of the r-th greatest value, from 0",
}
BOUNDARIES: Final = {
    "clamp": "out of bounds, the element at the edge",
    "wrap": "periodic: after the last element comes the first",
    "mirror": "reflected at the edge, with the edge element repeated",
    "reflect": "reflected at the edge element, which is not repeated",
    "pad": "`pad(x(e), c)`: `c` where the read is out of bounds of `x`",
}


def word_at(text: Text, line: int, column: int) -> tuple[str, int, int] | None:
    """The word at a place, lines and columns counted from 1, and its columns ``[start, end)``."""
    lines = text.content.splitlines()
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    for found in _WORD.finditer(shown):
        if found.start() < column <= found.end() + 1:
            return found.group(), found.start() + 1, found.end() + 1
    return None


def describe(name: str) -> str:
    """The number of arguments of a scalar function, and its result type."""
    builtin = ir.builtins.BUILTINS[name]
    count = "one argument" if builtin.arity == 1 else f"{builtin.arity} arguments"
    given = {"bool": "a bool", "int": "an int", "same": "a number of their type", "real": "a real number"}
    return f"function of {count}, returns {given.get(builtin.result, 'a float')}"
