"""Loops over blocks: overlapping tiles, and the blocks in which a point may take part, checked against all points."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tcjax
from tcjax.lowering.apart import BARRIERS_HOLD
from tcjax.lowering.blocked_loop import over_tiles
from tcjax.planning.blocked.domains import ends
from tcjax.planning.data.blocked_loop import Tile, between
from tcjax.symbolic import Affine, IndexVar

I, J, K = (IndexVar(name) for name in "ijk")


def test_results_of_overlapping_tiles_are_those_of_the_whole() -> None:
    x, y = np.arange(7.0, dtype=np.float32), np.arange(10.0, 21.0, dtype=np.float32)
    tiles = Tile(I, IndexVar("a."), 2, 3, 7), Tile(J, IndexVar("b."), -1, 4, 11)

    def run(starts, kept):
        rows = jax.lax.dynamic_slice_in_dim(jnp.asarray(x), starts[tiles[0].start] - 2, 3)
        columns = jax.lax.dynamic_slice_in_dim(jnp.asarray(y), starts[tiles[1].start] + 1, 4)
        return (columns[:, None] * rows, rows + 1), kept + 1

    (product, other), visited = jax.jit(lambda: over_tiles(tiles, [(J, I), (I,)], run, {}, jnp.int32(0)))()

    np.testing.assert_array_equal(product, y[:, None] * x)
    np.testing.assert_array_equal(other, x + 1)
    assert visited == 3 * 3


@pytest.mark.skipif(not BARRIERS_HOLD, reason="this XLA drops the order of what depends on nothing")
def test_a_loop_holds_its_results_only_once_its_operands_are_there() -> None:
    text = """
    def attention(Q) -> (y) {
      norm(h,q) = logsumexp[k](sum[d](Q(h,q,d) * Q(h,k,d)))
      y(h,q,e) = sum[k](exp(sum[d](Q(h,q,d) * Q(h,k,d)) - norm(h,q)) * Q(h,k,e))
    }"""
    kernel = tcjax.kernel(text, memory_limit="4MiB")
    given_array = jax.ShapeDtypeStruct((8, 512, 32), "float32")

    def temporary(count: int) -> int:
        def chain(x: jax.Array) -> jax.Array:
            for _ in range(count):
                x = jnp.tanh(kernel(x))
            return x

        memory: Any = jax.jit(chain).lower(given_array).compile().memory_analysis()
        return memory.temp_size_in_bytes

    assert temporary(4) - temporary(1) < 2 * 8 * 512 * 32 * 4


factors = st.integers(-3, 3)


@given(
    conditions=st.lists(st.tuples(factors, factors, factors, st.integers(-20, 20)), max_size=3),
    width=st.integers(1, 5),
    size=st.integers(1, 4),
    start=st.integers(0, 6),
)
def test_values_beyond_the_ends_have_no_point(
    conditions: list[tuple[int, int, int, int]], width: int, size: int, start: int
) -> None:
    lo, count, others = -3, 4, range(2, 5)
    affines = [Affine.of(I).scale(a) + Affine.of(J).scale(b) + Affine.of(K).scale(c) + d for a, b, c, d in conditions]
    box = {I: (0, size), J: (2, 5), K: (lo, lo + count * width)}

    found = ends(affines, K, [I], box)
    first, behind = between([(end, end.limit([start])) for end in found], (lo, lo + count * width))

    for k in range(lo, lo + count * width):
        counts = any(
            all(a * (start + i) + b * j + c * k + d >= 0 for a, b, c, d in conditions)
            for i in range(size)
            for j in others
        )
        assert not counts or first <= k < behind
    traced = [(end, end.limit([jnp.int32(start)])) for end in found]
    assert tuple(map(int, between(traced, (lo, lo + count * width), jnp.maximum, jnp.minimum))) == (first, behind)
    assert len(found) == sum(c != 0 for _, _, c, _ in conditions)
