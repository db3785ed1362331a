"""The tables and pictures of measurements agree with the files in bench/results."""

import re
from pathlib import Path

import pytest

from bench import growth, layers, memory, plot, scaling, tables
from tests.docs.markdown import ROOT, pages

# A shell block with one command, and the table after it.
TABLE = re.compile(
    r"(```sh\npython -m bench\.(layers|tables|memory|scaling) ((?:(?! -o )[^\n])*)\n```\n\n)((?:\|[^\n]*\n)*)"
)
PRINTERS = {"layers": layers, "tables": tables, "memory": memory, "scaling": scaling}
PAINTERS = {"growth": growth, "plot": plot, "scaling": scaling}
PLOT = re.compile(r"```sh\npython -m bench\.(growth|plot|scaling) ([^\n]*) -o ([^\n]*)\n```")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_table_is_what_the_command_above_it_prints(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], update_golden: bool
) -> None:
    monkeypatch.chdir(ROOT)
    text = page.read_text()

    def printed(match: re.Match[str]) -> str:
        assert PRINTERS[match[2]].main(match[3].split()) == 0, capsys.readouterr().err
        # If there was no table yet, the text continues after a blank line.
        return match[1] + capsys.readouterr().out + ("" if match[4] else "\n")

    found = TABLE.sub(printed, text)

    if update_golden:
        page.write_text(found)
    else:
        assert found == text


@pytest.mark.parametrize(
    ("painter", "arguments", "output"), [command for page in pages() for command in PLOT.findall(page.read_text())]
)
def test_a_picture_is_what_the_command_above_it_draws(
    painter: str, arguments: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    monkeypatch.chdir(ROOT)
    drawn = Path(output) if update_golden else tmp_path / "drawn.svg"

    assert PAINTERS[painter].main([*arguments.split(), "-o", str(drawn)]) == 0
    assert drawn.read_text() == Path(output).read_text()
