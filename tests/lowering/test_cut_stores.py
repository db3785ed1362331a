"""Left sides that reach out of bounds under a guard: the excess is sliced off, and nothing is scattered."""

from collections.abc import Callable

import jax
import numpy as np
import pytest

import tcjax

SIZE = 7
Expected = Callable[[np.ndarray], dict[int, float]]

STATEMENTS: dict[str, tuple[str, Expected]] = {
    "added behind": (
        "O(i+1) += A(i) where i in 0:N, i+1 < N",
        lambda a: {i + 1: 1 + a[i] for i in range(SIZE - 1)},
    ),
    "put in front, some": (
        "O(i-2) = A(i) where i in 0:N, i-2 >= 0, A(i) > 0",
        lambda a: {i - 2: a[i] for i in range(2, SIZE) if a[i] > 0},
    ),
    "pairs, cut at both ends": (
        "O(2*i+j-1) = A(i) + j where i in 0:4, j in 0:2, 0 <= 2*i+j-1, 2*i+j-1 < N",
        lambda a: {2 * i + j - 1: a[i] + j for i in range(4) for j in range(2) if 0 <= 2 * i + j - 1 < SIZE},
    ),
    "largest products": (
        "O(i+1) max= A(i) * A(j) where i in 0:N, j in 0:N, i+1 < N",
        lambda a: {i + 1: max(1, *(a[i] * b for b in a)) for i in range(SIZE - 1)},
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_lies_beyond_the_ends_is_cut_off(name: str) -> None:
    statement, places = STATEMENTS[name]
    kernel = tcjax.kernel(f"def f(float(N) A) -> (O) {{ O(i) = 1.0 where i in 0:N\n {statement} }}")
    values = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)

    found = kernel(values)

    expected = np.ones(SIZE, np.float32)
    for place, value in places(values).items():
        expected[place] = value
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert "scatter" not in jax.jit(kernel).lower(values).as_text()
