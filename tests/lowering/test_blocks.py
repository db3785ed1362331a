"""Reductions block by block, against NumPy in float64."""

import numpy as np
import pytest

import tcjax


@pytest.mark.parametrize("operator", ["<=", "=="])
def test_a_tensor_with_zeros_around_it_moves_with_the_loop(operator):
    rng = np.random.default_rng(0)
    given = rng.standard_normal((4, 32, 32, 32)).astype("float32")
    weights = rng.standard_normal((32, 3, 3)).astype("float32")
    kernel = tcjax.kernel(f"""def f(float(N,C,H,W) d, float(C,A,B) k) -> (o) {{
        o(n,c,h,w) max=! d(n,f,h-i,w-j) * (f {operator} c ? k(c,i,j) : 0.0)
            where h in 0:H+A-1, w in 0:W+B-1, i <= h && h < i + H && j <= w && w < j + W
    }}""")

    found = np.asarray(kernel(given, weights))

    assert "loop nest" in str(kernel.plan(given, weights))
    assert np.allclose(found, _largest(given.astype("float64"), weights.astype("float64"), operator), atol=1e-4)


def _largest(given, weights, operator):
    """The largest product at each position."""
    channels = given.shape[1]
    every = np.arange(channels)
    counts = every[:, None] <= every if operator == "<=" else every[:, None] == every
    expected = np.full((4, channels, 34, 34), -np.inf)
    for f in range(channels):
        for i in range(3):
            for j in range(3):
                here = expected[:, :, i : i + 32, j : j + 32]
                values = given[:, f, None] * np.where(counts[f], weights[:, i, j], 0)[:, None, None]
                np.maximum(here, values, out=here)
    return expected
