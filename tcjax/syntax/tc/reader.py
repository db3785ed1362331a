"""TC text as a tree."""

from pathlib import Path
from typing import Final

from lark import UnexpectedToken

from ...diagnostics import Code, CompileError, Source, Span
from .. import ast
from ..lexing import Lexer, Token
from ..tables import parser_of
from .builder import Builder
from .mistakes import mistake
from .words import demote_words, split

GRAMMAR: Final = Path(__file__).with_name("grammar.lark")
_PARSER: Final = parser_of(GRAMMAR, Builder())
_LEXER: Final = Lexer(_PARSER)


def read(text: str, name: str = "<text>", first_line: int = 1) -> ast.Program:
    """The definitions of a text, or, of a text without ``def``, one definition called ``kernel``.

    `name` is the text's name in errors, `first_line` the number of its first line. Takes time linear in the text's
    length, and never recurses. Raises `CompileError` (TC0101 to TC0107, TC0503), and nothing else, for any text.
    """
    source = Source(text, name, first_line)
    tokens = tokens_of(source)
    if len(tokens) == 1:
        raise CompileError(
            Code.NO_DEFINITION,
            "the text holds no definition",
            Span(first_line, source=source),
            help="write a statement, `C(m, n) +=! A(m, k) * B(k, n)`, or a `def f(...) -> (...) { ... }`",
        )

    parser = _PARSER.parse_interactive()
    program = None
    for position, token in enumerate(tokens):
        try:
            if token.type == "REDUCE" and "REDUCE" not in parser.choices():
                for part in split(token):
                    parser.feed_token(part)  # type: ignore[arg-type]
            else:
                program = parser.feed_token(token)  # type: ignore[arg-type]
        except UnexpectedToken as error:
            raise mistake(tokens, position, error.token, parser.accepts()) from None  # type: ignore[arg-type]
    assert isinstance(program, ast.Program)
    return program


def tokens_of(source: Source) -> list[Token]:
    """The words of a text and ``$END``, whether or not it parses, without comments."""
    tokens = _LEXER.tokens(source)
    demote_words(tokens)
    return tokens
