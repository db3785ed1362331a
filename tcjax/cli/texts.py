"""The texts that commands take: files, or standard input as ``-``."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .failures import Failure, files

Notation = Literal["tc", "sac", "python"]
SUFFIXES: dict[str, Notation] = {".tc": "tc", ".sac": "sac", ".py": "python"}


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
            content = sys.stdin.buffer.read().decode("utf-8")
    else:
        name = path
        with files(name):
            content = Path(path).read_bytes().decode("utf-8")
    content = content.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    if notation is None:
        notation = SUFFIXES.get(Path(path).suffix.lower()) or _shown(content)
    return Text(name, content, notation)


def _shown(content: str) -> Notation:
    from ..syntax import sac

    return "sac" if sac.is_sac(content) else "tc"


def write_text(path: str, content: str) -> None:
    """Replaces a file's text in one step, so that an interruption leaves the old one."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.tcjax")
    with files(path):
        if target.is_symlink():
            target = target.resolve()
        beside.write_bytes(content.encode("utf-8"))
        beside.chmod(target.stat().st_mode & 0o7777)
        beside.replace(target)


def refuse_python(text: Text, command: str) -> None:
    """Raises `Failure` for a Python file, where a command only knows the other notations."""
    if text.notation == "python":
        raise Failure(f"{text.name}: `tcjax {command}` takes TC and SaC, not Python files")
