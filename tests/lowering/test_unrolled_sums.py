"""Unrolled sums: their derivatives are formulas, not zero-padded slices."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning.data.nodes import LoopNest, Node, Unroll, operands
from tcjax.testing import assert_no_large_temporaries

Reference = Callable[[np.ndarray, np.ndarray], np.ndarray]


def windows(stride: int = 1) -> Reference:
    """Shifted slices times the elements of a filter, in NumPy."""

    def reference(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        taps = kernel.shape[-2:]
        high, wide = ((image.shape[d - 2] - taps[d]) // stride * stride + 1 for d in (0, 1))
        terms = [
            image[..., r : r + high : stride, s : s + wide : stride] * kernel[..., r, s, None, None]
            for r in range(taps[0])
            for s in range(taps[1])
        ]
        return np.sum(terms, axis=0)

    return reference


def circular(a: np.ndarray, k: np.ndarray) -> np.ndarray:
    return np.sum([np.roll(a, j) * k[j] for j in range(len(k))], axis=0)


def padded(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    return windows()(np.pad(image, 2), kernel)


SUMS: dict[str, tuple[str, Reference, tuple[int, ...], tuple[int, ...], str]] = {
    "a window": ("O(h,w) +=! I(h+r, w+s) * k(r,s)", windows(), (260, 257), (5, 5), "float32"),
    "a window with strides": ("O(h,w) +=! I(2*h+r, 2*w+s) * k(r,s)", windows(2), (601, 600), (5, 5), "float32"),
    "a window of complex numbers": (
        "def f(complex64(H,W) I, complex64(R,S) k) -> (O) { O(h,w) +=! I(h+r, w+s) * k(r,s) }",
        *(windows(), (200, 197), (5, 5), "complex64"),
    ),
    "a window with zeros around": (
        "def f(float(H,W) I, float(5,5) k) -> (O) { O(h,w) +=! I(h+r-2, w+s-2) * k(r,s) where h in 0:H, w in 0:W,"
        " h+r-2 >= 0 && h+r-2 < H && w+s-2 >= 0 && w+s-2 < W }",
        *(padded, (257, 260), (5, 5), "float32"),
    ),
    "a window of each channel": (
        "O(c,h,w) +=! I(c,h+r,w+s) * k(c,r,s)",
        *(windows(), (32, 68, 68), (32, 5, 5), "float32"),
    ),
    "a circular filter": (
        "def f(float(N) a, float(25) k) -> (O) { O(i) +=! a((i - j) % N) * k(j) where i in 0:N }",
        *(circular, (100_003,), (25,), "float32"),
    ),
}


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if dtype == "complex64" else values).astype(dtype)


def is_nest(node: Node) -> bool:
    """Whether the derivative of an unrolled sum is that of a nest."""
    own = isinstance(node, Unroll) and isinstance(node.derivative, LoopNest)
    return own or any(map(is_nest, operands(node)))


def doubled(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)


@pytest.mark.parametrize("name", SUMS)
def test_the_cotangents_of_an_unrolled_sum_meet_every_direction_as_its_tangent_does(name: str) -> None:
    text, reference, *shapes, dtype = SUMS[name]
    rng = np.random.default_rng(1)
    a, b, way_a, way_b = (drawn(rng, shape, dtype) for shape in (*shapes, *shapes))
    kernel = tcjax.kernel(text)
    plan: Any = kernel.plan(a, b)
    assert is_nest(plan.stages[0].value)

    result, pull_back = jax.vjp(kernel, a, b)
    weights = drawn(rng, result.shape, dtype)
    d_a, d_b = pull_back(jnp.asarray(weights))
    _, ahead = jax.jvp(kernel, (a, b), (way_a, way_b))

    a, b, way_a, way_b, weights = map(doubled, (a, b, way_a, way_b, weights))
    np.testing.assert_allclose(result, reference(a, b), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ahead, reference(way_a, b) + reference(a, way_b), rtol=1e-4, atol=2e-4)
    # The sum is linear in each operand: both sides are its values in NumPy, in double precision.
    for cotangent, way, value in ((d_a, way_a, reference(way_a, b)), (d_b, way_b, reference(a, way_b))):
        expected = (weights * value).sum()
        size = float(np.linalg.norm(weights) * np.linalg.norm(value))
        np.testing.assert_allclose((doubled(np.asarray(cotangent)) * way).sum(), expected, atol=1e-6 * size)


def test_a_batch_of_unrolled_sums_and_a_second_derivative_are_those_of_numpy() -> None:
    text, reference, *shapes, dtype = SUMS["a window"]
    rng = np.random.default_rng(2)
    (a, b), kernel = (drawn(rng, (2, *shape), dtype) for shape in shapes), tcjax.kernel(text)

    def energy(a: jax.Array, b: jax.Array) -> jax.Array:
        return (kernel(a, b) ** 2).sum() / 2

    batch = jax.vmap(jax.grad(energy))(a, b)
    _, curved = jax.jvp(jax.grad(energy), (a[0], b[0]), (a[1], np.zeros_like(b[0])))

    ways = drawn(rng, shapes[0], dtype)
    for number in (0, 1):
        expected = (doubled(reference(a[number], b[number])) * reference(ways, b[number])).sum()
        assert (doubled(np.asarray(batch[number])) * ways).sum() == pytest.approx(expected, rel=1e-3, abs=1.0)
    expected = (doubled(reference(a[1], b[0])) * reference(ways, b[0])).sum()
    assert (doubled(np.asarray(curved)) * ways).sum() == pytest.approx(expected, rel=1e-3, abs=1.0)


@pytest.mark.parametrize("term", ["T(I(b,l),d)", "T(I(b,l),d) * T(I(b,l),d)", "T(I(b,l),d) * w(l)"])
def test_a_sum_of_rows_stays_one_loop_beside_its_derivative(term: str) -> None:
    kernel = tcjax.kernel(f"def f(float(E,D) T, int32(B,L) I, float(L) w) -> (O) {{ O(b,d) +=! {term} }}")
    rng = np.random.default_rng(0)
    T, w = rng.standard_normal((100, 64)).astype(np.float32), rng.standard_normal(40).astype(np.float32)
    I = rng.integers(0, 100, (512, 40), dtype=np.int32)

    def gradient(T: Any, w: Any, weights: Any) -> Any:
        result, back = jax.vjp(lambda T, w: kernel(T, I, w), T, w)
        return result, back(weights)

    weights = rng.standard_normal((512, 64)).astype(np.float32)
    assert str(jax.make_jaxpr(gradient)(T, w, weights)).count("whole=True") >= 1
    compiled: Any = jax.jit(gradient).lower(T, w, weights).compile()
    # The values scattered to `T`, and those that the sum over rows for `w` multiplies; the looked-up rows are not
    # stored.
    assert compiled.memory_analysis().temp_size_in_bytes <= (2 if "w" in term else 1) * T[I].nbytes
    _, (d_T, d_w) = compiled(T, w, weights)
    rows, slope, spread = doubled(T)[I], doubled(weights)[:, None], np.zeros((100, 64))
    own = {"T(I(b,l),d)": np.ones_like(rows), "T(I(b,l),d) * w(l)": np.broadcast_to(w[:, None], rows.shape)}
    np.add.at(spread, I, slope * own.get(term, 2 * rows))
    np.testing.assert_allclose(d_T, spread, rtol=1e-4, atol=1e-2)
    if "w" in term:
        np.testing.assert_allclose(d_w, (slope * rows).sum((0, 2)), rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("shift", [0, -30, 30])
def test_sums_of_rows_at_a_shift_are_those_of_numpy(shift: int) -> None:
    kernel = tcjax.kernel("def f(float(R,K) X, int32(J) S, float(N,K) y) -> (O) { O(j) +=! X(i+S(j),k) * y(i,k) }")
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((5000, 32)).astype(np.float32), rng.standard_normal((4500, 32)).astype(np.float32)
    S = rng.integers(0, 501, (48,), dtype=np.int32) + np.int32(shift)

    places = np.clip(np.arange(4500)[:, None] + S, 0, 4999)
    plan: Any = kernel.plan(X, S, y)

    assert plan.stages[0].value.form.inside
    np.testing.assert_allclose(
        kernel(X, S, y), np.einsum("ijk,ik->j", doubled(X)[places], doubled(y)), rtol=1e-4, atol=1e-2
    )


def test_a_small_sum_keeps_the_derivative_of_its_slices() -> None:
    plan: Any = tcjax.kernel(SUMS["a window"][0]).plan(np.ones((20, 20), "float32"), np.ones((5, 5), "float32"))

    assert not is_nest(plan.stages[0].value)


def test_weights_that_several_channels_use_are_not_stored_for_every_term() -> None:
    text = """
    def bilateral(float(H,W,C) image) -> (out) {
        out(y,x,c) = sum[a in 0:7, b in 0:7](
            exp(-sum[e](pow(image(y+a,x+b,e) - image(y+3,x+3,e), 2))) * image(y+a,x+b,c))
    }"""
    image = jax.ShapeDtypeStruct((427, 640, 3), np.float32)
    kernel = tcjax.kernel(text)

    assert_no_large_temporaries(kernel, image)
    # 49 weights of a pixel and 49 products for each channel would be 200 MB.
    assert_no_large_temporaries(kernel, image, gradient=True, limit="96MiB")
