"""Numbers that derivatives put together."""

import math
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tcjax
from tcjax import ir
from tcjax.transforms.derivatives import arithmetic

FOLDS: dict[str, tuple[Callable[[ir.Expr, ir.Expr], ir.Expr], Callable[[Decimal, Decimal], Decimal]]] = {
    "+": (arithmetic.plus, lambda a, b: a + b),
    "-": (arithmetic.minus, lambda a, b: a - b),
    "*": (arithmetic.times, lambda a, b: a * b),
}


def folded(operator: str, left: float, right: float) -> complex:
    found = arithmetic.number(FOLDS[operator][0](ir.Const(left, "float64"), ir.Const(right, "float64")))
    assert found is not None
    return found


@given(st.sampled_from(sorted(FOLDS)), st.decimals(-1000, 1000, places=3), st.decimals(-1000, 1000, places=3))
def test_of_decimals_it_is_the_decimal_result(operator: str, left: Decimal, right: Decimal) -> None:
    found = folded(operator, float(left), float(right))

    assert found == float(FOLDS[operator][1](left, right))


@given(st.sampled_from(sorted(FOLDS)), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_of_other_numbers_it_is_that_of_floats_but_for_their_rounding(operator: str, left: float, right: float) -> None:
    plain = {"+": left + right, "-": left - right, "*": left * right}[operator]

    found = folded(operator, left, right)

    assert isinstance(found, (int, float))
    assert (math.isnan(found) and math.isnan(plain)) or found == pytest.approx(plain, rel=4e-16, abs=4e-16 * abs(left))


@pytest.mark.parametrize(
    ("value", "derivative"),
    [("0.1*x(i)*0.1", "0.01"), ("pow(0.1*x(i), 2)", "0.02"), ("0.7*pow(x(i), 3)*0.1", "0.21")],
)
def test_a_printed_derivative_has_short_numbers(value: str, derivative: str) -> None:
    kernel = tcjax.kernel(f"def f(float(N) x) -> (o) {{ o(i) = {value} }}")

    assert f"+=! {derivative} * " in str(kernel.adjoint())
