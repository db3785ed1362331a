"""Whether a text is SaC or TC."""

import re
from collections.abc import Iterator
from typing import Final

from .spelling import TYPES

_WORDS: Final = re.compile(
    r"//.*|\#.*|/\*[\s\S]*?(?:\*/|\Z)"
    r"|[A-Za-z_][A-Za-z_0-9]*|\.?[0-9][A-Za-z_0-9.]*"
    r"|->|<=>|[=!<>]=|[-+*/%&|^]=|\S"
)
_COMMENTS: Final = ("//", "#", "/*")
_CLOSED_BY: Final = {"(": ")", "[": "]", "{": "}"}


def is_sac(text: str) -> bool:
    """Whether a text is SaC rather than TC, whether or not it is right; it is only looked over, not parsed.

    The first words that only one of them has decide. TC: ``def f``; an assignment to an indexed target, ``C(i) =``;
    an update, ``+=!`` or ``max=``; a ``where`` behind a value. SaC: an arrow in braces, ``{ i ->``; an array type,
    ``int[n]``, or a type before ``f(``; ``return``; a vector, ``[1, 2]``; ``with {``.

    Where nothing decides, a text is TC that ends with an assignment or a declaration, or holds nothing; so
    ``y = a(i)`` is TC, and ``x = a + b; x * 2``, ``sum(a * b)`` and ``a(i)`` are SaC.
    """
    words = [match.group() for match in _WORDS.finditer(text) if not match.group().startswith(_COMMENTS)]
    for evidence in _evidence(words):
        return evidence
    ending = _last_statement(words)
    return bool(ending) and "=" not in ending and not (ending[0] in TYPES and ending[1:2] != ["("])


def _evidence(words: list[str]) -> Iterator[bool]:
    """For each place that only one notation has, whether it is SaC."""
    opened = ["{"]
    padded = ["", "", *words, "", ""]
    for position, word in enumerate(padded[2:-2], 2):
        earlier, before = padded[position - 2 : position]
        after, later = padded[position + 1 : position + 3]
        among_statements = opened[-1] == "{"
        match word:
            case "(" | "[" | "{":
                if word == "[" and not _ends_operand(before):
                    yield True
                opened.append(word)
            case ")" | "]" | "}":
                if len(opened) > 1:
                    opened.pop()
            case "def":
                if _is_name(after):
                    yield False
            case "where":
                if _ends_operand(before):
                    yield False
            case "=" if among_statements:
                if before in (")", "]") or (_is_name(before) and _ends_operand(earlier) and earlier not in TYPES):
                    yield False
            case "<=>":
                yield False
            case "->":
                if among_statements and len(opened) > 1:
                    yield True
            case "return":
                yield True
            case "with":
                if after == "{":
                    yield True
            case _ if word in TYPES and among_statements:
                if after in ("[", ",") or (_is_name(after) and later == "("):
                    yield True
            case _ if among_statements and len(word) == 2 and word[1] == "=" and word[0] in "-+*/%&|^":
                yield False
            case _:
                pass


def _last_statement(words: list[str]) -> list[str]:
    """The words outside of all brackets in the last statement that has any, its first two whatever they are."""
    depth = 0
    last: list[str] = []
    ended = False
    for word in words:
        if word == ";" and not depth:
            ended = True
            continue
        if ended:
            last, ended = [], False
        depth -= bool(depth) and word in _CLOSED_BY.values()
        if not depth or len(last) < 2:
            last.append(word)
        depth += word in _CLOSED_BY
    return last


def _is_name(word: str) -> bool:
    return word[:1].isidentifier()


def _ends_operand(word: str) -> bool:
    return word in (")", "]", "}") or ((word[:1].isalnum() or word[:1] == "_") and word not in ("return", *TYPES))
