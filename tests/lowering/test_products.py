"""Products of matrices whose derivatives are planned: values and all kinds of derivatives against float64."""

import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning.data.nodes import Contract, Fold
from tcjax.planning.data.stages import Compute

HEAD = "def f(float(M,N,K) A, float({}) B) -> (O)"
# Program, the same for einsum, and shapes for which the derivative is planned.
PRODUCTS: dict[str, tuple[str, str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "slabs": (
        f"{HEAD.format('M,Y,K')} {{ O(n,y) +=! A(m,n,k) * B(m,y,k) }}",
        "mnk,myk->ny",
        ((64, 16, 256), (64, 32, 256)),
    ),
    "slabs, the other operand first": (
        f"{HEAD.format('M,Y,K')} {{ O(y,n) +=! A(m,n,k) * B(m,y,k) }}",
        "mnk,myk->yn",
        ((64, 16, 256), (64, 32, 256)),
    ),
    "a small matrix times slabs": (
        f"{HEAD.format('Y,N')} {{ O(m,y,k) +=! A(m,n,k) * B(y,n) }}",
        "mnk,yn->myk",
        ((64, 32, 256), (16, 32)),
    ),
    "a small matrix of columns times slabs": (
        f"{HEAD.format('N,Y')} {{ O(m,y,k) +=! A(m,n,k) * B(n,y) }}",
        "mnk,ny->myk",
        ((64, 32, 256), (32, 16)),
    ),
    "many rows": (
        f"{HEAD.format('Y,K')} {{ O(m,n,y) +=! A(m,n,k) * B(y,k) }}",
        "mnk,yk->mny",
        ((128, 256, 32), (16, 32)),
    ),
}


@pytest.fixture(params=PRODUCTS)
def product(request: pytest.FixtureRequest) -> tuple[tcjax.Kernel, str, tuple[np.ndarray, np.ndarray]]:
    name: str = request.param
    text, subscripts, shapes = PRODUCTS[name]
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    kernel: tcjax.Kernel = tcjax.kernel(text)
    (stage,) = kernel.plan(a, b).stages
    assert isinstance(stage, Compute) and isinstance(stage.value, (Contract, Fold))
    assert stage.value.derivative is not None
    return kernel, subscripts, (a, b)


def close(found: jax.Array, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert np.abs(np.asarray(found) - expected).max() <= 1e-5 * np.abs(expected).max()


def einsum(subscripts: str, *arrays: np.ndarray) -> np.ndarray:
    return np.einsum(subscripts, *(array.astype(float) for array in arrays))


def test_values_and_gradients(product: tuple[tcjax.Kernel, str, tuple[np.ndarray, np.ndarray]]) -> None:
    kernel, subscripts, (a, b) = product
    inputs, result = subscripts.split("->")
    first, second = inputs.split(",")
    found, pull_back = jax.vjp(kernel, a, b)
    expected = einsum(subscripts, a, b)
    close(found, expected)
    w = np.random.default_rng(8).standard_normal(expected.shape).astype(np.float32)
    of_a, of_b = pull_back(jnp.asarray(w))
    close(of_a, einsum(f"{result},{second}->{first}", w, b))
    close(of_b, einsum(f"{result},{first}->{second}", w, a))


def test_tangents_batches_and_second_derivatives(
    product: tuple[tcjax.Kernel, str, tuple[np.ndarray, np.ndarray]],
) -> None:
    kernel, subscripts, (a, b) = product
    rng = np.random.default_rng(9)
    da, db = (rng.standard_normal(x.shape).astype(np.float32) for x in (a, b))
    _, tangent = jax.jvp(kernel, (a, b), (da, db))
    close(tangent, einsum(subscripts, da, b) + einsum(subscripts, a, db))
    stacked = jax.vmap(kernel, (0, None))(np.stack((a, da)), b)
    close(stacked, np.stack((einsum(subscripts, a, b), einsum(subscripts, da, b))))
    # The sum of squares: how its gradient with respect to `a` changes with `a`.
    gradient = jax.grad(lambda x: (kernel(x, b) ** 2).sum() / 2)
    _, moved = jax.jvp(gradient, (a,), (da,))
    inputs, result = subscripts.split("->")
    first, second = inputs.split(",")
    close(moved, einsum(f"{result},{second}->{first}", einsum(subscripts, da, b), b))


COPIED = "def f(float(K,X) A, float(K,Y) B) -> (O) { O(x,y) +=! A(k,x) * B(k,y) }"
COPIED_BATCH = "def f(float(B,K,L,X) A, float(B,K,L,Y) C) -> (O) { O(b,y,x) +=! A(b,k,l,x) * C(b,k,l,y) }"


@pytest.mark.parametrize(
    ("text", "subscripts", "shapes"),
    [
        (COPIED, "kx,ky->xy", ((1023, 512), (1023, 5))),
        (COPIED.replace("O(x,y)", "O(y,x)"), "kx,ky->yx", ((1024, 16), (1024, 512))),
        (COPIED, "kx,ky->xy", ((1024, 512), (1024, 512))),
        (COPIED_BATCH, "bklx,bkly->byx", ((3, 64, 16, 8), (3, 64, 16, 512))),
        (COPIED_BATCH.replace("O(b,y,x)", "O(b,x,y)"), "bklx,bkly->bxy", ((3, 64, 16, 8), (3, 64, 16, 512))),
    ],
)
def test_products_of_copies_and_their_derivatives_agree_with_numpy(
    text: str, subscripts: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, np.float32) for shape in shapes]
    k = tcjax.kernel(text)
    expected = np.einsum(subscripts, *(array.astype(np.float64) for array in arrays))

    result, pull = jax.vjp(k, *arrays)
    weights = rng.standard_normal(expected.shape, np.float32)
    first, second = pull(jnp.asarray(weights))

    one, two, out = (*subscripts.split("->")[0].split(","), subscripts.split("->")[1])
    wide = weights.astype(np.float64)
    np.testing.assert_allclose(result, expected, atol=1e-3)
    np.testing.assert_allclose(first, np.einsum(f"{out},{two}->{one}", wide, arrays[1]), atol=1e-3)
    np.testing.assert_allclose(second, np.einsum(f"{out},{one}->{two}", wide, arrays[0]), atol=1e-3)


# Products for which an operand's cotangent is transposed.
TURNED: dict[str, tuple[str, str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "matrices": (
        "def f(float(M,K) A, float(K,N) B) -> (O) { O(m,n) +=! A(m,k) * B(k,n) }",
        "mk,kn->mn",
        ((256, 512), (512, 8)),
    ),
    "several axes each": (
        "def f(float(M,L,E,K) A, float(E,K,N,P) B) -> (O) { O(m,l,n,p) +=! A(m,l,e,k) * B(e,k,n,p) }",
        "mlek,eknp->mlnp",
        ((64, 2, 8, 64), (8, 64, 4, 2)),
    ),
    "rows of the second": (
        "def f(float(M,K) A, float(N,K) B) -> (O) { O(n,m) +=! A(m,k) * B(n,k) }",
        "mk,nk->nm",
        ((512, 8), (256, 8)),
    ),
    "a batch": (
        "def f(float(B,M,K) A, float(B,K,N) C) -> (O) { O(b,m,n) +=! A(b,m,k) * C(b,k,n) }",
        "bmk,bkn->bmn",
        ((3, 256, 512), (3, 512, 8)),
    ),
}


@pytest.mark.parametrize("name", TURNED)
def test_what_an_operand_receives_turned_agrees_with_numpy(name: str) -> None:
    text, subscripts, shapes = TURNED[name]
    rng = np.random.default_rng(3)
    a, b, da, db = (rng.standard_normal(shape, np.float32) for shape in (*shapes, *shapes))
    kernel = tcjax.kernel(text)
    (stage,) = kernel.plan(a, b).stages
    assert isinstance(stage, Compute) and isinstance(stage.value, Contract) and any(stage.value.turned)
    product = kernel, subscripts, (a, b)

    test_values_and_gradients(product)
    test_tangents_batches_and_second_derivatives(product)
    many = jax.vmap(jax.grad(lambda x, y: kernel(x, y).sum(), 1))(np.stack((a, da)), np.stack((b, db)))
    inputs, result = subscripts.split("->")
    first, second = inputs.split(",")
    ones = np.ones(einsum(subscripts, a, b).shape)
    close(many, np.stack([einsum(f"{result},{first}->{second}", ones, x) for x in (a, da)]))


def test_a_copy_of_a_matrix_keeps_what_is_not_finite() -> None:
    a, b = np.ones((1024, 512), np.float32), np.ones((1024, 4), np.float32)
    a[3, 7], a[5, 9], b[6, 2] = np.nan, np.inf, np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(tcjax.kernel(COPIED)(a, b), a.T @ b)


def test_products_of_columns_and_their_sum_are_one_loop() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(40, 50, 30)).astype(np.float32), rng.normal(size=(50, 30)).astype(np.float32)
    a[0, 0, :4], b[0, :4] = [np.inf, np.nan, -np.inf, 0.0], [2.0, 1.0, 0.0, np.inf]
    kernel = tcjax.kernel("def f(float(I,P,R) a, float(P,R) b) -> (c) { c(i,r) +=! a(i,p,r) * b(p,r) }")

    compiled = jax.jit(kernel).lower(a, b).compile()

    # XLA:CPU would treat them as a batch of matrix products, whose columns it copies or reads with strides.
    memory, fused = compiled.memory_analysis(), re.findall(r"\w+\(.*reduce_sum", compiled.as_text())
    assert memory is not None and memory.temp_size_in_bytes == 0
    assert not any(operation.startswith("dot(") for operation in fused)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(kernel(a, b), np.einsum("ipr,pr->ir", a, b.astype(np.float64)), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(jax.grad(lambda b: kernel(a[1:], b).sum())(b), a[1:].sum(0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", ["b,q,h,e", "b,e,h,q", "b,h,q,e"])
@pytest.mark.parametrize("guard", ["", " where k <= q"])
def test_products_of_bfloat16_run_in_every_order_of_the_dimensions(rows: str, guard: str) -> None:
    kernel = tcjax.kernel(f"O(b,h,k,e) = float(sum[q{guard}](A(b,h,q,k) * B({rows})))")
    extents, letters = {"b": 2, "h": 3, "q": 64, "k": 64, "e": 32}, rows.replace(",", "")
    rng = np.random.default_rng(0)
    a, b = (
        jnp.asarray(rng.integers(-4, 5, [extents[letter] for letter in own]), jnp.bfloat16) for own in ("bhqk", letters)
    )
    mask = np.tri(64) if guard else np.ones((64, 64))
    wide, other = np.float64(a) * mask, np.float64(b)
    expected = np.einsum(f"bhqk,{letters}->bhke", wide, other)

    found, pull = jax.vjp(kernel, a, b)
    slopes = pull(found)

    expected_slopes = (
        np.einsum(f"bhke,{letters}->bhqk", expected, other) * mask,
        np.einsum(f"bhke,bhqk->{letters}", expected, wide),
    )
    for one, right in zip((found, *slopes), (expected, *expected_slopes), strict=True):
        np.testing.assert_allclose(np.float64(one), right, rtol=0.02, atol=0.02 * np.abs(right).max())


# Products that are rounded: a dense layer in different words, a batch of them, and one onto what is there.
ROUNDED = {
    "declared": ("def f(half(M,K) A, half(K,N) B) -> (half(M,N) O) { O(m,n) +=! A(m,k) * B(k,n) }", "mk,kn->mn"),
    "cast": ("def f(half(M,K) A, half(K,N) B) -> (O) { O(m,n) = half(sum[k](A(m,k) * B(k,n))) }", "mk,kn->mn"),
    "columns": ("def f(half(M,K) A, half(K,N) B) -> (half(N,M) O) { O(n,m) = sum[k](A(m,k) * B(k,n)) }", "mk,kn->nm"),
    "batch": (
        "def f(half(B,M,K) A, half(B,K,N) C) -> (half(B,M,N) O) { O(b,m,n) +=! A(b,m,k) * C(b,k,n) }",
        "bmk,bkn->bmn",
    ),
    "onto": (
        "def f(half(M,K) A, half(K,N) B) -> (half(M,N) O) { O(m,n) = 0.25  O(m,n) += A(m,k) * B(k,n) }",
        "mk,kn->mn",
    ),
    "guard": (
        "def f(half(M,K) A, half(K,N) B) -> (half(M,N) O) { O(m,n) +=! A(m,k) * B(k,n) where k <= m + 4000 }",
        "mk,kn->mn",
    ),
}


@pytest.mark.parametrize(("name", "dtype"), [*((name, "bfloat16") for name in ROUNDED), ("declared", "float16")])
def test_products_that_are_rounded_are_summed_in_float32_and_their_derivatives_too(name: str, dtype: str) -> None:
    text, subscripts = ROUNDED[name]
    kernel = tcjax.kernel(text.replace("half", dtype))
    (first, second), result = subscripts.split("->")[0].split(","), subscripts.split("->")[1]
    extents, rng = {"b": 2, "m": 3, "k": 4096, "n": 5}, np.random.default_rng(0)

    def drawn(letters: str) -> jax.Array:
        # A sum of 16-bit numbers would stop growing long before its end.
        return jnp.asarray(rng.uniform(0.5, 1, [extents[letter] for letter in letters]), dtype)

    a, b, da, weights = map(drawn, (first, second, first, result))
    live = np.ones((3, 4096))
    if name == "guard":
        live, b = np.tri(3, 4096, 4000), b.at[4095].set(jnp.inf)
    wide, other, moved, cotangent = (np.nan_to_num(np.asarray(x, float), posinf=0) for x in (a, b, da, weights))

    found, tangent = jax.jvp(lambda a: kernel(a, b), (a,), (da,))
    slopes = jax.vjp(kernel, a, b)[1](weights)

    expected = (
        np.einsum(subscripts, wide * live, other) + (0.25 if name == "onto" else 0),
        np.einsum(subscripts, moved * live, other),
        np.einsum(f"{result},{second}->{first}", cotangent, other) * live,
        np.einsum(f"{result},{first}->{second}", cotangent, wide * live),
    )
    for one, right in zip((found, tangent, *slopes), expected, strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(np.float64(one), right, rtol=0.51 * float(jnp.finfo(dtype).eps))


@pytest.mark.parametrize("name", ["declared", "cast", "columns", "batch"])
def test_derivatives_of_products_that_are_rounded_multiply_what_comes_in(name: str) -> None:
    text, subscripts = ROUNDED[name]
    kernel = tcjax.kernel(text.replace("half", "bfloat16"))
    extents = {"b": 3, "m": 8, "k": 16, "n": 4}
    a, b = (jnp.ones([extents[x] for x in own], jnp.bfloat16) for own in subscripts.split("->")[0].split(","))

    found, pull = jax.vjp(kernel, a, b)

    assert "f32" not in str(jax.make_jaxpr(pull)(found))


def test_policies_of_checkpoints_keep_products_that_are_rounded() -> None:
    kernel = tcjax.kernel(ROUNDED["declared"][0].replace("half", "bfloat16"))
    a, b = jnp.ones((8, 16), jnp.bfloat16), jnp.ones((16, 4), jnp.bfloat16)

    def products(policy: Callable[..., bool]) -> int:
        run = jax.checkpoint(lambda a, b: jnp.sin(kernel(a, b)).sum(), policy=policy)
        return str(jax.make_jaxpr(jax.grad(run))(a, b)).count(" dot_general[")

    policies = jax.checkpoint_policies
    assert (products(policies.dots_saveable), products(policies.nothing_saveable)) == (1, 2)
