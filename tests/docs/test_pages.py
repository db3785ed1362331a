"""The documentation is true: its programs run and print what the pages show, and its links are valid."""

import re
from pathlib import Path

import pytest

from tests.docs.markdown import EXPLANATIONS, ROOT, blocks, pages, run_page, runs

LINK = re.compile(r"\[[^]]*\]\(([^)#]+)(?:#[^)]*)?\)")
# Inline code may continue on the next line.
CODE = re.compile(r"```.*?^```|`(?:[^`\n]|\n(?!\n))*`|<code>.*?</code>", re.DOTALL | re.MULTILINE)


def links(page: Path) -> list[str]:
    """The targets of a page's relative links."""
    return [target for target in LINK.findall(CODE.sub("", page.read_text())) if "://" not in target]


@pytest.mark.parametrize("page", [page for page in pages() if runs(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_and_print_what_it_says(page: Path, tmp_path: Path, update_golden: bool) -> None:
    text = page.read_text()

    ran = run_page(text, tmp_path / "example.py", {"__name__": "example"})

    if update_golden:
        page.write_text(ran)
    else:
        assert ran == text


@pytest.mark.parametrize(
    "page",
    [page for page in (*pages(), *EXPLANATIONS.glob("*.md")) if links(page)],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    assert [target for target in links(page) if not (page.parent / target).exists()] == []


def test_the_readme_shows_a_program_that_runs() -> None:
    languages = [block.language for block in blocks((ROOT / "README.md").read_text())]

    assert languages.count("python") >= 3
