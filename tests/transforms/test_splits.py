"""One statement as two: scales outside scatters, scattered sums in expressions, a product for every matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute

# Large enough for two statements to cost less.
N, B, D, E, K = 4096, 40, 8, 5, 16
RNG = np.random.default_rng(0)
ARRAYS = {
    "X": RNG.normal(size=(N, D)).astype(np.float32),
    "h": RNG.normal(size=(N, K)).astype(np.float32),
    "w": RNG.normal(size=(E, K, D)).astype(np.float32),
    "c": RNG.normal(size=D).astype(np.float32),
    # Some are outside.
    "I": RNG.integers(-2, B + 2, N).astype(np.int32),
    "e": RNG.integers(-1, E + 1, N).astype(np.int32),
}
HEAD = "def f(float(N,D) X, float(N,K) h, float(E,K,D) w, float(D) c, int(N) I, int(N) e)"
ROWS, COLUMNS = f"float({B},D) O", f"float(D,{B}) O"

# The result, a program, and the number of the statement that gets another one before it.
SPLIT = {
    "a scale": (ROWS, "O(I(n),d) +=! 0.5 * X(n,d)", 0),
    "a quotient": (ROWS, "O(I(n),d) +=! X(n,d) / c(d)", 0),
    "a sign": (ROWS, "O(I(n),d) +=! -X(n,d)", 0),
    "a scale for each column, behind": (COLUMNS, "O(d,I(n)) +=! X(n,d) * c(d)", 0),
    "a scale of what goes on": (ROWS, f"O(b,d) = c(d) where b in 0:{B}  O(I(n),d) += 2.0 * X(n,d)", 1),
    "a sum into places by a number": (ROWS, f"O(b,d) = sum[n where b == I(n)](X(n,d)) / N where b in 0:{B}", 0),
    "a sum into places in an expression": (
        ROWS,
        f"O(b,d) = exp(sum[n](b == I(n) ? X(n,d) : 0.0) / 100 + c(d)) where b in 0:{B}",
        0,
    ),
    "a matrix for each row": ("O", "O(n,d) +=! h(n,k) * w(e(n),k,d)", 0),
    "a matrix that a guard chooses": ("O", "O(n,d) +=! h(n,k) * w(m,k,d) where m == e(n)", 0),
    "two matrices for each row": ("O", "O(n,m) +=! h(n,k) * w(e(n),k,d) * w(e(n),m,d)", 0),
    "two matrices for each row, and a scale": ("O", "O(n,m) +=! h(n,k) * w(e(n),k,d) * w(e(n),m,d) * -0.5", 0),
    "two matrices for each row, one sum in the other": (
        "O",
        "O(n,m) = 1 + sum[d](sum[k](h(n,k) * w(e(n),k,d)) * w(e(n),m,d))",
        0,
    ),
    "a matrix for each row, to what is there": ("O", "O(n,d) = X(n,d)  O(n,d) += h(n,k) * w(e(n),k,d)", 1),
}
WHOLE = {
    "nothing to scale": (ROWS, "O(I(n),d) +=! X(n,d)"),
    "a scale of each point": (ROWS, "O(I(n),d) +=! X(n,d) * h(n,0)"),
    "another reduction": (ROWS, "O(I(n),d) max=! 0.5 * X(n,d)"),
    "a product of rows that data choose": ("O", "O(n) +=! h(n,k) * h(e(n),k)"),
}


def kernel_of(result: str, text: str) -> tcjax.Kernel:
    return tcjax.kernel(f"{HEAD} -> ({result}) {{ {text} }}")


def stage_of(result: str, text: str, number: int) -> Compute:
    stage = kernel_of(result, text).plan(**ARRAYS).stages[number]
    assert isinstance(stage, Compute)
    return stage


@pytest.mark.parametrize("name", SPLIT)
def test_what_costs_less_in_two_is_two(name: str) -> None:
    result, text, number = SPLIT[name]
    if name != "a scale of what goes on":
        assert stage_of(result, text, number).before
    kernel, few = (
        kernel_of(result, text),
        {key: array[:20] if len(array) == N else array for key, array in ARRAYS.items()},
    )
    np.testing.assert_allclose(kernel(**ARRAYS), reference(name), rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(kernel(**few), kernel.interpret(**few), rtol=2e-5, atol=2e-5)


def reference(name: str) -> np.ndarray:
    """The result by NumPy, in float64."""
    arrays = {key: array.astype(np.float64) if array.dtype == np.float32 else array for key, array in ARRAYS.items()}
    X, c, I = arrays["X"], arrays["c"], arrays["I"]
    own = arrays["w"][np.clip(arrays["e"], 0, E - 1)]
    sums = np.stack([X[b == I].sum(0) for b in range(B)])
    match name:
        case "a scale" | "a quotient" | "a sign":
            return sums * {"a scale": 0.5, "a quotient": 1 / c, "a sign": -1.0}[name]
        case "a scale for each column, behind":
            return (sums * c).T
        case "a scale of what goes on":
            return c + 2 * sums
        case "a sum into places by a number":
            return sums / N
        case "a sum into places in an expression":
            return np.exp(sums / 100 + c)
        case "a matrix that a guard chooses":
            inside = (arrays["e"] >= 0) & (arrays["e"] < E)
            return np.einsum("nk,nkd->nd", arrays["h"], own) * inside[:, None]
        case "a matrix for each row":
            return np.einsum("nk,nkd->nd", arrays["h"], own)
        case "two matrices for each row" | "two matrices for each row, and a scale":
            scale = -0.5 if name.endswith("scale") else 1.0
            return scale * np.einsum("nk,nkd,nmd->nm", arrays["h"], own, own, optimize=True)
        case "two matrices for each row, one sum in the other":
            return 1 + np.einsum("nk,nkd,nmd->nm", arrays["h"], own, own, optimize=True)
        case _:
            return X + np.einsum("nk,nkd->nd", arrays["h"], own)


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_one_statement_stays_one(name: str) -> None:
    assert not stage_of(*WHOLE[name], 0).before


def test_a_matrix_that_is_not_picked_may_be_infinite() -> None:
    result, text, _ = SPLIT["a matrix for each row"]
    arrays = {**ARRAYS, "e": np.zeros(N, np.int32), "w": ARRAYS["w"].copy()}
    arrays["w"][3] = np.inf
    kernel = kernel_of(result, text)
    assert stage_of(result, text, 0).before

    def total(h: jax.Array) -> jax.Array:
        return jnp.sum(kernel(**{**arrays, "h": h}))

    expected = arrays["w"][0].astype(np.float64).sum(1)
    np.testing.assert_allclose(kernel(**arrays), arrays["h"] @ arrays["w"][0], rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(jax.grad(total)(jnp.asarray(arrays["h"]))[7], expected, rtol=2e-4, atol=2e-4)


def test_the_gradient_of_two_is_that_of_one() -> None:
    kernel = kernel_of(*SPLIT["a quotient"][:2])
    weights = RNG.normal(size=(B, D))

    def total(X: jax.Array, c: jax.Array) -> jax.Array:
        return jnp.sum(kernel(**{**ARRAYS, "X": X, "c": c}) * weights.astype(np.float32))

    by_X, by_c = jax.grad(total, (0, 1))(jnp.asarray(ARRAYS["X"]), jnp.asarray(ARRAYS["c"]))
    inside = ((ARRAYS["I"] >= 0) & (ARRAYS["I"] < B))[:, None]
    rows = np.where(inside, weights[np.clip(ARRAYS["I"], 0, B - 1)], 0)
    X, c = (ARRAYS[name].astype(np.float64) for name in ("X", "c"))
    np.testing.assert_allclose(by_X, rows / c, rtol=2e-5)
    np.testing.assert_allclose(by_c, -(X * rows).sum(0) / c**2, rtol=2e-4)


def test_two_matrices_for_each_row_have_the_gradient_of_both_products() -> None:
    kernel = kernel_of(*SPLIT["two matrices for each row"][:2])
    weights = RNG.normal(size=(N, K))
    own = ARRAYS["w"].astype(np.float64)[np.clip(ARRAYS["e"], 0, E - 1)]
    h = ARRAYS["h"].astype(np.float64)

    def total(h: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.sum(kernel(**{**ARRAYS, "h": h, "w": w}) * weights.astype(np.float32))

    by_h, by_w = jax.grad(total, (0, 1))(jnp.asarray(ARRAYS["h"]), jnp.asarray(ARRAYS["w"]))

    np.testing.assert_allclose(
        by_h, np.einsum("nm,nkd,nmd->nk", weights, own, own, optimize=True), rtol=2e-3, atol=2e-3
    )
    each = np.einsum("nk,nm,nmd->nkd", h, weights, own, optimize=True)
    each += np.einsum("nm,nk,nkd->nmd", weights, h, own, optimize=True)
    # Out-of-range data reads the first or the last matrix.
    expected = np.stack([each[np.clip(ARRAYS["e"], 0, E - 1) == number].sum(0) for number in range(E)])
    np.testing.assert_allclose(by_w, expected, rtol=2e-3, atol=2e-2)


def test_a_row_that_has_several_matrices_is_multiplied_with_each_of_them() -> None:
    rng = np.random.default_rng(6)
    x, w = (rng.normal(size=shape).astype(np.float32) for shape in [(256, 64), (4, 64, 64)])
    e = rng.integers(0, 4, (256, 2)).astype(np.int32)
    kernel = tcjax.kernel("O(t,r,d) +=! x(t,n) * w(e(t,r),n,d)")

    found = kernel(x, w, e)

    np.testing.assert_allclose(found, np.einsum("tn,trnd->trd", x.astype(float), w[e]), rtol=1e-4, atol=1e-4)
