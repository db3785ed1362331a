"""A text as tokens; which tokens there are is said in `grammar.lark`."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from lark import Lark

from ...diagnostics import Source, Span

# Names of TC that this reader also takes as words, unless the text uses them as names.
_WORDS: Final = frozenset(("TYPE_WORD", "BINARY_WORD", "NOT_WORD"))


class Token:
    """A word of the text. `type` is its terminal, `end` the column behind it, `margin` the one behind its line."""

    __slots__ = ("column", "end", "line", "margin", "source", "text", "type")

    def __init__(self, type: str, text: str, line: int, column: int, end: int, margin: int, source: Source) -> None:
        self.type = type
        self.text = text
        self.line = line
        self.column = column
        self.end = end
        self.margin = margin
        self.source = source

    def span_to(self, last: "Token") -> Span:
        """From here to the end of `last`, or to the end of this line where `last` is on a later one."""
        return Span(self.line, self.column, last.end if last.line == self.line else self.margin, self.source)

    @property
    def span(self) -> Span:
        return self.span_to(self)


class Lexer:
    """The terminals of a grammar as one regular expression.

    Lark's own lexer would do, at four times the cost; a long text must be read within a second.
    """

    def __init__(self, grammar: Lark) -> None:
        terminals = sorted(grammar.terminals, key=lambda t: (-t.priority, -t.pattern.max_width))
        alternatives = [f"(?P<{terminal.name}>{terminal.pattern.to_regexp()})" for terminal in terminals]
        self._token = re.compile("|".join([*alternatives, "(?P<UNKNOWN>.)"]))
        self._ignored = frozenset(grammar.ignore_tokens)

    def tokens(self, source: Source) -> list[Token]:
        """The tokens of a text and ``$END``; a character that begins none is an ``UNKNOWN`` token."""
        tokens: list[Token] = []
        # The lines of `Source.line`, so that a column counts in the line that an error shows.
        for number, line in enumerate(source.text.splitlines(), source.first_line):
            margin = len(line) + 1
            for match in self._token.finditer(line):
                type = match.lastgroup
                assert type is not None
                if type not in self._ignored:
                    start, end = match.span()
                    tokens.append(Token(type, line[start:end], number, start + 1, end + 1, margin, source))
        tokens.append(_end(tokens[-1].line, tokens[-1].end, source) if tokens else _end(source.first_line, 1, source))
        _demote_words(tokens)
        return tokens


def _end(line: int, column: int, source: Source) -> Token:
    return Token("$END", "", line, column, column + 1, column + 1, source)


def _demote_words(tokens: list[Token]) -> None:
    """Make `half` a name in a text where a tensor or an index is called so.

    As a type or an operator a word never stands before a comma or a closing parenthesis; a name that is declared
    or used as an index does. So TC's programs keep their meaning.
    """
    names = {a.text for a, b in pairwise(tokens) if a.type in _WORDS and b.type in ("COMMA", "RPAR")}
    if names:
        for token in tokens:
            if token.type in _WORDS and token.text in names:
                token.type = "NAME"


def split(token: Token) -> Iterator[Token]:
    """The tokens ``name``, ``=`` (and ``!``) of ``name=!``, where no reduction can stand."""
    name = token.text.rstrip("!").rstrip("=")
    start = token.column
    for type, text in (("NAME", name), ("EQUAL", "="), ("NOT", "!")):
        if start < token.end:
            yield Token(type, text, token.line, start, start + len(text), token.margin, token.source)
        start += len(text)
