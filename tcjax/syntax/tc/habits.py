"""Habits from other notations - C, Julia, NumPy, einops - and what TC writes instead."""

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from ..lexing import REDUCTIONS, Token, open_brackets, short, token_after, token_before


def habit(tokens: list[Token], position: int, accepted: set[str]) -> str:
    """What to write instead of another language's construct at ``tokens[position]``; empty if it is not recognised."""
    for known in _HABITS:
        help = known(tokens, position, accepted)
        if help:
            return help
    return ""


_TRANSPOSE: Final = "change the order of the indices: the transpose of `A(i, j)` is `A(j, i)`"


def sign(tokens: list[Token], position: int) -> str:
    """The same for a character that TC does not have, if its neighbours show what it was meant to do."""
    found, before, after = tokens[position], token_before(tokens, position), token_after(tokens, position)
    match found.text:
        case "." if after.text in _ELEMENTWISE:
            return f"every operation is elementwise: leave out the dot before `{after.text}` out"
        case "." if before.type in ("NAME", "RPAR") and after.text == "T":
            return _TRANSPOSE
        case "." if before.type == "NAME" and token_after(tokens, position + 1).type == "LPAR":
            return f"functions have no prefix: write `{after.text}(...)` without `{short(before.text)}.`"
        case "@" if position and before.type in ("NAME", "RPAR"):
            return "name the index that is summed: `sum[k](A(i, k) * B(k, j))`"
        case "'" if before.type in ("NAME", "RPAR"):
            return _TRANSPOSE
        case _:
            return ""


def target_of(before: list[Token]) -> str:
    """The left side that `before` ends with, as it was written if it is short."""
    text = "".join(", " if token.type == "COMMA" else token.text for token in before[start_of_target(before) :])
    return text if text and len(text) <= 40 else "O(i)"


def start_of_target(before: list[Token]) -> int:
    """The position where the left side at the end of `before` begins."""
    start = len(before) - 1
    if before and before[-1].type == "RPAR":
        opening = open_brackets(before[:-1])
        start = opening[-1] - 1 if opening else start
    return max(start, 0)


# ---------------------------------------------------------------- operators

_COMBINES: Final = REDUCTIONS - {"mink", "maxk"} | {"+", "*"}
_SIGNS: Final = _COMBINES | {"=", "!", "!=", "==", ":", ">", "+=", "*=", "+=!", "*=!", "max=", "max=!", "min=", "min=!"}
_ELEMENTWISE: Final = frozenset(("*", "/", "+", "-", "^"))


def _torn_operator(tokens: list[Token], position: int, accepted: set[str]) -> str:
    """Help for ``+ =!``, ``max =`` and other assignment signs with spaces or in another order."""
    found, before = tokens[position], token_before(tokens, position)
    if before.type in ("UPDATE", "REDUCE") and found.text in ("=", "!=", "=="):
        return f"`{before.text}` is the whole operator: leave the `{found.text}` after it out"
    if "UPDATE" in accepted:
        start = position
    elif before.text == "=" and before.end == found.column and found.text in ("+", "*", ">"):
        start = position - 1
    else:
        return ""
    end = start
    while end < min(len(tokens), start + 4) and tokens[end].text in _SIGNS and tokens[end].line == found.line:
        end += 1
    text = "".join(token.text for token in tokens[start:end])
    name = text.replace("=", "").replace("!", "")
    if "=" not in text or name not in _COMBINES:
        return f"one `=` defines a tensor: `{target_of(tokens[:start])} = ...`" if text in ("=>", ":=", "==") else ""
    whole = f"{name}={'!' * ('!' in text)}"
    return f"write `{whole}` as one word{'' if text != whole else ', without a space'}"


def _operator(tokens: list[Token], position: int, accepted: set[str]) -> str:
    found, before = tokens[position], token_before(tokens, position)
    match before.text, found.text:
        case "*", "*":
            return "write a power as `pow(a, b)`"
        case ("/", "*") | ("//", _):
            return "a comment begins with `#` and ends with its line; `//` divides integers"
        case _, "+" if "NUMBER" in accepted:
            return "TC has no unary `+`: leave it out" if before.text != "+" else "TC has no `++`: write `O(i) += 1`"
        case _, "|" if "NUMBER" in accepted:
            return "an absolute value is `abs(e)`"
        case ")", "(" if {"BINARY"} <= accepted:
            return "an operator is missing: to multiply write `* (...)`"
        case _, "(" if before.type == "NUMBER":
            digits = before.text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
            name = before.text[len(digits) :]
            return f"an operator is missing: to multiply write `{digits} * {name}(...)`"
        case _:
            return ""


# ---------------------------------------------------------------- words

_FOREIGN: Final = {
    "if": "TC has no `if`: write `c ? a : b`, or a guard after the statement: `where c`",
    "else": "TC has no `else`: write `c ? a : b`",
    "for": "every index runs by itself; steps that need the one before read `for t in 1:N { h(t) = a(t) * h(t-1) }`",
    "while": "every index runs by itself, `where i in 0:N`; a loop has a known number of steps, `for t in 1:T { ... }`",
    "return": "TC has no `return`: name the outputs in the head of the def, `-> (C)`",
    "let": "a let goes after the statement: `O(i) = t * t where t = A(i)`",
    "lambda": "TC has no `lambda`: write a `def`, or pass a Python function in `fns`",
    **dict.fromkeys(
        ("function", "fn", "func", "fun"), "a definition begins with `def`: `def f(float(N) A) -> (C) { ... }`"
    ),
}


