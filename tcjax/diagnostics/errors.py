"""What the writer sees: the message, the line with a caret, and what to write instead."""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from .callers import ShownToCallers
from .codes import Code, Kind
from .source import NO_SOURCE, NOWHERE, Span


class _Diagnosed(Exception):
    """A message about a program: its code, text, place and help; `str()` shows the line with a caret."""

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
        return _rebuild, (type(self), self.diagnosis, self.message, self.span, self.help)


def _rebuild(own: type[_Diagnosed], code: Code, message: str, span: Span, help: str) -> _Diagnosed:
    return own(code, message, span, help=help)


class CompileError(_Diagnosed, ShownToCallers, ValueError):
    """A mistake in a program, its arguments or its options.

    `kind` and `code` say which mistake, `span` where (``line, column, end``), `help` what to write instead.
    `str()` shows the line with a caret.
    """


class DataError(ShownToCallers, ValueError):
    """Invalid data in a call of a kernel with ``checked=True``: a read or write out of bounds, a division by zero.

    `span` says where in the program; `str()` shows the line with a caret.
    """

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message, span)
        self.message = message
        self.span = span or NOWHERE

    def __str__(self) -> str:
        return "\n".join([self.message, *show_place(self.span)])


class CompileWarning(_Diagnosed, UserWarning):
    """Something legal that probably does not mean what its writer intended.

    `code` says what (``"TC1210"``), `span` where (``line, column, end``), `help` what to write instead; `kind` is the
    kind of the `CompileError` that ``strict=True`` raises instead. `str()` shows the line with a caret.
    """

    @property
    def is_ignored(self) -> bool:
        """Whether a comment on its line says ``# tcjax: ignore[TC1203]``, or ``# tcjax: ignore`` for all codes."""
        if self.span.source is NO_SOURCE:
            return False
        return any(
            found["codes"] is None or self.code in re.split(r"[\s,]+", found["codes"].upper())
            for found in _IGNORED.finditer(self.span.source.line(self.span.line))
        )

    def as_error(self) -> CompileError:
        """The warning as a `CompileError`."""
        return CompileError(self.diagnosis, self.message, self.span, help=self.help)


# Comments begin with `#` in TC and Python, with `//` or `/*` in SaC.
_IGNORED: Final = re.compile(r"(?:#|//|/\*)\s*tcjax:\s*ignore(?:\[(?P<codes>[^\]]*)\])?(?![\w\[])", re.IGNORECASE)


def render(said: _Diagnosed) -> str:
    """The error or warning as text: headline, place, line, caret, help."""
    kind = f": {said.kind}" if isinstance(said, CompileError) else ""
    return "\n".join([f"{said.message}  [{said.code}{kind}]", *show_place(said.span), f"help: {said.help}"])


def show_place(span: Span) -> list[str]:
    """``--> name:line:column``, the line, and a caret under the columns of `span`; nothing without a place."""
    if span.source is NO_SOURCE:
        return []
    text = span.source.line(span.line)
    start = min(span.column - 1, len(text))
    # A long line is cut around the caret, so that the marked part fits on a terminal.
    cut = max(0, start - 60)
    shown = text[cut : cut + 120].replace("\t", " ")
    width = max(1, min(span.end, cut + len(shown) + 1) - span.column)
    if cut:
        shown = f"…{shown[1:]}"
    if cut + 120 < len(text):
        shown = f"{shown[:-1]}…"
    number = str(span.line)
    margin = " " * len(number)
    return [
        f"{margin}--> {span.source.name}:{span.line}:{span.column}",
        f"{margin} |",
        f"{number} | {shown}",
        f"{margin} | {' ' * (start - cut)}{'^' * width}",
    ]


def warn(warning: CompileWarning, *, strict: bool = False) -> None:
    """Issues a warning at the first caller outside this package, unless a comment on its line ignores it.

    A kernel warns while JAX traces it, so JAX's frames are not callers either. Raises the warning as a `CompileError`
    if `strict`.
    """
    if warning.is_ignored:
        return
    if strict:
        raise warning.as_error()
    if warning.diagnosis in _SILENT.get():
        return
    frame, level, ours = sys._getframe(), 1, (__name__.partition(".")[0], "jax")
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in ours:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


# The codes that are silenced in this thread.
_SILENT: Final[ContextVar[frozenset[Code]]] = ContextVar("silent", default=frozenset())


@contextmanager
def silenced(*codes: Code) -> Iterator[None]:
    """Suppresses warnings with these codes inside the block; without codes, all warnings.

    `warnings.catch_warnings` is process-wide: when threads enter and leave it in the same order, the filters seen by
    the second one stay for ever.
    """
    token = _SILENT.set(_SILENT.get() | frozenset(codes or Code))
    try:
        yield
    finally:
        _SILENT.reset(token)
