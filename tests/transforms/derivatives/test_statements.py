"""Every derivative of a statement against differences of the interpreter."""

# ruff: noqa: E501 - a program is easier to read on a line of its own.

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tests.agreement.compiling import thoroughly

from .evaluation import Unit

pytestmark = pytest.mark.usefixtures("quickly_compiled")

rng = np.random.default_rng(11)


def real(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def positive(*shape: int) -> np.ndarray:
    return rng.uniform(0.5, 1.5, size=shape).astype(np.float32)


def whole(high: int, *shape: int) -> np.ndarray:
    return rng.integers(0, high, size=shape).astype(np.int32)


SUMS = {
    "product": ("def f(float(I,K) A, float(K,J) B) -> (O) { O(i,j) +=! A(i,k) * B(k,j) }", (real(3, 4), real(4, 2))),
    "rbf": (
        "def f(float(N,D) x, float(M,D) y, float(M) b) -> (O) "
        "{ O(i) +=! exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) * b(j) }",
        (real(3, 2), real(4, 2), real(4)),
    ),
    "square": ("def f(float(N,D) x) -> (O) { O +=! pow(x(i,d) * x(i,d), 2.0) }", (real(3, 2),)),
    "shared": ("def f(float(N) x) -> (O) { O +=! x(i) * x(i) * x(i) - x(i) / (1 + x(i) * x(i)) }", (real(4),)),
    "window": ("def f(float(H) x, float(K) w) -> (O) { O(h) +=! x(h + k) * w(k) }", (real(7), real(3))),
    "strided": ("def f(float(H) x, float(K) w) -> (O) { O(h) +=! x(2*h + k) * w(k) }", (real(8), real(3))),
    "strided, and cut off": ("def f(float(H) x, float(K) w) -> (O) { O(h) +=! x(2*h + k) * w(k) }", (real(7), real(3))),
    "strided far": ("def f(float(H) x) -> (O) { O(h) +=! x(3*h + k) * x(3*h + k) where k in 0:7 }", (real(14),)),
    "strided pairs": ("def f(float(H) x) -> (O) { O(h) +=! sin(x(2*h + k)) * x(2*h + 2*k) where k in 0:3 }", (real(9),)),
    "strided maximum": ("def f(float(H) x) -> (O) { O(h) = maxk[k in 0:3](x(2*h + k), 0) }", (real(8),)),
    "flipped": ("def f(float(H) x, float(K) w) -> (O) { O(h) +=! x(h - k + 2) * w(k) where h in 0:5 }", (real(7), real(3))),
    "only strided": ("def f(float(H) x) -> (O) { O(h) +=! x(3*h) * x(3*h+1) * c where c in 1:4, h in 0:2 }", (real(7),)),
    "diagonal": ("def f(float(N,N) A, float(N) b) -> (O) { O(j) +=! A(i,i) * b(j) }", (real(3, 3), real(3))),
    "off diagonal": ("def f(float(N,M) A) -> (O) { O(j) +=! A(i,i+1) * A(i, j) where i in 0:3 }", (real(4, 5),)),
    "clamped": (
        "def f(float(N) x, float(3) w) -> (O) { O(i) +=! x(min(max(i + k - 1, 0), N - 1)) * w(k) where i in 0:N, k in 0:3 }",
        (real(5), real(3)),
    ),
    "gathered": (
        "def f(float(N,D) x, int32(M) at) -> (O) { O(d) +=! x(at(m), d) * x(at(m) + 1, d) }",
        (real(4, 2), whole(6, 5)),
    ),
    "triangle": ("def f(float(N,N) A, float(N) b) -> (O) { O(i) +=! A(i,k) * b(k) where k <= i }", (real(4, 4), real(4))),
    "choice": (
        "def f(float(N) x, float(M) y) -> (O) { O(i) +=! x(i) > y(j) ? x(i) * y(j) : (i + j < 4 ? x(i) : exp(y(j))) }",
        (real(4), real(3)),
    ),
    "repeated": ("def f(float(N) x) -> (O) { O(i) +=! x(i) where i in 0:N, k in 0:3, k >= 0 }", (real(4),)),
    "mean": ("def f(float(N,M) x) -> (O) { O(i) mean=! x(i,j) * x(i,j) }", (real(3, 4),)),
    "guarded mean": ("def f(float(N,M) x) -> (O) { O(i) mean=! x(i,j) * x(i,j) where j <= i }", (real(3, 4),)),
    "logsumexp": ("def f(float(N) x, float(M) y) -> (O) { O(i) logsumexp=! x(i) * y(j) }", (real(3), real(4))),
    "guarded logsumexp": (
        "def f(float(N) x, float(M) y) -> (O) { O(i) logsumexp=! x(i) * y(j) where j <= i }",
        (real(3), real(4)),
    ),
    "maximum": ("def f(float(N,D) x, float(M,D) y) -> (O) { O(i) max=! sum[d](x(i,d) * y(j,d)) }", (real(3, 2), real(5, 2))),
    "minimum": (
        "def f(float(N) x, float(M) y) -> (O) { O(i) min=! abs(x(i) - y(j)) + x(i) * y(k) where k <= j }",
        (real(4), real(3)),
    ),
    "factors": ("def f(float(N,M) x) -> (O) { O(i) *=! x(i,j) + 0.5 * x(j,i) }", (real(3, 3),)),
    "smallest but one": ("def f(float(N,M) x) -> (O) { O(i) = mink[j](x(i,j) * x(i,j), 1) }", (real(3, 4),)),
    "largest of few": ("def f(float(N,M) x) -> (O) { O(i) = maxk[j where j <= i](x(i,j) * x(i,j), 0) }", (real(3, 4),)),
    "inside": (
        "def f(float(N,M) x, float(M,K) y) -> (O) { O(i) +=! max[j](x(i,j) * y(j,k)) * min[j](x(i,j)) * prod[j](y(j,k)) }",
        (real(3, 4), real(4, 2)),
    ),
    "inside twice": (
        "def f(float(N,M) x) -> (O) { O(i) +=! exp(-logsumexp[k](x(i,k) * sum[l](x(l,k) * x(i,j))) * mean[k](x(i,k) * x(j,k))) "
        "where j in 0:3 }",
        (real(3, 3),),
    ),
    "middle inside": (
        "def f(float(N,M) x, float(N) y) -> (O) { O(i) +=! mink[k](x(i,k) * y(j), 1) + maxk[k where k <= j](x(j,k), j) * y(i) }",
        (real(3, 4), real(3)),
    ),
    "position": ("def f(float(N) x, float(M) y) -> (O) { O(i) +=! y(argmin[k](x(k) * x(i))) * x(i) * y(j) }", (real(4), real(5))),
    "modulo": ("def f(float(N) x, float(M) y) -> (O) { O(i) +=! (x(i) % (y(j) + 3)) * max(x(i), y(j)) * floor(x(i) + y(j)) }", (real(4), real(3))),
    "powers": ("def f(float(N) x, float(M) y) -> (O) { O(i) +=! pow(x(i), y(j)) * pow(x(i), 3) * pow(y(j), 0.5) }", (positive(4), positive(3))),
}  # fmt: skip


@pytest.fixture(params=SUMS, ids=SUMS)
def case(request: pytest.FixtureRequest) -> tuple[Unit, str, dict[str, np.ndarray]]:
    text, values = SUMS[request.param]
    names = [p.name for p in tcjax.kernel(text)._frontend.parameters]
    arrays = dict(zip(names, values, strict=True))
    return Unit.of(text, arrays), text, arrays


def test_an_adjoint_is_what_differences_say(case) -> None:
    unit, _, _ = case
    cotangent = rng.normal(size=[size.constant for size in unit.output.shape])

    found = unit.adjoints(cotangent)

    for name in unit.real:
        np.testing.assert_allclose(found[name], unit.differences(name, cotangent), rtol=1e-5, atol=1e-6)


def test_the_transposed_tangent_is_the_adjoint(case) -> None:
    unit, _, _ = case
    cotangent = rng.normal(size=[size.constant for size in unit.output.shape])
    if not hasattr(unit.value, "reducer"):
        return

    found, expected = unit.transposed(cotangent), unit.adjoints(cotangent)

    for name in unit.real:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9)


