"""Floors and remainders as two indices."""

import numpy as np
import pytest

import tcjax


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B(i) = A(i/3, i%3) where i in 0:12", lambda A: A.reshape(-1)),
        ("B(i) = A(i%4, i/4) where i in 0:12", lambda A: A.T.reshape(-1)),
        ("B(i,j) = A(i/2, j) where i in 0:8, j in 0:3", lambda A: np.repeat(A, 2, 0)),
        ("B(i,j) = A(i%4, j) where i in 0:8, j in 0:3", lambda A: np.tile(A, (2, 1))),
        ("B(i) = A((i/3)%4, i%3) where i in 0:24", lambda A: np.tile(A.reshape(-1), 2)),
        ("B(i) = A((i+3)/3 - 1, (i+3)%3) where i in 0:12", lambda A: A.reshape(-1)),
        ("B(i) = A(i/3, i%3) where i in 3:12", lambda A: A.reshape(-1)[3:]),
        # Reads that do not divide are gathers.
        ("B(i) = A(i/3, i%3) where i in 0:11", lambda A: A.reshape(-1)[:11]),
        ("B(i) = A(i/3, i%3) where i in 1:12", lambda A: A.reshape(-1)[1:]),
        ("B +=! A(i/3, i%3) * (i + 1) where i in 0:12", lambda A: (A.reshape(-1) * np.arange(1, 13)).sum()),
        ("B(i) = argmax[k in 0:12](A(k/3, k%3)) + i where i in 0:2", lambda A: A.argmax() + np.arange(2)),
    ],
)
def test_a_divided_index_reads_what_it_says(text: str, expected) -> None:
    kernel = tcjax.kernel(text)
    A = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")

    result = kernel(A)

    np.testing.assert_allclose(result, expected(A), rtol=1e-6)
    np.testing.assert_allclose(kernel.interpret(A), expected(A), rtol=1e-6)


def test_what_data_decide_on_the_left_splits_nothing() -> None:
    kernel = tcjax.kernel("def f(int(4,8) I, float(N) X) -> (float(5) O) { O(I(n/8,n%8)) +=! X(n) }")
    bins, X = np.arange(32, dtype=np.int32).reshape(4, 8) % 5, np.arange(32, dtype=np.float32)

    assert "read X[0+32] -> float32[n]" in str(kernel.plan(bins, X))
    np.testing.assert_array_equal(kernel(bins, X), np.bincount(bins.ravel(), X, 5))
