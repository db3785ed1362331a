"""Every prefix, or every suffix, of a row: one running reduction."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax


def real(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def whole(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).integers(-5, 6, shape).astype(np.int32)


# Parameters in the order in which the texts read them.
RUNNING = {
    "up to and with": ("o(i) +=! x(j) where j <= i, i in 0:9", real(9)),
    "up to": ("o(i) +=! x(j) where j < i, i in 0:9", real(9)),
    "from and with": ("o(i) +=! x(j) where j >= i, i in 0:9", real(9)),
    "from": ("o(i) +=! x(j) where i < j, i in 0:9", real(9)),
    "later": ("o(i) +=! x(j) where j <= i + 3, i in 0:9", real(9)),
    "earlier": ("o(i) +=! x(j) where j <= i - 4, i in 0:9", real(9)),
    "suffixes that begin before": ("o(i) +=! x(j) where j >= i - 3, i in 0:9", real(9)),
    "more results than elements": ("o(i) +=! x(j) where j <= i, i in 0:18", real(9)),
    "fewer results": ("o(i) +=! x(j) where j >= i + 2, i in 0:3", real(9)),
    "a part of the elements": ("o(i) +=! x(j) where j <= i, j in 3:9, i in 0:9", real(9)),
    "a product": ("o(i) *=! x(j) where j <= i, i in 0:9", real(9)),
    "columns": ("o(i,b) +=! x(j,b) where j <= i, i in 0:9", real(9, 7)),
    "transposed": ("o(b,i) +=! x(j,b) where j <= i, i in 0:9", real(9, 7)),
    "a sum at each element": ("o(i) +=! x(j,k) * w(k) where j <= i, i in 0:9", real(9, 7), real(7)),
    "a product of matrices": ("o(i,e) +=! x(j,k) * w(k,e) where j <= i, i in 0:9", real(9, 7), real(7, 3)),
    "two triangles": ("o(i,k) +=! x(j,l) where j <= i, l <= k, i in 0:9, k in 0:7", real(9, 7)),
    "elements that are left out": ("o(i) +=! x(j) where j <= i, x(j) > 0, i in 0:9", real(9)),
    "a factor of each result": ("o(i) +=! y(i) * x(j) where j <= i", real(9), real(9)),
    "inside of an expression": ("o(i) = y(i) + 2 * sum[j where j <= i](x(j)) / (i + 1)", real(9), real(9)),
    "a mean": ("o(i) mean=! x(j) where j <= i, i in 0:9", real(9)),
    "integers": ("o(i) +=! x(j) where j <= i, i in 0:9", whole(9)),
    "extrema of integers": ("o(i) max=! x(j) where j <= i, i in 0:9", whole(9)),
    "extrema of none": ("o(i) min=! x(j) where j > i, i in 0:9", whole(9)),
}


@pytest.mark.parametrize("name", RUNNING)
def test_a_running_reduction_is_that_of_every_part(name: str) -> None:
    text, *arguments = RUNNING[name]
    kernel = tcjax.kernel(text)
    assert "running" in str(kernel.plan(*arguments))

    np.testing.assert_allclose(kernel(*arguments), kernel.interpret(*arguments), rtol=1e-5, atol=1e-5)

    if arguments[0].dtype != np.float32:
        return
    rng = np.random.default_rng(0)
    ways = [rng.standard_normal(a.shape).astype(np.float32) for a in arguments]
    _, tangent = jax.jvp(kernel, arguments, ways)
    step = 1e-3
    ahead, behind = (
        kernel.interpret(*(a + sign * step * way for a, way in zip(arguments, ways, strict=True))) for sign in (1, -1)
    )
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * step), rtol=2e-2, atol=2e-2)
    result, back = jax.vjp(kernel, *arguments)
    weights = rng.standard_normal(result.shape).astype(np.float32)
    cotangents = back(jnp.asarray(weights))
    paired = sum(float(np.sum(np.asarray(c, float) * way)) for c, way in zip(cotangents, ways, strict=True))
    assert paired == pytest.approx(float(np.sum(np.asarray(tangent, float) * weights)), rel=1e-4, abs=1e-4)


def test_an_infinity_is_in_the_parts_that_hold_it_alone() -> None:
    x = real(9)
    x[4] = np.inf
    found = np.asarray(tcjax.kernel("o(i) +=! x(j) where j <= i, i in 0:9")(x))
    assert np.isfinite(found[:4]).all() and np.isinf(found[4:]).all()


@pytest.mark.parametrize("condition", ["j <= i - 2", "j >= i + 3", "j <= i"])
def test_what_no_result_counts_meets_no_cotangent(condition: str) -> None:
    """Zero times infinity would be a NaN in the derivative by the other factor."""
    text = f"o(i) = y(i) > 0 ? sum[j where {condition}](x(j) * w(j)) : 0.0"
    y, x, w = np.where(np.arange(9) < 6, 1.0, -1.0).astype(np.float32), real(9), real(9)
    counted = {i: [j for j in range(9) if eval(condition, {"i": i, "j": j})] for i in range(6)}
    left_out = sorted(set(range(9)) - {j for each in counted.values() for j in each})
    assert left_out
    w[left_out] = np.inf

    slope = np.asarray(jax.grad(lambda x: tcjax.kernel(text)(y, x, w).sum())(x))

    wanted = [sum(w[j] for each in counted.values() if j in each) if j not in left_out else 0 for j in range(9)]
    np.testing.assert_allclose(slope, wanted, rtol=1e-5)


def test_extrema_of_floats_divide_their_derivative_as_those_of_any_set() -> None:
    kernel = tcjax.kernel("o(i) max=! x(j) where j <= i, i in 0:4")
    assert "running" not in str(kernel.plan(np.ones(4, np.float32)))
    slope = jax.grad(lambda x: kernel(x)[3])(jnp.ones(4))
    np.testing.assert_allclose(slope, 0.25)


def test_a_batch_and_a_batch_of_slopes() -> None:
    kernel = tcjax.kernel("o(i) +=! x(j) where j <= i, i in 0:9")
    x = real(5, 9)
    np.testing.assert_allclose(jax.vmap(kernel)(x), np.cumsum(x.astype(float), 1), rtol=1e-5, atol=1e-5)
    slopes = jax.vmap(jax.grad(lambda row: kernel(row).sum()))(x)
    np.testing.assert_allclose(slopes, np.tile(np.arange(9, 0, -1.0), (5, 1)))


def test_a_long_row_is_stored_once_more_and_no_triangle() -> None:
    kernel = tcjax.kernel("o(i) +=! x(j) where j <= i, i in 0:50000")
    explained = kernel.explain(jax.ShapeDtypeStruct((50_000,), jnp.float32)).to_dict()
    assert explained["statements"][0]["operation"] == "running sum"
    assert explained["temporary_bytes"] <= 4 * 200_000 and explained["flops"] <= 200_000
