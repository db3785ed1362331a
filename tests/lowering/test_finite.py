"""Masked terms contribute 0 to a matrix product, even against inf or NaN."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import tcjax
from tcjax.lowering.finite import live_sum
from tcjax.symbolic import IndexVar
from tests.agreement.nesting import nesting

N, M, E = 24, 9, 5
TRIANGLE = "y(m,n) +=! A(m,k) * B(k,n) where k <= m"
ATTENTION = """
def attention(float(M,D) Q, float(N,D) K, float(N,E) V) -> (O) {
    s(m,n) +=! Q(m,d) * K(n,d)
    top(m) max=! s(m,n) where n <= m
    Z(m) +=! exp(s(m,n) - top(m)) where n <= m
    O(m,e) +=! exp(s(m,n) - top(m)) * V(n,e) / Z(m) where n <= m
}"""
UNNAMED = """
def attention(float(M,D) Q, float(N,D) K, float(N,E) V) -> (O) {
    O(m,e) = sum[k where k <= m](exp(sum[d](Q(m,d)*K(k,d)) - max[j where j <= m](sum[d](Q(m,d)*K(j,d)))) * V(k,e))
        / sum[k where k <= m](exp(sum[d](Q(m,d)*K(k,d)) - max[j where j <= m](sum[d](Q(m,d)*K(j,d)))))
}"""


def real(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def spoiled(rows: int, columns: int) -> NDArray[np.float32]:
    """A matrix with both infinities and NaN in its later rows."""
    found = real(rows, columns, seed=1)
    found[rows // 2, 1] = np.nan
    found[rows - 2] = np.inf
    found[rows - 1, 0] = -np.inf
    found[rows - 3, 0] = -np.inf
    return found


def product(left: NDArray[np.floating], right: NDArray[np.floating], live: NDArray[np.bool_]) -> NDArray[np.floating]:
    """The sums over live k of ``left[m, k] * right[k, n]``, given ``live[m, k, n]``."""
    with np.errstate(invalid="ignore"):
        terms = left.astype(float)[:, :, None] * right.astype(float)[None]
        return np.where(live, terms, 0.0).sum(1)


def triangle(rows: int, columns: int) -> NDArray[np.bool_]:
    return np.tril(np.ones((rows, columns), bool))[:, :, None]


def test_a_triangle_meets_only_its_own_rows_of_the_other_matrix() -> None:
    A, B = real(N, N), spoiled(N, E)
    # Zero times infinity is NaN where it is not masked.
    A[N - 1, N - 2], A[N - 3, N - 3] = 0, 1
    found = tcjax.kernel(TRIANGLE)(A, B)
    wanted = product(A, B, triangle(N, N))
    assert np.isfinite(wanted[: N // 2]).all() and np.isnan(wanted[N - 1]).all() and (wanted == -np.inf).any()
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_each_part_of_a_guard_concerns_the_operands_that_have_its_indices() -> None:
    A, B, length = real(N, N), spoiled(N, E), np.int32(N // 2)
    found = tcjax.kernel("y(m,n) +=! A(m,k) * B(k,n) where k <= m, k < length()")(A, B, length)
    live = triangle(N, N) & (np.arange(N) < N // 2)[:, None]
    np.testing.assert_allclose(found, product(A, B, live), rtol=1e-4)


def test_both_operands_may_have_a_guard_of_their_own() -> None:
    A, B = spoiled(M, N), spoiled(N, M)
    found = tcjax.kernel("y(m,n) +=! A(m,k) * B(k,n) where k <= m + 3, n <= k")(A, B)
    k = np.arange(N)[None, :, None]
    m, n = np.arange(M)[:, None, None], np.arange(M)[None, None, :]
    np.testing.assert_allclose(found, product(A, B, (k <= m + 3) & (n <= k)), rtol=1e-4)


def test_of_three_operands_too() -> None:
    A, B, C = real(N, N), spoiled(N, E), real(E, M)
    found = tcjax.kernel("y(m,p) +=! A(m,k) * B(k,n) * C(n,p) where k <= m")(A, B, C)
    with np.errstate(invalid="ignore"):
        inner = (B.astype(float)[:, :, None] * C.astype(float)[None]).sum(1)
    np.testing.assert_allclose(found, product(A, inner, triangle(N, N)), rtol=1e-4, atol=1e-5)


def test_a_batch_asks_once_and_computes_one_of_the_two() -> None:
    A, B = np.stack([real(N, N), real(N, N, seed=2)]), np.stack([spoiled(N, E), real(N, E)])
    run = jax.vmap(tcjax.kernel(TRIANGLE))
    for number, row in enumerate(run(A, B)):
        np.testing.assert_allclose(row, product(A[number], B[number], triangle(N, N)), rtol=1e-4, atol=1e-5)
    # With a condition per batch element, both branches would be computed.
    assert jax.jit(run).lower(A, B).as_text().count("stablehlo.case") == 1


def test_what_is_left_out_has_no_part_in_the_derivative() -> None:
    A, B, weight = real(N, N), spoiled(N, E), real(N, E, seed=3)
    weight[N // 2 :] = 0

    def loss(A: jax.Array) -> jax.Array:
        return jnp.sum(tcjax.kernel(TRIANGLE)(A, B)[: N // 2] * weight[: N // 2])

    with np.errstate(invalid="ignore"):
        wanted = np.where(np.tril(np.ones((N, N), bool)), weight.astype(float) @ B.astype(float).T, 0.0)
    found = np.asarray(jax.grad(loss)(A))
    np.testing.assert_allclose(found[: N // 2], wanted[: N // 2], rtol=1e-4)
    value, change = jax.jvp(lambda B: tcjax.kernel(TRIANGLE)(A, B), (B,), (np.ones_like(B),))
    np.testing.assert_allclose(value, product(A, B, triangle(N, N)), rtol=1e-4)
    np.testing.assert_allclose(change, np.tril(A).sum(1)[:, None] * np.ones(E), rtol=1e-3)


# In blocks only if it is not named.
@pytest.mark.parametrize(("text", "limit"), [(ATTENTION, None), (UNNAMED, None), (UNNAMED, "32KiB")])
def test_later_values_do_not_reach_causal_attention(text: str, limit: str | None) -> None:
    size = 96
    Q, K, V = real(size, 3), real(size, 3, seed=2), spoiled(size, 4)
    scores = np.where(triangle(size, size)[:, :, 0], Q.astype(float) @ K.T, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    wanted = product(weights / weights.sum(1, keepdims=True), V, triangle(size, size))
    attention = tcjax.kernel(text, memory_limit=limit)
    np.testing.assert_allclose(attention(Q, K, V), wanted, rtol=1e-4, atol=1e-5)
    gradient = np.asarray(jax.grad(lambda Q: jnp.sum(attention(Q, K, V)[: size // 2]))(Q))
    assert np.isfinite(gradient[: size // 2]).all()


def test_a_guarded_kernel_sum_that_is_never_stored() -> None:
    x, z, b = real(N, 3), real(N, 3, seed=2), spoiled(N, E)
    text = "y(i,e) +=! exp(-sum[d]((x(i,d)-z(j,d)) * (x(i,d)-z(j,d)))) * b(j,e) where j <= i"
    with nesting():
        found = tcjax.kernel(text)(x, z, b)
    weights = np.exp(-((x[:, None].astype(float) - z[None]) ** 2).sum(-1))
    np.testing.assert_allclose(found, product(weights, b, triangle(N, N)), rtol=1e-4)


@pytest.mark.parametrize("guard", ["i - k <= 4, k - i <= 4", "i > 3", "i + j > 3"])
def test_what_counts_is_stored_for_no_term_of_a_derivative(guard: str) -> None:
    size = 256
    kernel = tcjax.kernel(f"O(i,j) +=! A(i,k) * B(k,j) where {guard}")

    def derivative(A: jax.Array, B: jax.Array, weight: jax.Array) -> object:
        return jax.vjp(kernel, A, B)[1](weight)

    matrix = jax.ShapeDtypeStruct((size, size), jnp.float32)
    analysis = jax.jit(derivative).lower(matrix, matrix, matrix).compile().memory_analysis()

    # A dozen matrices, instead of one per row for the conditions of all terms.
    assert analysis is not None and analysis.temp_size_in_bytes < 12 * 4 * size**2


SQUARES = [jax.ShapeDtypeStruct((256, 256), jnp.float32)] * 3
BANDED = "O(i,j) +=! A(i,k) * B(k,j) * B(k,j) where i - k <= 4, k - i <= 4"


def gradients(A: jax.Array, B: jax.Array, weight: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.vjp(tcjax.kernel(BANDED), A, B)[1](weight)


@pytest.mark.parametrize("order", ["reverse of reverse", "forward of reverse", "reverse of forward"])
def test_a_second_derivative_stores_no_term_either(order: str) -> None:
    def again(A: jax.Array, B: jax.Array, weight: jax.Array) -> object:
        if order == "reverse of reverse":
            return jax.vjp(lambda A, B: gradients(A, B, weight), A, B)[1]((B, A))
        if order == "forward of reverse":
            return jax.jvp(lambda A, B: gradients(A, B, weight), (A, B), (B, A))
        return jax.vjp(lambda A, B: jax.jvp(tcjax.kernel(BANDED), (A, B), (B, A))[1], A, B)[1](weight)

    analysis = jax.jit(again).lower(*SQUARES).compile().memory_analysis()

    # The terms of all sums would take one matrix per row.
    assert analysis is not None and analysis.temp_size_in_bytes < 40 * 4 * 256**2


@pytest.mark.parametrize("spoil", [False, True])
def test_second_derivatives_are_those_of_a_sum_over_what_is_inside(spoil: bool) -> None:
    A, weight = real(N, N), real(N, E, seed=3)
    B = spoiled(N, E) if spoil else real(N, E, seed=2)
    inside = np.abs(np.subtract.outer(np.arange(N), np.arange(N))) <= 4
    # Rows without infinities have unchanged derivatives.
    rows = np.flatnonzero(~(inside @ ~np.isfinite(B).all(1)))
    kernel = tcjax.kernel("O(i,j) +=! A(i,k) * B(k,j) * B(k,j) where i - k <= 4, k - i <= 4")

    def loss(A: jax.Array) -> jax.Array:
        return jnp.sum((kernel(A, B)[rows] * weight[rows]) ** 2)

    found = jax.grad(lambda A: jnp.sum(jnp.asarray(real(N, N, seed=4))[rows] * jax.grad(loss)(A)[rows]))(A)

    squares = np.where(np.isfinite(B), B, 0.0).astype(float) ** 2
    way = np.where(inside, real(N, N, seed=4), 0.0).astype(float)
    wanted = np.where(inside, 2 * ((way @ squares) * weight.astype(float) ** 2) @ squares.T, 0.0)
    assert len(rows) >= N // 4
    np.testing.assert_allclose(np.asarray(found)[rows], wanted[rows], rtol=2e-4, atol=1e-3)


@pytest.mark.parametrize("mapped", [(0, 0), (0, None), (None, 0), (1, 1)])
def test_a_batch_of_derivatives(mapped: tuple[int | None, ...]) -> None:
    arrays = [real(N, N), spoiled(N, E)]
    stacked = [a if at is None else np.stack([a, 2 * a, -a], axis=at) for a, at in zip(arrays, mapped, strict=True)]
    weight = np.where(np.arange(N)[:, None] < N // 2, real(N, E, seed=3), 0.0).astype(np.float32)

    def derivative(A: jax.Array, B: jax.Array) -> jax.Array:
        return jax.grad(lambda A: jnp.sum(jnp.where(weight == 0, 0, tcjax.kernel(TRIANGLE)(A, B) * weight)))(A)

    found = jax.vmap(derivative, in_axes=mapped)(*stacked)

    for number, factor in enumerate((1, 2, -1)):
        one = derivative(*(a if at is None else factor * a for a, at in zip(arrays, mapped, strict=True)))
        np.testing.assert_allclose(found[number], one, rtol=1e-5)


@pytest.mark.parametrize(
    "body",
    [
        "O(i) +=! x(i,j) * (j > 3 ? a(j) : 0.0)",
        "O(i) +=! (j > 3 ? 0.0 : a(j)) * x(i,j)",
        "O(q,e) +=! (k <= q ? exp(p(q,k)) : 0.0) * x(k,e)",
        "O(q,e) +=! -(k <= q ? p(q,k) : 0.0) * x(k,e) / 3",
        "O(q,e) +=! x(k,e) * ((k <= q ? p(q,k) : 0.0) + a(q))",
        "M(q,k) = k <= q ? p(q,k) : 0.0 O(q,e) +=! M(q,k) * x(k,e)",
        "O(i,k) = sum[j](x(i,j) * (i == k ? p(j,k) : 0.0))",
        "O(i) = sum[j in -1:2](a(j+1) * (0 <= i+j && i+j < N ? x(2,i+j) : 0.0)) where i in 0:N",
        "O(i) = sum[j in -1:2](x(2,j+3) * (0 <= i+j && i+j < N ? a(i+j) : 0.0)) where i in 0:N",
    ],
)
def test_what_is_zero_under_a_condition_is_a_factor_that_infinities_meet(body: str) -> None:
    x, p, a = real(6, 6), real(6, 6, seed=1), real(6, seed=2)
    x[2, 2:] = np.inf
    kernel = tcjax.kernel(f"def f(float(N,N) x, float(N,N) p, float(N) a) -> (O) {{ {body} }}")
    with np.errstate(invalid="ignore"):
        wanted = kernel.interpret(x=x, p=p, a=a)

    assert not np.isfinite(wanted).all()
    np.testing.assert_allclose(kernel(x=x, p=p, a=a), wanted, rtol=1e-5)


@pytest.mark.parametrize("bad", [0.0, np.inf])
def test_a_product_is_turned_round_behind_the_choice_by_what_reads_it(bad: float) -> None:
    b, m, k, n = (IndexVar(name) for name in "bmkn")
    left, right = real(2, N, M), real(2, M, E)
    live = np.tril(np.ones((N, M), bool))
    right[:, M - 1, 2] += bad
    axes = ((b, m, k), (b, k, n), (n, b, m))

    def run(left: jax.Array, right: jax.Array) -> jax.Array:
        return live_sum((left, right), axes, (jnp.asarray(live[None]), None, None), jnp.dtype("float32"))

    found = jax.jit(run)(np.where(live, left, 0), right)
    wanted = np.stack([product(left[batch], right[batch], live[:, :, None]) for batch in range(2)])
    np.testing.assert_allclose(found, wanted.transpose(2, 0, 1), rtol=1e-4, atol=1e-5)
    # A conditional returns row-major arrays: it would copy a product in another layout.
    (only,) = jax.make_jaxpr(run)(left, right).eqns
    computed = jax.make_jaxpr(only.params["sum_"])(left, right, live[None])
    found_in = [one.outvars[0].aval.str_short() for one in computed.eqns if one.primitive.name == "cond"]
    assert found_in == [f"float32[2,{N},{E}]"]


@pytest.mark.parametrize("order", ["reverse", "forward"])
def test_an_exponential_is_masked_before_it_is_taken(order: str) -> None:
    A, B = real(N, N), real(N, E)
    live = triangle(N, N)[:, :, 0]
    # What the mask leaves out reaches neither values nor derivatives.
    A[~live] = np.resize([np.nan, np.inf, -np.inf, 1e30], (~live).sum())
    kernel = tcjax.kernel("y(m,n) +=! exp(A(m,k)) * B(k,n) where k <= m")
    weights = np.where(live, np.exp(np.where(live, A.astype(float), 0)), 0)
    cotangent = real(N, E, seed=2)

    # So its result, which the derivative needs, is the operand of the product too.
    assert "dot_general -> float32[m, n]\n      exp -> float32[m, k]\n" in str(kernel.plan(A, B))
    value, back = jax.vjp(kernel, A, B)
    np.testing.assert_allclose(value, weights @ B.astype(float), rtol=1e-5)
    if order == "reverse":
        slopes = back(jnp.asarray(cotangent))
        np.testing.assert_allclose(slopes[0], weights * (cotangent.astype(float) @ B.T), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(slopes[1], weights.T @ cotangent, rtol=1e-4, atol=1e-6)
    else:
        _, moved = jax.jvp(kernel, (A, B), (np.ones_like(A), np.zeros_like(B)))
        np.testing.assert_allclose(moved, weights @ B.astype(float), rtol=1e-4, atol=1e-6)
