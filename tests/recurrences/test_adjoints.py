"""Adjoints of loops: programs whose loops run in reverse, against differences and `jax.grad`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

rng = np.random.default_rng(5)

SHAPES = {"a": (5, 3), "b": (5, 3), "W": (3, 3), "x": (6, 3), "v": (6,), "q": (6,), "c": (3, 4), "A": (4, 4)}

# Each is the body of a definition that has these parameters, and the results that it names.
PROGRAMS = {
    "linear": ("a b", "h", "h(0,d) = b(0,d) for t in 1:T { h(t,d) = a(t,d) * h(t-1,d) + b(t,d) }"),
    "network": (
        "W x",
        "h",
        "h(0,n) = x(0,n) for t in 1:T { z(n) +=! W(n,m) * h(t-1,m) h(t,n) = tanh(z(n) + x(t,n)) }",
    ),
    "backwards": ("v", "h", "h(T-1) = v(T-1) for t in T-2:-1:-1 { h(t) = v(t) * h(t+1) }"),
    "steps of two": ("v", "h", "h(0) = v(0) for t in 2:T:2 { h(t) = sin(v(t) * h(t-2)) }"),
    "two steps before": ("v", "h", "h(0) = v(0) h(1) = v(1) for t in 2:T { h(t) = v(t) * h(t-1) * h(t-2) }"),
    "two tensors": (
        "v",
        "p, q",
        "p(0) = v(0) q(0) = 1.0 for t in 1:T { p(t) = q(t-1) * v(t) q(t) = q(t-1) + p(t-1) * p(t) }",
    ),
    "a state": ("v", "y", "s() = 0.0 for t in 0:T { s() = s() + v(t) y(t) = s() * s() }"),
    "a maximum so far": ("v", "y", "m() = -inf for t in 0:T { m() max= v(t) y(t) = m() * v(t) }"),
    "the best before": (
        "W x",
        "h",
        "h(0,n) = x(0,n) for t in 1:T { b(n) max=! h(t-1,m) + W(m,n) h(t,n) = b(n) * x(t,n) }",
    ),
    "all of it anew": (
        "v",
        "u",
        "u(i) = v(i) for t in 0:3 { w(i) = sin(u(i-1)) + u(i+1) * u(i) where i in 1:T-1 u(i) = w(i) where i in 1:T-1 }",
    ),
    "sweeps": (
        "v",
        "u",
        "u(i) = v(i) for t in 0:3 { for i in 1:T-1 { u(i) = 0.5 * u(i-1) * u(i+1) + u(i) } }",
    ),
    "Newton": ("v", "r", "r(i) = 1.0 where i in 0:T for n in 0:3 { r(i) = 0.5 * (r(i) + v(i) / r(i)) }"),
    "places in data": ("v q", "y", "y(j) = 1.0 where j in 0:4 for t in 0:T { y(q(t)) += v(t) * v(0) }"),
    "places that each step finds": (
        "v q",
        "y",
        """float(4) s
           y(j) = 1.0 where j in 0:4
           for t in 0:3 { w(i) = (q(i) + t) % 4 s(w(i)) +=! v(i) * y(w(i)) y(j) = sin(s(j)) + 0.5 }""",
    ),
    "warping": (
        "c",
        "D",
        """D(i,j) = i == 0 && j == 0 ? c(0,0) : 9.0 where i in 0:N, j in 0:M
           for j in 1:M { D(0,j) = c(0,j) + D(0,j-1) }
           for i in 1:N { D(i,0) = c(i,0) + D(i-1,0)
                          for j in 1:M { D(i,j) = c(i,j) + min(D(i-1,j), min(D(i,j-1), D(i-1,j-1))) } }""",
    ),
    "Cholesky": (
        "A",
        "L",
        """L(i,j) = 0.0 where i in 0:N, j in 0:N
           for i in 0:N { for j in 0:i { L(i,j) = (A(i,j) - sum[k in 0:j](L(i,k) * L(j,k))) / L(j,j) }
                          L(i,i) = sqrt(A(i,i) - sum[k in 0:i](L(i,k) * L(i,k))) }""",
    ),
    "a window beyond the ends": (
        "x",
        "s",
        """s(t,n) = 0.0 * x(t,n)
           for a in -1:2 { for b in -1:2 { v(t,n) = exp(x(clamp(t+a),wrap(n+b)) - x(t,n)) * x(clamp(t+a),wrap(n+b))
                                           s(t,n) = s(t,n) + v(t,n) } }""",
    ),
    "a padded window": (
        "x",
        "s",
        """s(t,n) = 0.0 * x(t,n)
           for a in 0:3 { for b in 0:2 { s(t,n) = s(t,n) + x(t,n) * pad(x(t+a,n+b), 0.5)
                                         where t in 0:T, n in 0:N } }""",
    ),
    "LU in place": (
        "A",
        "B",
        """B(i,j) = A(i,j)
           for i in 0:N { for j in 0:i { B(i,j) = (B(i,j) - sum[k in 0:j](B(i,k) * B(k,j))) / B(j,j) }
                          for j in i:N { B(i,j) = B(i,j) - sum[k in 0:i](B(i,k) * B(k,j)) } }""",
    ),
    "sums that each step begins anew": (
        "x W",
        "y",
        """for t in 0:T { a(n) = 0.0 where n in 0:N a(n) += x(t,m) * W(m,n) y(t,n) = a(n) * a(n) }""",
    ),
    "sums that steps begin before the loop": ("v", "y", "y(i) = v(i) for t in 0:T { y(t) = 0.0 y(t) += v(t) * v(0) }"),
    "what a step reads and then overwrites": (
        "v",
        "u",
        "u(i) = v(i) for t in 1:T { w(t) = u(t) * u(t-1) u(t) = sin(w(t)) }",
    ),
    "two values of one element": (
        "v",
        "y, z",
        """y(i) = v(i)
           for t in 1:T { y(t) = y(t-1) * v(t) z(t) = y(t) * y(t) y(t) = y(t) * z(t) y(t) = sin(y(t))
                          z(t) += y(t) * y(t-1) }""",
    ),
    "the largest so far": ("v", "m", "m() = v(0) for t in 1:T { m() = v(t) where v(t) > m() }"),
    "guards that what they guard changes": (
        "v",
        "u",
        "u(i) = v(i) for t in 1:T { u(t) = u(t-1) * u(t) where u(t) > 0.8 u(t) = sin(u(t)) where u(t) < 0.9 }",
    ),
    "every other place, which is read before": (
        "v",
        "u",
        "u(i) = v(i) for t in 0:3 { w() = u(2*t+1) w() += -u(j) * v(j) where j in 0:2*t u(2*t+1) = v(0) * w() }",
    ),
    "distances of two loops": ("v A", "u", "u(i) = v(i) for i in 1:N { for j in 0:i { u(i) += A(j,i) * u(i-j-1) } }"),
}
WINDOWS = ("a window beyond the ends", "a padded window")
TYPES = {"a": "float(T,D)", "b": "float(T,D)", "W": "float(N,N)", "x": "float(T,N)", "v": "float(T)"}
TYPES |= {"q": "int32(T)", "c": "float(N,M)", "A": "float(N,N)"}


def made(name: str) -> tuple[tcjax.Kernel, dict[str, np.ndarray]]:
    """A program, and arguments for it."""
    rng = np.random.default_rng(len(name))
    parameters, results, body = PROGRAMS[name]
    names = parameters.split()
    kernel = tcjax.kernel(f"def f({', '.join(f'{TYPES[n]} {n}' for n in names)}) -> ({results}) {{ {body} }}")
    given = {n: rng.uniform(0.5, 1.5, SHAPES[n]).astype(np.float32) for n in names}
    if "A" in given:
        given["A"] = (given["A"] @ given["A"].T + 5 * np.eye(4)).astype(np.float32)
    if "q" in given:
        given["q"] = rng.integers(0, 4, SHAPES["q"]).astype(np.int32)
    return kernel, given


def several(found: object) -> tuple[np.ndarray, ...]:
    return tuple(map(np.asarray, found if isinstance(found, tuple) else (found,)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_adjoint_of_a_loop_is_a_program_that_says_its_derivative(name: str) -> None:
    kernel, given = made(name)
    adjoint = kernel.adjoint()
    floats = [n for n, array in given.items() if array.dtype == np.float32]
    moves = {n: rng.normal(size=given[n].shape).astype(np.float32) for n in floats}
    ahead, behind = (
        several(kernel.interpret(**{**given, **{n: given[n] + sign * 4e-3 * moves[n] for n in floats}}))
        for sign in (1, -1)
    )
    cotangents = [rng.normal(size=result.shape).astype(np.float32) for result in ahead]
    expected = sum(np.vdot(d, (a - b) / 8e-3) for d, a, b in zip(cotangents, ahead, behind, strict=True))
    names = [f"d_{tensor.name}" for tensor in kernel.ir().returns]

    found = several(adjoint.interpret(**given, **dict(zip(names, cotangents, strict=True))))

    directional = sum(np.vdot(moves[n], gradient) for n, gradient in zip(floats, found, strict=True))
    np.testing.assert_allclose(directional, expected, rtol=2e-2, atol=2e-2, err_msg=str(adjoint))
    assert tcjax.kernel(str(adjoint)).ir() == adjoint.ir()


@pytest.mark.parametrize("name", ["all of it anew", "warping", "Cholesky", "LU in place", *WINDOWS])
def test_the_adjoint_of_a_loop_compiles(name: str) -> None:
    kernel, given = made(name)
    [result] = several(kernel.interpret(**given))
    cotangent = rng.normal(size=result.shape).astype(np.float32)
    adjoint = kernel.adjoint()
    arguments = {**given, f"d_{kernel.ir().returns[0].name}": cotangent}

    found = adjoint(**arguments)

    np.testing.assert_allclose(found, adjoint.interpret(**arguments), rtol=1e-4, atol=1e-4)
    by_jax = jax.grad(lambda moved: jnp.sum(kernel(**moved) * cotangent))(given)
    np.testing.assert_allclose(found, next(iter(by_jax.values())), rtol=1e-3, atol=1e-3)


def test_the_gradient_of_loops_that_write_single_elements_is_their_adjoint() -> None:
    """Without it each step would add to the cotangent of the whole tensor."""
    kernel, given = made("Cholesky")
    A = given["A"]
    cotangent, direction = (rng.normal(size=A.shape).astype(np.float32) for _ in range(2))

    def loss(A: jax.Array) -> jax.Array:
        return jnp.sum(kernel(A) * cotangent)

    gradient = jax.grad(loss)

    assert "tcjax_linear" in str(jax.make_jaxpr(lambda A: jax.jvp(loss, (A,), (A,)))(A))
    np.testing.assert_allclose(gradient(A), kernel.adjoint().interpret(A, cotangent), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jax.jvp(loss, (A,), (direction,))[1], np.vdot(gradient(A), direction), rtol=1e-4)
    both = np.stack([A, 2 * A])
    np.testing.assert_allclose(jax.vmap(gradient)(both)[1], gradient(2 * A), rtol=1e-4, atol=1e-6)
    ahead, behind = (gradient(A + sign * 0.01 * direction) for sign in (1, -1))
    curved = jax.jvp(gradient, (A,), (direction,))[1]
    np.testing.assert_allclose(curved, (ahead - behind) / 0.02, rtol=1e-2, atol=1e-4)


def test_the_gradient_of_nested_loops_of_which_some_rows_are_there_before() -> None:
    kernel = tcjax.kernel(
        "def f(float(T,N) x) -> (y) { y(0,i) = x(0,i) for t in 1:T { for k in 0:3 { y(t,i) += k*x(t,i)*y(t-1,i) } } }"
    )
    x = rng.normal(size=(4, 5)).astype(np.float32)

    def total(x: Any) -> Any:
        rows = [x[0]]
        for t in range(1, 4):
            rows.append(3 * x[t] * rows[-1])
        return sum(row.sum() for row in rows)

    np.testing.assert_allclose(jax.grad(lambda x: kernel(x).sum())(x), jax.grad(total)(x), rtol=1e-5)


def test_what_no_later_step_needs_follows_behind_the_loop() -> None:
    kernel, _ = made("linear")

    assert "{ d_h_1(t - 1, d) += a(t, d) * d_h_1(t, d) }" in " ".join(str(kernel.adjoint()).split())


def test_the_adjoint_of_a_loop_has_an_adjoint() -> None:
    kernel, given = made("linear")
    twice = kernel.adjoint(wrt="a").adjoint(wrt="b")
    d_h, d_d_a = (rng.normal(size=(5, 3)).astype(np.float32) for _ in range(2))

    found = twice.interpret(**given, d_h=d_h, d_d_a=d_d_a)

    def gradient(b: jax.Array) -> jax.Array:
        return jax.grad(lambda a: jnp.sum(kernel(a, b) * d_h))(given["a"])

    expected = jax.grad(lambda b: jnp.sum(gradient(b) * d_d_a))(given["b"])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def _filtered(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    d = np.ones(6)
    for t in range(5, -1, -1):
        for k in range(min(2, t)):
            d[t - k - 1] -= a[k] * d[t]
    return d


def _spread(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    y = np.ones(2)
    for t in range(3):
        r = a * (t + 1.0)
        y[[1, 0]] += np.sin(r * y)
    return y


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        # The adjoint program of the loop made the declared tensor as large as its subscripts without their guard.
        (
            """def f(float(Q) a) -> (float(6) d) {
                 d(j) = 1.0 where j in 0:6
                 for t in 5:-1:-1 { z(t) +=! -d(t)  d(t-k-1) += a(k) * z(t) where k < t }
            }""",
            _filtered,
        ),
        # The adjoint program of the loop also takes what each step writes before it reads it.
        (
            """def f(float(Q) a) -> (float(2) y) {
                 y(i) = 1.0 where i in 0:2
                 r(i) = a(i)
                 for t in 0:3 { r(i) = a(i) * (t + 1.0)  w(i) = sin(r(i) * y(i))  p(i) = (i + 1) % 2 where i in 0:2
                                y(p(i)) += w(i) }
            }""",
            _spread,
        ),
    ],
)
def test_the_gradient_of_a_loop_that_scatters_agrees_with_differences(
    text: str, reference: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
) -> None:
    kernel, a = tcjax.kernel(text), np.array([0.3, 0.7])
    weights = rng.normal(size=reference(a).shape)

    found = jax.grad(lambda a: jnp.sum(kernel(a) * weights))(jnp.asarray(a, "float32"))

    slopes = [np.sum((reference(a + h) - reference(a - h)) * weights) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(kernel(a), reference(a), rtol=1e-5)
    np.testing.assert_allclose(found, slopes, rtol=1e-4, atol=1e-5)


def _squared(v: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    found = [v[0]]
    for weight in v[1:]:
        found.append(weight * found[-1] ** 2)
    return np.array(found)


def _backwards(v: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.cumprod(v[::-1])[::-1]


def _roots(v: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    root = np.ones_like(v)
    for _ in range(3):
        root = 0.5 * (root + v / root)
    return root


@pytest.mark.parametrize(
    ("body", "reference"),
    [
        # JAX took the batch axes of the loop from one of two functions that had them in different places.
        ("y(0) = v(0) for t in 1:T { y(t) = v(t) * y(t-1) * y(t-1) }", _squared),
        ("y(T-1) = v(T-1) for t in T-2:-1:-1 { y(t) = v(t) * y(t+1) }", _backwards),
        ("y(i) = 1.0 where i in 0:T for n in 0:3 { y(i) = 0.5 * (y(i) + v(i) / y(i)) }", _roots),
    ],
)
def test_the_hessian_of_a_loop_agrees_with_second_differences(
    body: str, reference: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
) -> None:
    kernel = tcjax.kernel(f"def f(float(T) v) -> (y) {{ {body} }}")
    v = np.array([1.1, 0.9, 1.2, 0.8, 1.05])

    found = jax.hessian(lambda v: jnp.sum(kernel(v)))(v.astype(np.float32))

    def difference(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> float:
        signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
        return sum(a * b * reference(v + a * one + b * two).sum() for a, b in signs) / 4e-6

    steps = 1e-3 * np.eye(5)
    np.testing.assert_allclose(found, [[difference(a, b) for b in steps] for a in steps], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ("for t in 0:3 { y(i) max=! y(i) * A(i,j) }", "whose derivative needs both"),
        (
            "for t in 1:N { y(t) = y(t-1) * x(t) z(t) = sum[i where i <= t](y(i) * y(i)) y(t) = z(t) }",
            "after it read it",
        ),
    ],
)
def test_what_needs_two_values_of_an_element_is_refused(steps: str, words: str) -> None:
    kernel = tcjax.kernel(f"def f(float(N,N) A, float(N) x) -> (y) {{ y(i) = x(i) {steps} }}")

    with pytest.raises(tcjax.CompileError, match=words) as caught:
        kernel.adjoint()

    assert "another name" in (caught.value.help or "")


MATRIX_CHAIN = """def f(float(N) p) -> (float(5,5) C) { for i in 3:-1:-1 { for j in i+1:5 {
    C(i,j) = min[k in i:j](C(i,k) + C(k+1,j) + p(i) * p(k+1) * p(j+1)) } } }"""
EMPTYING = """def f(float(N) p) -> (float(5,5) C) { for i in 3:-1:-1 { for j in i+1:5 {
    C(i,j) min=! C(i,k) + C(k+1,j) + p(i) * p(k+1) * p(j+1) where k in 0:j, i <= k } } }"""


@pytest.mark.parametrize("text", [MATRIX_CHAIN, EMPTYING])
def test_a_reduction_begins_anew_only_where_the_loops_around_it_run(text: str) -> None:
    kernel = tcjax.kernel(text)
    p = np.array([1.1, 0.5, 0.9, 0.7, 0.8, 1.3])
    cotangent = rng.normal(size=(5, 5))

    def chain(p: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        costs = np.zeros((5, 5))
        for i in range(3, -1, -1):
            for j in range(i + 1, 5):
                costs[i, j] = min(costs[i, k] + costs[k + 1, j] + p[i] * p[k + 1] * p[j + 1] for k in range(i, j))
        return costs

    slopes = [np.sum((chain(p + h) - chain(p - h)) * cotangent) / 2e-6 for h in 1e-6 * np.eye(6)]
    given, weights = p.astype(np.float32), cotangent.astype(np.float32)
    for found in (kernel(given), kernel.interpret(given)):
        np.testing.assert_allclose(found, chain(p), rtol=1e-5)
    adjoint = kernel.adjoint()
    by_jax = jax.grad(lambda p: jnp.sum(kernel(p) * weights))(given)
    for found in (adjoint(given, weights), adjoint.interpret(given, weights), by_jax):
        np.testing.assert_allclose(found, slopes, rtol=1e-4, atol=1e-5)
