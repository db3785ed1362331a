"""Cotangents of adjacent windows: each element receives once, without zeros in between."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.lowering.apart import BARRIERS_HOLD

MEANS = {
    "sum": "O(n,c,y,x) +=! I(n,c,2*y+i,2*x+j) / 4 where i in 0:2, j in 0:2",
    "mean": "O(n,c,y,x) = mean[i in 0:2, j in 0:2](I(n,c,2*y+i,2*x+j))",
    "named": "B(n,c,y,i,x,j) = I(n,c,2*y+i,2*x+j) where i in 0:2, j in 0:2\nO(n,c,y,x) = mean[i,j](B(n,c,y,i,x,j))",
}


def kernel_of(body: str) -> tcjax.Kernel:
    return tcjax.kernel(f"def f(float(N,C,H,W) I) -> (O) {{ {body} }}")


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def pulled(f: Callable[..., jax.Array], image: np.ndarray, cotangent: np.ndarray) -> jax.Array:
    return jax.jit(lambda image, cotangent: jax.vjp(f, image)[1](cotangent)[0])(image, cotangent)


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize("size", [64, 65])
def test_a_mean_passes_on_the_same_to_all_of_its_window(name: str, size: int) -> None:
    image, cotangent = normal(2, 8, size, size), normal(2, 8, size // 2, size // 2)

    found = pulled(kernel_of(MEANS[name]), image, cotangent)

    expected = np.zeros_like(image)
    whole = size // 2 * 2
    expected[:, :, :whole, :whole] = cotangent.repeat(2, 2).repeat(2, 3) / 4
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", MEANS)
def test_a_mean_of_windows_stores_nothing_for_its_derivative(name: str) -> None:
    kernel = kernel_of(MEANS[name])
    image, cotangent = (jax.ShapeDtypeStruct((4, 16, size, size), jnp.float32) for size in (56, 28))

    compiled = jax.jit(lambda i, g: jax.vjp(kernel, i)[1](g)[0]).lower(image, cotangent).compile()

    memory = compiled.memory_analysis()
    assert memory is not None and memory.temp_size_in_bytes == 0


def test_patches_receive_a_matrix_product() -> None:
    kernel = tcjax.kernel(
        "def f(float(C,H,W) I, float(F,C,4,4) K) -> (O) { O(f,y,x) +=! I(c,4*y+i,4*x+j) * K(f,c,i,j) }"
    )

    page = str(kernel.adjoint())
    image, weights, cotangent = normal(3, 32, 36), normal(5, 3, 4, 4), normal(5, 8, 9)
    found, _ = jax.vjp(kernel, image, weights)[1](cotangent)

    assert "d_I(c, i + 4 * y, j + 4 * x) +=! d_O(f, y, x) * K(f, c, i, j)" in page
    expected = np.einsum("fyx,fcij->cyixj", cotangent, weights, dtype=np.float64).reshape(3, 32, 36)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_windows_with_gaps_leave_zeros() -> None:
    kernel = tcjax.kernel("def f(float(N) a) -> (o) { o(i) +=! (k+1) * a(5*i+2*k+1) where i in 0:3, k in 0:2 }")

    found = kernel.adjoint()(np.zeros(17, np.float32), np.array([1, 2, 3], np.float32))

    assert "d_a(5 * i + 2 * k + 1)" in str(kernel.adjoint())
    np.testing.assert_array_equal(found, [0, 1, 0, 2, 0, 0, 2, 0, 4, 0, 0, 3, 0, 6, 0, 0, 0])


WINDOWS = [(3, 2, 33), (3, 2, 32), (5, 2, 40), (4, 3, 41), (7, 3, 43), (3, 1, 30)]


def windows_of(image: np.ndarray, extent: int, stride: int) -> np.ndarray:
    """Every 2-D window of an image, with its elements row-major in the last axis."""
    found = np.lib.stride_tricks.sliding_window_view(image, (extent, extent), (2, 3))[:, :, ::stride, ::stride]
    return found.reshape(*found.shape[:4], -1)


def received(shape: tuple[int, ...], parts: np.ndarray, extent: int, stride: int) -> np.ndarray:
    """The cotangent of an image from those of its windows."""
    found = np.zeros(shape)
    height, width = parts.shape[2:4]
    for place in range(extent * extent):
        row, column = divmod(place, extent)
        rows = slice(row, row + stride * (height - 1) + 1, stride)
        columns = slice(column, column + stride * (width - 1) + 1, stride)
        found[:, :, rows, columns] += parts[..., place]
    return found


@pytest.mark.parametrize(("extent", "stride", "size"), WINDOWS)
def test_a_sum_of_windows_that_overlap_passes_on_to_each_element_of_them(extent: int, stride: int, size: int) -> None:
    body = f"O(n,c,y,x) +=! I(n,c,{stride}*y+i,{stride}*x+j) where i in 0:{extent}, j in 0:{extent}"
    image = normal(2, 8, size, size)
    cotangent = normal(*windows_of(image, extent, stride).shape[:4])

    found = pulled(kernel_of(body), image, cotangent)

    parts = np.repeat(cotangent[..., None].astype(np.float64), extent * extent, -1)
    np.testing.assert_allclose(found, received(image.shape, parts, extent, stride), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("extent", "stride", "size"), [*WINDOWS, (2, 2, 40), (2, 2, 41), (2, 3, 40)])
@pytest.mark.parametrize("reducer", ["max", "min"])
def test_an_extremum_of_windows_passes_on_to_the_first_that_has_it(
    reducer: str, extent: int, stride: int, size: int
) -> None:
    body = f"O(n,c,y,x) {reducer}=! I(n,c,{stride}*y+i,{stride}*x+j) where i in 0:{extent}, j in 0:{extent}"
    # Few values: nearly every window has its extremum several times.
    image = np.random.default_rng(size).integers(0, 3, (2, 8, size, size)).astype(np.float32)
    windows = windows_of(image, extent, stride)
    cotangent = normal(*windows.shape[:4])

    found = pulled(kernel_of(body), image, cotangent)

    place = windows.argmax(-1) if reducer == "max" else windows.argmin(-1)
    parts = np.where(place[..., None] == np.arange(extent * extent), cotangent[..., None].astype(np.float64), 0)
    np.testing.assert_allclose(found, received(image.shape, parts, extent, stride), rtol=1e-5, atol=1e-5)


def test_the_derivative_of_strided_windows_is_one_loop() -> None:
    kernel = kernel_of("O(n,c,y,x) +=! I(n,c,2*y+i,2*x+j) where i in 0:3, j in 0:3")
    image, cotangent = (jax.ShapeDtypeStruct((4, 16, size, size), jnp.float32) for size in (56, 27))

    compiled = jax.jit(lambda i, g: jax.vjp(kernel, i)[1](g)[0]).lower(image, cotangent).compile()

    memory = compiled.memory_analysis()
    assert memory is not None and memory.temp_size_in_bytes <= 4 * 16 * 29 * 29 * 4


@pytest.mark.parametrize("reducer", ["+", "max"])
def test_a_last_place_beyond_the_image_is_cut_off(reducer: str) -> None:
    kernel = kernel_of(f"O(n,c,y,x) {reducer}=! I(n,c,2*y+i,2*x+j) where i in 0:3, j in 0:3")
    image, cotangent = (jax.ShapeDtypeStruct((4, 16, size, size), jnp.float32) for size in (57, 28))

    compiled = jax.jit(lambda i, g: jax.vjp(kernel, i)[1](g)[0]).lower(image, cotangent).compile()

    assert " scatter(" not in str(compiled.as_text())


def test_signals_in_one_dimension_pass_on_what_their_windows_receive() -> None:
    kernel = tcjax.kernel("def f(float(C,X) a) -> (o) { o(c,i) max=! a(c,2*i+k) where k in 0:4 }")
    signal = np.random.default_rng(0).integers(0, 4, (16, 2001)).astype(np.float32)
    cotangent = normal(16, 999)

    found = pulled(kernel, signal, cotangent)

    windows = np.lib.stride_tricks.sliding_window_view(signal, 4, 1)[:, ::2]
    expected = np.zeros(signal.shape)
    places = 2 * np.arange(999) + windows.argmax(-1)
    np.add.at(expected, (np.arange(16)[:, None], places), cotangent)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reducer", ["+", "max"])
def test_windows_beyond_the_ends_pass_on_to_what_is_inside(reducer: str) -> None:
    body = (
        f"O(n,c,y,x) {reducer}=! I(n,c,2*y+i-1,2*x+j-1) where y in 0:(H+1)/2, x in 0:(W+1)/2, i in 0:3, j in 0:3, "
        "0 <= 2*y+i-1, 2*y+i-1 < H, 0 <= 2*x+j-1, 2*x+j-1 < W"
    )
    image, cotangent = normal(2, 8, 33, 34), normal(2, 8, 17, 17)

    found = pulled(kernel_of(body), image, cotangent)

    def by_hand(image: jax.Array) -> jax.Array:
        wide = ((0, 0), (0, 0), (1, 1), (1, 1))
        start, join = (0.0, jax.lax.add) if reducer == "+" else (-jnp.inf, jax.lax.max)
        return jax.lax.reduce_window(image, start, join, (1, 1, 3, 3), (1, 1, 2, 2), wide)

    np.testing.assert_allclose(found, pulled(by_hand, image, cotangent), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reducer", ["+", "max"])
def test_derivatives_of_windows_have_derivatives(reducer: str) -> None:
    kernel = kernel_of(f"O(n,c,y,x) {reducer}=! I(n,c,2*y+i,2*x+j) where i in 0:3, j in 0:3")
    image, moved = normal(2, 8, 33, 33), normal(2, 8, 33, 33)[::-1].copy()
    cotangent = normal(2, 8, 16, 16)

    _, tangent = jax.jvp(kernel, (image,), (moved,))
    batch = jax.vmap(lambda g: jax.vjp(kernel, image)[1](g)[0])(np.stack([cotangent, 2 * cotangent]))
    curved = jax.grad(lambda g: jnp.vdot(jax.vjp(kernel, image)[1](g)[0], moved))(cotangent)

    windows = windows_of(moved.astype(np.float64), 3, 2)
    if reducer == "+":
        expected = windows.sum(-1)
    else:
        place = windows_of(image, 3, 2).argmax(-1)
        expected = np.take_along_axis(windows, place[..., None], -1)[..., 0]
    np.testing.assert_allclose(tangent, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(curved, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(batch[1], 2 * np.asarray(batch[0]), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not BARRIERS_HOLD, reason="XLA:CPU removes barriers before it fuses")
@pytest.mark.parametrize("extent", [2, 3])
def test_the_place_of_an_extremum_is_found_once_for_all_of_its_window(extent: int) -> None:
    kernel = kernel_of(f"O(n,c,y,x) max=! I(n,c,2*y+i,2*x+j) where i in 0:{extent}, j in 0:{extent}")
    image, cotangent = (jax.ShapeDtypeStruct((16, 64, size, size), jnp.float32) for size in (66 + extent, 34))

    def both(image: jax.Array, cotangent: jax.Array) -> tuple[jax.Array, jax.Array]:
        result, pull = jax.vjp(kernel, image)
        return result, *pull(cotangent)

    compiled = jax.jit(both).lower(image, cotangent).compile()

    # Between loops there is only what is stored.
    loops = str(compiled.as_text()).partition("ENTRY")[2]
    assert "s32[16,64,34,34]" in loops
