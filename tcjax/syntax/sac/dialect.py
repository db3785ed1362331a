"""Whether a text is SaC or TC."""

import re
from collections.abc import Iterator
from typing import Final

from .spelling import TYPES

_OTHERS: Final = (
    r"|\#.*|/\*[\s\S]*?(?:\*/|\Z)"
    r"|[A-Za-z_][A-Za-z_0-9]*|\.?[0-9][A-Za-z_0-9.]*"
    r"|->|<=>|[=!<>]=|[-+*/%&|^]=|\S"
)
# The words, and the beginnings of comments: where `//` is a comment, and where it divides.
_COMMENTED: Final = re.compile("//.*" + _OTHERS), ("//", "#", "/*")
_DIVIDED: Final = re.compile("//" + _OTHERS), ("#", "/*")
_CLOSED_BY: Final = {"(": ")", "[": "]", "{": "}"}


def is_sac(text: str) -> bool:
    """Whether a text is SaC rather than TC, even if it has errors; it is only scanned, not parsed.

    The first construct that only one of them has decides. TC: ``def f``; an assignment to an indexed target,
    ``C(i) =``; an update, ``+=!`` or ``max=``; a ``where`` after a value. SaC: an arrow in braces, ``{ i ->``; an array
    type, ``int[n]``, or a type before ``f(``; ``return``; a vector, ``[1, 2]``; ``with {``.

    If nothing decides, a text of assignments and declarations only is TC, and so is an empty one; a text with an
    expression is SaC. So ``y = a(i)`` is TC, and ``x = a + b; x * 2``, ``sum(a * b)`` and ``a(i)`` are SaC.
    """
    words = _words(text, *_COMMENTED)
    if sum(word in _CLOSED_BY for word in words) > sum(word in _CLOSED_BY.values() for word in words):
        # A bracket that seems unclosed may be closed after a division of TC, `C(i // 2) = ..`, which is not a SaC
        # comment.
        words = _words(text, *_DIVIDED)
    for evidence in _evidence(words):
        return evidence
    if not words:
        return text.lstrip().startswith(("//", "/*"))
    return any("=" not in statement and not _declares(statement) for statement in _statements(words))


def _words(text: str, pattern: re.Pattern[str], comments: tuple[str, ...]) -> list[str]:
    return [word for word in pattern.findall(text) if not word.startswith(comments)]


def _evidence(words: list[str]) -> Iterator[bool]:
    """For each construct that only one notation has, whether that is SaC."""
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
                # `:=` too, which is an error in both.
                if before == ")" or (before == ":" and earlier == ")"):
                    yield False
                if _is_name(before) and _ends_operand(earlier) and earlier not in TYPES:
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


def _statements(words: list[str]) -> list[list[str]]:
    """The text between semicolons, without the contents of brackets."""
    depth = 0
    statements: list[list[str]] = [[]]
    for word in words:
        depth -= bool(depth) and word in _CLOSED_BY.values()
        if word == ";" and not depth:
            statements.append([])
        elif not depth:
            statements[-1].append(word)
        depth += word in _CLOSED_BY
    return [statement for statement in statements if statement]


def _declares(statement: list[str]) -> bool:
    """Whether a statement begins like TC's ``float(N) a``, a type before a name."""
    behind = statement[3:4] if statement[1:3] == ["(", ")"] else statement[1:2]
    return statement[0] in TYPES and bool(behind) and _is_name(behind[0])


def _is_name(word: str) -> bool:
    return word[:1].isidentifier()


def _ends_operand(word: str) -> bool:
    return word in (")", "]", "}") or ((word[:1].isalnum() or word[:1] == "_") and word not in ("return", *TYPES))
