"""Axes of values that become one stored dimension: the loop runs along the axes, not along the dimension."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax.lowering.apart import BARRIERS_HOLD

KRONECKER = {
    "strided": "K(P*i+p, Q*j+q) = A(i,j) * B(p,q)",
    "divided": "K(r,c) = A(r/P, c/Q) * B(r%P, c%Q) where r in 0:I*P, c in 0:J*Q",
}


def kernel_of(body: str) -> tcjax.Kernel:
    return tcjax.kernel(f"def f(float(I,J) A, float(P,Q) B) -> (K) {{ {body} }}")


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.skipif(not BARRIERS_HOLD, reason="XLA:CPU removes barriers before it fuses")
@pytest.mark.parametrize("name", KRONECKER)
def test_a_product_of_kronecker_is_a_loop_along_four_axes(name: str) -> None:
    compiled = jax.jit(kernel_of(KRONECKER[name])).lower(normal(32, 24), normal(6, 10)).compile()

    memory = compiled.memory_analysis()
    assert "f32[32,6,24,10]{3,2,1,0} multiply(" in str(compiled.as_text())
    assert memory is not None and memory.temp_size_in_bytes == 0


@pytest.mark.skipif(not BARRIERS_HOLD, reason="XLA:CPU removes barriers before it fuses")
@pytest.mark.parametrize("name", KRONECKER)
@pytest.mark.parametrize(
    ("columns", "along"), [(8, "8"), (12, "4,3"), (16, "8,2"), (48, "8,6"), (36, "36"), (17, "17"), (64, "64")]
)
def test_a_short_row_is_two_loops_that_become_vectors(name: str, columns: int, along: str) -> None:
    compiled = jax.jit(kernel_of(KRONECKER[name])).lower(normal(32, 24), normal(6, columns)).compile()

    memory = compiled.memory_analysis()
    assert f"-> f32[32,6,24,{along}] {{" in str(compiled.as_text())
    assert memory is not None and memory.temp_size_in_bytes == 0


@pytest.mark.skipif(not BARRIERS_HOLD, reason="XLA:CPU removes barriers before it fuses")
def test_functions_are_computed_along_the_whole_row() -> None:
    compiled = (
        jax.jit(kernel_of("K(P*i+p, Q*j+q) = exp(A(i,j) * B(p,q))")).lower(normal(32, 24), normal(6, 16)).compile()
    )

    assert "-> f32[32,6,24,16] {" in str(compiled.as_text())


@pytest.mark.skipif(not BARRIERS_HOLD, reason="XLA:CPU removes barriers before it fuses")
@pytest.mark.parametrize("name", KRONECKER)
@pytest.mark.parametrize("columns", [10, 16, 64])
def test_a_product_of_kronecker_and_its_gradient_store_nothing_as_large(name: str, columns: int) -> None:
    kernel, a, b = kernel_of(KRONECKER[name]), normal(64, 24), normal(16, columns)

    def both(a: jax.Array, b: jax.Array, weight: jax.Array) -> tuple[jax.Array, object]:
        found, pull = jax.vjp(kernel, a, b)
        return found, pull(weight)

    compiled = jax.jit(both).lower(a, b, normal(64 * 16, 24 * columns)).compile()

    memory = compiled.memory_analysis()
    assert memory is not None and memory.temp_size_in_bytes < 64 * 16 * 24 * columns


@pytest.mark.parametrize("body", ["A(i,j) * B(p,q) * A(i,j)", "(A(i,j) > 0 ? B(p,q) * B(p,q) : A(i,j)) / 2"])
def test_second_derivatives_of_joined_values(body: str) -> None:
    kernel, a, b = kernel_of(f"K(P*i+p, Q*j+q) = {body}"), normal(3, 2), normal(2, 12)

    def by_hand(a: jax.Array, b: jax.Array) -> jax.Array:
        wide, other = a[:, None, :, None], b[None, :, None]
        product = wide * other * wide
        chosen = jax.numpy.where(wide > 0, other * other, wide) / 2
        return (product if "?" not in body else chosen).reshape(6, 24)

    found = jax.hessian(lambda *given: (kernel(*given) ** 2).sum(), (0, 1))(a, b)

    expected = jax.hessian(lambda *given: (by_hand(*given) ** 2).sum(), (0, 1))(a, b)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4), found, expected)


@pytest.mark.parametrize("columns", [1, 8, 9, 12, 16, 20, 36, 48, 56, 60, 64])
@pytest.mark.parametrize("name", KRONECKER)
def test_rows_of_every_length_have_values_and_gradients(name: str, columns: int) -> None:
    kernel, a, b = kernel_of(KRONECKER[name]), normal(5, 4), normal(3, columns)
    weight = normal(15, 4 * columns)

    found, pull = jax.vjp(kernel, a, b)

    wide, other = a.astype(np.float64), b.astype(np.float64)
    parts = weight.reshape(5, 3, 4, columns).astype(np.float64)
    np.testing.assert_allclose(found, np.kron(wide, other), rtol=1e-6)
    first, second = pull(weight)
    np.testing.assert_allclose(first, np.einsum("ipjq,pq->ij", parts, other), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(second, np.einsum("ipjq,ij->pq", parts, wide), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 4, 3, 16), (5, 0, 3, 16), (5, 4, 0, 16), (5, 4, 3, 0)])
def test_a_product_of_an_empty_array_is_empty(shape: tuple[int, int, int, int]) -> None:
    rows, columns, inner_rows, inner_columns = shape

    found = kernel_of(KRONECKER["strided"])(normal(rows, columns), normal(inner_rows, inner_columns))

    assert found.shape == (rows * inner_rows, columns * inner_columns)


def test_an_array_that_is_turned_round_is_copied_once() -> None:
    kernel = tcjax.kernel("def f(float(N,R,S,H,W) x) -> (y) { y(n, R*h+r, S*w+s) = 2 * x(n,r,s,h,w) }")

    compiled = jax.jit(kernel).lower(normal(8, 2, 2, 64, 64)).compile()

    memory = compiled.memory_analysis()
    assert memory is not None and memory.temp_size_in_bytes == 0


@pytest.mark.parametrize("name", KRONECKER)
def test_products_of_kronecker_have_derivatives_and_batches(name: str) -> None:
    kernel, a, b, weight = kernel_of(KRONECKER[name]), normal(5, 4), normal(3, 2), normal(15, 8)

    found, pull = jax.vjp(kernel, a, b)
    batch = jax.vmap(kernel, in_axes=(0, None))(np.stack([a, 2 * a]), b)
    _, moved = jax.jvp(kernel, (a, b), (a, b))

    expected, parts = np.kron(a, b), weight.reshape(5, 3, 4, 2).astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(batch, np.stack([expected, 2 * expected]), rtol=1e-6)
    np.testing.assert_allclose(moved, 2 * expected, rtol=1e-6)
    first, second = pull(weight)
    np.testing.assert_allclose(first, np.einsum("ipjq,pq->ij", parts, b), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(second, np.einsum("ipjq,ij->pq", parts, a), rtol=1e-4, atol=1e-5)
