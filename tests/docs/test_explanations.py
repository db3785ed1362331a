"""Every error code has a page whose wrong program raises it and whose right program does not."""

from pathlib import Path

import numpy as np
import pytest

import tcjax
from tcjax.diagnostics import Code
from tests.docs.markdown import EXPLANATIONS, ROOT, blocks, run_page

INDEX = ROOT / "docs" / "errors" / "README.md"
PAGES = sorted(EXPLANATIONS.glob("*.md"))


def title_of(page: Path) -> str:
    return page.read_text().splitlines()[0].removeprefix(f"# {page.stem}: ")


def is_reserved(page: Path) -> bool:
    return "(reserved)" in page.read_text().splitlines()[2]


def table_of_codes() -> str:
    rows = [
        f"| [{page.stem}](../../{page.relative_to(ROOT)}) | {Code(page.stem).kind} | {title_of(page)}"
        f"{' (reserved)' if is_reserved(page) else ''} |"
        for page in PAGES
    ]
    return "\n".join(["| code | kind | mistake |", "|---|---|---|", *rows, ""])


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert [page.stem for page in PAGES] == sorted(code.value for code in Code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_opens_with_its_code_and_kind(page: Path) -> None:
    heading, blank, kind = page.read_text().splitlines()[:3]

    assert heading.startswith(f"# {page.stem}: ")
    assert blank == ""
    assert kind.removesuffix(" (reserved)") == f"Kind: {Code(page.stem).kind}"


@pytest.mark.parametrize("page", [page for page in PAGES if not is_reserved(page)], ids=lambda page: page.stem)
def test_the_wrong_program_raises_the_code_and_the_right_one_compiles(
    page: Path, tmp_path: Path, update_golden: bool
) -> None:
    text = page.read_text()
    expected = [block.expected_code for block in blocks(text) if block.language == "python"]

    ran = run_page(text, tmp_path / "example.py", {"__name__": "example", "np": np, "tcjax": tcjax})

    assert page.stem in expected and None in expected
    if update_golden:
        page.write_text(ran)
    else:
        assert ran == text


def test_the_index_lists_every_page(update_golden: bool) -> None:
    text = INDEX.read_text()
    introduction = text.partition("| code |")[0]

    listed = introduction + table_of_codes()

    if update_golden:
        INDEX.write_text(listed)
    else:
        assert listed == text