def test_a_tangent_pairs_with_the_adjoint(case) -> None:
    unit, _, _ = case
    cotangent = rng.normal(size=[size.constant for size in unit.output.shape])
    if not hasattr(unit.value, "reducer"):
        return
    changes = {name: rng.normal(size=unit.arrays[name].shape) for name in unit.real}

    moved, adjoints = unit.tangents(changes), unit.adjoints(cotangent)

    paired = sum(float(np.sum(changes[name] * adjoints[name])) for name in unit.real)
    np.testing.assert_allclose(np.sum(moved * cotangent), paired, rtol=1e-9)


def test_an_adjoint_is_what_jax_says(case) -> None:
    unit, text, arrays = case
    cotangent = rng.normal(size=[size.constant for size in unit.output.shape])
    # Compiled without optimisation, JAX rounds a minimum and its operands differently, and divides by zero ties.
    with thoroughly():
        result, pull = jax.vjp(
            lambda real: tcjax.kernel(text)(**{**arrays, **real}), {n: jnp.asarray(arrays[n]) for n in unit.real}
        )
        (expected,) = pull(jnp.asarray(cotangent, result.dtype))

    found = unit.adjoints(cotangent)

    for name in unit.real:
        np.testing.assert_allclose(found[name], expected[name], rtol=2e-4, atol=2e-5)
