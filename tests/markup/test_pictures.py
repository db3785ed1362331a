"""Planes and positions in SVG: inside their frames, labelled, readable as text."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from tcjax.markup import (
    Arrows,
    Axis,
    Bar,
    Label,
    Layer,
    Limit,
    Plane,
    Roof,
    Work,
    bars_svg,
    beside,
    cell,
    plane_svg,
    plane_text,
    roofline_svg,
    standalone,
)

SVG = "{http://www.w3.org/2000/svg}"
TRIANGLE = Layer("takes part", tuple(((i, i + 1), (0, i + 1)) for i in range(6)), 0)


def shapes(svg: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(f"{SVG}{tag}"))


@pytest.mark.parametrize(("rows", "columns"), [(6, 6), (6, 600), (6000, 6), (1, 1)])
def test_what_is_drawn_stays_inside_of_the_frame(rows: int, columns: int) -> None:
    edge = ((rows - 1, rows), (columns - 1, columns))
    plane = Plane("A", Axis("i", 0, rows), Axis("j", 0, columns), (Layer("last", (edge,), 0),))

    frame, mark, legend = shapes(str(plane_svg(plane)), "rect")

    assert float(mark.get("x", 0)) >= float(frame.get("x", 0))
    for start, length in (("x", "width"), ("y", "height")):
        end = float(mark.get(start, 0)) + float(mark.get(length, 0))
        assert end == pytest.approx(float(frame.get(start, 0)) + float(frame.get(length, 0)), abs=0.05)
        assert float(mark.get(length, 0)) >= 2.9
    assert legend.get("class") == mark.get("class") == "c0"


def test_axes_and_layers_are_named() -> None:
    plane = Plane("A<B>", Axis("i", 2, 8), Axis("2*j + kh", 0, 6), (TRIANGLE,))

    texts = [text.text for text in shapes(str(plane_svg(plane)), "text")]

    assert texts == ["2", "8", "i", "0", "6", "2*j + kh", "takes part"]


def test_a_picture_of_its_own_has_its_style_and_no_scripts() -> None:
    plane = Plane("A", None, Axis("i", 0, 9), (Layer("x", (((0, 1), (3, 5)),), 1),))

    text = standalone(beside([plane_svg(plane)] * 4, "four"))

    assert text.startswith("<svg") and "prefers-color-scheme" in text and "<script" not in text
    assert len(shapes(text, "svg")) == 5


ROOFS = [Roof("products", 80e9, 12.5e9), Roof("cache", 50e9, 40e9)]


def test_dots_rise_with_the_rate_and_go_right_with_intensity() -> None:
    works = [Work("a", 10, 10, 1.0), Work("b", 10, 10, 0.001), Work("c", 1000, 10, 1.0), Work("none", 0, 0, 0.0)]

    a, b, c = shapes(str(roofline_svg(works, ROOFS)), "circle")

    assert a.get("cx") == b.get("cx") and float(b.get("cy", 0)) < float(a.get("cy", 0))
    assert float(c.get("cx", 0)) > float(a.get("cx", 0)) and float(c.get("cy", 0)) < float(a.get("cy", 0))


def test_what_reaches_the_peak_lies_on_the_flat_part_of_the_roof_and_what_waits_for_memory_on_its_slope() -> None:
    flat, slope = Work("flat", 800, 10, 1e-8), Work("slope", 10, 10, 1 / 1.25e9)

    svg = str(roofline_svg([flat, slope], ROOFS[:1]))

    one, two = shapes(svg, "circle")
    corners = [
        [tuple(map(float, corner.split())) for corner in path.get("d", "")[1:].split("L")]
        for path in shapes(svg, "path")
    ]
    [((x0, y0), (x1, y1), (_, y2))] = corners
    assert y1 == y2 == pytest.approx(float(one.get("cy", 0)), abs=0.1)
    at = y0 + (float(two.get("cx", 0)) - x0) * (y1 - y0) / (x1 - x0)
    assert at == pytest.approx(float(two.get("cy", 0)), abs=0.2)


@pytest.mark.parametrize(("limit", "lines"), [(150.0, 3), (1e9, 0)])
def test_bars_are_as_long_as_their_parts_and_a_limit_far_away_is_only_told(limit: float, lines: int) -> None:
    bars = [Bar("<b>", (60.0, 40.0), "100"), Bar("two", (0.0, 50.0), "50")]

    svg = str(bars_svg("memory", bars, ("kept", "own"), Limit(limit, "limit")))

    frame, first, second, _, third, *_ = shapes(svg, "rect")
    whole = float(frame.get("width", 0)) / (limit if lines else 100)
    assert [float(part.get("width", 0)) / whole for part in (first, second, third)] == pytest.approx(
        [60, 40, 50], abs=1
    )
    assert float(second.get("x", 0)) == pytest.approx(float(first.get("width", 0)), abs=0.1)
    assert len(shapes(svg, "line")) == lines
    assert {"<b>", "limit"} <= {text.text for text in shapes(svg, "text")}


def test_a_plane_in_characters_marks_its_layers() -> None:
    plane = Plane("y", Axis("i", 0, 6), Axis("k", 0, 6), (TRIANGLE,))

    heading, *lines = plane_text(plane).splitlines()

    assert heading == "y: # takes part"
    assert [line.strip() for line in lines] == ["#" * (i + 1) + "." * (5 - i) for i in range(6)]


def test_a_large_plane_in_characters_says_what_a_character_stands_for() -> None:
    plane = Plane("y", Axis("i", 0, 100), Axis("k", 0, 640), ())

    heading, *lines = plane_text(plane).splitlines()

    assert heading == "y (each 5 x 10)"
    assert len(lines) == 20 and len(lines[0].strip()) == 64


def test_hatches_stay_inside_of_their_rectangle_and_arrows_end_in_a_cell() -> None:
    hatched = Layer("halo", (((1, 3), (2, 5)),), 1, hatch=True)
    arrows = Arrows("gives", ((cell(0, 1), cell(2, 3)),), 2)
    plane = Plane("x", Axis("i", 0, 4), Axis("j", 0, 6), (hatched,), (Label(cell(0, 0), "7"),), (arrows,))

    text = str(plane_svg(plane))

    _, mark, _ = shapes(text, "rect")
    left, top = float(mark.get("x", 0)), float(mark.get("y", 0))
    right, bottom = left + float(mark.get("width", 0)), top + float(mark.get("height", 0))
    lines, line, head, *_ = shapes(text, "path")
    points = [tuple(map(float, pair)) for pair in re.findall(r"[ML]([\d.]+) ([\d.]+)", lines.get("d", ""))]
    assert len(points) >= 10
    assert all(left - 0.1 <= x <= right + 0.1 and top - 0.1 <= y <= bottom + 0.1 for x, y in points)
    tip = re.findall(r"L([\d.]+) ([\d.]+)", line.get("d", ""))[0]
    assert f"L{tip[0]} {tip[1]}" in head.get("d", "")
    assert left + 26 <= float(tip[0]) <= left + 52 and top + 26 <= float(tip[1]) <= top + 52
    assert "7" in [node.text for node in shapes(text, "text")]
    assert ElementTree.fromstring(text).get("aria-label") == "x; halo; gives"


def test_labels_and_arrows_are_told_in_characters() -> None:
    numbers = tuple(Label(cell(i, j), str(i + j)) for i in range(2) for j in range(3))
    arrows = Arrows("needs", ((cell(0, 0), ((1, 2), (1, 3))),), 0)
    plane = Plane("D", Axis("i", 0, 2), Axis("j", 0, 3), (Layer("a", (((0, 1), (0, 1)),), 0),), numbers, (arrows,))

    assert plane_text(plane).splitlines() == [
        "D: # a",
        "   0 1 2",
        "   1 2 3",
        "  -> needs: (0, 0) to (1, 1:3)",
    ]
