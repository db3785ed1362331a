"""The source of a Python function: found, parsed, and with the place of every node in its file."""

import ast as python
import inspect
import re
import tokenize
import types
import warnings
from dataclasses import dataclass

from ...diagnostics import Code, CompileError, Source, Span
from ...keeping import lock

# Every pass after this one descends by recursion; Python allows about 1,000 frames.
DEPTH = 200


@dataclass(frozen=True, slots=True)
class Script:
    """A parsed text; `shift` lines were put before it so that an indented function parses at its place."""

    source: Source
    lines: tuple[str, ...]
    shift: int
    body: tuple[python.stmt, ...]

    def span(self, node: python.expr | python.stmt | python.arg | python.keyword) -> Span:
        """The place of `node`: from its start to its end or the end of the line; columns in characters."""
        number = node.lineno - self.shift
        text = self.lines[number - 1].encode() if 0 < number <= len(self.lines) else b""
        end = node.end_col_offset if node.end_lineno == node.lineno and node.end_col_offset is not None else len(text)
        column, last = (len(text[:offset].decode(errors="replace")) + 1 for offset in (node.col_offset, end))
        return Span(self.source.first_line + number - 1, column, max(last, column + 1), self.source)


def parse_function(function: types.FunctionType) -> Script:
    """The script of `function` from its file. Raises `CompileError` (TC0106) if the source cannot be read."""
    try:
        lines, first = inspect.getsourcelines(function.__code__)
    except (OSError, TypeError, IndexError, SyntaxError, tokenize.TokenError):
        raise no_source(function.__name__) from None
    return parse("".join(lines), function.__code__.co_filename, max(first, 1))


def no_source(name: str) -> CompileError:
    return CompileError(
        Code.NO_PYTHON_SOURCE,
        f"the source of `{name}` cannot be read",
        help="define it with `def` in a file or a notebook, or give the program as a text: "
        '`tcjax.kernel("def f(float(N) A) -> (B) { B(i) = 2.0 * A(i) }")`',
    )


# Warning filters are process-wide: two threads that change them at once would leave them changed.
_FILTERS = lock()


def parse(text: str, name: str, first_line: int) -> Script:
    """The script of a text. Raises `CompileError` (TC0101, TC0103) if Python cannot parse it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # `Source` counts these as line breaks, Python does not.
    source = Source(re.sub("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", " ", text), name, first_line, is_python=True)
    lines = text.split("\n")
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    indented = first[:1] in (" ", "\t")
    start = Span(first_line, 1, 2, source)
    try:
        with _FILTERS, warnings.catch_warnings():
            # Python warned already when it compiled the file.
            warnings.simplefilter("ignore")
            body = python.parse(f"if 1:\n{text}" if indented else text).body
    except SyntaxError as error:
        where = _error_span(error, source, int(indented))
        if "too many" in error.msg:
            raise too_deep(where) from None
        message = f"this is not Python: {error.msg}"
        raise CompileError(Code.UNEXPECTED_TOKEN, message, where, help="write a Python function") from None
    except (RecursionError, MemoryError):
        raise too_deep(start) from None
    except ValueError as error:
        message = f"this is not Python: {error}"
        raise CompileError(Code.UNEXPECTED_CHARACTER, message, start, help="write a Python function") from None
    if indented and isinstance(body[0], python.If):
        body = body[0].body + body[1:]
    script = Script(source, tuple(lines), int(indented), tuple(body))
    _check_depth(script)
    return script


def _error_span(error: SyntaxError, source: Source, shift: int) -> Span:
    line = source.first_line + max((error.lineno or 1) - shift, 1) - 1
    column = max(error.offset or 1, 1)
    one_line = error.end_lineno == error.lineno and error.end_offset is not None and error.end_offset > column
    return Span(line, column, (error.end_offset or 0) if one_line else column + 1, source)


def too_deep(span: Span) -> CompileError:
    return CompileError(
        Code.TOO_DEEP,
        f"this is nested more than {DEPTH} levels deep",
        span,
        help="give a part of it a name of its own: `t[i] = …`",
    )


def _check_depth(script: Script) -> None:
    pending: list[tuple[python.AST, int]] = [(statement, 1) for statement in script.body]
    while pending:
        node, depth = pending.pop()
        if depth > DEPTH:
            located = isinstance(node, python.expr | python.stmt | python.arg | python.keyword)
            raise too_deep(script.span(node) if located else Span(script.source.first_line, 1, 2, script.source))
        pending.extend((child, depth + 1) for child in python.iter_child_nodes(node))
