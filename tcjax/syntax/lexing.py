"""A text as tokens, which are defined in each notation's `grammar.lark`."""

import re
from typing import Final

from lark import Lark

from ..diagnostics import Source, Span

# The terminal of a comment that may span lines, up to `*/`.
_OPENING: Final = "COMMENT_OPENING"


class Token:
    """A word of the text. `type` is its terminal, `end` the column after it, `margin` the one after its line."""

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
        """From here to the end of `last`, or to the end of this line if `last` is on a later one."""
        return Span(self.line, self.column, last.end if last.line == self.line else self.margin, self.source)

    @property
    def span(self) -> Span:
        return self.span_to(self)


class Lexer:
    """The terminals of a grammar as one regular expression.

    Lark's own lexer would take four times as long; a long text must be read within a second.
    """

    def __init__(self, grammar: Lark) -> None:
        terminals = sorted(grammar.terminals, key=lambda t: (-t.priority, -t.pattern.max_width))
        alternatives = [f"(?P<{terminal.name}>{terminal.pattern.to_regexp()})" for terminal in terminals]
        self._token = re.compile("|".join([*alternatives, "(?P<UNKNOWN>.)"]))
        self._ignored = frozenset(grammar.lexer_conf.ignore) - {_OPENING}

    def tokens(self, source: Source) -> list[Token]:
        """The tokens of a text and ``$END``; a character that begins no token is an ``UNKNOWN`` token.

        A ``COMMENT_OPENING`` occurs only if nothing closes the comment: then it is the last token.
        """
        tokens: list[Token] = []
        comment: Token | None = None
        # Lines as in `Source.line`, so that columns refer to the line that an error shows.
        for number, line in enumerate(source.text.splitlines(), source.first_line):
            margin = len(line) + 1
            begin = 0
            if comment:
                begin = line.find("*/") + 2
                if begin < 2:
                    continue
                comment = None
            for match in self._token.finditer(line, begin):
                type = match.lastgroup
                assert type is not None
                if type not in self._ignored:
                    start, end = match.span()
                    token = Token(type, line[start:end], number, start + 1, end + 1, margin, source)
                    if type == _OPENING:
                        comment = token
                    else:
                        tokens.append(token)
        if comment:
            tokens.append(comment)
        tokens.append(_end(tokens[-1].line, tokens[-1].end, source) if tokens else _end(source.first_line, 1, source))
        return tokens


def _end(line: int, column: int, source: Source) -> Token:
    return Token("$END", "", line, column, column + 1, column + 1, source)


# The operators with which index notation reduces.
REDUCTIONS: Final = frozenset(
    ("sum", "prod", "min", "max", "any", "all", "mean", "logsumexp", "argmax", "argmin", "mink", "maxk")
)

CLOSED_BY: Final = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}


def token_before(tokens: list[Token], position: int) -> Token:
    """The token before a position, ``$START`` before the first."""
    return tokens[position - 1] if position > 0 else Token("$START", "", 1, 1, 1, 1, tokens[0].source)


def token_after(tokens: list[Token], position: int) -> Token:
    """The token after a position; after the last token, the last token itself."""
    return tokens[min(position + 1, len(tokens) - 1)]


def open_brackets(tokens: list[Token]) -> list[int]:
    """The positions of the brackets still open after `tokens`."""
    opened: list[int] = []
    for position, token in enumerate(tokens):
        if token.type in CLOSED_BY:
            opened.append(position)
        elif opened and token.type == CLOSED_BY[tokens[opened[-1]].type]:
            opened.pop()
    return opened


def closing_bracket(tokens: list[Token], opening: int) -> int | None:
    """The position of the bracket that closes the one at `opening`; None if there is none."""
    depth = 0
    for position in range(opening, len(tokens)):
        depth += (tokens[position].type in CLOSED_BY) - (tokens[position].type in CLOSED_BY.values())
        if not depth:
            return position
    return None


def short(text: str) -> str:
    """`text` as quoted in a message."""
    return text if len(text) <= 40 else f"{text[:37]}..."