def _word(tokens: list[Token], position: int, accepted: set[str]) -> str:
    before = token_before(tokens, position)
    return _FOREIGN.get(before.text, "") if before.type == "NAME" else ""


def _type(tokens: list[Token], position: int, accepted: set[str]) -> str:
    """Help for the types of other languages: ``A: float``, ``float[N] A``, ``float A[N]``, ``f32(N) A``."""
    found, before = tokens[position], token_before(tokens, position)
    parameters = accepted == {"COMMA", "RPAR"} and "ARROW" not in {token.type for token in tokens[:position]}
    if parameters and found.type == "COLON":
        return f"a type goes before its tensor, without a `:`: `float(N) {before.text}`"
    if found.type == "LSQB" and (before.type in ("TYPE", "TYPE_WORD") or parameters):
        return "sizes go in parentheses after the type: `float(M, K) A`"
    if parameters and before.text in _TYPES:
        return f"there is no type `{before.text}`: write `{_TYPES[before.text]}`, as in `{_TYPES[before.text]}(N) A`"
    earlier = token_before(tokens, position - 1)
    if found.type == "LPAR" and before.type == "NAME" and earlier.type in ("TYPE", "TYPE_WORD"):
        return f"sizes go after the type: `{tokens[position - 2].text}(N) {before.text}`"
    if found.type == "LPAR" and earlier.type == "ARROW":
        return f"an output with a type goes in parentheses: `-> (float(N) {before.text})`"
    types = ("TYPE", "TYPE_WORD")
    heads = found.type in ("NAME", *types) and (before.type in types or before.text == ")")
    if heads and "ARROW" in {t.type for t in tokens} and "DEF" not in {t.type for t in tokens}:
        return "a definition begins with `def`: `def f(float(N) A) -> (C) { ... }`"
    return ""


_TYPES: Final = {
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"Float{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"Int{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("tensor", "Tensor", "array", "Array", "real", "ndarray"), "float"),
}


# ---------------------------------------------------------------- ranges, subscripts, lists


def _range(tokens: list[Token], position: int, accepted: set[str]) -> str:
    """Help for ``where k in range(3)``, ``k in [0,3)``, ``k = 0:3``, ``0:3:2``, and clauses without their ``where``."""
    found, before, after = tokens[position], token_before(tokens, position), token_after(tokens, position)
    clause = [token.type for token in tokens[:position]]
    inside = "WHERE" in clause[-12:]
    index = next((token.text for token, behind in pairwise(tokens) if behind.type == "IN"), "k")
    if before.type == "IN" or (inside and {"COLON", "DOTS"} & accepted and found.type != "COLON"):
        return f"a range reads `{index} in 0:N`, its end excluded"
    if found.type == "COLON" and inside and "SEMICOLON" in accepted:
        if tokens[position - 2].type == "COLON":
            return "a range has no step: its index runs one by one, and `A(2*k)` reads every second element"
        return "a range reads `k in 0:N`, its end excluded"
    if found.type == "IN" and inside and "SEMICOLON" in accepted:
        return "write a comma between the clauses of a `where`: `where k < 3, i in 0:N`"
    if found.type == "COMMA" and "SEMICOLON" in accepted:
        if token_after(tokens, position + 1).type == "IN":
            return f"clauses go after `where`: `where {after.text} in 0:N`"
        return "a statement ends without a comma: leave it out, or write `;`"
    return ""


def _subscript(tokens: list[Token], position: int, accepted: set[str]) -> str:
    """Help for ``A(i, :)``, ``max(e, axis=1)``, ``sum[k] e`` and ``B(i), C(i) = ...``."""
    found, before = tokens[position], token_before(tokens, position)
    if found.type == "COLON" and before.type in ("LPAR", "COMMA") and "NUMBER" in accepted:
        return "name an index for every dimension: `A(i, j)`"
    if {"COMMA", "RPAR"} <= accepted and (found.type == "REDUCE" or (found.type == "EQUAL" and before.type == "NAME")):
        return "arguments have no names; a reduction names its indices in brackets: `max[k](A(i, k))`"
    if before.type == "RSQB" and accepted == {"LPAR"}:
        opening = max(at for at in range(position) if tokens[at].type == "LSQB")
        if tokens[opening - 1].text in REDUCTIONS:
            head = "".join(token.text for token in tokens[opening - 1 : position])
            return f"what is reduced goes in parentheses: `{short(head)}(...)`"
    if found.type == "COMMA" and "UPDATE" in accepted and before.type == "RPAR":
        return "write one statement for each tensor; only a call gives several: `O1, O2 = f(A, B)`"
    return ""


_Known = Callable[[list[Token], int, set[str]], str]
_HABITS: Final[tuple[_Known, ...]] = (_torn_operator, _word, _operator, _type, _range, _subscript)
