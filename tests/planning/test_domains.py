"""Guards and tiles: each tile runs over exactly the part of the loop where the guard can hold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax import planning
from tcjax.planning.blocked.domains import spans
from tcjax.planning.data.nodes import LoopNest

N = 4096
GUARDS = {
    "a triangle": ("j <= i", lambda i, j: j <= i),
    "a band": ("i - j <= 64 && j - i <= 64", lambda i, j: abs(i - j) <= 64),
    "the other half": ("j > i + 100", lambda i, j: j > i + 100),
    "a slope": ("2*j <= i", lambda i, j: 2 * j <= i),
}


def nest(text: str, *shapes: tuple[int, ...]) -> LoopNest:
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    (stage,) = tcjax.kernel(text).plan(*arguments).stages
    assert isinstance(stage, planning.Compute)
    assert isinstance(stage.value, LoopNest)
    return stage.value


@pytest.mark.parametrize("name", GUARDS)
def test_a_tile_runs_from_the_first_to_the_last_point_of_the_guard(name: str) -> None:
    guard, holds = GUARDS[name]
    found = nest(f"O(i) = sum[j where {guard}](tanh(x(i) * y(j)))", (N,), (N,))

    assert found.form.tile is not None
    size = found.form.tile[1]
    parts = spans(found.nest, found.form)

    assert len(parts) == -(-N // size)
    for number, (first, end) in enumerate(parts):
        start = min(number * size, N - size)
        inside = [j for j in range(N) if holds(start, j) or holds(start + size - 1, j)]
        assert (first, end) == (min(inside, default=first), max(inside, default=end - 1) + 1) or not inside
        assert inside or first >= end


def test_a_guard_that_leaves_nearly_all_points_cuts_nothing() -> None:
    assert nest(f"O(i) = sum[j where j <= i + {N - 200}](tanh(x(i) * y(j)))", (N,), (N,)).form.tile is None


def test_a_matrix_product_under_a_guard_has_square_blocks() -> None:
    text = "O(q,e) = sum[k where k <= q](exp(sum[d](Q(q,d) * K(k,d)) - l(q)) * V(k,e))"
    found = nest(text, (N, 32), (N, 32), (N,), (N, 32)).form

    assert found.inside
    assert found.tile is not None
    assert found.tile[1] == found.rows


def test_a_short_axis_that_slides_along_a_loop_is_one_value_after_the_other() -> None:
    found = nest("d(i) +=! x(h+i, w+j) * g(h,w) * a(j)", (1038, 1038), (1024, 1024), (15,))

    assert found.form.tile is not None
    assert found.form.tile[1] == 1
    assert str(found.form.tile[0]) == "i"


def test_a_part_of_a_derivative_that_the_guard_leaves_empty_has_a_form() -> None:
    body = "O(l,i) min=! (x(l) - x(l)*2) + (y(i,j,k) - y(i,j,k)*2) where i <= l"
    kernel = tcjax.kernel(f"def f(float(L) x, float(I,J,K) y) -> (O) {{ {body} }}")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=16).astype(np.float32), rng.normal(size=(200, 200, 7)).astype(np.float32)

    gradient = jax.grad(lambda x, y: jnp.sum(kernel(x, y)[:, 0]), (0, 1))(x, y)

    np.testing.assert_allclose(gradient[0], np.full(16, -1.0), rtol=1e-6)
    np.testing.assert_allclose(gradient[1], np.where(y == y[0].max(), -16.0, 0.0), rtol=1e-6)
