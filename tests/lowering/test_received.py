"""Points that share an element of the target, computed as what the element receives, at any price."""

from collections.abc import Iterator

import jax
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute, choice
from tcjax.planning.operations import received, scatter
from tcjax.planning.operations.placement import Placement

pytestmark = pytest.mark.usefixtures("quickly_compiled")

PHASES = "y({s}*i+k, o) +=! x(i,c) * w(k,c,o)"
HEAD = "def f(float(N,C) x, float(K,C,O) w) -> (y) {{ {} }}"


def propose(placement: Placement) -> Iterator[Compute]:
    yield from list(received.propose(placement)) or scatter.propose(placement)


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "PLACEMENTS", (propose,))


def arrays(taps: int = 6, dtype: str = "float32") -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return tuple((4 * random.normal(size=shape)).astype(dtype) for shape in ((5, 3), (taps, 3, 2)))


def is_received(kernel: tcjax.Kernel, *given: np.ndarray) -> bool:
    stage = kernel.plan(*given).stages[-1]
    assert isinstance(stage, Compute)
    return not stage.store.is_scatter


@pytest.mark.parametrize(
    "statement",
    [
        *(PHASES.format(s=s) for s in (1, 2, 3)),
        "y(2*k+4*i+1, o) +=! x(i,c) * w(k,c,o)",
        "y(7-2*i-k, o) +=! x(i,c) * w(k,c,o)",
        "y(3*i+k, o) max=! x(i,c) * w(k,c,o)",
        "y(2*i+k, o) +=! x(i,c) * w(k,c,o) where i + k < 6, c < k",
        "y(2*i+k, o) +=! x(i,c) * w(k,c,o) where k in 2:6, i in 1:4",
        "y(i,o) = w(i,0,o) where i in 0:6   y(i+k, o) += x(i,c) * w(k,c,o) where i + k < 6",
    ],
)
def test_an_element_receives_what_the_interpreter_sends(statement: str) -> None:
    kernel, given = tcjax.kernel(HEAD.format(statement)), arrays()

    assert is_received(kernel, *given)
    np.testing.assert_allclose(kernel(*given), kernel.interpret(*given), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("statement", [PHASES.format(s=4), "y(i+k,i) +=! x(i,c) * w(k,c,0)"])
def test_what_has_no_whole_phases_stays_a_scatter(statement: str) -> None:
    kernel, given = tcjax.kernel(HEAD.format(statement)), arrays()

    assert not is_received(kernel, *given)


@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_what_is_not_finite_reaches_only_the_elements_that_it_meets(odd: float) -> None:
    kernel, (x, w) = tcjax.kernel(HEAD.format(PHASES.format(s=2))), arrays()
    w[5, 0, 0] = odd

    np.testing.assert_allclose(kernel(x, w), kernel.interpret(x, w), rtol=1e-5)


def test_integers_wrap() -> None:
    kernel = tcjax.kernel(HEAD.format(PHASES.format(s=2)).replace("float", "int32"))
    x, w = (array * 2**28 for array in arrays(dtype="int32"))

    np.testing.assert_array_equal(kernel(x, w), kernel.interpret(x, w))


def test_gradients_tangents_and_batches_are_those_of_the_points() -> None:
    kernel, (x, w) = tcjax.kernel(HEAD.format(PHASES.format(s=2))), arrays()
    weight = np.random.default_rng(1).normal(size=(14, 2)).astype(np.float32)

    def points(x: jax.Array, w: jax.Array) -> jax.Array:
        places = 2 * np.arange(5)[:, None] + np.arange(6)
        return jax.numpy.zeros((14, 2)).at[places].add(jax.numpy.einsum("ic,kco->iko", x, w))

    for run in (
        lambda f: jax.grad(lambda x, w: (f(x, w) * weight).sum(), (0, 1))(x, w),
        lambda f: jax.jvp(f, (x, w), (x[::-1], w[::-1])),
        lambda f: jax.vmap(f, (0, None))(np.stack([x, 2 * x]), w),
    ):
        for found, expected in zip(jax.tree.leaves(run(kernel)), jax.tree.leaves(run(points)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
