"""Sums that share a matrix that is never stored, against NumPy, at any offset, in blocks that do not divide extents."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.lowering.primitive import tcjax_p
from tcjax.planning.data.nests import Nest
from tests.agreement.nesting import nesting

DISTANCE = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"
KERNEL_SUM = f"def f(float(N,D) x, float(M,D) y, float(M) b) -> (O) {{ O(i) +=! exp(-{DISTANCE}) * b(j) }}"


def distances(x: Any, y: Any) -> Any:
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def cotangents(function: Callable[..., Any], weights: Any, *arrays: Any) -> tuple[Any, ...]:
    result, pull_back = jax.vjp(function, *arrays)
    return result, *pull_back(weights)


def normals(*shapes: tuple[int, ...], offset: float = 0.0) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [(rng.standard_normal(shape) + (offset if len(shape) == 2 else 0)).astype("float32") for shape in shapes]


def passes_of(function: Callable[..., Any], *arrays: Any) -> int:
    found = 0
    pending = [jax.make_jaxpr(function)(*arrays).jaxpr]
    while pending:
        for equation in pending.pop().eqns:
            found += equation.primitive is tcjax_p and not isinstance(equation.params["group"], Nest)
            inner = [getattr(value, "jaxpr", None) for value in equation.params.values()]
            pending += [jaxpr for jaxpr in inner if jaxpr is not None and hasattr(jaxpr, "eqns")]
    return found


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4])
@pytest.mark.parametrize("rows", [40, 1000])
def test_a_gradient_keeps_the_digits_of_differences(rows: int, offset: float) -> None:
    x, y, b = normals((71, 3), (97, 3), (97,), offset=offset)
    (w,) = normals((71,))
    exact = [array.astype("float64") for array in (x, y, b, w)]
    difference, matrix = exact[0][:, None] - exact[1][None], np.exp(-distances(*exact[:2]))
    weights = matrix * exact[2] * exact[3][:, None]
    expected = (
        matrix @ exact[2],
        -2 * (weights[..., None] * difference).sum(1),
        2 * (weights[..., None] * difference).sum(0),
        exact[3] @ matrix,
    )

    with nesting(rows):
        kernel = tcjax.kernel(KERNEL_SUM)
        count = passes_of(lambda *a: cotangents(kernel, *a), w, x, y, b)
        found = cotangents(kernel, w, x, y, b)

    assert count == 1
    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=2e-5, atol=4e-6 * abs(wanted).max())


def test_one_operand_keeps_the_digits_too() -> None:
    x, y, b = normals((64, 3), (96, 3), (96,), offset=1e4)
    exact = [array.astype("float64") for array in (x, y, b)]
    weights = np.exp(-distances(*exact[:2])) * exact[2]
    expected = -2 * (weights[..., None] * (exact[0][:, None] - exact[1][None])).sum(1)

    with nesting():
        kernel = tcjax.kernel(KERNEL_SUM)
        found = jax.grad(lambda x: kernel(x, y, b).sum())(x)

    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=4e-6 * abs(expected).max())


# Each is largest for near points: up to 1000 for the test's numbers, and 1e5 in the derivative.
STEEP = {
    "power": "pow(sum[e]((x(j,e) - x(i,e)) * (x(j,e) - x(i,e))) + 0.01, -1.5)",
    "quotient": "1.0 / ((sum[e]((x(j,e) - x(i,e)) * (x(j,e) - x(i,e))) + 0.01) * sqrt(sum[e]((x(j,e) - x(i,e)) "
    "* (x(j,e) - x(i,e))) + 0.01))",
    "root": "pow(rsqrt(sum[e]((x(j,e) - x(i,e)) * (x(j,e) - x(i,e))) + 0.01), 3.0)",
}


@pytest.mark.parametrize("form", STEEP)
def test_weights_that_are_large_where_points_are_near_keep_the_digits(form: str) -> None:
    text = f"a(i,d) = sum[j](m(j) * (x(j,d) - x(i,d)) * {STEEP[form]})"
    rng = np.random.default_rng(3)
    m, x, w = (
        a.astype("float32") for a in (rng.uniform(0.5, 1, 900), rng.normal(size=(900, 3)), rng.normal(size=(900, 3)))
    )
    kernel = tcjax.kernel(text)
    masses, places, weights = (a.astype("float64") for a in (m, x, w))
    away = places[None] - places[:, None]
    square = (away**2).sum(-1) + 0.01
    # From the derivative of m * away / square^1.5 with respect to the positions of j and i.
    change = (
        w[:, None] / square[..., None] ** 1.5
        - 3 * away * (weights[:, None] * away).sum(-1, keepdims=True) / square[..., None] ** 2.5
    )
    change *= masses[None, :, None]

    found = jax.vjp(kernel, m, x)[1](w)

    expected = ((weights[:, None] * away).sum(-1) / square**1.5).sum(0), change.sum(0) - change.sum(1)
    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, atol=2e-5 * abs(wanted).max())


def test_two_statements_share_what_they_sum() -> None:
    text = f"""
    def f(float(N,D) x, float(M,D) y, float(M) b) -> (O, Z) {{
        O(i) +=! exp(-{DISTANCE}) * b(j)
        Z(i) +=! exp(-{DISTANCE})
    }}"""
    x, y, b = normals((13, 3), (17, 3), (17,))
    matrix = np.exp(-distances(x.astype("float64"), y.astype("float64")))

    with nesting():
        kernel = tcjax.kernel(text)
        assert "shared matrix" in str(kernel.explain(x, y, b))
        total, weight = kernel(x, y, b)

    np.testing.assert_allclose(total, matrix @ b, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(weight, matrix.sum(1), rtol=1e-5)


def test_indices_of_one_name_and_other_ranges_are_others() -> None:
    text = """
    def f(float(N) x, float(M) y, float(K) z) -> (O, P) {
        O(i) +=! exp(x(i) * y(j))
        P(i) +=! exp(x(i) * z(j))
    }"""
    x, y, z = normals((5,), (7,), (11,))

    with nesting():
        first, second = tcjax.kernel(text)(x, y, z)

    np.testing.assert_allclose(first, np.exp(x[:, None] * y).sum(1), rtol=1e-5)
    np.testing.assert_allclose(second, np.exp(x[:, None] * z).sum(1), rtol=1e-5)


def test_a_later_statement_that_reads_what_comes_between_is_no_part_of_the_pass() -> None:
    text = """
    def f(float(N) x, float(M) y) -> (O, P) {
        O(i) +=! exp(x(i) * y(j))
        P(i) +=! exp(x(i) * y(j)) * O(j)
    }"""
    x, y = normals((6,), (6,))
    matrix = np.exp(x[:, None] * y)

    with nesting():
        first, second = tcjax.kernel(text)(x, y)

    np.testing.assert_allclose(first, matrix.sum(1), rtol=1e-5)
    np.testing.assert_allclose(second, matrix @ matrix.sum(1), rtol=1e-5)


def test_rows_of_minus_infinity_pass_nothing_on() -> None:
    text = "def f(float(N,K) x, float(M,K) y) -> (O) { O(i) logsumexp=! x(i,k) + y(j,k) * y(j,k) }"
    x, y = normals((4, 2), (5, 2))
    x[1] = -np.inf
    (w,) = normals((4,))
    scores = x[:, None].astype("float64") + y[None].astype("float64") ** 2
    shift = np.where(np.isfinite(scores), scores, -np.inf).max((1, 2), initial=-1e30)
    weights = np.where(np.isfinite(scores), np.exp(scores - shift[:, None, None]), 0)
    total = weights.sum((1, 2))
    weights = weights / np.where(total == 0, 1, total)[:, None, None]

    with nesting():
        kernel = tcjax.kernel(text)
        _, by_x, by_y = cotangents(kernel, w, x, y)

    np.testing.assert_allclose(by_x, w[:, None] * weights.sum(1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(by_y, (2 * y * (w[:, None, None] * weights).sum(0)), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("batched", [(0, None, None), (None, 0, 0), (0, 0, 0), (None, None, 0)])
def test_a_batch_of_gradients(batched: tuple[int | None, ...]) -> None:
    shapes = [(13, 2), (7, 2), (7,)]
    arrays = normals(*((2, *s) if b == 0 else s for s, b in zip(shapes, batched, strict=True)))

    def summed(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.vmap(jax.grad(lambda *a: jnp.sin(function(*a)).sum(), argnums=(0, 1, 2)), batched)

    expected = summed(lambda x, y, b: jnp.exp(-distances(x, y)) @ b)(*arrays)
    with nesting():
        found = summed(tcjax.kernel(KERNEL_SUM))(*arrays)

    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-5)


def test_a_gradient_of_many_points_stores_few_of_them() -> None:
    shapes = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((4096,), (4096, 3), (4096, 3), (4096,))]
    kernel = tcjax.kernel(KERNEL_SUM)

    compiled = jax.jit(lambda *a: cotangents(kernel, *a)).lower(*shapes).compile()

    memory = compiled.memory_analysis()
    assert memory is not None
    assert memory.temp_size_in_bytes < 8 << 20


@pytest.mark.parametrize("guard", ["j <= i", "j - i <= 5, i - j <= 9", "j >= i + 3", "2 * j < i, j > 4"])
@pytest.mark.parametrize("rows", [8, 40])
def test_guards_leave_blocks_out(guard: str, rows: int) -> None:
    text = f"def f(float(N) x, float(M) y, float(M) b) -> (O) {{ O(i) +=! exp(x(i) * y(j)) * b(j) where {guard} }}"
    x, y, b = normals((71,), (97,), (97,))
    (w,) = normals((71,))
    i, j = np.arange(71)[:, None], np.arange(97)[None]
    held = {
        "j <= i": j <= i,
        "j - i <= 5, i - j <= 9": (j - i <= 5) & (i - j <= 9),
        "j >= i + 3": j >= i + 3,
        "2 * j < i, j > 4": (2 * j < i) & (j > 4),
    }[guard]
    matrix = np.where(held, np.exp(x[:, None].astype("float64") * y), 0)
    expected = matrix @ b, w * (matrix @ (b * y)), b * ((w * x) @ matrix), w @ matrix

    with nesting(rows):
        kernel = tcjax.kernel(text)
        assert passes_of(lambda *a: cotangents(kernel, *a), w, x, y, b) == 1
        found = cotangents(kernel, w, x, y, b)

    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=2e-5, atol=1e-5 * abs(wanted).max())


def test_sums_inside_are_part_of_the_matrix() -> None:
    text = """
    def f(float(N,D) q, float(M,D) k, float(M,E) v) -> (O) {
        O(i,e) +=! exp(sum[d](q(i,d) * k(j,d)) / sqrt(D)) * v(j,e)
    }"""
    q, k, v = normals((71, 4), (97, 4), (97, 5))
    (w,) = normals((71, 5))
    matrix = np.exp(q.astype("float64") @ k.T / 2)
    inner = matrix * (w.astype("float64") @ v.T) / 2
    expected = matrix @ v, inner @ k, inner.T @ q, matrix.T @ w

    with nesting(40):
        kernel = tcjax.kernel(text)
        assert passes_of(lambda *a: cotangents(kernel, *a), w, q, k, v) == 1
        found = cotangents(kernel, w, q, k, v)

    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=2e-5, atol=1e-5 * abs(wanted).max())


def test_more_columns_than_a_block_has_room_for_are_tiled() -> None:
    shapes = [jax.ShapeDtypeStruct(s, "float32") for s in ((100_000,), (100_000, 3), (300_000, 3), (300_000,))]
    kernel = tcjax.kernel(KERNEL_SUM)

    compiled = jax.jit(lambda *a: cotangents(kernel, *a)).lower(*shapes).compile()

    assert passes_of(lambda *a: cotangents(kernel, *a), *shapes) == 1
    memory = compiled.memory_analysis()
    assert memory is not None
    inputs_and_outputs = 2 * sum(4 * np.prod(shape.shape) for shape in shapes)
    assert memory.temp_size_in_bytes < 4 * inputs_and_outputs


def test_what_a_guard_leaves_out_may_be_infinite() -> None:
    text = "def f(float(N) x, float(M) y, float(M) b) -> (O) { O(i) +=! exp(x(i) * y(j)) * b(j) where j <= i }"
    x, y, b = normals((71,), (97,), (97,))
    (w,) = normals((71,))
    b[80] = np.inf
    y[90] = np.nan
    matrix = np.where(np.arange(97) <= np.arange(71)[:, None], np.exp(x[:, None].astype("float64") * y), 0)[:, :71]

    with nesting(40):
        kernel = tcjax.kernel(text)
        found = cotangents(kernel, w, x, y, b)

    seen = y[:71], b[:71]
    expected = matrix @ seen[1], w * (matrix @ (seen[1] * seen[0])), seen[1] * ((w * x) @ matrix), w @ matrix
    np.testing.assert_allclose(found[0], expected[0], rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(found[1], expected[1], rtol=2e-5, atol=1e-5)
    for own, wanted in zip(found[2:], expected[2:], strict=True):
        np.testing.assert_allclose(own[:71], wanted, rtol=2e-5, atol=1e-5)
        np.testing.assert_array_equal(own[71:], 0)


def test_the_gradient_of_a_gradient_keeps_axes_and_inner_sums_apart() -> None:
    text = "O(i,e) = sum[j](exp(sum[d](q(i,d) * k(j,d)) - logsumexp[l](sum[d](q(i,d) * k(l,d)))) * v(j,e))"
    arrays = [array.astype("float64") for array in normals((4, 3), (7, 3), (7, 2))]
    ways = [np.cos(np.arange(array.size)).reshape(array.shape) for array in arrays]

    def slope(function: Callable[..., Any]) -> Callable[..., Any]:
        """Of the squares of the results, along `ways`."""
        gradient = jax.grad(lambda *a: jnp.sum(function(*a) ** 2), argnums=(0, 1))
        return lambda *a: sum(jnp.vdot(own, way) for own, way in zip(gradient(*a), ways, strict=False))

    with jax.enable_x64(True):
        reference = slope(lambda q, k, v: jax.nn.softmax(q @ k.T, axis=1) @ v)
        expected = jax.jit(jax.grad(reference, argnums=(0, 1)))(*arrays)
        with nesting(3):
            found = jax.jit(jax.grad(slope(tcjax.kernel(text)), argnums=(0, 1)))(*arrays)

    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-9, atol=1e-12)
