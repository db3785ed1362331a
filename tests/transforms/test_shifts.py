"""Extrema that cancel: which are detected, which must not be, and that derivatives are right either way."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.diagnostics import CompileWarning
from tests.agreement import comparing
from tests.agreement.passing import passing
from tests.strategies.programs import Case

from .stepping import steps

pytestmark = pytest.mark.usefixtures("quickly_compiled")

HEAD = "float(M,N) x"
QKV = "float(M,D) q, float(N,D) k, float(N,E) v"
SEGMENTS = "float(N) x, int32(N) s"
SHAPES = {HEAD: [(4, 6)], QKV: [(4, 3), (5, 3), (5, 2)], SEGMENTS: [(7,), (7,)]}
MAX = "m(i) max=! x(i,j)\n "
EXP = "e(i,j) = exp(x(i,j)-m(i))\n "
DIFFERENCES = "c(i,j) = x(i,j)-m(i)\n "
NORMED = "O(i,j) = e(i,j)/sum[k](e(i,k))"

# Statements whose extremum `m` cancels, with their parameters where these are not HEAD.
CANCELS: dict[str, str | tuple[str, str]] = {
    "softmax": MAX + EXP + "l(i) +=! e(i,j)\n O(i,j) = e(i,j)/l(i)",
    "softmax, an inline extremum": "m(i) = max[j](x(i,j))\n O(i,j) = exp(x(i,j)-m(i))/sum[k](exp(x(i,k)-m(i)))",
    "softmax by a reciprocal": MAX + "l(i) +=! exp(x(i,j)-m(i))\n O(i,j) = exp(x(i,j)-m(i))*(1.0/l(i))",
    "softmax relative to a minimum": "m(i) min=! x(i,j)\n " + EXP + NORMED,
    "softmax of all": "m max=! x(i,j)\n e(i,j) = exp(x(i,j)-m)\n l +=! e(i,j)\n O(i,j) = e(i,j)/l",
    "logarithms of a softmax": MAX + DIFFERENCES + "O(i,j) = c(i,j)-log(sum[k](exp(c(i,k))))",
    "an entropy": MAX + EXP + "p(i,j) = e(i,j)/sum[k](e(i,k))\n O(i) +=! -p(i,j)*log(p(i,j))",
    "logsumexp": MAX + "l(i) +=! exp(x(i,j)-m(i))\n O(i) = m(i)+log(l(i))",
    "logsumexp in place": MAX + "O(i) +=! exp(x(i,j)-m(i))\n O(i) = log(O(i))\n O(i) += m(i)",
    "logsumexp, negated": "m(i) min=! x(i,j)\n l(i) +=! exp(m(i)-x(i,j))\n O(i) = m(i)-log(l(i))",
    "logsumexp, base 2": MAX + "l(i) +=! exp2(x(i,j)-m(i))\n O(i) = m(i)+log2(l(i))",
    "logsumexp, mixed bases": MAX + "l(i) +=! exp2((x(i,j)-m(i))*1.4426950408889634)\n O(i) = m(i)+log(l(i))",
    "logsumexp, a temperature": MAX + "l(i) +=! exp((x(i,j)-m(i))/2.0)\n O(i) = m(i)+2.0*log(l(i))",
    "logsumexp of what is relative": MAX + DIFFERENCES + "l(i) logsumexp=! c(i,j)\n O(i) = m(i)+l(i)",
    "a mean of exponentials": MAX + "l(i) mean=! exp(x(i,j)-m(i))\n O(i) = m(i)+log(l(i))",
    "a centre": MAX + DIFFERENCES + "v(i) mean=! c(i,j)\n O(i,j) = c(i,j)-v(i)",
    "an extremum of what is relative": MAX + DIFFERENCES + "d(i) = mean[j](c(i,j))\n O(i,j) = c(i,j)-d(i)",
    "a position": MAX + DIFFERENCES + "p(i) argmax=! c(i,j)\n O(i) = x(i,p(i))",
    "a guard": "m(i) max=! x(i,j) where j >= i\n e(i,j) = exp(x(i,j)-m(i)) where j >= i\n " + NORMED,
    "a mask": "y(i,j) = j >= i ? x(i,j) : -inf\n m(i) max=! y(i,j)\n e(i,j) = exp(y(i,j)-m(i))\n " + NORMED,
    "a mask of exponentials": MAX + "e(i,j) = j >= i ? exp(x(i,j)-m(i)) : 0.0\n " + NORMED,
    "a mask of differences": MAX + "c(i,j) = j >= i ? x(i,j)-m(i) : -inf\n O(i) = log(sum[j](exp(c(i,j)))) + m(i)",
    "attention": (
        QKV,
        "s(i,j) +=! q(i,d)*k(j,d)/sqrt(D)\n m(i) max=! s(i,j)\n p(i,j) = exp(s(i,j)-m(i))\n l(i) +=! p(i,j)\n"
        " o(i,e) +=! p(i,j)*v(j,e)\n O(i,e) = o(i,e)/l(i)",
    ),
    "cross entropy": (
        "float(M,N) x, int32(M) y",
        MAX + "l(i) +=! exp(x(i,j)-m(i))\n O mean=! m(i)+log(l(i))-x(i,y(i))",
    ),
}
# The same in one statement, whose inline extremum cancels.
SCORES = "sum[d](q(i,d)*k(j,d)) - max[l](sum[d](q(i,d)*k(l,d)))"
INLINE: dict[str, str | tuple[str, str]] = {
    "softmax": "O(i,j) = exp(x(i,j)-max[k](x(i,k)))/sum[k](exp(x(i,k)-max[l](x(i,l))))",
    "logsumexp": "O(i) = max[k](x(i,k)) + log(sum[j](exp(x(i,j)-max[k](x(i,k)))))",
    "attention": (QKV, f"O(i,e) = sum[j](exp({SCORES})*v(j,e)) / sum[j](exp({SCORES}))"),
}
# Results that depend on the extremum in some way.
CHANGES: dict[str, str | tuple[str, str]] = {
    "added in place twice": MAX + "O(i) +=! exp(x(i,j)-m(i))\n O(i) = log(O(i))\n O(i) += m(i)\n O(i) += m(i)",
    "multiplied in place": MAX + "O(i) +=! exp(x(i,j)-m(i))\n O(i) *= m(i)",
    "used on its own": MAX + EXP + "O(i,j) = e(i,j)/sum[k](e(i,k)) + m(i)",
    "a sum of differences": MAX + "O(i) = sum[j](x(i,j)-m(i))",
    "a sum with its number": MAX + "O(i) = sum[j](x(i,j)-m(i)) + 6*m(i)",
    "a very small weight": MAX + "O(i) = 1e10*(m(i)*1e-10)",
    "products with weights": MAX + "O(i,j) = x(i,0)*(x(i,j)-m(i)) + x(i,0)*m(i)",
    "a product of differences": MAX + "O(i,j) = (x(i,j)-m(i))*(x(i,0)-m(i))",
    "another base": MAX + "l(i) +=! exp2(x(i,j)-m(i))\n O(i) = m(i)+log(l(i))",
    "a mask of 0": MAX + "c(i,j) = j >= i ? x(i,j)-m(i) : 0.0\n O(i) = log(sum[j](exp(c(i,j)))) + m(i)",
    "a mask of 1": MAX + "e(i,j) = j >= i ? exp(x(i,j)-m(i)) : 1.0\n " + NORMED,
    "a part that is written anew": MAX + EXP + "e(i,0) = 1.0 where i in 0:M\n " + NORMED,
    "a part of the extremum": MAX + "m(0) = 1.0\n " + EXP + "O(i,j) = e(i,j)/sum[k](e(k,j))",
    "a product that goes on": MAX + "l(i) = x(i,0)\n l(i) *= exp(x(i,j)-m(i))\n O(i) = l(i)*exp(m(i))",
    "another row": MAX + EXP + "l(i) +=! e(i,j)\n O(i,j) = e(i,j)/l(3-i)",
    "rows together": MAX + EXP + "l +=! e(i,j)\n O(i,j) = e(i,j)/l",
    "whole numbers": MAX + "O(i,j) = float(int32(4*(x(i,j)-m(i)))) + m(i)",
    "a condition": MAX + "O(i,j) = x(i,j) > m(i)-1 ? x(i,j) : 0.0",
    "a guard": MAX + "O(i) +=! x(i,j) where x(i,j) > m(i)-1",
    "another function": MAX + "O(i) +=! sqrt(1+m(i)-x(i,j))",
    "never used": MAX + "O(i) +=! x(i,j)",
    "two of a statement": "O(i) = max[j](x(i,j)) - max[j](2*x(i,j))",
    "read beyond the ends": (
        SEGMENTS,
        "m(b) max=! x(n)*(b+1) where b in 0:4\n e(b) = exp(m(b)) where b in 0:2\n O(n) = e(s(n))/exp(m(s(n)))",
    ),
}


def parts(program: str | tuple[str, str]) -> tuple[str, str]:
    """The parameters and the statements."""
    return (HEAD, program) if isinstance(program, str) else program


def case(head: str, body: str) -> Case:
    names = [word.split()[-1] for word in head.split(", ")]
    shapes = SHAPES.get(head, [(4, 6), (4,)])
    rng = np.random.default_rng(3)
    given = {
        name: rng.integers(0, 4, shape, np.int32) if name in ("s", "y") else np.float32(rng.normal(size=shape))
        for name, shape in zip(names, shapes, strict=True)
    }
    return Case(f"def f({head}) -> (O) {{ {body} }}", given)


def fixed(head: str, body: str, returns: str = "O", before: str = "") -> list[str]:
    types = ["int32" if "int32" in part else "float32" for part in head.split(", ")]
    return steps(head, body, *SHAPES.get(head, [(4, 6), (4,)]), types=types, returns=returns, before=before).fixed()


@pytest.mark.parametrize("program", CANCELS.values(), ids=CANCELS)
def test_an_extremum_that_cancels_is_found_and_derivatives_are_right(program: str | tuple[str, str]) -> None:
    assert fixed(*parts(program)) == ["m"]

    comparing.grads(case(*parts(program)))


@pytest.mark.parametrize("program", INLINE.values(), ids=INLINE)
def test_an_inline_extremum_that_cancels_is_found_too(program: str | tuple[str, str]) -> None:
    assert fixed(*parts(program)) == ["O"]

    comparing.grads(case(*parts(program)))


@pytest.mark.parametrize("program", CHANGES.values(), ids=CHANGES)
def test_an_extremum_that_does_not_cancel_passes_its_derivative(program: str | tuple[str, str]) -> None:
    assert fixed(*parts(program)) == []

    comparing.grads(case(*parts(program)))


def test_extrema_after_each_other_cancel() -> None:
    second = "p(i,j) = e(i,j)/sum[k](e(i,k))\n n(j) max=! p(i,j)\n g(i,j) = exp(p(i,j)-n(j))\n "
    body = MAX + EXP + second + "O(i,j) = g(i,j)/sum[h](g(h,j))"

    assert fixed(HEAD, body) == ["m", "n"]
    comparing.grads(case(HEAD, body))


def test_what_is_returned_changes() -> None:
    body = MAX + "O(i,j) = exp(x(i,j)-m(i))/sum[k](exp(x(i,k)-m(i)))"

    assert fixed(HEAD, body) == ["m"]
    assert fixed(HEAD, body, returns="O, m") == []


def test_what_another_definition_reads_changes() -> None:
    twice = "def g(float(P) X) -> (Y) { Y(p) = X(p)*2 }"

    assert fixed(HEAD, MAX + "U = g(m)\n O(i) = U(i) - 2*m(i)", before=twice) == []
    assert fixed(HEAD, MAX + "c(i) = m(i)-m(i)\n U = g(c)\n O(i) = U(i) + x(i,0)", before=twice) == ["m"]


def test_whole_numbers_have_no_derivative_to_pass() -> None:
    found = steps("int32(M,N) x", MAX + "O(i,j) = x(i,j)-m(i)+m(i)", (4, 6), types=["int32"])

    assert found.fixed() == []


@pytest.mark.parametrize("masked", [False, True])
def test_rows_without_points_and_ties_have_the_derivatives_of_numpy(masked: bool) -> None:
    kernel = tcjax.kernel(f"def f({HEAD}) -> (O) {{ {MAX} l(i) +=! exp(x(i,j)-m(i))\n O(i) = m(i)+log(l(i)) }}")
    x = np.repeat(np.float32([[1], [2], [-3]]), 4, axis=1)
    if masked:
        x[1, 2:] = -np.inf

    found = jax.grad(lambda x: kernel(x).sum())(x)

    weights = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(found, weights / weights.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("text", [CANCELS["softmax"], INLINE["softmax"]], ids=["named", "inline"])
def test_second_derivatives_of_a_softmax_are_those_of_float64(text: str) -> None:
    kernel = tcjax.kernel(f"def f({HEAD}) -> (O) {{ {text} }}")
    x = np.random.default_rng(0).normal(size=(1, 5)).astype(np.float32)
    weights = np.arange(1.0, 6.0, dtype=np.float32)

    found = jax.hessian(lambda x: (kernel(x) * weights).sum())(x).reshape(5, 5)

    p = np.exp(x[0].astype(np.float64))
    p /= p.sum()
    mean = p @ weights
    expected = np.diag(p * (weights - mean)) - np.outer(p, p * (weights - mean)) - np.outer(p * (weights - mean), p)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_no_derivative_runs_through_an_extremum_that_cancels() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        kernel = tcjax.kernel(f"def f({HEAD}) -> (O) {{ {CANCELS['logsumexp']} }}")
    x = jax.ShapeDtypeStruct((4, 6), np.float32)

    traced = str(jax.make_jaxpr(jax.linearize(lambda x: kernel(x), np.zeros((4, 6), np.float32))[1])(x))

    assert "select_n" not in traced
    assert " eq " not in traced


def test_a_pass_keeps_that_an_extremum_passes_no_derivative() -> None:
    scores = "sum[d](q(i,d) * k(j,d))"
    others = ("sum[d](q(i,d) * k(a,d))", "sum[d](q(i,d) * k(b,d))", "sum[d](q(i,d) * k(c,d))")
    weights = f"exp({scores} - max[a]({others[0]})) / sum[b](exp({others[1]} - max[c]({others[2]})))"
    kernel = tcjax.kernel(
        f"def f(float(N,D) q, float(M,D) k, float(M,E) v) -> (O) {{ w(i,j) = {weights}  O(i,e) +=! w(i,j) * v(j,e) }}"
    )
    rng = np.random.default_rng(0)
    q, k, v = (jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in ((7, 3), (8, 3), (8, 2)))
    direction = jnp.asarray(rng.normal(size=(7, 2)), jnp.float32)

    with passing():
        assert "online softmax" in str(kernel.plan(q, k, v))
        found = jax.grad(lambda *given: jnp.sum(kernel(*given) * direction), (0, 1, 2))(q, k, v)

    expected = jax.grad(lambda q, k, v: jnp.sum((jax.nn.softmax(q @ k.T) @ v) * direction), (0, 1, 2))(q, k, v)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)
