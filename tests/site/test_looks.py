"""A few pages in a real browser, wide and narrow, light and dark: nothing overflows, and they look as before.

``python -m pytest tests/site --update-golden`` saves what the browser shows now; look at the pictures afterwards.
"""

import importlib.util
import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.docs.markdown import ROOT
from tests.site import browser, few
from tests.site.browser import DESKTOP, PHONE, View

REFERENCES = Path(__file__).parent / "references"
PAGES = ("index", "benchmarks", "gallery/rbf", "errors/TC0101")
# References are scaled down by this factor, and compared in squares of this many of their pixels: letters average out.
STEP = TILE = 8
# Levels of 256. Another font family gives up to 7, where text pushes pictures and boxes down; a page without the
# theme's style gives 43, one in the wrong colours 190.
MOST_ON_AVERAGE = 9.0

CONFIGURATION = """
INHERIT: {root}/mkdocs.yml
docs_dir: {root}/docs
site_dir: {site}
strict: false
hooks: [{root}/docs/hooks/programs.py, {root}/docs/hooks/outside.py, {root}/tests/site/few.py]
plugins: [search, offline]
"""

pytestmark = [
    pytest.mark.skipif(browser.executable() is None, reason=f"no browser: none of {', '.join(browser.NAMES)}"),
    pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="no mkdocs-material"),
]


def built(page: str, folder: Path) -> Path:
    """Builds the site with only this page."""
    (folder / "mkdocs.yml").write_text(CONFIGURATION.format(root=ROOT, site=folder / "site"))
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "-f", str(folder / "mkdocs.yml")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT), few.VARIABLE: f"{page}.md"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder / "site"


def reduced(picture: Image.Image) -> Image.Image:
    """The picture scaled down, by averaging pixels."""
    wide, tall = picture.size
    return picture.resize((wide // STEP, tall // STEP), Image.Resampling.BOX)


def difference(one: Image.Image, other: Image.Image) -> float:
    """The difference between the averages of tiles, in levels."""

    def tiles(picture: Image.Image) -> np.ndarray:
        across, down = (size // TILE for size in picture.size)
        pixels = np.asarray(picture.convert("RGB"), np.float64)[: down * TILE, : across * TILE]
        return pixels.reshape(down, TILE, across, TILE, 3).mean((1, 3))

    return float(np.abs(tiles(one) - tiles(other)).mean())


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_and_looks_as_it_did(page: str, tmp_path: Path, update_golden: bool) -> None:
    views = [View(f"{page}.html", width, scheme) for scheme in ("default", "slate") for width in (DESKTOP, PHONE)]
    site = built(page, tmp_path)

    try:
        shown, wide = browser.shown(site, views)
    except OSError as problem:
        # There is a browser, but it does not run: a sandbox, or a missing library.
        pytest.skip(f"the browser does not run here: {problem}")

    assert wide == [[]] * len(views)
    seen = reduced(Image.open(BytesIO(shown)).convert("RGB"))
    path = REFERENCES / f"{page.replace('/', '-')}.png"
    if update_golden:
        seen.quantize(64).save(path, optimize=True)
        return
    kept = Image.open(path).convert("RGB")
    assert kept.size == seen.size
    for number, view in enumerate(views):
        left = sum(each.width for each in views[:number]) // STEP
        part = (left, 0, left + view.width // STEP, seen.height)
        found = difference(seen.crop(part), kept.crop(part))
        assert found <= MOST_ON_AVERAGE, f"{view}: {found:.1f} levels from {path.name}"


def test_what_sticks_out_of_a_page_is_found(tmp_path: Path) -> None:
    long = "<code>" + "a" * 400 + "</code>"
    (tmp_path / "bad.html").write_text(f'<div class="md-content"><p>{long}</p></div>')
    (tmp_path / "good.html").write_text(f'<div class="md-content"><p style="overflow-x: auto">{long}</p></div>')

    try:
        found = browser.too_wide(tmp_path, ["bad.html", "good.html"])
    except OSError as problem:
        pytest.skip(f"the browser does not run here: {problem}")

    assert sorted(found) == ["bad.html at 1280", "bad.html at 390"]
    assert any("code" in line for line in found["bad.html at 390"])
