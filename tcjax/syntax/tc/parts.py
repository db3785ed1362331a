"""Splits a text into its definitions, so that a mistake in one does not hide those in the others."""

from dataclasses import dataclass
from itertools import pairwise

from ...diagnostics import Source
from ..lexing import Token
from .reader import tokens_of


@dataclass(frozen=True, slots=True)
class Part:
    """One definition's text, at its lines and columns in the whole text, its name, and all words in it."""

    text: str
    first_line: int
    name: str
    words: frozenset[str]


def parts(text: str, name: str = "<text>", first_line: int = 1) -> list[Part]:
    """One part for each ``def``; a text without any is one part.

    Text before the first ``def`` belongs to its part.
    """
    tokens = tokens_of(Source(text, name, first_line))
    begins = [position for position, token in enumerate(tokens) if token.type == "DEF"]
    if len(begins) < 2:
        return [Part(text, first_line, tokens[begins[0] + 1].text if begins else "kernel", _words(tokens))]
    lines = text.splitlines()
    cuts = [0, *begins[1:], len(tokens) - 1]
    return [
        Part(
            _between(lines, tokens[start], tokens[stop], first_line), tokens[start].line, tokens[begin + 1].text, words
        )
        for begin, (start, stop) in zip(begins, pairwise(cuts), strict=True)
        for words in [_words(tokens[start:stop])]
    ]


def _between(lines: list[str], start: Token, stop: Token, first_line: int) -> str:
    """The text from one token up to another, with columns kept."""
    taken = lines[start.line - first_line : stop.line - first_line + 1]
    taken[-1] = taken[-1][: stop.column - 1]
    taken[0] = " " * (start.column - 1) + taken[0][start.column - 1 :]
    return "\n".join(taken)


def _words(tokens: list[Token]) -> frozenset[str]:
    return frozenset(token.text for token in tokens)
