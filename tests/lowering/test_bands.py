"""Bands of matrix products: every pattern with every block size, with derivatives, and with infinities."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from numpy.typing import NDArray

import tcjax
from tcjax.planning import choice
from tcjax.planning.data import nodes

Array = NDArray[Any]

C, X, D, N = 5, 23, 6, 3


def real(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape)


# Parameters in the order in which the texts read them.
BANDS = {
    "correlation": ("o(x,d) +=! f(c,x) * g(c,x+d)", real(C, X), real(C, X + D - 1)),
    "channels last": ("o(x,d) +=! f(x,c) * g(x+d,c)", real(X, C), real(X + D - 1, C)),
    "shifts first": ("o(d,x) +=! f(c,x) * g(c,x+d)", real(C, X), real(C, X + D - 1)),
    "a batch": ("o(b,x,d) +=! f(b,c,x) * g(b,c,x+d)", real(2, C, X), real(2, C, X + D - 1)),
    "a batch in the middle": ("o(x,b,d) +=! f(c,b,x) * g(c,x+d,b)", real(C, 2, X), real(C, X + D - 1, 2)),
    "an axis of each operand": ("o(x,n,d,m) +=! f(c,n,x) * g(m,c,x+d)", real(C, N, X), real(2, C, X + D - 1)),
    "behind and ahead": ("o(x,d) +=! f(c,x) * g(c,x+d+3) where d in -3:4, x in 0:20", real(C, 20), real(C, 30)),
    "backwards": ("o(x,d) +=! f(c,x) * g(c,x-d+5) where d in 0:6, x in 0:20", real(C, 20), real(C, 30)),
    "rows backwards": ("o(x,d) +=! f(c,x) * g(c,d-x+19) where d in 0:6, x in 0:20", real(C, 20), real(C, 30)),
    "strides": ("o(x,d) +=! f(c,x) * g(c,2*x+d) where d in 0:6, x in 0:20", real(C, 20), real(C, 60)),
    "dilated": ("o(x,d) +=! f(c,x) * g(c,x+3*d) where d in 0:6, x in 0:20", real(C, 20), real(C, 60)),
    "strides and dilated": ("o(x,d) +=! f(c,x) * g(c,3*x+2*d) where d in 0:6, x in 0:20", real(C, 20), real(C, 80)),
    "borders": (
        "o(x,d) +=! f(c,x) * g(c,x+d) where d in -3:4, x in 0:20, 0 <= x+d, x+d < 20",
        real(C, 20),
        real(C, 20),
    ),
    "scaled": ("o(x,d) +=! s(c) * f(c,x) * g(c,x+d) / 4", real(C), real(C, X), real(C, X + D - 1)),
    "functions": ("o(x,d) +=! tanh(f(c,x)) * (g(c,x+d) * g(c,x+d+1))", real(C, X), real(C, X + D)),
    "weights of a window": ("o(x,n) +=! p(x,d) * g(n,x+d)", real(X, D), real(N, X + D - 1)),
    "weights, rows last": ("o(n,x) +=! p(d,x) * g(x+d,n)", real(D, X), real(X + D - 1, N)),
    "weights and channels": ("o(x,n) +=! p(x,d,c) * g(n,c,x+d)", real(X, D, C), real(N, C, X + D - 1)),
    "weights of a batch": ("o(b,x,n) +=! p(b,x,d) * g(b,x+d,n)", real(2, X, D), real(2, X + D - 1, N)),
    "weights backwards": ("o(x,n) +=! p(x,d) * g(n,x-d) where x in 5:30, d in 0:6", real(30, D), real(N, 30)),
    "weights in strides": ("o(x,n) +=! p(x,d) * g(n,2*x+3*d)", real(X, D), real(N, 2 * X + 3 * D)),
    "weights within borders": (
        "o(x,n) +=! p(x,d) * g(n,x+d-3) where x in 0:20, 0 <= x+d-3, x+d-3 < 20",
        real(20, D),
        real(N, 20),
    ),
    "some of the weights": ("o(x,n) +=! p(x,d) * g(n,x+d) where d <= x % 4, d in 0:6", real(X, D), real(N, X + D - 1)),
    "from where weights came": (
        "o(n,y) +=! p(y-d,d) * f(n,y-d) where y in 0:28, d in 0:6, 0 <= y-d, y-d < 23",
        real(X, D),
        real(N, X),
    ),
}


@pytest.fixture(params=[4], ids=lambda rows: f"{rows} rows")
def only_bands(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The planner takes bands of this many rows wherever they are possible."""
    cheapest = choice.cheapest

    def band(candidates: Any, scope: Any) -> nodes.Node:
        found = list(candidates)
        bands = [replace(node, rows=request.param) for node in found if isinstance(node, nodes.Band)]
        return bands[0] if bands else cheapest(found, scope)

    monkeypatch.setattr(choice, "cheapest", band)
    yield request.param


