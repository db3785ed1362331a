"""Softmaxes written with a logarithm: which become quotients, and that values and derivatives stay right."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute

pytestmark = pytest.mark.usefixtures("quickly_compiled")

INF, NAN = np.inf, np.nan
LOGSUMEXP = "l(n) logsumexp=! x(n,d)\n y(n,d) = exp(x(n,d) - l(n))"
# Each of them is the softmax of every row.
QUOTIENTS = {
    "a name": LOGSUMEXP,
    "no name": "y(n,d) = exp(x(n,d) - logsumexp[k](x(n,k)))",
    "the other way round": "y(n,d) = exp(-(logsumexp[k](x(n,k)) - x(n,d)))",
    "by hand": "m(n) max=! x(n,d)\n l(n) = m(n) + log(sum[d](exp(x(n,d) - m(n))))\n y(n,d) = exp(x(n,d) - l(n))",
    "in place": """m(n) max=! x(n,d)
        l(n) +=! exp(x(n,d) - m(n))
        l(n) = log(l(n))
        l(n) += m(n)
        y(n,d) = exp(x(n,d) - l(n))""",
    "differences": """z(n,d) = x(n,d) - max[k](x(n,k))
        l(n) = log(sum[d](exp(z(n,d))))
        y(n,d) = exp(z(n,d) - l(n))""",
}
# Near misses: a value that is not in the sum, a missing condition, a logarithm that is also returned, a sum whose
# exponents are not relative to the largest.
OTHERS = {
    "another scale": "y(n,d) = exp(2.0*x(n,d) - logsumexp[k](x(n,k)))",
    "more than the sum has": "y(n,d) = exp(x(n,d) - logsumexp[k where k >= 1](x(n,k)))",
    "another extremum": "y(n,d) = exp(x(n,d) - min[k](x(n,k)) - log(sum[j](exp(x(n,j) - min[k](x(n,k))))))",
    "no extremum": "y(n,d) = exp(x(n,d) - log(sum[k](exp(x(n,k)))))",
    "half of a square": "y(n,d) = exp(x(n,d) - logsumexp[j,k](x(j,k)) / 2.0)",
}
ROWS = np.array(
    [
        [1, 2, 3],
        [-INF, 1, 2],
        [-INF, -INF, -INF],
        [INF, 1, 100],
        [INF, -INF, 3],
        [INF, INF, 1],
        [NAN, 1, 2],
        [1e38, -1e38, 3e38],
        [200, 100, -200],
    ],
    "float32",
)


def kernel_of(body: str, dtype: str = "float", returns: str = "y") -> tcjax.Kernel:
    return tcjax.kernel(f"def f({dtype}(N,D) x) -> ({returns}) {{ {body} }}")


def divides(kernel: tcjax.Kernel, x: np.ndarray) -> bool:
    """Whether the result is a quotient without a logarithm."""
    text = str(kernel.plan(x))
    return any(f"    {quotient} -> " in text for quotient in ("/", "share")) and "log -> " not in text


def stored(kernel: tcjax.Kernel, x: np.ndarray) -> list[str]:
    return [stage.target for stage in kernel.plan(x).stages if isinstance(stage, Compute)]


@pytest.mark.parametrize("name", QUOTIENTS)
def test_an_exponential_relative_to_the_logarithm_of_its_sum_is_a_quotient(name: str) -> None:
    kernel = kernel_of(QUOTIENTS[name])

    assert divides(kernel, ROWS)
    assert "l" not in stored(kernel, ROWS)


@pytest.mark.parametrize("name", OTHERS)
def test_other_exponentials_stay(name: str) -> None:
    assert not divides(kernel_of(OTHERS[name]), ROWS)


def test_a_logarithm_that_is_returned_stays() -> None:
    kernel = kernel_of(LOGSUMEXP, returns="y, l")

    assert stored(kernel, ROWS) == ["l", "y"]
    assert not divides(kernel, ROWS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", QUOTIENTS)
def test_rows_of_infinities_are_the_interpreters(name: str, dtype: str) -> None:
    with jax.enable_x64(True):
        kernel = kernel_of(QUOTIENTS[name], dtype)
        rows = ROWS.astype(dtype)

        np.testing.assert_allclose(kernel(rows), kernel.interpret(rows), rtol=1e-5, atol=1e-30)


def test_a_quotient_keeps_digits_that_the_logarithm_loses() -> None:
    row = np.array([[1e4, 1e4, -1e4]], "float32")

    assert kernel_of(LOGSUMEXP)(row).tolist() == [[0.5, 0.5, 0.0]]


@pytest.mark.parametrize("where", ["y(n,d) = d <= n ? {} : 0.0", "y(n,d) = {} where d <= n"])
def test_under_the_condition_of_the_sum_it_is_a_quotient(where: str) -> None:
    kernel = kernel_of(where.format("exp(x(n,d) - logsumexp[k where k <= n](x(n,k)))"))

    assert divides(kernel, ROWS)
    np.testing.assert_allclose(kernel(ROWS), kernel.interpret(ROWS), rtol=1e-5, atol=1e-30)


def test_scores_that_are_sums_are_found_again() -> None:
    scores = "sum[d](x(n,d) * x({},d))"
    kernel = kernel_of(f"y(n,m) = exp({scores.format('m')} - logsumexp[k]({scores.format('k')}))")
    x = np.random.default_rng(0).standard_normal((5, 4), "float32")

    assert divides(kernel, x)
    np.testing.assert_allclose(kernel(x), jax.nn.softmax(x @ x.T, axis=1), rtol=1e-5)


# Each of them is an attention over the columns.
ATTENTIONS = {
    "a name": "l(n) logsumexp=! x(n,d)\n y(n,e) +=! exp(x(n,d) - l(n)) * v(d,e)",
    "no name": "y(n,e) +=! v(d,e) * exp(x(n,d) - logsumexp[k](x(n,k)))",
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_what_is_summed_is_a_quotient_of_sums(name: str) -> None:
    kernel = tcjax.kernel(f"def f(float(N,D) x, float(D,E) v) -> (y) {{ {ATTENTIONS[name]} }}")
    # A zero does not hide an infinity.
    for v in np.array([[[1, 2], [0, -1], [3, 0]], [[0, 1e30], [-3, 2], [0, 1]]], "float32"):
        text = str(kernel.plan(ROWS, v))
        assert "log -> " not in text and "e+38" not in text
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(kernel(ROWS, v), kernel.interpret(ROWS, v), rtol=1e-5, atol=1e-30)


def test_a_part_of_a_row_keeps_what_is_finite() -> None:
    # The first row's infinity is not among the points of the sum, whose exponentials are zeros.
    kernel = tcjax.kernel("def f(float(N,D) x) -> (y) { y(n) +=! exp(x(n,d) - logsumexp[k](x(n,k))) where d >= 1 }")
    rows = np.array([[INF, 1, 2], [3, INF, 1], [1, 2, 3]], "float32")

    np.testing.assert_allclose(kernel(rows), kernel.interpret(rows), rtol=1e-5)


def test_half_precision_is_the_interpreters() -> None:
    kernel = kernel_of(LOGSUMEXP, "half")
    x = np.random.default_rng(0).standard_normal((4, 6)).astype("float16")

    np.testing.assert_allclose(kernel(x), kernel.interpret(x), rtol=2e-3)


@pytest.mark.parametrize("name", QUOTIENTS)
def test_the_derivative_is_that_of_a_softmax(name: str) -> None:
    kernel = kernel_of(QUOTIENTS[name])
    x = np.random.default_rng(0).standard_normal((4, 6)).astype("float32")

    found = jax.grad(lambda x: jnp.sin(kernel(x)).sum())(x)

    with jax.enable_x64(True):
        wanted = jax.grad(lambda x: jnp.sin(jax.nn.softmax(x, axis=1)).sum())(x.astype("float64"))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
