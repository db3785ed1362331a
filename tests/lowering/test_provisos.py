"""A factor that is 0 or 1 is a guard if the other factors are finite; otherwise zero times them is NaN."""

import functools
import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from jax.typing import ArrayLike
from numpy.typing import NDArray

import tcjax
from tcjax.lowering.provisos import either
from tcjax.planning import Compute

N, D, B = 1024, 8, 40
RNG = np.random.default_rng(0)
X, Y = (RNG.normal(size=shape).astype(np.float32) for shape in ((N, D), (N,)))
# Some are outside.
I = RNG.integers(-2, B + 2, N).astype(np.int32)
HEAD = f"def f(float(N,D) X, float(N) Y, int(N) I) -> (float({B},D) O)"
SQUARES = "O(b,d) +=! float(I(n) == b) * X(n,d) * X(n,d) * Y(n)"
# Each is the same sum.
SAME = {
    "a cast": "O(b,d) +=! float(I(n) == b) * X(n,d) * Y(n)",
    "a cast, behind": "O(b,d) +=! X(n,d) * Y(n) * float(int(b == I(n)))",
    "a ternary": "O(b,d) +=! X(n,d) * (I(n) == b ? 1.0 : 0.0) * Y(n)",
    "a ternary, the other way round": "O(b,d) +=! (I(n) != b ? 0.0 : 1.0) * X(n,d) * Y(n)",
    "two conditions": "O(b,d) +=! float(I(n) >= b) * X(n,d) * float(I(n) <= b && b == I(n)) * Y(n)",
    "a matrix": f"H(n,b) = float(I(n) == b) where b in 0:{B}  O(b,d) +=! H(n,b) * X(n,d) * Y(n)",
    "an expression": "O(b,d) = 2 * sum[n](float(I(n) == b) * X(n,d) * Y(n) / 2)",
    "a negative": "O(b,d) = -sum[n](-(float(I(n) == b) * X(n,d) * Y(n)))",
    "what goes on": f"O(b,d) = 0.0 where b in 0:{B}, d in 0:D  O(b,d) += float(I(n) == b) * X(n,d) * Y(n)",
}


def kernel_of(text: str) -> tcjax.Kernel:
    return tcjax.kernel(f"{HEAD} {{ {text} }}")


def has_proviso(kernel: tcjax.Kernel, *arrays: object) -> bool:
    return any(isinstance(stage, Compute) and stage.proviso is not None for stage in kernel.plan(*arrays).stages)


def one_hot(places: NDArray[np.int32]) -> NDArray[np.float64]:
    return (places[:, None] == np.arange(B)).astype(float)


def spoiled(number: float) -> NDArray[np.float32]:
    found = X.copy()
    found[7, 3] = number
    return found


def product(X: jax.Array, Y: ArrayLike) -> jax.Array:
    return jnp.einsum("nb,nd,n->bd", jnp.asarray(one_hot(I), jnp.float32), X, Y)


