"""Pictures of plans: drawn reads are those that change the element, domains are those of the guards."""

import re
import xml.etree.ElementTree as ElementTree

import jax
import numpy as np
import pytest

import tcjax
from tcjax.display import Picture
from tcjax.markup import Layer, Plane

# A program, the shapes of its arguments, and the tensor whose reads are checked.
LINEAR = [
    ("C(m,n) +=! A(m,k) * B(k,n)", [(5, 4), (4, 6)]),
    ("O(i) +=! A(i+k) * B(k)", [(9,), (3,)]),
    ("O(h,w) +=! A(2*h+p, 2*w+q) * B(p,q)", [(9, 7), (3, 2)]),
    ("O(i) +=! A(i,k) * B(k) where k <= i, i - k < 3", [(7, 7), (7,)]),
    ("O(i) = sum[k where k != i](A(i,k) * B(k))", [(6, 6), (6,)]),
    ("O(i,j) = A(j,i) + B(i/2)", [(4, 6), (3,)]),
    ("O(i,j) = A(5-i, j%3) * B(i) where j in 0:6", [(6, 3), (6,)]),
]


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32)


def marked(plane: Plane, layer: Layer) -> np.ndarray:
    """The positions of a layer as a boolean array."""
    rows = (0, 1) if plane.rows is None else (plane.rows.lo, plane.rows.hi)
    found = np.zeros((rows[1] - rows[0], plane.columns.extent), bool)
    for (top, bottom), (left, right) in layer.rectangles:
        found[top - rows[0] : bottom - rows[0], left - plane.columns.lo : right - plane.columns.lo] = True
    return found


def named(picture: Picture, title: str) -> Plane:
    return next(plane for statement in picture.statements for plane in statement.planes if plane.title == title)


@pytest.mark.parametrize(("text", "shapes"), LINEAR, ids=[text for text, _ in LINEAR])
def test_an_element_reads_what_it_changes_with(text: str, shapes: list[tuple[int, ...]]) -> None:
    kernel = tcjax.kernel(text)
    random = np.random.default_rng(0)
    arrays = [random.uniform(1, 2, shape).astype(np.float32) for shape in shapes]
    picture = kernel.picture(*arrays)
    own = next(p for p in picture.statements[0].planes if p.title.startswith(("C(", "O(")))
    (place,) = np.argwhere(marked(own, own.layers[0]))
    element = tuple(place[-kernel.interpret(*arrays).ndim :])
    before = kernel.interpret(*arrays)[element]

    for number, name in enumerate("AB"):
        changes = np.zeros(shapes[number], bool)
        for at in np.ndindex(*shapes[number]):
            other = [array.copy() for array in arrays]
            other[number][at] += 1
            changes[at] = kernel.interpret(*other)[element] != before

        plane = named(picture, name)
        assert marked(plane, plane.layers[0]).reshape(changes.shape).tolist() == changes.tolist()


def test_a_guard_cuts_the_domain_and_a_box_needs_no_picture() -> None:
    band = tcjax.kernel("y(i) +=! A(i,k) * x(k) where k <= i, i - k < 6").picture(floats(20, 20), floats(20))
    box = tcjax.kernel("y(i) +=! A(i,k) * x(k)").picture(floats(20, 20), floats(20))

    plane = named(band, "y: its points")
    i, k = np.indices((20, 20))
    assert (marked(plane, plane.layers[0]) == ((k <= i) & (i - k < 6))).all()
    assert not any("points" in plane.title for plane in box.statements[0].planes)


def test_an_element_that_takes_part_is_shown() -> None:
    picture = tcjax.kernel("y(i) = x(i) where i <= 2").picture(floats(40))

    assert [plane.title for plane in picture.statements[0].planes if plane.title.startswith("y(")] == ["y(2)"]
    assert named(picture, "x").layers[0].rectangles == (((0, 1), (2, 3)),)


