"""The canonical form of a text, which keeps its comments and the blank lines between statements."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Final

from ..diagnostics import Source
from ..syntax import ast, sac, tc
from ..syntax.lexing import Token
from ..syntax.sac import tree
from .failures import Failure
from .numerals import respelt
from .texts import Text

INDENT: Final = "  "


@dataclass(slots=True)
class Unit:
    """A line of the output: a head, a statement or a closing brace, with the tokens that it came from.

    A unit that `opens` a definition follows a blank line; no blank line follows a head or precedes a brace.
    """

    text: str
    first: Token
    last: Token
    depth: int = 0
    opens: bool = False
    is_head: bool = False
    is_end: bool = False
    before: "list[Comment]" = field(default_factory=list)
    behind: "list[Comment]" = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment as written, and its place: lines and columns count from 1."""

    text: str
    line: int
    column: int
    last_line: int


def formatted(text: Text) -> str:
    """The canonical form. Raises `CompileError` for a text that cannot be read, `Failure` where a comment would be
    lost.

    In a Python file only the texts of its kernels change, and only those without escapes.
    """
    if text.notation == "python":
        return _formatted_python(text)
    source = Source(text.content, text.name)
    read = sac.read if text.notation == "sac" else tc.read
    before = read(text.content, text.name)
    if text.notation == "sac":
        tokens_of, comments = sac.tokens_of, list(_sac_comments(source))
        tokens = tokens_of(source)
        units = list(_sac_units(before, tokens))  # type: ignore[arg-type]
    else:
        tokens_of, comments = tc.tokens_of, list(_tc_comments(source))
        tokens = tokens_of(source)
        units = list(_tc_units(text, tokens))
    places = {token: position for position, token in enumerate(tokens)}
    for unit in units:
        written = tokens[places[unit.first] : places[unit.last] + 1]
        unit.text = respelt(unit.text, tokens_of(Source(unit.text)), written)
    rest = _attach(comments, units)
    result = "\n".join(_lines(units, rest)) + "\n"
    after = Source(result, text.name)
    kept = _sac_comments(after) if text.notation == "sac" else _tc_comments(after)
    if sorted(c.text for c in kept) != sorted(c.text for c in comments):
        raise Failure(f"{text.name}: a comment would be lost, so nothing was changed; put it on a line of its own")
    if read(result, text.name) != before:
        raise Failure(f"{text.name}: the formatted text would mean something else, so nothing was changed")
    return result.replace("\n", "\r\n") if "\r\n" in text.content else result


# ---------------------------------------------------------------- Python


def _formatted_python(text: Text) -> str:
    from .python_files import literals

    result = text.content.replace("\r\n", "\n")
    offsets = [0, *accumulate(len(line) for line in result.splitlines(keepends=True))]
    for literal in sorted(literals(text), key=lambda each: (each.line, each.column), reverse=True):
        start = offsets[literal.line - 1] + literal.column - 1
        # Mistakes are reported at their places in the file.
        placed = "\n" * (literal.line - 1) + " " * (literal.column - 1) + literal.content
        after = formatted(Text(text.name, placed, literal.notation)).rstrip("\n")
        result = result[:start] + _placed(literal.content, after) + result[start + len(literal.content) :]
    return result.replace("\n", "\r\n") if "\r\n" in text.content else result


def _placed(before: str, after: str) -> str:
    """A formatted text as a string literal: it begins and ends on the same lines as before, indented like its first
    line.
    """
    if "\n" not in before.strip():
        # A one-line literal stays on one line: a program of several lines needs triple quotes.
        return before if "\n" in after else before.replace(before.strip(), after)
    head = before[: len(before) - len(before.lstrip())]
    tail = before[len(before.rstrip()) :]
    margin = head.rpartition("\n")[2] if "\n" in head else ""
    return head + textwrap.indent(after, margin).removeprefix(margin) + tail


# ---------------------------------------------------------------- TC


def _tc_units(text: Text, tokens: list[Token]) -> Iterator[Unit]:
    places = {(token.line, token.column): position for position, token in enumerate(tokens)}
    # Part by part: the tree of a whole text omits a definition whose name occurred before.
    for part in tc.parts(text.content, text.name):
        for definition in tc.read(part.text, text.name, part.first_line).definitions:
            if definition.parameters is None:
                yield from _statements(definition.body, places, tokens, len(tokens) - 1, 0)
                continue
            opening = places[definition.span.line, definition.span.column]
            arrow = _find(tokens, opening, "LBRACE")
            closing = _closing(tokens, arrow)
            head = tc.write(replace(definition, body=())).splitlines()[0]
            yield Unit(head, tokens[opening], tokens[arrow], opens=True, is_head=True)
            yield from _statements(definition.body, places, tokens, closing, 1)
            yield Unit("}", tokens[closing], tokens[closing], is_end=True)


def _statements(
    body: Sequence[ast.Statement], places: dict[tuple[int, int], int], tokens: list[Token], end: int, depth: int
) -> Iterator[Unit]:
    begins = [places[statement.span.line, statement.span.column] for statement in body]
    for statement, (begin, following) in zip(body, pairwise([*begins, end]), strict=True):
        if isinstance(statement, ast.For):
            opening = _find(tokens, begin, "LBRACE")
            closing = _closing(tokens, opening)
            yield Unit(tc.loop_head(statement), tokens[begin], tokens[opening], depth, is_head=True)
            yield from _statements(statement.body, places, tokens, closing, depth + 1)
            yield Unit("}", tokens[closing], tokens[closing], depth, is_end=True)
            continue
        last = following - 1
        while last > begin and tokens[last].type == "SEMICOLON":
            last -= 1
        yield Unit(tc.write(statement), tokens[begin], tokens[last], depth)


