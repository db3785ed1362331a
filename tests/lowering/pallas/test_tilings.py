"""The tile of a kernel, and the layout of its operands."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax.lowering import pallas_triton
from tcjax.lowering.pallas_triton import Blocks
from tcjax.lowering.pallas_triton.calls import lowered
from tcjax.lowering.pallas_triton.tilings import choose, orders
from tcjax.lowering.pallas_triton.unrolling import written_out
from tcjax.planning.data.nests import Nest

from .nests import arrays_of, nest_of

MIN_PLUS = "def f(float(M,K) A, float(K,N) B) -> (C) { C(i,j) min=! A(i,k) + B(k,j) }"
DISTANCES = "def f(float(N,D) x, float(M,D) y) -> (O) { O(i,j) +=! fabs(x(i,d) - y(j,d)) }"


def nest(text: str, *shapes: tuple[int, ...]) -> Nest:
    return nest_of(tcjax.kernel(text), *(np.zeros(shape, "float32") for shape in shapes))


def test_a_thread_has_several_rows_and_several_columns() -> None:
    found = nest(MIN_PLUS, (2048, 2048), (2048, 2048))

    assert choose(found, written_out(found.reduce, found.ranges), Blocks()).tile == (16, 512)


def test_what_is_asked_for_is_what_a_tile_has() -> None:
    found = nest(MIN_PLUS, (2048, 2048), (2048, 2048))

    assert choose(found, written_out(found.reduce, found.ranges), Blocks(rows=32, columns=128)).tile == (32, 128)


@pytest.mark.parametrize(
    ("text", "shapes", "most"),
    [
        # One value and a position for each element of the tile.
        (
            "def f(float(M,K) A, float(K,N) B) -> (C) { C(i,j) argmin=! A(i,k) + B(k,j) }",
            [(2048, 512), (512, 2048)],
            4096,
        ),
        # Eight coordinates for each row.
        (
            "def f(float(N,D) x, float(M,D) y) -> (O) { O(i) +=! exp(-sum[d](fabs(x(i,d) - y(j,d)))) where d in 0:8 }",
            [(2048, 8), (2048, 8)],
            2048,
        ),
    ],
)
def test_what_a_thread_keeps_stays_in_its_registers(text: str, shapes: list[tuple[int, ...]], most: int) -> None:
    found = nest(text.replace(" where d in 0:8", ""), *shapes)

    rows, columns = choose(found, written_out(found.reduce, found.ranges), Blocks()).tile

    assert rows * columns <= most


def test_neighbours_in_a_tile_are_neighbours_in_memory() -> None:
    distances, minima = nest(DISTANCES, (512, 64), (512, 64)), nest(MIN_PLUS, (512, 512), (512, 512))

    for found, expected in ((distances, {"x": (0, 1), "y": (1, 0)}), (minima, {"A": (0, 1), "B": (0, 1)})):
        reduce = written_out(found.reduce, found.ranges)
        assert orders(found.operands, (reduce,), choose(found, reduce, Blocks()).columns) == expected


def test_an_operand_that_is_read_both_ways_stays_as_it_is() -> None:
    found = nest("def f(float(N,N) a) -> (O) { O(i,j) min=! a(i,k) + a(k,j) + a(j,k) }", (300, 300))
    reduce = written_out(found.reduce, found.ranges)

    assert orders(found.operands, (reduce,), choose(found, reduce, Blocks()).columns) == {"a": (0, 1)}


@pytest.mark.parametrize("terms", [1, 3, 4, 6, 65])
@pytest.mark.parametrize("guard", ["", " where k in 0:K, k <= i"])
def test_steps_that_run_together_are_all_of_them(terms: int, guard: str) -> None:
    text = MIN_PLUS.replace(" }", guard + " }")
    draw = np.random.default_rng(terms)
    arrays = draw.standard_normal((9, terms)).astype("float32"), draw.standard_normal((terms, 40)).astype("float32")
    kernel = tcjax.kernel(text)

    run = pallas_triton.emit(nest_of(kernel, *arrays), interpret=True)
    found = np.asarray(jax.jit(run)(arrays_of(kernel, *arrays)))

    sums = arrays[0][:, :, None] + arrays[1]
    counts = (np.arange(terms) <= np.arange(9)[:, None])[:, :, None] | (not guard)
    np.testing.assert_array_equal(found, np.where(counts, sums, np.inf).min(1))


def test_a_minimum_is_one_instruction_on_a_device() -> None:
    found = nest(MIN_PLUS, (64, 64), (64, 64))
    arrays = {name: jax.ShapeDtypeStruct((64, 64), "float32") for name in "AB"}

    assert "min.NaN.f32" in lowered(pallas_triton.emit(found), arrays)


def test_products_have_the_precision_that_jax_is_set_to() -> None:
    found = nest("def f(float(N,K) a, float(K,M) b) -> (C) { C(i,j) +=! a(i,k) * b(k,j) }", (64, 64), (64, 64))
    arrays = {name: np.zeros((64, 64), "float32") for name in "ab"}

    def products() -> str:
        return str(jax.make_jaxpr(pallas_triton.emit(found, interpret=True))(arrays))

    assert "HIGHEST" not in products()
    with jax.default_matmul_precision("highest"):
        assert "HIGHEST" in products()