def test_the_blocks_of_a_loop_nest_are_outlined() -> None:
    picture = tcjax.kernel("D(i) min=! sum[d](X(i,d) - Y(j,d))").picture(floats(3000, 3), floats(2000, 3))

    (blocks,) = [layer for layer in named(picture, "D: its points").layers if layer.outline]

    assert sum(right - left for (top, _), (left, right) in blocks.rectangles if top == 0) == 2000


def test_the_tiles_of_a_schedule_are_drawn_with_what_they_need() -> None:
    text = "def f(float(N) A) -> (D) { C(c) = A(c) + 1.0  D(i) = C(i) + C(i+2) }"
    kernel = tcjax.kernel(text)
    schedule = kernel.schedule().split("D", "i", factor=7, outer="io", inner="ii").compute_at("C", "D", "io")

    picture = kernel.with_schedule(schedule).picture(floats(30))

    assert [span for _, span in named(picture, "D in tiles").layers[0].rectangles] == [
        (0, 7),
        (7, 14),
        (14, 21),
        (21, 28),
    ]
    (this,) = [layer for layer in named(picture, "C(c) for io = 2").layers if layer.name == "this tile"]
    assert this.rectangles == (((0, 1), (14, 23)),)


def test_the_blocks_of_an_online_softmax_are_those_that_explain_tells_and_cover_every_statement_of_the_pass() -> None:
    kernel = tcjax.kernel("""
def attention(float(T,D) Q, float(S,D) K, float(S,E) V) -> (out) {
  m(q) = max[k](sum[d](Q(q,d) * K(k,d)))
  out(q,e) = sum[j](exp(sum[d](Q(q,d) * K(j,d)) - m(q)) * V(j,e)) / sum[i](exp(sum[d](Q(q,d) * K(i,d)) - m(q)))
}""")
    arguments = floats(3000, 64), floats(4000, 64), floats(4000, 8)
    told = re.search(r"blocks of (\d+) x (\d+)", str(kernel.explain(*arguments)))
    assert told is not None
    down, across = int(told[1]), int(told[2])

    planes = [named(kernel.picture(*arguments), f"{name}: its points") for name in ("m", "out")]

    assert [plane.layers[-1].name for plane in planes] == [f"blocks of {down} q x {across} {k}" for k in "kj"]
    for plane in planes:
        assert marked(plane, plane.layers[-1]).all()
        blocks = plane.layers[-1].rectangles
        assert sum((bottom - top) * (right - left) for (top, bottom), (left, right) in blocks) == 3000 * 4000
        assert {bottom - top for (top, bottom), _ in blocks} <= {down, 3000 % down}
    assert planes[1].layers[-1].name in kernel.explain(*arguments)._repr_html_()


def test_where_data_decides_every_row_may_be_read() -> None:
    picture = tcjax.kernel("O(b,d) = T(I(b),d)").picture(floats(10, 4), jax.ShapeDtypeStruct((6,), np.int32))

    plane = named(picture, "T")

    assert marked(plane, plane.layers[0]).all(axis=0).tolist() == [False, True, False, False]
    assert "data" in plane.layers[0].name


def test_called_definitions_are_drawn_in_their_place() -> None:
    text = "def g(float(N) a) -> (b) { b(i) = a(i) }  def f(float(N) x) -> (y) { z = g(x)  y(i) = z(i) }"

    picture = tcjax.kernel(text).picture(floats(5))

    assert [statement.statement for statement in picture.statements] == ["b[i] = a[i]", "y[i] = z[i]"]


@pytest.mark.parametrize("shapes", [((0, 4), (4, 3)), ((1, 1), (1, 1)), ((4000, 1), (1, 3000))])
def test_every_shape_has_a_picture_that_a_reader_of_xml_accepts(shapes: tuple[tuple[int, int], ...]) -> None:
    picture = tcjax.kernel("C(m,n) +=! A(m,k) * B(k,n)").picture(*(floats(*shape) for shape in shapes))

    assert ElementTree.fromstring(picture.svg()).tag.endswith("svg")
    assert ElementTree.fromstring(picture._repr_html_()).get("class") == "tcjax"
    assert max(map(len, str(picture).splitlines()), default=0) < 100
