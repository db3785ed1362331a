"""Divisors are factors: ``/ c`` may appear anywhere in a product."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax import ir
from tcjax.planning import Compute
from tcjax.planning.data import nodes
from tcjax.transforms.factors import Product, summands


def value(text: str) -> ir.Expr:
    (statement,) = tcjax.kernel(f"O(i,j) = {text}").ir().statements
    assert isinstance(statement, ir.Define)
    return statement.value


def product(text: str) -> Product:
    (found,) = summands(value(text))
    return found


def shown(text: str) -> list[str]:
    return sorted(ir.show_expr(factor) for factor in product(text).factors)


def test_divisors_are_reciprocals() -> None:
    assert shown("A(i) / D(i) * C(j) / E(j)") == ["(1.0 / D[i])", "(1.0 / E[j])", "A[i]", "C[j]"]
    assert shown("1 / (1 / A(i,j))") == ["(1.0 / (1.0 / A[i, j]))"]
    assert product("-A(i,j) / B(i,j)").negative
    assert [ir.show_expr(f) for f in ir.factors(value("A(i) / D(i) * C(j)"))] == ["A[i]", "(1.0 / D[i])", "C[j]"]


def test_a_divisor_is_taken_apart_where_its_factors_have_other_indices() -> None:
    assert shown("A(i,j) / (B(i) * C(j))") == ["(1.0 / B[i])", "(1.0 / C[j])", "A[i, j]"]
    assert shown("A(i,j) / (B(i) * C(i))") == ["(1.0 / (B[i] * C[i]))", "A[i, j]"]


def test_a_quotient_of_integers_is_no_factor() -> None:
    (statement,) = tcjax.kernel("def f(int(N) a) -> (O) { O(i) = 3 * (a(i) / 2) }").ir().statements
    assert isinstance(statement, ir.Define)

    assert len(summands(statement.value)[0].factors) == 2


def test_a_reciprocal_divides_the_other_factors() -> None:
    assert ir.show_expr(ir.multiply(product("A(i) / D(i) * C(j)").factors)) == "((A[i] * C[j]) / D[i])"


SPELLINGS = (
    "O(i,j) +=! A(i,k) * B(k,j) / c(j)",
    "O(i,j) +=! A(i,k) / c(j) * B(k,j)",
    "O(i,j) +=! A(i,k) * (B(k,j) / c(j))",
    "O(i,j) +=! (1 / c(j)) * A(i,k) * B(k,j)",
    "O(i,j) = sum[k](A(i,k) / c(j) * B(k,j))",
)


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_quotient_inside_of_a_sum_is_a_matrix_product(text: str) -> None:
    kernel = tcjax.kernel(text)
    rng = np.random.default_rng(0)
    A, B = (rng.normal(size=shape).astype(np.float32) for shape in ((64, 48), (48, 80)))
    c = rng.uniform(1, 2, 80).astype(np.float32)
    order = dict(A=A, B=B, c=c)
    (stage,) = kernel.plan(**{name: jax.ShapeDtypeStruct(a.shape, a.dtype) for name, a in order.items()}).stages
    assert isinstance(stage, Compute)
    pending, kinds = [stage.value], set()
    while pending:
        node = pending.pop()
        kinds.add(type(node))
        pending += nodes.operands(node)

    assert nodes.Contract in kinds and nodes.LoopNest not in kinds
    np.testing.assert_allclose(kernel(**order), A.astype(float) @ B / c, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", ["/ sqrt(D)", "/ 8.0", "* 0.125"])
def test_a_number_that_scales_a_guarded_sum_has_no_mask(scale: str) -> None:
    program = f"def f(float(T,D) Q, float(T,D) K) -> (s) {{ s(q,k) +=! Q(q,d) * K(k,d) {scale} where k <= q }}"
    q, k = np.random.default_rng(0).standard_normal((2, 6, 64)).astype(np.float32)

    kernel = tcjax.kernel(program)

    assert str(kernel.plan(q, k)).count("where") == 1
    np.testing.assert_allclose(kernel(q, k), np.tril(q @ k.T) / 8, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", ["* 1e38", "/ 1e-30"])
def test_a_number_that_makes_an_infinity_of_others_does_not_reach_a_derivative(scale: str) -> None:
    program = f"def f(float(T) x, float(T) y) -> (s) {{ s(q,k) = k < q ? x(k) * y(q) {scale} : 0.0 }}"
    x, y = np.array([[1, 2, 3e38], [1, 2, 3]], np.float32)

    slope = jax.grad(lambda x: tcjax.kernel(program)(x, y)[0].sum())(x)

    np.testing.assert_array_equal(slope, np.zeros(3))
