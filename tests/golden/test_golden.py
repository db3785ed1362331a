"""Golden pages show what each stage makes of a program; `make golden` rewrites them."""

import pytest

from tests.golden.pages import HERE, page_names, render


@pytest.mark.parametrize("name", page_names())
def test_every_stage_of_a_program_is_as_its_page_shows(name: str, update_golden: bool) -> None:
    path = HERE / f"{name}.md"
    page = path.read_text(encoding="utf-8")

    anew = render(page)

    if update_golden:
        path.write_text(anew, encoding="utf-8")
    assert update_golden or anew == page
