"""Where a piece of a program came from: a text, and a place in it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Source:
    """A text under a name: a definition given as a string, a `.tc` file, or the lines of a Python function.

    `first_line` is the number of its first line, so that a Python function shows the line numbers of its file.
    `is_python` and `is_sac` decide the notation of help.
    """

    text: str
    name: str = "<text>"
    first_line: int = 1
    is_python: bool = False
    is_sac: bool = False

    def line(self, number: int) -> str:
        """The text of line `number` (numbered from `first_line`), empty when there is none."""
        lines = self.text.splitlines()
        position = number - self.first_line
        return lines[position] if 0 <= position < len(lines) else ""


NO_SOURCE = Source("", "<none>")


@dataclass(frozen=True, slots=True)
class Span:
    """Columns ``[column, end)`` of a line, both counted from 1. Unpacks to ``line, column, end``."""

    line: int = 1
    column: int = 1
    end: int = 2
    source: Source = field(default=NO_SOURCE, repr=False)

    def __iter__(self) -> Iterator[int]:
        return iter((self.line, self.column, self.end))

    @property
    def text(self) -> str:
        """The text there; empty without a source."""
        return self.source.line(self.line)[self.column - 1 : self.end - 1]

    def part(self, word: str) -> "Span":
        """The first occurrence of `word` in it as a whole word; all of it if there is none."""
        text = self.text
        first, last = word[:1].isalnum(), word[-1:].isalnum()
        start = text.find(word) if word else -1
        while start >= 0:
            end = start + len(word)
            if not (first and _in_word(text[start - 1 : start])) and not (last and _in_word(text[end : end + 1])):
                return replace(self, column=self.column + start, end=self.column + end)
            start = text.find(word, start + 1)
        return self

    def applied(self, word: str) -> "Span":
        """The same with the brackets that follow: ``A(i, j)``, ``A[i, j]``."""
        name = self.part(word)
        depth = 0
        for position, sign in enumerate(self.text[name.end - self.column :] if name is not self else ""):
            depth += (sign in "([") - (sign in ")]")
            if not depth:
                return replace(name, end=name.end + position + 1) if sign in ")]" else name
        return name


def _in_word(sign: str) -> bool:
    """Whether this character, if any, continues a word."""
    return sign.isalnum() or sign == "_"


NOWHERE = Span()