def _find(tokens: list[Token], start: int, type: str) -> int:
    return next(position for position in range(start, len(tokens)) if tokens[position].type == type)


def _tc_comments(source: Source) -> Iterator[Comment]:
    for number, line in enumerate(source.text.splitlines(), start=1):
        code, sign, said = line.partition("#")
        if sign:
            yield Comment(f"#{said}".rstrip(), number, len(code) + 1, number)


# ---------------------------------------------------------------- SaC


def _sac_units(program: tree.Program, tokens: list[Token]) -> Iterator[Unit]:
    places = {(token.line, token.column): position for position, token in enumerate(tokens)}
    position = 0
    for function in program.functions:
        start = places[function.span.line, function.span.column]
        returned = _find(tokens, start, "RETURN")
        body = _opening(tokens, start, returned, len(function.lets))
        end = _closing(tokens, body)
        written = sac.write(tree.Program((function,), (), None)).splitlines()
        yield Unit(written[0], tokens[start], tokens[body], opens=True, is_head=True)
        for line, (first, last) in zip(written[1:-1], _between(tokens, body + 1, end), strict=True):
            yield Unit(line.strip(), tokens[first], tokens[last], 1)
        yield Unit("}", tokens[end], tokens[end], is_end=True)
        position = end + 1
    spans = list(_between(tokens, position, len(tokens) - 1))
    texts = [sac.write(tree.Program((), (let,), None)) for let in program.lets]
    if program.result is not None:
        texts.append(sac.write_expr(program.result))
    for number, (text, (first, last)) in enumerate(zip(texts, spans, strict=True)):
        yield Unit(text, tokens[first], tokens[last], opens=number == 0)


def _opening(tokens: list[Token], start: int, returned: int, lets: int) -> int:
    """The brace before the first of `lets` definitions, or before ``return``: the last one still open there."""
    opened: list[int] = []
    for position in range(start, returned):
        if tokens[position].type == "LBRACE":
            opened.append(position)
        elif tokens[position].type == "RBRACE":
            opened.pop()
    return opened[-1]


def _closing(tokens: list[Token], opening: int) -> int:
    depth = 0
    for position in range(opening, len(tokens)):
        depth += (tokens[position].type == "LBRACE") - (tokens[position].type == "RBRACE")
        if depth == 0:
            return position
    raise AssertionError("a text that was read has its braces in pairs")


def _between(tokens: list[Token], start: int, end: int) -> Iterator[tuple[int, int]]:
    """The first and last token of every statement; a semicolon outside all brackets ends one."""
    depth, first = 0, start
    for position in range(start, end):
        depth += tokens[position].type in ("LBRACE", "LPAR", "LSQB")
        depth -= tokens[position].type in ("RBRACE", "RPAR", "RSQB")
        if tokens[position].type == "SEMICOLON" and depth == 0:
            yield first, position
            first = position + 1
    if first < end:
        yield first, end - 1


_SAC_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _sac_comments(source: Source) -> Iterator[Comment]:
    text = "\n".join(source.text.splitlines())
    for match in _SAC_COMMENT.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - (text.rfind("\n", 0, match.start()) + 1) + 1
        said = "\n".join(part.rstrip() for part in match.group().split("\n"))
        yield Comment(said, line, column, line + said.count("\n"))


# ---------------------------------------------------------------- comments and lines


def _attach(comments: list[Comment], units: list[Unit]) -> list[Comment]:
    """Attaches every comment to a unit: the one that ends on its line, else the one that follows.

    A comment inside a unit is moved before it. What follows the last unit is returned.
    """
    rest: list[Comment] = []
    number = 0
    for comment in comments:
        place = (comment.line, comment.column)
        while number < len(units) and (units[number].last.line, units[number].last.column) < place:
            number += 1
        ended = units[number - 1] if number else None
        following = units[number] if number < len(units) else None
        if following is not None and (following.first.line, following.first.column) < place:
            following.before.append(comment)
        elif (
            ended is not None
            and ended.last.line == comment.line
            and (following is None or following.first.line > comment.last_line)
        ):
            ended.behind.append(comment)
        else:
            (rest if following is None else following.before).append(comment)
    return rest


def _lines(units: list[Unit], rest: list[Comment]) -> Iterator[str]:
    reached: int | None = None
    after_head = False

    def gap(line: int, own: bool) -> bool:
        return reached is not None and not after_head and (own or line - reached > 1)

    for unit in units:
        indent = INDENT * unit.depth
        opens = unit.opens
        for comment in unit.before:
            inside = (comment.line, comment.column) > (unit.first.line, unit.first.column)
            line = unit.first.line if inside else comment.line
            if gap(line, opens):
                yield ""
            inner = INDENT * (unit.depth + 1) if unit.is_end else indent
            yield from _shown(comment.text, inner)
            reached, after_head, opens = (line if inside else comment.last_line), False, False
        if gap(unit.first.line, opens) and not unit.is_end:
            yield ""
        multiline = [comment for comment in unit.behind if "\n" in comment.text]
        trailing = "".join(f"  {comment.text}" for comment in unit.behind if comment not in multiline)
        yield f"{indent}{unit.text}{trailing}"
        for comment in multiline:
            yield from _shown(comment.text, indent)
        reached, after_head = max([unit.last.line, *(c.last_line for c in unit.behind)]), unit.is_head
    for comment in rest:
        if gap(comment.line, False):
            yield ""
        yield from _shown(comment.text, "")
        reached, after_head = comment.last_line, False


def _shown(comment: str, indent: str) -> Iterator[str]:
    first, *others = comment.split("\n")
    yield f"{indent}{first}"
    yield from others
