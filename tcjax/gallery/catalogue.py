"""What the gallery has: read from the files of the programs, none of which is run for that."""

import ast
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ..diagnostics import Code, CompileError

if TYPE_CHECKING:
    from .program import Program

# The folders of programs/, in the order in which they are listed, and what they are about.
GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "networks": "Layers of networks",
        "sequences": "Sequences and recurrences",
        "points": "Points, clouds and kernels",
        "fields": "Fields, images and simulations",
        "graphs": "Graphs, sparse and irregular data",
    }
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A program of the gallery: its name, its group, and what its docstring says."""

    name: str
    group: str
    title: str
    text: str
    path: Path

    @property
    def source(self) -> str:
        """The program, as `tcjax gallery copy` writes it."""
        return self.path.read_text(encoding="utf-8")


@cache
def entries() -> tuple[Entry, ...]:
    """All programs, group by group."""
    folder = Path(__file__).parent / "programs"
    return tuple(
        _entry(path, group)
        for group in GROUPS
        for path in sorted((folder / group).glob("*.py"))
        if path.name != "__init__.py"
    )


def entry(name: str) -> Entry:
    """The program of this name. Raises `CompileError` (TC0308) where there is none."""
    known = {each.name: each for each in entries()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.5)
    raise CompileError(
        Code.BAD_OPTION,
        f"the gallery has no program `{name}`",
        help=f"did you mean `{near[0]}`?" if near else "`tcjax gallery` lists the programs",
    )


def load(name: str) -> "Program":
    """The program of this name, imported. Raises `CompileError` (TC0308) where there is none."""
    found = entry(name)
    return import_module(f"{__package__}.programs.{found.group}.{found.name}").program


def _entry(path: Path, group: str) -> Entry:
    title, _, text = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem).partition("\n")
    return Entry(path.stem, group, title.rstrip("."), text.strip(), path)
