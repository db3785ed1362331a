"""Markdown pages as programs: their fenced blocks, and the page with their output updated."""

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import tcjax
from tcjax.diagnostics import CompileError

ROOT = Path(__file__).parents[2]
EXPLANATIONS = ROOT / "tcjax" / "diagnostics" / "explanations"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the number of its first line (from 0), and its lines."""

    language: str
    start: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def expected_code(self) -> str | None:
        """``TC0401`` when the first line is ``# error: TC0401``."""
        first = self.lines[0] if self.lines else ""
        return first.removeprefix("# error: ") if first.startswith("# error: ") else None


def pages() -> list[Path]:
    """Every page whose blocks run, except the explanations."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def runs(page: Path) -> bool:
    """Whether a page has a block that `run_page` runs."""
    return any(block.language in ("python", "tc") for block in blocks(page.read_text()))


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, from top to bottom."""
    language: str | None = None
    start = 0
    lines = page.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if language is None:
            language, start = line[3:].strip(), number + 1
        else:
            yield Block(language, start, tuple(lines[start:number]))
            language = None


def run_page(page: str, file: Path, namespace: dict[str, object]) -> str:
    """The page with the output of each block in the ``text`` block after it.

    ``python`` blocks run from top to bottom in `namespace`; ``tc`` blocks are loaded. A block that opens with
    ``# error: TC0401`` must raise that error, and its output is the error as shown. Any other fence is left alone.
    `file` receives the Python blocks at the lines where the page has them, for the notation that is read from source.
    """
    found = list(blocks(page))
    file.write_text(_python_of(page, found))
    lines = page.splitlines()
    shift = 0
    for block, following in pairwise([*found, None]):
        if block is None or block.language not in ("python", "tc"):
            continue
        output = _run(block, file, namespace).replace(f"{file.parent}/", "").splitlines()
        if following is not None and following.language == "text" and _adjacent(page, block, following):
            shown = replace(following, start=following.start + shift)
            lines[shown.start : shown.start + len(shown.lines)] = output
            shift += len(output) - len(shown.lines)
    return "\n".join(lines) + "\n"


def _python_of(page: str, found: list[Block]) -> str:
    lines = [""] * len(page.splitlines())
    for block in found:
        if block.language == "python":
            lines[block.start : block.start + len(block.lines)] = block.lines
    return "\n".join(lines) + "\n"


def _run(block: Block, file: Path, namespace: dict[str, object]) -> str:
    printed = io.StringIO()
    place = f"line {block.start}"
    try:
        with contextlib.redirect_stdout(printed):
            if block.language == "tc":
                tcjax.load(block.text)
            else:
                exec(compile("\n" * block.start + block.text, str(file), "exec"), namespace)
    except CompileError as error:
        assert block.expected_code == error.code, f"{place}: {error}"
        return str(error)
    assert block.expected_code is None, f"{place}: nothing was raised"
    return printed.getvalue()


def _adjacent(page: str, block: Block, following: Block) -> bool:
    """Whether only blank lines are between two blocks: if there is prose, the text is not an output."""
    between = page.splitlines()[block.start + len(block.lines) + 1 : following.start - 1]
    return not any(line.strip() for line in between)
