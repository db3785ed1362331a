"""SaC text as a tree."""

from functools import cache
from pathlib import Path
from typing import Final

from lark import Lark, UnexpectedToken

from ...diagnostics import Code, CompileError, Source, Span
from ..lexing import Lexer, Token
from ..tables import parser_of
from . import tree
from .builder import Builder
from .context import name_by_context
from .mistakes import mistake

GRAMMAR: Final = Path(__file__).with_name("grammar.lark")


def read(text: str, name: str = "<text>", first_line: int = 1) -> tree.Program:
    """The functions, definitions and the expression of a text.

    `name` is the text's name in errors, `first_line` the number of its first line. Takes time linear in the text's
    length, and never recurses. Raises `CompileError` (TC0101 to TC0110, TC0503), and nothing else, for any text.
    """
    source = Source(text, name, first_line, is_sac=True)
    grammar, _ = _tables()
    tokens = tokens_of(source)
    if len(tokens) == 1:
        raise CompileError(
            Code.NO_DEFINITION,
            "the text holds no expression",
            Span(first_line, source=source),
            help="write an expression, `a + b`, or a comprehension, `{ [i, j] -> a[j, i] }`",
        )
    name_by_context(tokens)

    parser = grammar.parse_interactive()
    program = None
    for position, token in enumerate(tokens):
        try:
            program = parser.feed_token(token)  # type: ignore[arg-type]
        except UnexpectedToken:
            raise mistake(tokens, position, parser.accepts()) from None
    assert isinstance(program, tree.Program)
    return program


def tokens_of(source: Source) -> list[Token]:
    """The words of a text and ``$END``, whether or not it parses, without comments."""
    _, lexer = _tables()
    return lexer.tokens(source)


@cache
def _tables() -> tuple[Lark, Lexer]:
    """The tables of the grammar, loaded for the first text: recognising TC needs none."""
    parser = parser_of(GRAMMAR, Builder())
    return parser, Lexer(parser)
