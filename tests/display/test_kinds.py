"""Each kind of picture shows what the program says: index sets computed here, without the compiler."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise, product
from typing import Any

import jax
import numpy as np
import pytest

import tcjax
from tcjax.diagnostics import CompileError
from tcjax.display import Picture
from tcjax.markup import Layer, Plane, Rectangle

EDIT = """
def edit(float(N,M) c) -> (D) {
    D(i,0) = 0.0 where i in 0:N+1
    D(0,j) = 0.0 where j in 1:M+1
    for i in 1:N+1 { for j in 1:M+1 { D(i,j) = fmin(D(i-1,j), D(i,j-1)) + D(i-1,j-1) * c(i-1,j-1) } }
}"""
CSR = """
def product(float(E) v, int32(E) col, int32(R) ptr, float(C) x) -> (y) {
    y(i) +=! v(p) * x(col(p)) where p in ptr(i):ptr(i+1)
}"""


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32)


def only(picture: Picture) -> Plane:
    [plane] = [plane for statement in picture.statements for plane in statement.planes]
    return plane


def places(rectangles: tuple[Rectangle, ...]) -> set[tuple[int, int]]:
    return {(i, j) for rows, columns in rectangles for i in range(*rows) for j in range(*columns)}


def layer(plane: Plane, *, hatch: bool) -> Layer:
    [found] = [each for each in plane.layers if each.hatch == hatch and not each.outline]
    return found


# ---------------------------------------------------------------- halos

BOUNDARIES = {
    "pad(x({}), 0)": lambda at, n: at if 0 <= at < n else None,
    "x(wrap({}))": lambda at, n: at % n,
    "x(clamp({}))": lambda at, n: min(max(at, 0), n - 1),
}


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("shifts", [(-1, 1), (2,), (-3, 0)])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_halo_is_what_the_points_of_a_device_read_beside_its_block(
    boundary: str, shifts: tuple[int, ...], devices: int
) -> None:
    n, read = 16, BOUNDARIES[boundary]
    terms = " + ".join(boundary.format(f"i+({shift})") for shift in shifts)
    kernel = tcjax.kernel(f"def f(float(N) x) -> (y) {{ y(i) = {terms} where i in 0:N }}")

    picture = kernel.picture(floats(n), kind="halo", mesh={"d": devices}, shard={"i": "d"})

    block = n // devices
    wanted = {(at // block, read(at + shift, n)) for at in range(n) for shift in shifts}
    own = {(at // block, at) for at in range(n)}
    plane = only(picture)
    assert places(layer(plane, hatch=False).rectangles) == own
    assert places(layer(plane, hatch=True).rectangles) == {(d, at) for d, at in wanted if at is not None} - own
    given = {(giver[0][0], taker[0][0]) for group in plane.arrows for giver, taker in group.pairs}
    assert given == {(at // block, d) for d, at in wanted if at is not None and at // block != d}


def test_a_stencil_on_a_mesh_of_two_axes_has_a_picture_along_each_and_its_kernel_knows_the_mesh() -> None:
    text = "def f(float(N,M) x) -> (y) { y(i,j) = x(wrap(i+1),j) + x(i,wrap(j-2)) }"
    kernel = tcjax.kernel(text)

    picture = kernel.picture(floats(8, 8), kind="halo", mesh={"a": 4, "b": 2}, shard={"i": "a", "j": "b"})
    alone = kernel.sharded(jax.make_mesh((1,), ("a",)), {"i": "a"}).picture(floats(8, 8))

    assert [plane.title for plane in picture.statements[0].planes] == ["x along 'a'", "x along 'b'"]
    assert [layer(plane, hatch=True).name for plane in picture.statements[0].planes] == [
        "halo: 1 for each device",
        "halo: 2 for each device",
    ]
    assert not any("mesh" in statement.statement for statement in alone.statements)


def test_a_table_that_every_device_needs_has_no_halo_but_all_of_it() -> None:
    kernel = tcjax.kernel("def f(float(N) x) -> (y, z) { y(i) = 2.0 * x(i)  z(i) +=! y(i) * y(j) }")

    picture = kernel.picture(floats(8), kind="halo", mesh={"d": 4}, shard={"i": "d"})

    gets = places(layer(only(picture), hatch=True).rectangles)
    assert gets == {(d, at) for d, at in product(range(4), range(8)) if at // 2 != d}


def test_the_name_of_an_axis_cannot_become_a_part_of_the_page() -> None:
    kernel = tcjax.kernel("def f(float(N) x) -> (y) { y(i) = x(wrap(i+1)) where i in 0:N }")
    name = '<script>alert("1")</script>&'

    picture = kernel.picture(floats(8), mesh={name: 2}, shard={"i": name})

    for text in (picture.svg(), picture._repr_html_()):
        assert not re.search(r"<script|url\(", text)
        assert name in "".join(ElementTree.fromstring(text).itertext())


# ---------------------------------------------------------------- wavefronts and scans


def test_the_number_of_a_point_is_how_many_others_it_waits_for_at_least() -> None:
    plane = only(tcjax.kernel(EDIT).picture(floats(5, 7), kind="wavefront"))

    waits: dict[tuple[int, int], int] = {}
    for i, j in product(range(1, 6), range(1, 8)):
        before = [waits[at] for at in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if at in waits]
        waits[i, j] = 1 + max(before, default=-1)
    told = {(row, column): int(label.text) for label in plane.labels for (row, _), (column, _) in (label.place,)}
    assert told == {at: waits[at] for at in told}
    assert len(told) == 5 * 7
    _, step = plane.layers
    [number] = {told[at] for at in places(step.rectangles)}
    assert places(step.rectangles) == {at for at in told if told[at] == number}


def test_a_point_needs_what_its_statement_reads() -> None:
    plane = only(tcjax.kernel(EDIT).picture(floats(5, 7), kind="wavefront"))

    [needs] = plane.arrows
    assert {(start[0][0] - end[0][0], start[1][0] - end[1][0]) for start, end in needs.pairs} == {
        (-1, 0),
        (0, -1),
        (-1, -1),
    }


def test_a_loop_is_a_chain_of_steps_with_an_arrow_from_each_row_that_a_step_reads() -> None:
    text = "def f(float(N) x) -> (h) { h(0)=x(0) h(1)=x(1) for t in 2:N { h(t) = h(t-1) + h(t-2)*x(t) } }"

    plane = only(tcjax.kernel(text).picture(floats(9), kind="scan"))

    assert [label.text for label in plane.labels] == [str(t) for t in range(2, 9)]
    arrows = {(start[1][0], end[1][0]) for group in plane.arrows for start, end in group.pairs}
    assert arrows == {(t - lag, t) for lag in (1, 2) for t in range(lag, 7)}


@pytest.mark.parametrize("guard", ["j <= i", "j >= i", "j < i"])
@pytest.mark.parametrize("n", [3, 8, 30, 500])
def test_each_chunk_of_a_running_sum_begins_with_all_that_comes_before_it(guard: str, n: int) -> None:
    kernel = tcjax.kernel(f"def f(float(N) x) -> (y) {{ y(i) = sum[j where {guard}](x(j)) where i in 0:N }}")

    planes = [plane for s in kernel.picture(floats(n), kind="scan").statements for plane in s.planes]

    [plane] = planes
    _, outlines = plane.layers
    chunks = [chunk for chunk in outlines.rectangles if chunk[0][0] == 0]
    shown = sorted({at for _, span in chunks for at in range(*span)})
    assert len(shown) == sum(hi - lo for _, (lo, hi) in chunks) == min(n, 64)
    assert shown == (list(range(len(shown))) if ">" not in guard else list(range(n - len(shown), n)))
    before = [group for group in plane.arrows if group.name == "total of earlier chunks"]
    ends = [end for group in before for _, end in group.pairs if end[0] == (0, 1)]
    # The first chunk in scan order has nothing before it.
    first = chunks[0]
    assert sorted(ends) == sorted(chunk for chunk in chunks if chunk != first)


# ---------------------------------------------------------------- ragged rows, triangles


def rows_of(plane: Plane) -> dict[int, tuple[int, int]]:
    return {top: span for (top, _), span in plane.layers[0].rectangles}


def csr(pointers: list[int]) -> tuple[Any, ...]:
    count = pointers[-1]
    return np.ones(count, np.float32), np.zeros(count, np.int32), np.array(pointers, np.int32), np.ones(2, np.float32)


def test_ragged_rows_are_those_of_the_pointers() -> None:
    pointers = [0, 2, 2, 7, 8]

    plane = only(tcjax.kernel(CSR).picture(*csr(pointers), kind="ragged"))

    ends = pairwise(pointers)
    assert rows_of(plane) == {row: span for row, span in enumerate(ends) if span[0] < span[1]}
    assert plane.layers[0].name == "rows of 0 to 5 of 8, 8 in all"


def test_ragged_rows_in_a_definition_that_is_called_are_those_of_its_own_arguments() -> None:
    text = """
    def rows(float(E) v, int32(R) first) -> (y) { y(i) +=! v(p) where p in first(i):first(i+1) }
    def both(float(E) v, int32(R) first, int32(R) second) -> (z) { z = rows(v, second) }"""
    first, second = np.array([0, 1, 6], np.int32), np.array([0, 4, 6], np.int32)

    plane = only(tcjax.load(text).both.picture(np.ones(6, np.float32), first, second, kind="ragged"))

    assert rows_of(plane) == {0: (0, 4), 1: (4, 6)}


def test_an_inline_reduction_over_a_ragged_range_is_drawn_within_its_hull() -> None:
    kernel = tcjax.kernel("def f(float(N,K) A, int32(N) n) -> (y) { y(i) = sum[k in 0:n(i)](A(i,k)) }")

    plane = only(kernel.picture(np.ones((4, 5), np.float32), np.array([2, 0, 9, 5], np.int32), kind="ragged"))

    assert rows_of(plane) == {0: (0, 2), 2: (0, 5), 3: (0, 5)}


def test_blocks_of_a_triangle_are_left_out_where_no_point_of_them_takes_part() -> None:
    kernel = tcjax.kernel("def f(float(N,D) X) -> (y) { y(i) min=! sum[d](fabs(X(i,d)-X(j,d))) where j < i }")

    plane = only(kernel.picture(floats(1500, 3), kind="domain"))

    [blocks] = [each.rectangles for each in plane.layers if each.outline]
    left_out = set(layer(plane, hatch=True).rectangles)
    empty = {block for block in blocks if block[1][0] >= block[0][1] - 1}
    assert left_out and left_out <= empty
    # Skipping starts at the ends of a tile's range: at most one empty block per tile is visited.
    assert len(empty - left_out) <= len({rows for rows, _ in blocks})


# ---------------------------------------------------------------- what is not there


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("cake", "'cake' is no kind of picture"),
        ("ragged", "pass arrays, not only shapes"),
        ("halo", "say on which mesh"),
        ("wavefront", "a wavefront needs two loops"),
        ("scan", "a scan is a loop"),
        ("tiles", "tiles come from a schedule"),
    ],
)
def test_a_kind_that_is_not_there_is_refused_with_those_that_are(kind: str, said: str) -> None:
    shapes = floats(8), *(jax.ShapeDtypeStruct((n,), np.int32) for n in (8, 5)), floats(2)

    with pytest.raises(CompileError) as error:
        tcjax.kernel(CSR).picture(*shapes, kind=kind)

    assert error.value.code == "TC0308"
    assert said in str(error.value)
    assert "'reads', one element, and what it reads" in (error.value.help or "")


POINTERS = """
def f(float(E) v, int32(R) n) -> (y) {
    q(i) +=! n(j) where i in 0:R+1, j < i
    y(i) +=! v(p) where p in q(i):q(i+1)
}"""


def test_pointers_that_the_program_computes_are_computed_for_the_picture() -> None:
    counts = np.array([1, 3, 0, 4], np.int32)

    plane = only(tcjax.kernel(POINTERS).picture(np.ones(8, np.float32), counts, kind="ragged"))

    ends = pairwise([0, *np.cumsum(counts).tolist()])
    assert rows_of(plane) == {row: span for row, span in enumerate(ends) if span[0] < span[1]}


def test_pointers_of_a_called_definition_are_computed_from_its_own_arguments() -> None:
    text = POINTERS + " def g(float(E) v, int32(R) n) -> (z) { m(i) = 2 * n(i)  z = f(v, m) }"
    counts = np.array([1, 2, 2], np.int32)

    with pytest.raises(CompileError, match="the program computes what the ends of its ranges read, `q`"):
        tcjax.load(text).g.picture(np.ones(8, np.float32), counts, kind="ragged")
    plane = only(
        tcjax.load(text.replace("f(v, m)", "f(v, n)")).g.picture(np.ones(8, np.float32), counts, kind="ragged")
    )
    assert rows_of(plane) == {0: (0, 1), 1: (1, 3), 2: (3, 5)}


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (jax.ShapeDtypeStruct((4,), np.int32), "the values of `q`: pass arrays, not only shapes"),
        (np.zeros(500, np.int32), "the program computes what the ends of its ranges read, `q`, with too many points"),
    ],
)
def test_pointers_of_shapes_or_of_many_points_are_not_computed(counts: Any, said: str) -> None:
    with pytest.raises(CompileError, match=said):
        tcjax.kernel(POINTERS).picture(np.ones(4, np.float32), counts, kind="ragged")


@pytest.mark.filterwarnings("ignore::tcjax.CompileWarning")
@pytest.mark.parametrize("begun", [{}, {"n": np.array([1, 0, 2], np.int32)}])
def test_pointers_computed_from_initial_values_are_drawn(begun: dict[str, Any]) -> None:
    text = """def f(float(E) v, int32(R) more) -> (n, y) {
        n(i) += more(i)
        q(0) = 0
        q(i+1) = sum[j where j <= i](n(j)) where i in 0:R
        y(i) +=! v(p) where p in q(i):q(i+1)
    }"""
    more = np.array([1, 2, 1], np.int32)

    plane = only(tcjax.kernel(text).picture(np.ones(8, np.float32), more, kind="ragged", **begun))

    ends = pairwise([0, *np.cumsum(more + begun.get("n", 0)).tolist()])
    assert rows_of(plane) == {row: span for row, span in enumerate(ends) if span[0] < span[1]}


@pytest.mark.parametrize("text", [EDIT, CSR])
def test_every_kind_has_text_and_a_document_that_a_reader_of_xml_accepts(text: str) -> None:
    arguments = csr([0, 2, 2, 7, 8]) if text == CSR else (floats(5, 7),)

    picture = tcjax.kernel(text).picture(*arguments)

    root = ElementTree.fromstring(picture.svg(across=1))
    assert len({node.get("aria-label") for node in root.iter() if node.get("role") == "img"}) > 1
    assert max(map(len, str(picture).splitlines())) < 160
