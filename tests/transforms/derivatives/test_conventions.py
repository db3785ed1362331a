"""Where a function has no derivative, derivative programs follow JAX's convention."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax import CompileError
from tcjax.ir.builtins import BUILTINS

from .evaluation import Unit

pytestmark = pytest.mark.usefixtures("quickly_compiled")

POINTS = np.array([-2.5, -1.0, -0.7, -0.3, 0.0, 0.2, 0.5, 0.9, 1.0, 1.7, 3.0], np.float32)
UNNAMED = {"lgamma", "tgamma"}
WHOLE = {"popcount"}
FLAT = {"isnan", "isinf", "isfinite"}


@pytest.mark.parametrize("name", sorted(BUILTINS.keys() - UNNAMED - WHOLE - FLAT))
def test_a_builtin_has_the_derivative_that_jax_takes(name: str) -> None:
    arity = BUILTINS[name].arity
    names = "xyzw"[:arity]
    rng = np.random.default_rng(5)
    points = POINTS[POINTS >= 1] if name == "acosh" else POINTS
    arrays = {n: points if n == "x" else rng.permutation(POINTS) for n in names}
    if arity == 2:
        arrays["y"] = np.where(np.arange(len(POINTS)) % 3 == 0, POINTS, arrays["y"]).astype(np.float32)
    parameters = ", ".join(f"float(N) {n}" for n in names)
    text = f"def f({parameters}) -> (O) {{ O(i) = {name}({', '.join(f'{n}(i)' for n in names)}) }}"
    kernel = tcjax.kernel(text)
    ones = np.ones(len(points))
    expected = jax.grad(lambda real: jnp.sum(kernel(**real)))({n: jnp.asarray(a) for n, a in arrays.items()})

    found = Unit.of(text, arrays).adjoints(ones)

    for n in names:
        np.testing.assert_allclose(found[n], expected[n], rtol=2e-4, atol=1e-5, err_msg=n)


@pytest.mark.parametrize("name", sorted(UNNAMED))
def test_a_function_without_a_named_derivative_is_refused(name: str) -> None:
    unit = Unit.of(f"def f(float(N) x) -> (O) {{ O(i) = {name}(x(i)) }}", {"x": POINTS})

    with pytest.raises(CompileError, match="TC0309"):
        unit.adjoints(np.ones(len(POINTS)))


def check(text: str, arrays: dict[str, np.ndarray], rtol: float = 1e-5) -> None:
    """Checks against JAX, directly and through the tangent, with a random cotangent."""
    unit = Unit.of(text, arrays)
    cotangent = np.random.default_rng(2).normal(size=[size.constant for size in unit.output.shape])
    real = {n: jnp.asarray(arrays[n]) for n in unit.real}
    result, pull = jax.vjp(lambda real: tcjax.kernel(text)(**{**arrays, **real}), real)
    (expected,) = pull(jnp.asarray(cotangent, result.dtype))
    for found in (unit.adjoints(cotangent), unit.transposed(cotangent)):
        for name in unit.real:
            np.testing.assert_allclose(found[name], expected[name], rtol=rtol, atol=1e-6)


TIED = np.array([[3, 1, 1, 2], [0, 0, 0, 0], [4, 5, 5, 5]], np.float32)


@pytest.mark.parametrize("reducer", ["min", "max"])
def test_equal_extrema_share(reducer: str) -> None:
    check(f"def f(float(N,M) x) -> (O) {{ O(i) {reducer}=! x(i,j) }}", {"x": TIED})
    check(f"def f(float(N,M) x) -> (O) {{ O(i) {reducer}=! x(i,j) where j < i }}", {"x": TIED})


@pytest.mark.parametrize("operator", ["min", "max"])
def test_equal_arguments_share(operator: str) -> None:
    check(
        f"def f(float(N,M) x) -> (O) {{ O(i) +=! {operator}(x(i,j), 1) * {operator}(x(i,j), x(j,i)) where j in 0:3 }}",
        {"x": TIED},
    )


@pytest.mark.parametrize("rank", [0, 1, 3, 4, -1])
def test_the_first_of_equal_values_has_the_lower_rank(rank: int) -> None:
    text = f"def f(float(N,M) x) -> (O) {{ O(i) = mink[j](x(i,j), {rank}) }}"
    unit = Unit.of(text, {"x": TIED})
    expected = jax.grad(lambda x: jnp.sum(jnp.where(jnp.isfinite(v := tcjax.kernel(text)(x)), v, 0)))(jnp.asarray(TIED))

    np.testing.assert_array_equal(unit.adjoints(np.ones(3))["x"], expected)


@pytest.mark.parametrize("zeros", [0, 1, 2, 4])
def test_a_product_with_zeros(zeros: int) -> None:
    x = np.array([[2, 3, 0.5, 4], [1, -1, 3, 2]], np.float32)
    x[0, :zeros] = 0

    check("def f(float(N,M) x) -> (O) { O(i) *=! x(i,j) }", {"x": x})
    check("def f(float(N,M) x) -> (O) { O(i) *=! x(i,j) where j >= i }", {"x": x})


def test_a_logsumexp_of_nothing_passes_nothing() -> None:
    x = np.array([[0.5, -np.inf], [-np.inf, -np.inf], [1, 2]], np.float32)

    check("def f(float(N,M) x) -> (O) { O(i) logsumexp=! x(i,j) }", {"x": x})
    check("def f(float(N,M) x) -> (O) { O(i) logsumexp=! x(i,j) where j < i }", {"x": x})


def test_a_mean_of_nothing_passes_nothing() -> None:
    check("def f(float(N,M) x) -> (O) { O(i) mean=! x(i,j) where j < i }", {"x": TIED})


def test_a_branch_that_is_not_taken_passes_nothing() -> None:
    x = np.array([-1, 0, 1, 4], np.float32)

    check("def f(float(N) x) -> (O) { O +=! x(i) > 0 ? sqrt(x(i)) : 0.0 }", {"x": x})
    check("def f(float(N) x) -> (O) { O +=! x(i) > 0 ? log(x(i)) / x(i) : x(i) * x(i) }", {"x": x})


def test_integers_and_positions_pass_nothing() -> None:
    unit = Unit.of(
        "def f(float(N) x, int32(N) n) -> (O) { O +=! n(i) * float(int32(x(i))) }",
        {"x": TIED[0], "n": np.arange(4, dtype=np.int32)},
    )

    assert unit.real == ["x"]
    np.testing.assert_array_equal(unit.adjoints(np.float64(1.0))["x"], 0)


def test_a_python_function_brings_its_partial_derivatives() -> None:
    fns = {"g": lambda x, y: x * x * y, "d0_g": lambda x, y: 2 * x * y, "d1_g": lambda x, y: x * x}
    arrays = {"x": TIED[0], "y": TIED[2]}
    unit = Unit.of("def f(float(N) x, float(N) y) -> (O) { O +=! g(x(i), y(i)) }", arrays, fns)

    found = unit.adjoints(np.float64(1.0), fns)

    np.testing.assert_allclose(found["x"], 2 * arrays["x"] * arrays["y"])
    np.testing.assert_allclose(found["y"], arrays["x"] ** 2)


def test_a_product_with_two_zeros_has_a_second_derivative() -> None:
    kernel = tcjax.kernel("def f(float(M) y) -> (O) { O *=! y(j) - 1 }")
    y = np.array([2, 1, 3, 1, 0.5], np.float32)

    expected = jax.hessian(lambda y: jnp.prod(y - 1))(y)
    found = jax.jacobian(lambda y: kernel.adjoint()(y, np.float32(1)))(y)

    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_an_extremum_of_nothing_passes_nothing() -> None:
    x = np.array([[3, 1], [2, 2]], np.float32)
    text = "def f(float(N,M) x) -> (O) { O(i) min=! x(i,j) where j < i }"
    unit = Unit.of(text, {"x": x})

    np.testing.assert_array_equal(unit.adjoints(np.ones(2))["x"], [[0, 0], [1, 0]])
    np.testing.assert_array_equal(unit.transposed(np.ones(2))["x"], [[0, 0], [1, 0]])
    np.testing.assert_array_equal(unit.tangents({"x": x}), [0, 2])
