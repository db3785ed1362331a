"""What the writer sees: the message, the line with a caret, and what to write instead."""

import sys
import warnings

from .callers import ShownToCallers
from .codes import Code, Kind
from .source import NO_SOURCE, NOWHERE, Span


class CompileError(ShownToCallers, ValueError):
    """A mistake in a program, its arguments or its options.

    `kind` and `code` say which mistake, `span` where (``line, column, end``), `help` what to write instead.
    `str()` shows the line with a caret.
    """

    def __init__(self, code: Code, message: str, span: Span | None = None, *, help: str) -> None:
        super().__init__(code, message, span, help)
        self.diagnosis = code
        self.message = message
        self.span = span or NOWHERE
        self.help = help

    @property
    def kind(self) -> Kind:
        return self.diagnosis.kind

    @property
    def code(self) -> str:
        return self.diagnosis.value

    def __str__(self) -> str:
        return render(self)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.diagnosis, self.message, self.span, self.help)


def _rebuild(code: Code, message: str, span: Span, help: str) -> CompileError:
    return CompileError(code, message, span, help=help)


class DataError(ShownToCallers, ValueError):
    """What the data of a call did to a kernel with ``checked=True``: a read or a target outside, a division by zero.

    `span` says where in the program; `str()` shows the line with a caret.
    """

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message, span)
        self.message = message
        self.span = span or NOWHERE

    def __str__(self) -> str:
        return "\n".join([self.message, *show_place(self.span)])


class CompileWarning(UserWarning):
    """Something legal that probably means something else than its writer thinks.

    `message` says what, `span` where; `str()` shows the line with a caret.
    """

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message if span is None else show_warning(message, span))
        self.message = message
        self.span = span


def render(error: CompileError) -> str:
    """The error as text: headline, place, line, caret, help."""
    lines = [f"{error.message}  [{error.code}: {error.kind}]", *show_place(error.span), f"help: {error.help}"]
    return "\n".join(lines)


def show_place(span: Span) -> list[str]:
    """``--> name:line:column``, the line and a caret under the columns of `span`; nothing without a place."""
    if span.source is NO_SOURCE:
        return []
    text = span.source.line(span.line)
    start = min(span.column - 1, len(text))
    # A long line is cut around the caret: what matters must fit a terminal.
    cut = max(0, start - 60)
    shown = text[cut : cut + 120].replace("\t", " ")
    width = max(1, min(span.end, cut + len(shown) + 1) - span.column)
    number = str(span.line)
    margin = " " * len(number)
    return [
        f"{margin}--> {span.source.name}:{span.line}:{span.column}",
        f"{margin} |",
        f"{number} | {shown}",
        f"{margin} | {' ' * (start - cut)}{'^' * width}",
    ]


def show_warning(message: str, span: Span) -> str:
    """The text of a `CompileWarning`: the message and the line with a caret."""
    return "\n".join([message, *show_place(span)])


def warn(message: str, span: Span) -> None:
    """Issues a `CompileWarning` that shows the line with a caret, at the first caller outside this package.

    What is found in a call is found while JAX traces: its frames are no callers either.
    """
    frame, level, ours = sys._getframe(), 1, (__name__.partition(".")[0], "jax")
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in ours:
        frame, level = frame.f_back, level + 1
    warnings.warn(CompileWarning(message, span), stacklevel=level)
