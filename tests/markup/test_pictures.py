"""Planes and positions in SVG: inside of their frames, labelled, readable as text."""

import xml.etree.ElementTree as ElementTree

import pytest

from tcjax.markup import Axis, Layer, Plane, Work, beside, plane_svg, plane_text, standalone, work_svg

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


def test_positions_rise_with_operations_and_go_right_with_bytes() -> None:
    works = [Work("a", 10, 10), Work("b", 1000, 10), Work("c", 10, 1000), Work("none", 0, 0)]

    a, b, c = shapes(str(work_svg(works)), "circle")

    assert a.get("cx") == b.get("cx") and float(b.get("cy", 0)) < float(a.get("cy", 0))
    assert a.get("cy") == c.get("cy") and float(c.get("cx", 0)) > float(a.get("cx", 0))


@pytest.mark.parametrize(
    ("flops", "bytes", "lines"),
    [(9_600_000_000, 560_000, ["1 k / B", "10 k / B", "100 k / B"]), (10, 1000, ["0.001 / B", "0.01 / B", "0.1 / B"])],
)
def test_lines_of_equal_intensity_stand_around_what_is_shown(flops: int, bytes: int, lines: list[str]) -> None:
    texts = [text.text for text in shapes(str(work_svg([Work("p", flops, bytes)])), "text")]

    assert [text for text in texts if text and text.endswith("/ B")] == lines


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
