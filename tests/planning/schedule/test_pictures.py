"""`Schedule.show`: the loops, and what one tile needs."""

import xml.etree.ElementTree as ElementTree

import jax
import numpy as np
import pytest

import tcjax

WINDOW = "def f(float(N) A) -> (D) { C(c) = A(c) + 1.0  D(i) = C(i) + C(i+2) }"
CROSS = """
def f(float(N,M) A) -> (D) {
    C(u,v) = A(u,v) + 1.0
    D(i,j) = C(i,j+1) + C(i+1,j) + C(i+1,j+1) + C(i+2,j+1) + C(i+1,j+2)
}"""


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32)


def windows() -> tcjax.Schedule:
    return tcjax.kernel(WINDOW).schedule().split("D", "i", factor=7, outer="io", inner="ii").compute_at("C", "D", "io")


def test_without_arguments_the_loops_are_shown_with_the_stages_inside() -> None:
    shown = str(windows().show())

    assert shown.splitlines() == [
        "D:",
        "  for io",
        "    C:",
        "      for c",
        "        C[c] = (A[c] + 1.0)",
        "    for ii",
        "      D[i] = (C[i] + C[i + 2])",
    ]


def test_one_dimension_is_a_line_of_tile_halo_and_rest() -> None:
    shown = str(windows().show(floats(30)))

    # Tile 2 of 4 needs 14..22; its neighbours need 7..15 and 21..29.
    assert shown.splitlines()[-1] == "  " + "." * 14 + "++" + "#####" + "++" + "." * 7
    assert "for io in 0:4" in shown
    assert "recompute 1.2" in shown


def test_two_dimensions_are_a_plane_whose_corners_are_shared() -> None:
    schedule = tcjax.kernel(CROSS).schedule().tile("D", "i", "j", 4, 4, names=("io", "jo", "ii", "ji"))

    (drawing,) = schedule.compute_at("C", "D", "jo").show(floats(14, 14)).drawings

    assert (drawing.stage, drawing.axes) == ("C", ("u", "v"))
    assert drawing.tile == ((4, 10), (4, 10))
    assert [line[4:10] for line in drawing.text()[4:10]] == ["++++++", "++++++", "++##++", "++##++", "++++++", "++++++"]
    assert len(drawing.tiles) == 9


@pytest.mark.parametrize("size", [(14, 14), (400, 300), (6, 6)])
def test_drawings_are_well_formed(size: tuple[int, int]) -> None:
    schedule = tcjax.kernel(CROSS).schedule().tile("D", "i", "j", 4, 4, names=("io", "jo", "ii", "ji"))

    picture = schedule.compute_at("C", "D", "jo").show(floats(*size))

    for drawing in picture.drawings:
        root = ElementTree.fromstring(drawing.svg())
        assert root.tag.endswith("svg")
        assert max(map(len, drawing.text())) <= 64
    root = ElementTree.fromstring(picture._repr_html_())
    assert root.get("class") == "tcjax" and len(root.findall("figure")) == len(picture.drawings)


def test_a_schedule_shows_its_commands_and_compares_by_them() -> None:
    assert str(windows()).splitlines() == [
        "schedule of f",
        '  .split("D", "i", factor=7, outer="io", inner="ii")',
        '  .compute_at("C", "D", "io")',
    ]
    assert windows() == windows()
    assert hash(windows()) == hash(windows())
    assert windows() != windows().reorder("D", "ii", "io")
