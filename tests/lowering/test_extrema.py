"""The gradient of a minimum: looked up if one point attains it, shared if several do."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.lowering.primitive import tcjax_p
from tests.agreement.nesting import nesting

pytestmark = pytest.mark.usefixtures("quickly_compiled")

NEAREST = "def f(float(N,D) x, float(M,D) y) -> (O) { O(i) = min[j](sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) }"
MASKED = (
    "def f(float(N) x, float(M) y, int32(N) g, int32(M) h) -> (O) { O(i) = max[j where g(i) == h(j)](x(i) * y(j)) }"
)


def nearest(x: Any, y: Any) -> Any:
    return ((x[:, None] - y[None]) ** 2).sum(-1).min(1)


def points(*, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal(shape).astype("float32") for shape in ((9, 2), (80, 2)))
    if ties:
        y[41] = y[7]
        x[4] = y[7] + np.float32(0.25)
    return x, y


def summed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays: jnp.sin(function(*arrays)).sum()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    "transformation",
    [
        lambda f: jax.grad(f, argnums=(0, 1)),
        lambda f: lambda x, y: jax.jvp(f, (x, y), (jnp.cos(x), jnp.sin(y))),
        lambda f: jax.hessian(f, argnums=1),
        lambda f: jax.grad(lambda x, y: jax.grad(f)(x, y).sum(), argnums=(0, 1)),
    ],
    ids=["backwards", "forwards", "hessian", "twice backwards"],
)
def test_a_derivative_of_a_minimum(transformation: Callable[..., Any], ties: bool) -> None:
    arrays = points(ties=ties)
    expected = jax.tree.leaves(transformation(summed(nearest))(*arrays))

    with nesting():
        found = jax.tree.leaves(jax.jit(transformation(summed(tcjax.kernel(NEAREST))))(*arrays))

    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-4)


def test_a_batch_with_and_without_ties() -> None:
    with_ties, without = points(ties=True), points(ties=False)
    arrays = [np.stack(pair) for pair in zip(with_ties, without, strict=True)]

    def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.vmap(jax.grad(summed(function), argnums=(0, 1)))

    with nesting():
        found = gradient(tcjax.kernel(NEAREST))(*arrays)

    for own, wanted in zip(found, gradient(nearest)(*arrays), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-5)


def test_where_no_point_takes_part_nothing_passes() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal(6).astype("float32"), rng.standard_normal(80).astype("float32")
    g, h = np.array([0, 1, 2, 0, 1, 2], "int32"), np.arange(80, dtype="int32") % 2
    best = np.array([np.where(h == g[i], x[i] * y, -np.inf).argmax() for i in range(6)])
    some = g < 2
    expected = np.where(some, y[best], 0), np.zeros(80)
    np.add.at(expected[1], best[some], x[some])

    with nesting():
        kernel = tcjax.kernel(MASKED)
        found = jax.grad(lambda x, y: jnp.where(some, kernel(x, y, g, h), 0).sum(), argnums=(0, 1))(x, y)

    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-6)


BOTH = {
    "extremum": "O(i) = min[j]({0})  P(i) = argmin[j]({0})",
    "negative": "O(i) = -max[j](-{0})  P(i) = argmax[j](-{0})",
    "first of an order": "O(i) = mink[j]({0}, 0)  P(i) = argmink[j]({0}, 0)",
}


def searched(name: str) -> tcjax.Kernel:
    square = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"
    return tcjax.kernel(f"def f(float(N,D) x, float(M,D) y) -> (O, P) {{ {BOTH[name].format(square)} }}")


def groups(function: Callable[..., Any], *arrays: Any) -> list[str]:
    """The kinds of reductions that are bound, for any data."""
    found: list[str] = []
    pending = [jax.make_jaxpr(function)(*arrays).jaxpr]
    while pending:
        for equation in pending.pop().eqns:
            found += [type(equation.params["group"]).__name__] if equation.primitive is tcjax_p else []
            if equation.primitive.name != "cond":
                inner = [getattr(value, "jaxpr", None) for value in equation.params.values()]
                pending += [jaxpr for jaxpr in inner if jaxpr is not None and hasattr(jaxpr, "eqns")]
    return found


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("unroll", [1, 2])
def test_one_loop_finds_the_value_and_its_place(name: str, unroll: int) -> None:
    x, y = points(ties=True)
    distances = ((x[:, None] - y[None]) ** 2).sum(-1)

    with nesting(unroll=unroll):
        kernel = searched(name)
        found = groups(kernel, x, y)
        least, place = kernel(x, y)

    assert found == ["Extrema"]
    np.testing.assert_array_equal(place, distances.argmin(1))
    np.testing.assert_allclose(least, distances.min(1), rtol=1e-6)


@pytest.mark.parametrize("name", ["extremum", "negative"])
@pytest.mark.parametrize("ties", [False, True])
def test_a_search_has_the_derivatives_of_its_value(name: str, ties: bool) -> None:
    arrays = points(ties=ties)

    def by_kernel(x: Any, y: Any) -> Any:
        return kernel(x, y)[0]

    with nesting():
        kernel = searched(name)
        count = groups(jax.grad(summed(by_kernel), argnums=(0, 1)), *arrays)
        gradient = jax.grad(summed(by_kernel), argnums=(0, 1))(*arrays)
        hessian = jax.hessian(summed(by_kernel), argnums=1)(*arrays)
        batch = jax.vmap(jax.grad(summed(by_kernel)), in_axes=(0, None))(np.stack([arrays[0], -arrays[0]]), arrays[1])

    assert count == ["Extrema"]
    for own, wanted in zip(gradient, jax.grad(summed(nearest), argnums=(0, 1))(*arrays), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(hessian, jax.hessian(summed(nearest), argnums=1)(*arrays), rtol=1e-4, atol=1e-4)
    expected = [jax.grad(summed(nearest))(x, arrays[1]) for x in (arrays[0], -arrays[0])]
    np.testing.assert_allclose(batch, expected, rtol=1e-4, atol=1e-5)


def test_the_first_of_an_order_passes_its_derivative_to_the_first_of_equal_points() -> None:
    x, y = points(ties=True)
    place = ((x[:, None] - y[None]) ** 2).sum(-1).argmin(1)
    expected = 2 * (x - y[place])

    with nesting():
        kernel = searched("first of an order")
        gradient = jax.grad(lambda x, y: kernel(x, y)[0].sum(), argnums=(0, 1))(x, y)

    np.testing.assert_allclose(gradient[0], expected, rtol=1e-5)
    by_place = np.zeros_like(y)
    np.add.at(by_place, place, -expected)
    np.testing.assert_allclose(gradient[1], by_place, rtol=1e-5, atol=1e-6)


def test_a_search_keeps_infinities_and_what_is_no_number() -> None:
    x = np.float32([1, 1, 0, np.nan])
    y = np.float32([np.inf, 3, -np.inf, 3, np.nan])[[1, 3, 0, 2, 4, 1, 3]]

    with nesting():
        kernel = tcjax.kernel(
            "def f(float(N) x, float(M) y) -> (O, P) { O(i) = max[j where j < i + 2](x(i) + y(j))"
            "  P(i) = argmax[j where j < i + 2](x(i) + y(j)) }"
        )
        found = kernel(x, y)
        gradient = jax.grad(lambda y: kernel(x, y)[0][:3].sum())(y)

    for own, wanted in zip(found, kernel.interpret(x, y), strict=True):
        np.testing.assert_array_equal(own, wanted)
    np.testing.assert_array_equal(gradient, [0.5, 0.5, 2, 0, 0, 0, 0])


TYPES = [("uint32", "int"), ("uint32", "float"), ("uint8", "int"), ("int8", "int"), ("int16", "int"), ("int", "float")]


@pytest.mark.parametrize(("given", "result"), TYPES)
@pytest.mark.parametrize("reduction", ["max=! {}", "min=! {}", "= maxk[u]({},1)", "= mink[u]({},1)"])
def test_the_extremum_of_nothing_is_of_the_type_in_which_it_runs(given: str, result: str, reduction: str) -> None:
    value = reduction.format("D(i,u)").replace("[u]", "[u where !C(i)]")
    guard = ", !C(i)" if "=!" in reduction else ""
    kernel = tcjax.kernel(
        f"def f(bool(N) C, {given}(N,M) D) -> ({result}(N) O) {{ O(i) {value} where i in 0:N{guard} }}"
    )
    C, D = np.array([True, False]), np.array([[1, 2, 3], [0, 1, 5]], "int32" if given == "int" else given)
    np.testing.assert_array_equal(kernel(C, D), kernel.interpret(C, D))
