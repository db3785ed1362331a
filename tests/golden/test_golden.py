"""Golden pages show what each stage makes of a program; `make golden` rewrites them."""

import re
from pathlib import Path

import pytest

from tests.golden.pages import HERE, pages, render


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(HERE).with_suffix("")))
def test_every_stage_of_a_program_is_as_its_page_shows(path: Path, update_golden: bool) -> None:
    page = path.read_text(encoding="utf-8")

    anew = render(page)

    if update_golden:
        path.write_text(anew, encoding="utf-8")
    assert update_golden or anew == page


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(HERE).with_suffix("")))
def test_a_page_shows_no_name_that_a_pass_made(path: Path) -> None:
    assert re.findall(r"\w+~\w*", path.read_text(encoding="utf-8")) == []
