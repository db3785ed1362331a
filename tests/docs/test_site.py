"""The site builds: every link is valid, every page is in the navigation, every public name has an entry."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import tcjax
from tcjax.diagnostics import Code
from tests.docs.markdown import ROOT, blocks, pages
from tests.site import browser


def test_the_site_builds_without_a_warning_and_has_every_page_error_and_public_name(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}

    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    # Strict: a page outside the navigation, a broken link or a missing anchor is an error.
    assert built.returncode == 0, built.stdout + built.stderr
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    assert {f"errors/{code.value}.html" for code in Code} <= written
    assert {"tutorial.html", "contributing.html", "examples/digits.html"} <= written
    reference = (tmp_path / "api.html").read_text()
    assert [name for name in tcjax.__all__ if f'id="tcjax.{name}"' not in reference] == []
    # No external resources: no fonts, scripts or pictures from other servers.
    home = (tmp_path / "index.html").read_text()
    assert [text for text in ('src="http', 'src="//', "fonts.googleapis", "unpkg") if text in home] == []
    # The pages with the widest code and tables; `python -m tests.site.browser` looks at all.
    if browser.executable() is not None:
        with suppress(OSError):
            assert browser.too_wide(tmp_path, ["api.html", "performance.html", "sac.html"]) == {}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_one_title(page: Path) -> None:
    text = page.read_text()
    inside = {number for block in blocks(text) for number in range(block.start, block.start + len(block.lines))}

    titles = [line for number, line in enumerate(text.splitlines()) if line.startswith("# ") and number not in inside]

    assert len(titles) == 1
