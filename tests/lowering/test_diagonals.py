"""Diagonals written over a matrix, as in NumPy, also with infinities."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import tcjax
from tcjax.planning.data.stages import Unstored

Array = NDArray[Any]
Written = Callable[[Array, Array], Array]


def _set(whole: Array, part: Array, shift: int = 0) -> Array:
    found, places = whole.copy(), np.arange(len(part) - abs(shift))
    found[places + max(0, -shift), places + max(0, shift)] = part[: len(places)]
    return found


# The matrix M of (N, N), and the values written to its diagonal from the vector v of (N,).
MATRICES: Mapping[str, tuple[str, Written]] = {
    "filled": ("D(i,j) = 0.0 where i in 0:N, j in 0:N  D(i,i) = v(i)", lambda M, v: np.diag(v)),
    "added": ("D(i,j) = 0.0 where i in 0:N, j in 0:N  D(i,i) += v(i)", lambda M, v: np.diag(v)),
    "alone": ("D(i,i) = v(i)", lambda M, v: np.diag(v)),
    "below": (
        "D(i,j) = 0.0 where i in 0:N, j in 0:N  D(i+1,i) = v(i) where i in 0:N-1",
        lambda M, v: _set(np.zeros_like(M), v, -1),
    ),
    "over a matrix": ("D(i,j) = M(i,j)  D(i,i) = v(i)", _set),
    "added to a matrix": ("D(i,j) = M(i,j)  D(i,i) += v(i)", lambda M, v: M + np.diag(v)),
    "left out": ("D(i,j) = M(i,j)  D(i,i) = 0.0 where i in 0:N", lambda M, v: _set(M, np.zeros_like(v))),
    "guarded": ("D(i,j) = M(i,j)  D(i,i) = v(i) where v(i) > 0", lambda M, v: _set(M, np.where(v > 0, v, np.diag(M)))),
    "a part": ("D(i,j) = M(i,j)  D(i,i) = v(i) where i in 0:N/2", lambda M, v: _set(M, np.r_[v[: len(v) // 2]])),
    "three": (
        "D(i,j) = 0.0 where i in 0:N, j in 0:N  D(i,i) = v(i)  D(i,i+1) = v(i) where i in 0:N-1"
        "  D(i+1,i) = 2*v(i) where i in 0:N-1",
        lambda M, v: np.diag(v) + np.diag(v[:-1], 1) + np.diag(2 * v[:-1], -1),
    ),
    "scaled in place": ("D(i,j) = M(i,j)  D(i,i) = D(i,i)*v(i)", lambda M, v: _set(M, np.diag(M) * v)),
}
LARGE = 160


def kernel_of(body: str, dtype: str = "float", returned: str = "D") -> tcjax.Kernel:
    return tcjax.kernel(f"def f({dtype}(N,N) M, {dtype}(N) v) -> ({dtype}(N,N) {returned}) {{ {body} }}")


def given(n: int, dtype: str = "float64") -> tuple[Array, Array]:
    rng = np.random.default_rng(n)
    return rng.standard_normal((n, n)).astype(dtype), rng.standard_normal(n).astype(dtype)


@pytest.mark.parametrize("n", [1, 2, 7, LARGE])
@pytest.mark.parametrize(("body", "written"), MATRICES.values(), ids=MATRICES)
def test_a_diagonal_is_written_where_it_lies(body: str, written: Written, n: int) -> None:
    M, v = given(n, "float32")

    found = kernel_of(body)(M, v)

    np.testing.assert_array_equal(found, written(M, v))


@pytest.mark.parametrize("number", [1.0, np.inf, np.nan])
@pytest.mark.parametrize(("body", "written"), MATRICES.values(), ids=MATRICES)
def test_a_product_with_it_has_what_zero_times_an_infinity_is(body: str, written: Written, number: float) -> None:
    M, v = given(LARGE, "float32")
    v[3], M[5, 2] = number, number
    product = kernel_of(f"{body}  O(i,k) +=! D(i,j)*M(j,k)", returned="O")
    with np.errstate(invalid="ignore"):
        wanted = written(M, v).astype(float) @ M.astype(float)

    found = product(M, v)

    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("body", "written"), MATRICES.values(), ids=MATRICES)
def test_its_gradient_is_that_of_the_matrix(body: str, written: Written) -> None:
    M, v = given(LARGE)
    cotangent = np.random.default_rng(1).standard_normal((LARGE, LARGE))
    with jax.enable_x64():
        product = kernel_of(f"{body}  O(i,k) +=! D(i,j)*M(j,k)", "double", "O")
        _, backward = jax.vjp(product, jnp.asarray(M), jnp.asarray(v))
        found = backward(jnp.asarray(cotangent))

        def value(M: Array, v: Array) -> float:
            return float(np.sum(written(M, v) @ M * cotangent))

    # Quadratic in each element: a central difference is exact up to rounding.
    for place in ((0, 0), (1, 0), (3, 4), (LARGE - 1, LARGE - 1)):
        step = np.zeros_like(M)
        step[place] = 1e-3
        assert np.isclose(found[0][place], (value(M + step, v) - value(M - step, v)) / 2e-3, rtol=1e-6, atol=1e-6)
    for place in (0, 1, LARGE - 1):
        move = np.zeros_like(v)
        move[place] = 1e-4
        assert np.isclose(found[1][place], (value(M, v + move) - value(M, v - move)) / 2e-4, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "bfloat16", "bool"])
@pytest.mark.parametrize("body", ["D(i,j) = M(i,j)  D(i,i) = v(i)", "D(i,i) = v(i)"])
def test_it_has_the_type_of_the_matrix(body: str, dtype: str) -> None:
    M, v = (jnp.asarray(np.round(array * 4), dtype) for array in given(6))
    kernel = kernel_of(body, dtype)

    found = kernel(M, v)

    base = np.asarray(M) if "M" in body else np.zeros_like(np.asarray(M))
    assert found.dtype == M.dtype
    np.testing.assert_array_equal(np.asarray(found), _set(base, np.asarray(v)))


def test_a_product_with_a_filled_diagonal_stores_no_matrix() -> None:
    M, v = given(LARGE, "float32")
    for name in ("filled", "added", "alone", "below"):
        stages = kernel_of(f"{MATRICES[name][0]}  O(i,k) +=! D(i,j)*M(j,k)", returned="O").plan(M, v).stages
        assert all(isinstance(stage, Unstored) for stage in stages[:-1]), name
