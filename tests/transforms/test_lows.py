"""Operands of sums with minus infinity, and bounds of sums of products."""

import pytest

from tcjax import ir, transforms

from .stepping import steps

ROWS, WIDTH = 6, 4


def statement_of(body: str) -> ir.Define | ir.Accumulate:
    head = "float(N,D) Q, float(N,D) K, float(N) c"
    return steps(head, body, (ROWS, WIDTH), (ROWS, WIDTH), (ROWS,)).steps[0].statement


@pytest.mark.parametrize(
    ("body", "finite"),
    [
        ("O(n) = c(n) + sum[k](exp(sum[d](Q(n,d) * K(k,d)) + -inf))", "sum[d]((Q[n, d] * K[k, d]))"),
        ("O(n) = sum[k](exp(c(k) - inf)) + c(n)", "c[k]"),
    ],
)
def test_an_exponential_of_what_minus_infinity_is_added_to_is_zero_where_that_is_finite(body: str, finite: str) -> None:
    found = transforms.without_lows(statement_of(body))

    assert found is not None
    assert ir.show_expr(found.statement.value) == "c[n]"
    assert [*map(ir.show_expr, found.finite)] == [finite]


@pytest.mark.parametrize("body", ["O(n) = exp(c(n) + 3.0)", "O(n) = exp(c(n) + inf)", "O(n) = c(n) + -inf"])
def test_other_values_stay(body: str) -> None:
    assert transforms.without_lows(statement_of(body)) is None


def test_a_sum_of_products_is_no_larger_than_that_of_the_sums_of_their_factors() -> None:
    found = transforms.magnitude(statement_of("O(n,k) = sum[d](Q(n,d) * K(k,d)) / sqrt(D) - c(k)").value)

    assert found is not None
    assert not ir.free_indices(found)
    inner = next(node for node in ir.walk(found) if isinstance(node, ir.Reduce))
    assert inner.indices[0].name == "d" and len([*ir.accesses(found)]) == 3


@pytest.mark.parametrize("body", ["O(n) = exp(c(n))", "O(n) = 1.0 / c(n)", "O(n) = max[d](Q(n,d))"])
def test_nothing_is_known_of_other_functions(body: str) -> None:
    assert transforms.magnitude(statement_of(body).value) is None
