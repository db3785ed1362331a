"""The pictures of measurements show the numbers of the files, checked independently, and are legible on a phone."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from bench import growth, plot, scaling

RESULTS = Path(__file__).parents[2] / "bench" / "results"
PICTURES = Path(__file__).parents[2] / "docs" / "pictures" / "plots"
SVG = "{http://www.w3.org/2000/svg}"


def said(path: Path) -> list[str]:
    """The texts of a picture."""
    return [each.text or "" for each in xml.parse(path).getroot().iter(f"{SVG}text")]


@pytest.mark.parametrize("against", plot.AGAINST)
def test_the_numbers_of_a_picture_are_those_of_the_file(against: str, tmp_path: Path) -> None:
    record = json.loads((RESULTS / "cpu.json").read_text())
    counted = {True: [0] * 6, False: [0] * 6}
    for case in record["cases"]:
        own, first = case["tcjax"], case["forms"][0]["median"]
        # A form that loses four times as many digits is no rival (`harness.as_exact`).
        exact = [f["median"] for f in case["forms"] if f["error"] <= 4 * max(own["error"], 1e-7)]
        ratio = own["median"] / (min(t for t in exact if not math.isnan(t)) if against == "best" else first)
        place = sum(ratio > limit for limit in (1 / 10, 1 / 3, 1 / 1.3, 1.3, 2))
        counted["_gradient/" in case["case"]][place] += 1

    assert plot.main([str(RESULTS / "cpu.json"), "--against", against, "-o", str(tmp_path / "counts.svg")]) == 0

    texts = said(tmp_path / "counts.svg")
    assert [text for text in texts if text.isdecimal()] == [str(n) for n in (*counted[False], *counted[True])]
    assert "AMD EPYC (2 cores), JAX 0.12.0.1, 26 November 2026" in texts


def test_lines_of_memory_end_where_the_file_says(tmp_path: Path) -> None:
    assert growth.main([str(RESULTS / "growth.json"), "-o", str(tmp_path / "memory.svg")]) == 0

    rows = json.loads((RESULTS / "growth.json").read_text())["allocations"]
    curves = list(xml.parse(tmp_path / "memory.svg").getroot().iter(f"{SVG}polyline"))
    ends = {each.get("class"): float(each.get("points", "").split(",")[-1]) for each in curves}
    expected = {
        f"{kind}{' gradient' if row['direction'] == 'reverse' else ''}": row[key]
        for row in rows[-2:]
        for kind, key in (("tcjax", "temporary"), ("usual", "usual"))
    }
    # Larger values are higher, on a logarithmic scale.
    slopes = {
        (ends["tcjax"] - ends[name]) / math.log(expected[name] / expected["tcjax"])
        for name in expected
        if name != "tcjax"
    }
    assert max(slopes) == pytest.approx(min(slopes), rel=0.02) and min(slopes) > 0


def test_a_row_of_memory_is_what_xla_says_today() -> None:
    (kept,) = (row for row in growth.read(RESULTS / "growth.json")[1] if (row.case, row.direction) == CHEAPEST)

    found = growth.measured(4096, "forward")

    # Another version of XLA may allocate a little more; the N x N array is 85 times as large.
    assert found.usual == pytest.approx(4096**2 * 4, rel=0.1) and kept.usual == found.usual
    assert found.temporary <= 2 * kept.temporary


CHEAPEST = ("rbf/4096x4096x3", "forward")


def test_the_picture_of_scaling_has_a_panel_for_each_table(tmp_path: Path) -> None:
    assert scaling.main([str(RESULTS / "scaling.json"), "-o", str(tmp_path / "scaling.svg")]) == 0

    drawn = xml.parse(tmp_path / "scaling.svg").getroot()
    assert len(list(drawn.iter(f"{SVG}polyline"))) == 2 * len(scaling.PROGRAMS)
    assert len(list(drawn.iter(f"{SVG}polygon"))) == 2 * len(scaling.PROGRAMS)


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_a_phone_of_390_pixels_shows_letters_of_ten_pixels_and_all_of_them(path: Path) -> None:
    drawn = xml.parse(path).getroot()
    style = next(drawn.iter(f"{SVG}style")).text or ""
    wide = float(drawn.get("viewBox", "").split()[2])

    # The page leaves 358 pixels of them for a picture.
    assert all(float(size) * 358 / wide >= 10 for size in re.findall(r"([\d.]+)px", style))
    assert "prefers-color-scheme: dark" in style
    for text in drawn.iter(f"{SVG}text"):
        room = 5 * len(text.text or "")  # A lower bound of the width.
        x, anchor = float(text.get("x", "")), text.get("text-anchor", "start")
        left = {"start": x, "middle": x - room / 2, "end": x - room}[anchor]
        assert left >= 0 and left + room <= wide, text.text
