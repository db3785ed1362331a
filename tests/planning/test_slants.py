"""Reads along diagonals: one view of the tensor and slices of it, forward and backward, and no gather."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax.testing import assert_gradients

READS = {
    "shifted right": ("A(p,s-p) where s in 0:N+M-1, p in 0:N, s-p >= 0, s-p < M", (9, 12)),
    "by two": ("A(p,s-2*p) where s in 0:2*N+M-2, p in 0:N, s-2*p >= 0, s-2*p < M", (9, 12)),
    "along the rows": ("A(s-p,p) where s in 0:N+M-1, p in 0:M, s-p >= 0, s-p < N", (12, 9)),
    "backwards": ("A(p,M-1-s+p) where s in 0:N+M-1, p in 0:N, M-1-s+p >= 0, M-1-s+p < M", (9, 12)),
    "shifted left": ("A(p+s,s) where s in 0:M, p in 0:N-M+1", (20, 9)),
    "a part": ("A(p+1,s-p-2) where s in 2:N+M-2, p in 0:N-1, s-p >= 2, s-p-2 < M", (9, 12)),
    "from the left": ("A(p,p+s) where p in 0:N, s in -3:M, p+s >= 0, p+s < M", (9, 17)),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_diagonal_is_a_view(read: tuple[str, tuple[int, int]]) -> None:
    value, shape = read
    kernel = tcjax.kernel(f"def f(float(N,M) A) -> (B) {{ B(s,p) = {value} }}")
    A = np.random.default_rng(1).normal(size=shape).astype(np.float32)

    assert "diagonals" in str(kernel.explain(A))
    np.testing.assert_array_equal(kernel(A), kernel.interpret(A))
    assert_gradients(kernel, A)
    both = jax.jit(jax.value_and_grad(lambda A: (kernel(A) ** 2).sum())).lower(A).as_text()
    assert "gather" not in both and "scatter" not in both


def test_other_dimensions_come_along() -> None:
    text = (
        "def f(float(K,M,L,N) A) -> (B) { B(k,s,p,l) = A(k,s-p,l,p) where s in 0:N+M-1, p in 0:N, s-p >= 0, s-p < M }"
    )
    kernel, A = tcjax.kernel(text), np.random.default_rng(2).normal(size=(2, 8, 3, 9)).astype(np.float32)

    assert "diagonals" in str(kernel.explain(A))
    np.testing.assert_array_equal(kernel(A), kernel.interpret(A))
    assert_gradients(kernel, A)


SHIFTS = {
    "two dimensions": "f(a,b,i-a,j-b)",
    "inside": "f(a,b,i+a,j-b+2)",
    "on a torus": "f(a,b,wrap(i-a+1),wrap(j-b+1)) where i in 0:N, j in 0:M",
    "at edges": "f(a,b,clamp(i-a+1),reflect(j+b-1)) where i in 0:N, j in 0:M",
    "both by one index": "f(a,b,wrap(i-a),clamp(j-2*a+1)) where i in 0:N, j in 0:M",
    "turned": "f(2-a,2-b,wrap(i-a+1),wrap(1+b-j)) where i in 0:N, j in 0:M, a in 0:3, b in 0:3",
    "in a formula": "a * f(a,b,wrap(i-a+1),j) + f(a,b,i,wrap(j+b)) where i in 0:N, j in 0:M",
}


@pytest.mark.parametrize("read", SHIFTS.values(), ids=SHIFTS)
def test_shifts_by_an_index_are_slices_of_rows(read: str) -> None:
    kernel = tcjax.kernel(f"def t(float(3,3,N,M) f) -> (g) {{ g(a,b,i,j) = {read} }}")
    f = np.random.default_rng(4).normal(size=(3, 3, 9, 12)).astype(np.float32)

    np.testing.assert_allclose(kernel(f), kernel.interpret(f), rtol=1e-6)
    assert_gradients(kernel, f)
    both = jax.jit(jax.value_and_grad(lambda f: (kernel(f) ** 2).sum())).lower(f).as_text()
    assert "gather" not in both and "scatter" not in both


def test_a_sum_of_shifted_rows_is_slices_of_rows() -> None:
    kernel = tcjax.kernel("def t(float(A,N) f) -> (g) { g(i) = sum[a](f(a, wrap(i - a))) where i in 0:N }")
    f = np.random.default_rng(5).normal(size=(5, 30)).astype(np.float32)

    np.testing.assert_allclose(kernel(f), kernel.interpret(f), rtol=1e-5, atol=1e-6)
    assert_gradients(kernel, f)
    assert "gather" not in jax.jit(kernel).lower(f).as_text()


def test_few_of_many_elements_are_looked_up() -> None:
    kernel = tcjax.kernel("def f(float(N,N) A) -> (B) { B(p,s) = A(p,s-p+9) where p in 0:9, s in 0:9 }")
    A = np.random.default_rng(3).normal(size=(200, 200)).astype(np.float32)

    assert "diagonals" not in str(kernel.explain(A))
    np.testing.assert_array_equal(kernel(A), kernel.interpret(A))
