"""The texts that commands take: files, or standard input as ``-``."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ..files import read, replacing
from .failures import Failure, files, one_line

Notation = Literal["tc", "sac", "python"]
SUFFIXES: dict[str, Notation] = {".tc": "tc", ".sac": "sac", ".py": "python"}
# In bytes: a longer text is not a program, and standard input may be endless.
_LONGEST: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Text:
    """The contents of a file, its name in messages, and its notation."""

    name: str
    content: str
    notation: Notation


def read_text(path: str, notation: Notation | None = None) -> Text:
    """The text of a file. Its notation is the given one, else that of its suffix, else the one recognised from the
    text.

    Raises `Failure` if it cannot be read or is not UTF-8.
    """
    if path == "-":
        name = "<stdin>"
        # Python sets this when the shell closed it: `tcjax check - <&-`.
        if sys.stdin is None:
            raise Failure("-: there is no standard input")
        with files(name):
            given = sys.stdin.buffer.read(_LONGEST + 1)
            if len(given) > _LONGEST:
                raise Failure(f"-: longer than {_LONGEST >> 20} MiB")
            content = given.decode("utf-8")
    else:
        name = one_line(path)
        with files(path):
            content = read(path, _LONGEST).decode("utf-8")
    content = content.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    if notation is None:
        notation = SUFFIXES.get(Path(path).suffix.lower()) or _shown(content)
    return Text(name, content, notation)


def _shown(content: str) -> Notation:
    from ..syntax import sac

    return "sac" if sac.is_sac(content) else "tc"


def write_text(path: str, content: str) -> None:
    """Replaces a file's text atomically, so that an interruption leaves the old one; a symbolic link stays one."""
    with files(path), replacing(path, follow=True) as file:
        file.write(content.encode("utf-8"))
