"""Chunked scatters give the same values and derivatives as unchunked ones, in little memory."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax import planning
from tcjax.planning import chunked_scatter as chunks

pytestmark = pytest.mark.usefixtures("quickly_compiled")

FAR = "def f(int32(N,L) I, float(N,D) x, float(N,L) y) -> (float(5,D) O) { O(I(i,l), d) %s }"
DISTANCE = FAR % "+=! fabs(x(i,d) - y(i,l))"


@pytest.fixture(autouse=True)
def _short_rounds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Chunks of about 50 values wherever possible."""
    monkeypatch.setattr(chunks, "SMALL_VALUES", 0)
    monkeypatch.setattr(chunks, "MOST_GROWTH", 0)
    monkeypatch.setattr(chunks, "CHUNK", 50)
    jax.clear_caches()
    yield
    jax.clear_caches()


def arrays(n: int, length: int = 3, d: int = 4, cells: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(n)
    places = random.integers(-1, cells + 1, (n, length), dtype=np.int32)
    x, y = (random.normal(size=shape).astype(np.float32) for shape in ((n, d), (n, length)))
    return places, x, y


def scattered(places: np.ndarray, x: np.ndarray, y: np.ndarray, start: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """Each value whose position is in bounds, in order."""
    found = start.astype(np.float64)
    for i, l, d in np.ndindex(*places.shape, x.shape[1]):
        if 0 <= places[i, l] < len(found):
            found[places[i, l], d] = combine(found[places[i, l], d], abs(float(x[i, d]) - float(y[i, l])))
    return found


def in_chunks(kernel: tcjax.Kernel, *given: object) -> bool:
    (stage,) = kernel.plan(*given).stages
    return isinstance(stage, planning.Compute) and stage.chunks is not None


@pytest.mark.parametrize("n", [2, 12, 13, 40])
def test_a_sum_in_rounds_has_every_value_once(n: int) -> None:
    given = arrays(n)
    kernel = tcjax.kernel(DISTANCE)

    found = kernel(*given)

    assert in_chunks(kernel, *given)
    np.testing.assert_allclose(found, scattered(*given, np.zeros((5, 4)), np.add), rtol=1e-5)


@pytest.mark.parametrize(("sign", "combine", "start"), [("max=!", np.fmax, -np.inf), ("min=!", np.fmin, np.inf)])
def test_an_extremum_in_rounds_is_that_of_all_values(sign: str, combine: np.ufunc, start: float) -> None:
    given = arrays(30)

    found = tcjax.kernel(FAR % f"{sign} fabs(x(i,d) - y(i,l))")(*given)

    np.testing.assert_allclose(found, scattered(*given, np.full((5, 4), start), combine), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::tcjax.CompileWarning")
def test_a_sum_in_rounds_goes_on_from_what_is_there() -> None:
    given, before = arrays(30), np.full((5, 4), 2, np.float32)

    found = tcjax.kernel(FAR % "+= fabs(x(i,d) - y(i,l))")(*given, O=before)

    np.testing.assert_allclose(found, scattered(*given, before, np.add), rtol=1e-5)


@pytest.mark.parametrize("sign", ["+=!", "max=!"])
def test_the_derivatives_are_those_of_values_at_once(sign: str, monkeypatch: pytest.MonkeyPatch) -> None:
    places, x, y = arrays(13)
    text = FAR % f"{sign} (x(i,d) - y(i,l)) * (x(i,d) - y(i,l)) * y(i,l)"

    def slopes(x: jax.Array) -> list[np.ndarray]:
        kernel = tcjax.kernel(text)
        slope = jax.grad(lambda x: jnp.sin(jnp.where(jnp.isfinite(f := kernel(places, x, y)), f, 0)).sum())
        return [np.asarray(slope(x)), np.asarray(jax.jvp(slope, (x,), (jnp.cos(x),))[1])]

    found = slopes(jnp.asarray(x))
    monkeypatch.setattr(chunks, "SMALL_VALUES", 1 << 40)
    jax.clear_caches()

    for got, want in zip(found, slopes(jnp.asarray(x)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_sums_along_the_edges_of_a_graph_end_where_they_do_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcjax.planning.chunked_scatter.allowance", lambda moved: 0)
    rng = np.random.default_rng(0)
    h, W = rng.standard_normal((200, 32)).astype("f4"), rng.standard_normal((4, 32, 32)).astype("f4")
    s, t = (rng.integers(0, 200, 1500, dtype=np.int32) for _ in range(2))
    r, weights = rng.integers(0, 4, 1500, dtype=np.int32), rng.standard_normal((200, 32)).astype("f4")
    kernel = tcjax.kernel(
        "def f(float(N,D) h, int32(E) s, int32(E) r, int32(E) t, float(R,D,C) W) -> (float(200,C) O)"
        " { O(t(k),c) +=! h(s(k),d) * W(r(k),d,c) }"
    )
    (stage,) = kernel.plan(h, s, r, t, W).stages
    assert isinstance(stage, planning.Compute) and stage.chunks is not None

    found = kernel(h, s, r, t, W)
    by_h, by_W = jax.grad(lambda h, W: (kernel(h, s, r, t, W) * weights).sum(), (0, 1))(h, W)

    expected, moved, turned = np.zeros((200, 32)), np.zeros((200, 32)), np.zeros((4, 32, 32))
    np.add.at(expected, t, np.einsum("kd,kdc->kc", h.astype(float)[s], W[r]))
    np.add.at(moved, s, np.einsum("kc,kdc->kd", weights.astype(float)[t], W[r]))
    np.add.at(turned, r, h.astype(float)[s][:, :, None] * weights[t][:, None])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(by_h, moved, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(by_W, turned, rtol=1e-4, atol=1e-3)
