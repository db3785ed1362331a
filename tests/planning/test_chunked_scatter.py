"""Which statements compute their values in chunks, and over which index."""

import jax
import jax.numpy as jnp
import pytest

import tcjax
from tcjax import planning
from tcjax.planning.chunked_scatter import CHUNK

FAR = "def f(int32(N,L) I, float(N,D) x, float(N,L) y) -> (float(1000,D) O) {{ O(I(i,l), d) {} }}"


def stage(text: str, *shapes: tuple[int, ...]) -> planning.Compute:
    types = [jnp.int32, *[jnp.float32] * (len(shapes) - 1)]
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in zip(shapes, types, strict=True)]
    (found,) = tcjax.kernel(text).plan(*arguments).stages
    assert isinstance(found, planning.Compute)
    return found


def test_values_that_need_more_room_than_all_they_are_computed_of_come_in_rounds() -> None:
    found = stage(FAR.format("+=! fabs(x(i,d) - y(i,l))"), (4096, 64), (4096, 64), (4096, 64)).chunks

    assert found is not None
    assert found.count * CHUNK == 4096 * 64 * 64
    assert found.rest is None


def test_what_a_number_of_rounds_does_not_divide_is_a_last_round() -> None:
    found = stage(FAR.format("+=! fabs(x(i,d) - y(i,l))"), (5000, 64), (5000, 64), (5000, 64)).chunks

    assert found is not None
    assert found.rest is not None


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (FAR.format("+=! fabs(x(i,d) - y(i,l))"), ((64, 8), (64, 64), (64, 8))),
        (FAR.format("+=! x(i,d) where l in 0:64"), ((4096, 64), (4096, 64), (4096, 64))),
        ("def f(int32(N,L) I, float(M,D) x) -> (O) { O(i,d) +=! fabs(x(I(i,l), d)) }", ((4096, 64), (1000, 64))),
    ],
    ids=["few values", "a tensor as it is", "a place that data does not decide"],
)
def test_other_values_are_stored_at_once(text: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    assert stage(text, *shapes).chunks is None


def test_values_beyond_a_limit_of_memory_come_in_smaller_rounds() -> None:
    text = "def f(float(N,D) x, float(N,D) y, int32(N) I) -> (float(100,D) O) { O(I(i),d) +=! x(i,d) * y(i,d) }"
    rows, places = jax.ShapeDtypeStruct((4096, 64), jnp.float32), jax.ShapeDtypeStruct((4096,), jnp.int32)

    def found(limit: str | None) -> planning.Compute:
        (only,) = tcjax.kernel(text, memory_limit=limit).plan(rows, rows, places).stages
        assert isinstance(only, planning.Compute)
        return only

    assert found(None).chunks is None and found("2MiB").chunks is None
    tight = found("128KiB")
    assert tight.chunks is not None
    assert planning.cost_of(tight).temporary <= 128 << 10 < planning.cost_of(found(None)).temporary


RELATIONS = """
def f(float(N,D) h, int32(E) s, int32(E) r, int32(E) t, float(R,D,C) W) -> (float(8192,C) O) {
  O(t(k),c) +=! h(s(k),d) * W(r(k),d,c)
}"""


def test_the_sums_along_the_edges_of_a_graph_come_in_rounds_where_they_are_too_many() -> None:
    def of(edges: int) -> planning.Compute:
        ints, floats = ((edges,), jnp.int32), jnp.float32
        given = (((8192, 64), floats), ints, ints, ints, ((16, 64, 64), floats))
        (found,) = tcjax.kernel(RELATIONS).plan(*(jax.ShapeDtypeStruct(*one) for one in given)).stages
        assert isinstance(found, planning.Compute)
        return found

    many, few = of(65536), of(2048)

    assert few.chunks is None
    assert many.chunks is not None
    # A chunk gathers a matrix for each of its edges.
    assert planning.cost_of(many.chunks.step).temporary <= 16 << 20
