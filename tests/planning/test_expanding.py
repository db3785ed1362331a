"""Sums of differences that are multiplied out where that lowers the order of the work."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute

N, M = 24, 20
GROMOV = """
def gromov(float(N,N) C, float(M,M) E, float(N,M) T) -> (cost) {
    cost(i,j) +=! (C(i,k) - E(j,l)) * (C(i,k) - E(j,l)) * T(k,l)
}"""


def stage_of(text: str, *shapes: tuple[int, ...], dtype: str = "float32") -> Compute:
    stage = tcjax.kernel(text).plan(*(jax.ShapeDtypeStruct(shape, dtype) for shape in shapes)).stages[-1]
    assert isinstance(stage, Compute)
    return stage


def is_multiplied_out(stage: Compute) -> bool:
    return any("multiplied out" in why for why in stage.decided)


def arrays(offset: float = 0.0) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(0)
    C, E, T = (random.uniform(size=shape) for shape in ((N, N), (M, M), (N, M)))
    return (C + offset).astype(np.float32), (E + offset).astype(np.float32), T.astype(np.float32)


def cost(C: np.ndarray, E: np.ndarray, T: np.ndarray) -> np.ndarray:
    away = C.astype(np.float64)[:, None, :, None] - E.astype(np.float64)[None, :, None, :]
    return np.einsum("ijkl,kl->ij", away**2, T.astype(np.float64))


@pytest.mark.parametrize(
    "value",
    [
        "(C(i,k) - E(j,l)) * (C(i,k) - E(j,l)) * T(k,l)",
        "pow(C(i,k) - E(j,l), 2) * T(k,l)",
        "T(k,l) * (E(j,l) - C(i,k)) * (C(i,k) - E(j,l)) * -1",
    ],
)
def test_a_square_under_a_sum_over_four_indices_is_multiplied_out(value: str) -> None:
    text = GROMOV.replace("(C(i,k) - E(j,l)) * (C(i,k) - E(j,l)) * T(k,l)", value)

    assert is_multiplied_out(stage_of(text, (256, 256), (256, 256), (256, 256)))
    np.testing.assert_allclose(tcjax.kernel(text)(*arrays()), cost(*arrays()), rtol=1e-5)


def test_what_all_values_have_in_common_costs_no_digits() -> None:
    given = arrays(1000.0)

    np.testing.assert_allclose(tcjax.kernel(GROMOV)(*given), cost(*given), rtol=1e-5)


def test_its_gradient_is_that_of_the_square() -> None:
    given, weight = arrays(), np.random.default_rng(1).normal(size=(N, M))
    function = tcjax.kernel(GROMOV)

    found = jax.jit(jax.grad(lambda *given: (function(*given) * weight).sum(), (0, 1, 2)))(*given)

    C, E, T = (array.astype(np.float64) for array in given)
    away = C[:, None, :, None] - E[None, :, None, :]
    slope = 2 * away * T * weight[:, :, None, None]
    wanted = slope.sum((1, 3)), -slope.sum((0, 2)), (away**2 * weight[:, :, None, None]).sum((0, 1))
    for each, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(each, other, atol=1e-5 * abs(other).max())


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 3e38, 2e19])
def test_what_is_not_finite_is_computed_as_it_stands(odd: float) -> None:
    C, E, T = arrays()
    C[3, 4] = E[5, 6] = odd
    function = tcjax.kernel(GROMOV)

    np.testing.assert_allclose(function(C, E, T), function.interpret(C, E, T), rtol=1e-5)


def test_a_batch_and_a_tangent_are_those_of_the_square() -> None:
    C, E, T = arrays()
    function = tcjax.kernel(GROMOV)

    batch = jax.vmap(function, (None, None, 0))(C, E, jnp.stack([T, 2 * T]))
    _, tangent = jax.jvp(lambda C: function(C, E, T), (C,), (np.ones_like(C),))

    np.testing.assert_allclose(batch, np.stack([cost(C, E, T), 2 * cost(C, E, T)]), rtol=1e-5)
    away = C.astype(np.float64)[:, None, :, None] - E[None, :, None, :]
    np.testing.assert_allclose(tangent, 2 * np.einsum("ijkl,kl->ij", away, T), atol=1e-4)


def test_integers_need_no_look_and_wrap() -> None:
    text = GROMOV.replace("float", "int32")
    shapes = (N, N), (M, M), (N, M)
    given = [np.random.default_rng(0).integers(-(2**31), 2**31, shape, np.int32) for shape in shapes]
    function = tcjax.kernel(text)

    stage = stage_of(text, *shapes, dtype="int32")

    assert is_multiplied_out(stage) and stage.proviso is None
    np.testing.assert_array_equal(function(*given), function.interpret(*given))


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        # Distances of points: a product of matrices has as many points.
        ("d(i,j) +=! (x(i,c) - y(j,c)) * (x(i,c) - y(j,c))", ((256, 8), (256, 8))),
        # A variance, and weights of all pairs.
        ("v(c) +=! (x(n,c) - m(c)) * (x(n,c) - m(c))", ((4096, 64), (64,))),
        ("e(i) +=! w(i,j) * (x(i) - y(j)) * (x(i) - y(j))", ((512, 512), (512,), (512,))),
        # Near the point where both are equal the other factor is large.
        ("e(i) +=! (x(i) - y(j)) * (x(i) - y(j)) / pow(x(i) - y(j), 4)", ((512,), (512,))),
    ],
)
def test_a_difference_stays_where_the_order_does_not_fall(text: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    assert not is_multiplied_out(stage_of(text, *shapes))
