"""What windows that lie side by side pass on: each element receives once, without zeros between."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

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
