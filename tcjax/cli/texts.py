"""The texts that commands take: files, or standard input as ``-``."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ..files import read, replacing
from .failures import Failure, files, one_line

Notation = Literal["tc", "sac", "python"]
SUFFIXES: dict[str, Notation] = {".tc": "tc", ".sac": "sac", ".py": "python"}
# Bytes: what is longer is no program, and standard input may have no end.
_LONGEST: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Text:
    """What a file holds, how messages call it, and the notation that it is in."""

    name: str
    content: str
    notation: Notation


def read_text(path: str, notation: Notation | None = None) -> Text:
    """The text of a file. Its notation is the given one, else that of its suffix, else what the text shows.

    Raises `Failure` for what cannot be read or is not UTF-8.
    """
    if path == "-":
        name = "<stdin>"
        # So Python has it where the shell closed it: `tcjax check - <&-`.
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
    """Replaces a file's text in one step, so that an interruption leaves the old one; a link stays one."""
    with files(path), replacing(path, follow=True) as file:
        file.write(content.encode("utf-8"))