@pytest.mark.parametrize("only_bands", [4, 32], indirect=True)
@pytest.mark.parametrize("name", BANDS)
def test_a_band_is_the_sum_that_it_stands_for(name: str, only_bands: int) -> None:
    text, *arguments = BANDS[name]
    with jax.enable_x64(True):
        kernel = tcjax.kernel(_in_doubles(text, arguments))
        assert f"dot_general of {only_bands} rows" in str(kernel.plan(*arguments))
        np.testing.assert_allclose(kernel(*arguments), kernel.interpret(*arguments), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", BANDS)
@pytest.mark.usefixtures("only_bands")
def test_derivatives_of_a_band_are_those_of_the_sum(name: str) -> None:
    text, *arguments = BANDS[name]
    ways = [real(*a.shape, seed=1) for a in arguments]
    with jax.enable_x64(True):
        kernel = tcjax.kernel(_in_doubles(text, arguments))
        result, back = jax.vjp(kernel, *arguments)
        weights = real(*result.shape, seed=2)
        cotangents = back(weights)
    step = 1e-6
    ahead, behind = (
        kernel.interpret(*(a + sign * step * way for a, way in zip(arguments, ways, strict=True))) for sign in (1, -1)
    )
    paired = sum(float(np.sum(np.asarray(c) * way)) for c, way in zip(cotangents, ways, strict=True))
    assert paired == pytest.approx(float(np.sum((ahead - behind) / (2 * step) * weights)), rel=1e-6, abs=1e-6)


@pytest.mark.usefixtures("only_bands")
def test_batches_and_tangents_of_a_band() -> None:
    f, g = real(2, C, X), real(2, C, X + D - 1)
    kernel = tcjax.kernel("o(x,d) +=! f(c,x) * g(c,x+d)")

    found = jax.vmap(kernel)(f, g)
    value, tangent = jax.jvp(lambda f: kernel(f, g[0]), (f[0],), (f[1],))

    for number in range(2):
        np.testing.assert_allclose(found[number], correlated(f[number], g[number]), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(value, correlated(f[0], g[0]), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(tangent, correlated(f[1], g[0]), rtol=1e-4, atol=1e-4)


def correlated(f: Array, g: Array) -> Array:
    """The sum over the first axis of `f` and `g`, shifted, for each shift; 0 times infinity is NaN."""
    shifts = g.shape[1] - f.shape[1] + 1
    with np.errstate(invalid="ignore"):
        return np.stack([(f * g[:, d : d + f.shape[1]]).sum(0) for d in range(shifts)], 1)


@pytest.mark.usefixtures("only_bands")
def test_an_infinity_is_in_the_sums_that_meet_it_alone() -> None:
    f, g = real(C, X), real(C, X + D - 1)
    g[1, 11], f[2, 20] = np.inf, np.nan
    wanted = correlated(f, g)
    assert 0.5 < np.isfinite(wanted).mean() < 1

    np.testing.assert_allclose(tcjax.kernel("o(x,d) +=! f(c,x) * g(c,x+d)")(f, g), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("only_bands")
def test_an_infinity_is_in_the_derivatives_of_what_it_meets_alone() -> None:
    f, g, weights = real(C, X), real(C, X + D - 1), real(X, D)
    g[1, 11], f[2, 20] = np.inf, np.nan
    _, back = jax.vjp(tcjax.kernel("o(x,d) +=! f(c,x) * g(c,x+d)"), f, g)
    wanted_f, wanted_g = np.zeros_like(f), np.zeros_like(g)
    for d in range(D):
        wanted_f += weights[:, d] * g[:, d : d + X]
        wanted_g[:, d : d + X] += weights[:, d] * f
    assert 0.5 < np.isfinite(wanted_f).mean() < 1 and 0.5 < np.isfinite(wanted_g).mean() < 1

    found_f, found_g = back(np.float32(weights))

    np.testing.assert_allclose(found_f, wanted_f, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found_g, wanted_g, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("only_bands")
def test_weights_meet_the_infinities_of_their_window_alone() -> None:
    p, g = real(X, D), real(N, X + D - 1)
    g[1, 11], p[20, 2] = np.inf, np.nan
    wanted = np.stack([g[:, x : x + D] @ p[x] for x in range(X)])
    assert 0.5 < np.isfinite(wanted).mean() < 1

    found = tcjax.kernel("o(x,n) +=! p(x,d) * g(n,x+d)")(p, g)

    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("only_bands")
def test_rows_that_nothing_uses_pass_no_infinity_on() -> None:
    text = "o(x,d) = x % 3 == 0 ? sum[c](f(c,x) * g(c,x+d)) : 0.0 where d in 0:6"
    f, g = real(C, X), real(C, X + D - 1)
    f[:, 4] = np.inf
    kernel = tcjax.kernel(text)

    result, back = jax.vjp(kernel, f, g)
    _, found = back(np.ones_like(result))

    used = np.where(np.arange(X) % 3 == 0, f, 0)
    wanted = sum(np.pad(used, [(0, 0), (d, D - 1 - d)]) for d in range(D))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("only_bands")
def test_halves_are_added_up_in_floats() -> None:
    f, g = (np.asarray(a, jax.numpy.bfloat16) for a in (real(C, X), real(C, X + D - 1)))
    kernel = tcjax.kernel("def f(bfloat16(C,X) f, bfloat16(C,Y) g) -> (o) { o(x,d) +=! f(c,x) * g(c,x+d) }")

    found = np.asarray(kernel(f, g), float)

    wanted = correlated(f.astype(float), g.astype(float))
    np.testing.assert_allclose(found, wanted, rtol=2**-7, atol=2**-7)
    assert np.asarray(jax.grad(lambda f: kernel(f, g).sum())(f)).dtype == f.dtype


def _in_doubles(text: str, arguments: Sequence[Array]) -> str:
    """The definition of a statement, with parameters like its arguments, in order of first appearance."""
    names = sorted((name for name in "fgps" if f"{name}(" in text), key=lambda name: text.index(f"{name}("))
    sizes = [", ".join(f"{name.upper()}{n}" for n in range(a.ndim)) for name, a in zip(names, arguments, strict=True)]
    parameters = ", ".join(f"double({size}) {name}" for name, size in zip(names, sizes, strict=True))
    return f"def f({parameters}) -> (o) {{ {text} }}"
