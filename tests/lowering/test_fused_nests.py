"""Nests that are one fused loop over their result, with operands that are transposed first."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute
from tcjax.planning.blocked.vector_accumulators import turned
from tcjax.planning.data.nodes import LoopNest, Node, operands

pytestmark = pytest.mark.usefixtures("quickly_compiled")

RNG = np.random.default_rng(0)
KERNEL = tcjax.kernel("def f(float(N,D) x, float(M,D) y) -> (O) { O(i,j) = exp(-sum[d](pow(x(i,d) - y(j,d), 2))) }")


def nest_of(kernel: tcjax.Kernel, *arrays: np.ndarray) -> LoopNest:
    (stage,) = (stage for stage in kernel.plan(*arrays).stages if isinstance(stage, Compute))
    pending: list[Node] = [stage.value]
    while not isinstance(pending[-1], LoopNest):
        pending.extend(operands(pending.pop()))
    return pending[-1]


def points(n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    return RNG.normal(size=(n, d)).astype(np.float32), RNG.normal(size=(m, d)).astype(np.float32)


def test_an_operand_that_would_be_read_across_rows_is_turned_round() -> None:
    node = nest_of(KERNEL, *points(512, 512, 16))
    assert node.form.whole

    _, layouts = turned(node.nest, node.form)

    assert {one.tensor: one.order for one in layouts} == {"x": (0, 1), "y": (1, 0)}


def test_what_lies_as_it_is_read_stays() -> None:
    kernel = tcjax.kernel("def f(float(N,D) x, float(D,M) y) -> (O) { O(i,j) = exp(-sum[d](pow(x(i,d) - y(d,j), 2))) }")
    x, y = points(512, 512, 16)
    node = nest_of(kernel, x, y.T)

    assert node.form.whole and turned(node.nest, node.form) == (node.nest, ())


def test_values_and_derivatives_are_those_of_numpy() -> None:
    x, y = points(512, 384, 16)

    def by_hand(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.exp(-((x[:, None] - y[None]) ** 2).sum(-1))

    wanted = np.exp(-((x[:, None].astype(np.float64) - y[None]) ** 2).sum(-1))
    np.testing.assert_allclose(KERNEL(x, y), wanted, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(jax.vmap(KERNEL)(x[None], y[None])[0], wanted, rtol=1e-4, atol=1e-7)
    found, expected = (jax.grad(lambda x, y, f=f: f(x, y).sum(), argnums=(0, 1))(x, y) for f in (KERNEL, by_hand))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-6)


def test_infinities_stay_where_they_are() -> None:
    x, y = points(512, 512, 16)
    x[3, 2], y[5, 1] = np.inf, np.nan

    found = np.asarray(KERNEL(x, y))

    with np.errstate(invalid="ignore"):
        wanted = np.exp(-((x[:, None] - y[None]) ** 2).sum(-1))
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-6)
