"""The page of the command shows what the command prints."""

import re
import shlex

from tcjax.cli.command import command
from tests.docs.markdown import ROOT, Block, blocks

from .commands import Shell

PAGE = ROOT / "docs" / "command.md"
TITLE = re.compile(r'\w+ title="([\w.]+)"')
TIME = re.compile(r"[\d.]+ (?:s|ms|µs)\b")


def printed(block: Block, shell: Shell) -> list[str]:
    """The block's commands, each with its output."""
    lines: list[str] = []
    for line in block.lines:
        if line.startswith("$ tcjax "):
            result = shell(*shlex.split(line)[2:])
            lines += [line, *result.output.rstrip("\n").splitlines()]
    return lines


def brought_up_to_date(page: str, shell: Shell) -> str:
    """The page with the current output of its commands, on the files that it shows."""
    lines = page.splitlines()
    shift = 0
    for block in blocks(page):
        title = TITLE.fullmatch(block.language)
        if title is not None:
            shell.write(title[1], block.text + "\n")
        elif block.language == "console":
            now = printed(block, shell)
            lines[block.start + shift : block.start + shift + len(block.lines)] = now
            shift += len(now) - len(block.lines)
    return "\n".join(lines) + "\n"


def test_the_page_shows_what_the_command_prints(shell: Shell, update_golden: bool) -> None:
    page = PAGE.read_text()

    now = brought_up_to_date(page, shell)

    if update_golden:
        PAGE.write_text(now)
    else:
        assert TIME.sub("...", now) == TIME.sub("...", page)


def test_the_page_names_every_command() -> None:
    page = PAGE.read_text()

    assert [name for name in command.commands if f"tcjax {name}" not in page] == []
