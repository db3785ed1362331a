"""Golden pages of schedules: the examples of TVM's InferBound document, its answers, TVM's and ours."""

from pathlib import Path

import pytest

from .pages import HERE, render


@pytest.mark.parametrize("path", sorted(HERE.glob("*.md")), ids=lambda path: path.stem)
def test_regions_are_as_the_page_shows(path: Path, update_golden: bool) -> None:
    page = path.read_text(encoding="utf-8")

    anew = render(page)

    if update_golden:
        path.write_text(anew, encoding="utf-8")
    assert update_golden or anew == page