@pytest.mark.parametrize("number", [1.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", SAME)
def test_zero_counts_unless_it_meets_what_is_infinite(name: str, number: float) -> None:
    kernel, given = kernel_of(SAME[name]), spoiled(number)
    with np.errstate(invalid="ignore"):
        wanted = np.einsum("nb,nd,n->bd", one_hot(I), given.astype(float), Y.astype(float))
    assert has_proviso(kernel, given, Y, I)
    assert np.isfinite(wanted).all() == np.isfinite(number)
    np.testing.assert_allclose(kernel(given, Y, I), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("number", [1.0, np.inf, np.nan])
@pytest.mark.parametrize("place", [-1, 5])
def test_what_has_no_place_is_looked_at(number: float, place: int) -> None:
    # Its zeros multiply every element; the result without it is finite.
    places = np.clip(I, 0, B - 1)
    places[7] = place
    with np.errstate(invalid="ignore"):
        wanted = np.einsum("nb,nd,n->bd", one_hot(places), spoiled(number).astype(float), Y.astype(float))
    np.testing.assert_allclose(kernel_of(SAME["a cast"])(spoiled(number), Y, places), wanted, rtol=1e-4, atol=1e-4)


def test_a_result_that_is_infinite_by_itself_is_right() -> None:
    # Finite values with an infinite sum: the run-time tests fail, and nothing else changes.
    kernel = kernel_of("O(b,d) +=! float(I(n) == b) * X(n,d)")
    places, large = np.full(N, 3, np.int32), np.full((N, D), 3e38, np.float32)
    wanted = np.zeros((B, D))
    wanted[3] = np.inf
    np.testing.assert_array_equal(kernel(large, Y, places), wanted)


def test_what_a_condition_chooses_may_be_infinite() -> None:
    kernel = kernel_of("O(b,d) +=! (I(n) == b ? X(n,d) : 0.0) * Y(n)")
    given = spoiled(np.inf)
    wanted = np.zeros((B, D))
    inside = (I >= 0) & (I < B)
    np.add.at(wanted, I[inside], (given * Y[:, None])[inside])
    np.testing.assert_allclose(kernel(given, Y, I), wanted, rtol=1e-4, atol=1e-4)
    stage = kernel.plan(given, Y, I).stages[0]
    assert isinstance(stage, Compute) and stage.proviso is not None and stage.proviso.named == ("Y",)


def test_the_interpreter_agrees_on_what_is_infinite() -> None:
    few = slice(0, 64)
    kernel = kernel_of(SAME["a cast"])
    for number in (1.0, np.inf):
        given = spoiled(number)[few]
        wanted = kernel.interpret(given, Y[few], I[few])
        np.testing.assert_allclose(kernel(given, Y[few], I[few]), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("number", [1.0, np.inf, np.nan])
@pytest.mark.parametrize("cotangent", [1.0, np.inf])
def test_derivatives_are_those_of_the_sum_as_it_stands(number: float, cotangent: float) -> None:
    # The second factor's derivative is an elementwise product, in which XLA uses a boolean as a guard.
    kernel, given = kernel_of(SAME["a cast"]), spoiled(number)
    weight = np.ones((B, D), np.float32)
    weight[3, 2] = cotangent

    value, back = jax.vjp(lambda X: kernel(X, Y, I), given)
    (found,) = back(jnp.asarray(weight))

    with np.errstate(invalid="ignore"):
        wanted = (one_hot(I)[:, :, None] * weight.astype(float) * Y[:, None, None]).sum(1)
    assert np.isfinite(value).all() == np.isfinite(number)
    assert np.isnan(wanted).any() == np.isinf(cotangent)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_the_derivative_by_each_factor() -> None:
    kernel = kernel_of(SAME["a cast"])
    weight = RNG.normal(size=(B, D)).astype(np.float32)
    found = jax.vjp(lambda X, Y: kernel(X, Y, I), X, Y)[1](jnp.asarray(weight))
    zeros = one_hot(I)[:, :, None] * weight.astype(float)
    for own, wanted in zip(found, ((zeros * Y[:, None, None]).sum(1), (zeros * X[:, None]).sum((1, 2))), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("number", [1.0, np.inf])
@pytest.mark.parametrize("way", [1.0, np.inf])
def test_changes_are_those_of_the_sum_as_it_stands(number: float, way: float) -> None:
    kernel, given, change = kernel_of(SAME["a cast"]), spoiled(number), np.ones_like(X)
    change[9, 1] = way
    found = jax.jvp(lambda X: kernel(X, Y, I), (given,), (change,))
    wanted = jax.jvp(lambda X: product(X, Y), (given,), (change,))
    for own, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-3, atol=1e-4)


def test_second_derivatives() -> None:
    kernel = kernel_of(SQUARES)

    def slope(scale: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sin(kernel(scale * X, Y, I)))

    def expected(scale: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sin(product((scale * X) ** 2, Y)))

    with jax.enable_x64(True):
        at = jnp.float32(0.1)
        for twice in (lambda f: jax.grad(jax.grad(f)), lambda f: jax.jacfwd(jax.grad(f)), lambda f: jax.hessian(f)):
            np.testing.assert_allclose(twice(slope)(at), twice(expected)(at), rtol=1e-2)


def test_a_batch_asks_once_and_computes_one_of_the_two() -> None:
    kernel = kernel_of(SAME["a cast"])
    batch = np.stack([X, spoiled(np.inf), 2 * X])

    def loss(X: jax.Array) -> jax.Array:
        return jnp.sum(kernel(X, Y, I)[:, :2] ** 2)

    for run in (lambda X: kernel(X, Y, I), jax.grad(loss)):
        found = jax.vmap(run)(batch)
        for row, own in zip(found, batch, strict=True):
            np.testing.assert_allclose(row, run(jnp.asarray(own)), rtol=1e-3, atol=1e-4)
    text = jax.jit(jax.vmap(lambda X: kernel(X, Y, I))).lower(batch).as_text()
    # Whether a finite result tells, which of the two, and what hides how the slow one lies.
    assert text.count("stablehlo.case") == 3


def test_the_derivative_by_a_factor_does_not_look_at_it_again() -> None:
    # `X` is only read for the test: a derivative that is linear in it would store it needlessly.
    kernel = kernel_of("O(b,d) +=! float(I(n) == b) * X(n,d)")
    _, back = jax.vjp(lambda X: kernel(X, Y, I), X)
    kept = [leaf for leaf in jax.tree.leaves(back) if hasattr(leaf, "dtype") and leaf.dtype == jnp.float32]
    assert all(leaf.size < X.size for leaf in kept)


def test_both_ways_keep_the_contract_of_memory() -> None:
    rows, columns, places = 1 << 15, 16, 1024
    head = f"def f(float(N,D) X, int(N) I) -> (float({places},D) O)"
    kernel = tcjax.kernel(f"{head} {{ O(b,d) +=! (I(n) == b ? 1.0 : 0.0) * X(n,d) }}")
    shapes = jax.ShapeDtypeStruct((rows, columns), jnp.float32), jax.ShapeDtypeStruct((rows,), jnp.int32)

    def gradient(X: jax.Array, I: jax.Array) -> jax.Array:
        return jax.grad(lambda X: jnp.sum(kernel(X, I) ** 2))(X)

    assert has_proviso(kernel, *shapes)
    for run in (kernel, gradient):
        analysis = jax.jit(run).lower(*shapes).compile().memory_analysis()
        assert analysis is not None and analysis.temp_size_in_bytes < 4 * 4 * rows * columns


def test_it_is_exported_with_its_derivative() -> None:
    kernel = kernel_of(SAME["a cast"])

    def run(X: jax.Array) -> jax.Array:
        return jax.grad(lambda X: jnp.sum(kernel(X, Y, I) ** 2))(X)

    saved = export.deserialize(export.export(jax.jit(run))(X).serialize())
    np.testing.assert_allclose(saved.call(X), run(jnp.asarray(X)), rtol=1e-5)


@pytest.mark.parametrize("number", [1.0, np.inf])
def test_counts_that_weigh_rows_are_a_gather(number: float) -> None:
    # A sum over no points is a zero too.
    bags, length, rows, columns = 256, 8, 512, 16
    kernel = tcjax.kernel(f"""
def bag(float(E,D) T, int32(B,L) I) -> (O) {{
    C(b,e) +=! 1.0 where I(b,l) == e, e in 0:{rows}
    O(b,d) +=! C(b,e) * T(e,d)
}}""")
    table = RNG.normal(size=(rows, columns)).astype(np.float32)
    table[5, 3] = number
    places = RNG.integers(0, rows, (bags, length)).astype(np.int32)
    counts = (places[:, :, None] == np.arange(rows)).sum(1).astype(float)
    with np.errstate(invalid="ignore"):
        wanted = counts @ table.astype(float)

    assert has_proviso(kernel, table, places)
    np.testing.assert_allclose(kernel(table, places), wanted, rtol=1e-4, atol=1e-4)
    slope = jax.grad(lambda T: jnp.sum(jnp.sin(kernel(T, places))[:, :2]))(table)
    np.testing.assert_allclose(slope[:, :2], counts.T @ np.cos(wanted[:, :2]), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("at", ["n % 3", "d % 3"])
def test_a_python_function_in_a_guard_may_use_what_is_traced(at: str) -> None:
    body = f"O(b,d) +=! float(I(n) == b) * X(n,d) where b in 0:40, p(w({at})) > 0.5"
    text = f"def f(float(N,D) X, int(N) I, float(T) w) -> (O) {{ {body} }}"
    rng = np.random.default_rng(0)
    given = rng.standard_normal((3000, 64)).astype(np.float32), rng.integers(0, 40, 3000).astype(np.int32)
    expected = np.zeros((40, 64))
    np.add.at(expected, given[1], given[0].astype(np.float64))

    def scaled(scale: jax.Array) -> jax.Array:
        return tcjax.kernel(text, fns={"p": lambda value: value * scale})(*given, np.ones(3, np.float32))

    np.testing.assert_allclose(jax.jit(scaled)(np.float32(2)), expected, rtol=1e-4, atol=1e-4)
    assert not np.any(jax.jit(scaled)(np.float32(0.25)))


CHANNELS, EDGE = 64, 20
IMAGE = RNG.normal(size=(4, CHANNELS, EDGE, EDGE)).astype(np.float32)
WINDOW = RNG.normal(size=(CHANNELS, 3, 3)).astype(np.float32)
DEPTHWISE = tcjax.kernel("""
def f(float(N,C,H,W) I, float(C,3,3) K) -> (O) {
    O(n,f,h,w) +=! I(n,c,h+i,w+j) * K(c,i,j) * (f == c ? 1.0 : 0.0) where f in 0:C
}""")


def each_channel(image: jax.Array, window: jax.Array) -> jax.Array:
    """The windows of `DEPTHWISE` channel by channel, and then the product with the identity as written."""
    inside = EDGE - 2
    shifts = [(i, j) for i in range(3) for j in range(3)]
    every = [image[:, :, i : i + inside, j : j + inside] * window[:, i, j, None, None] for i, j in shifts]
    own = functools.reduce(jnp.add, every)
    return jnp.einsum("nchw,fc->nfhw", own, jnp.eye(CHANNELS))


@pytest.mark.parametrize("number", [1.0, np.inf, np.nan])
@pytest.mark.parametrize("where", ["image", "window", "cotangent"])
def test_what_an_identity_multiplies_by_zero_counts_where_it_is_infinite(where: str, number: float) -> None:
    # The result, the gradients and a batch of each: in other channels the number is only multiplied by zeros.
    given = {
        "image": IMAGE.copy(),
        "window": WINDOW.copy(),
        "cotangent": np.ones((4, CHANNELS, EDGE - 2, EDGE - 2), np.float32),
    }
    given[where][1, 1, 1] = number
    image, window, cotangent = given.values()

    def both(run: Callable[..., jax.Array], image: ArrayLike) -> tuple[jax.Array, ...]:
        value, back = jax.vjp(run, image, window)
        return value, *back(jnp.asarray(cotangent))

    found = jax.jit(lambda image: both(DEPTHWISE, image))(image)
    wanted = jax.jit(lambda image: both(each_channel, image))(image)

    assert has_proviso(DEPTHWISE, image, window)
    assert all(np.isfinite(one).all() for one in wanted) == np.isfinite(number)
    for own, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-3, atol=1e-3)
    rows = jax.vmap(lambda image: both(DEPTHWISE, image))(np.stack([IMAGE, image]))
    for own, expected in zip(rows, wanted, strict=True):
        np.testing.assert_allclose(own[1], expected, rtol=1e-3, atol=1e-3)


def test_the_way_for_finite_values_keeps_its_dimensions_however_the_other_one_lies() -> None:
    # As one row of values it would need divisions for positions; in the product's layout it would be copied.
    shape = (8, 16, 32)

    def shifted(array: jax.Array, other: jax.Array) -> jax.Array:
        return array[:, :-1, :-1] * 2 + array[:, 1:, 1:]

    def product(array: jax.Array, other: jax.Array) -> jax.Array:
        return lax.dot_general(other, array[:, 1:, 1:], (((1,), (1,)), ((), ()))).transpose(1, 0, 2)

    def run(array: jax.Array, other: jax.Array) -> jax.Array:
        return either(lambda array, other: jnp.all(jnp.isfinite(array)), shifted, product, [array, other])

    array = jnp.asarray(RNG.normal(size=(8, 17, 33)), jnp.float32)
    other = jnp.asarray(RNG.normal(size=(16, 16)), jnp.float32)
    text = jax.jit(run).lower(array, other).compile().as_text()
    assert text is not None

    results = [line for line in text.splitlines() if re.search(r" conditional\(", line)]
    assert any(f"f32[{','.join(map(str, shape))}]{{2,1,0}}" in line.partition(" conditional(")[0] for line in results)
    np.testing.assert_allclose(jax.jit(run)(array, other), shifted(array, other), rtol=1e-5)
    array = array.at[0, 0, 0].set(jnp.inf)
    np.testing.assert_allclose(jax.jit(run)(array, other), product(array, other), rtol=1e-4, atol=1e-4)
