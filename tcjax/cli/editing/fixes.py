"""Quick fixes for findings whose help names one thing to write."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...diagnostics import Code
from ..checking import Finding
from ..texts import Notation, Text

# A name or a read that was probably meant instead of the text at this place.
_MEANT: Final = re.compile(r"did you mean `([^`]+)`")
_COMMENTS: Final = {"tc": "#", "python": "#", "sac": "//"}


@dataclass(frozen=True, slots=True)
class Fix:
    """A title, and the text that replaces columns ``[start, end)`` of a line."""

    title: str
    line: int
    start: int
    end: int
    text: str


def fixes(text: Text, finding: Finding) -> list[Fix]:
    """The fixes of a finding, the likeliest first."""
    return list(_fixes(text, finding))


def _fixes(text: Text, finding: Finding) -> Iterator[Fix]:
    span = finding.span
    if span is None:
        return
    error = finding.error
    lines = text.content.splitlines()
    shown = lines[span.line - 1] if 0 < span.line <= len(lines) else ""
    here = shown[span.column - 1 : span.end - 1]
    meant = _MEANT.search(error.help)
    if meant and re.fullmatch(r"\w+", meant[1]):
        word = re.match(r"\w+", here)
        if word and word[0] != meant[1]:
            yield Fix(f"write `{meant[1]}`", span.line, span.column, span.column + word.end(), meant[1])
    elif meant and here:
        yield Fix(f"write `{meant[1]}`", span.line, span.column, span.end, meant[1])
    notation, sign = _written_in(text, span.line)
    if error.code == Code.UNINITIALISED_REDUCTION.value and notation != "python":
        operator = re.compile(r"([+*]|\b\w+)=(?![=!])").search(shown, span.column - 1)
        if operator:
            place = operator.end() + 1
            yield Fix(f"start from the identity at every call: `{operator[0]}!`", span.line, place, place, "!")
    if error.code == Code.MISSING_REDUCTION.value and notation != "python":
        equals = re.compile(r"(?<![=<>!+*])=(?![=!])").search(shown)
        if equals:
            yield Fix("sum over it: `+=!`", span.line, equals.start() + 1, equals.end() + 1, "+=!")
    if not finding.is_error:
        end = len(shown) + 1
        yield Fix(f"ignore {error.code} in this line", span.line, end, end, f"  {sign} tcjax: ignore[{error.code}]")


def _written_in(text: Text, line: int) -> tuple[Notation, str]:
    """The notation of a line, and how a comment at its end begins: in Python files, those of the text around it."""
    if text.notation != "python":
        return text.notation, _COMMENTS[text.notation]
    from ..python_files import kernel_at

    kernel = kernel_at(text, line)
    notation = "python" if kernel is None or kernel.text is None else kernel.notation
    inside = kernel is not None and kernel.text is not None and line < kernel.line + kernel.text.count("\n")
    return notation, _COMMENTS[notation if inside else "python"]
