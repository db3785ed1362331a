"""Words whose meaning depends on their context."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..lexing import Token

# Names of TC that this reader also treats as words, unless the text uses them as names.
_WORDS: Final = frozenset(("TYPE_WORD", "BINARY_WORD", "NOT_WORD"))


def demote_words(tokens: list[Token]) -> None:
    """Makes `half` a name in a text that uses it as a tensor or an index.

    As a type or an operator a word never comes before a comma or a closing parenthesis; a declared name or an index
    does. So TC's programs keep their meaning.
    """
    names = {a.text for a, b in pairwise(tokens) if a.type in _WORDS and b.type in ("COMMA", "RPAR")}
    if names:
        for token in tokens:
            if token.type in _WORDS and token.text in names:
                token.type = "NAME"


def split(token: Token) -> Iterator[Token]:
    """The tokens ``name``, ``=`` (and ``!``) of ``name=!``, where no reduction is possible."""
    name = token.text.rstrip("!").rstrip("=")
    start = token.column
    for type, text in (("NAME", name), ("EQUAL", "="), ("NOT", "!")):
        if start < token.end:
            yield Token(type, text, token.line, start, start + len(text), token.margin, token.source)
        start += len(text)
