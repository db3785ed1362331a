"""A term that is one more value of an adjacent reduction becomes part of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tcjax
from tcjax import ir, transforms

from .stepping import steps

HEAD = "float(N,T) x"
SHAPE = (3, 7)

Row = np.ndarray
Expected = Callable[[Row, int], Any]

# The values that a spelling reduces at position `t` of a row of seven elements.
GROWN: dict[str, Expected] = {
    "O(n,t) = x(n,t) + sum[s where s < t](x(n,s))": lambda row, t: row[: t + 1].sum(),
    "O(n,t) = sum[s in 0:t](x(n,s)) + x(n,t)": lambda row, t: row[: t + 1].sum(),
    "O(n,t) = sum[s in t+1:T](x(n,s)) + x(n,t)": lambda row, t: row[t:].sum(),
    "O(n,t) = max(x(n,t), max[s where s < t](x(n,s)))": lambda row, t: row[: t + 1].max(),
    "O(n,t) = min(min[s where s > t](x(n,s)), x(n,t))": lambda row, t: row[t:].min(),
    "O(n,t) = x(n,t) * prod[s where s < t](x(n,s))": lambda row, t: row[: t + 1].prod(),
    "O(n,t) = -2*x(n,t) - 2*sum[s where s < t](x(n,s))": lambda row, t: -2 * row[: t + 1].sum(),
    "O(n,t) = x(n,t) - sum[s where s < t](-x(n,s))": lambda row, t: row[: t + 1].sum(),
    "O(n,t) = exp(x(n,t)) + t + sum[s where s < t](exp(x(n,s)) + s)": lambda row, t: (
        np.exp(row[: t + 1]).sum() + t * (t + 1) // 2
    ),
    "O(n,t) = x(n,t) + sum[s where t-3 <= s && s < t](x(n,s))": lambda row, t: row[max(0, t - 3) : t + 1].sum(),
    "O(n,t) = x(n,0) + sum[s in 1:T](x(n,s)) where t in 0:T": lambda row, t: row.sum(),
    "O(n,t) = x(n,5) + sum[s in 0:4](x(n,s)) + x(n,4) where t in 0:T": lambda row, t: row[:6].sum(),
}
# The term is not a value of the reduction, or not the next one at every point.
APART: dict[str, Expected] = {
    "O(n,t) = fmax(x(n,t), max[s where s < t](x(n,s)))": lambda row, t: np.fmax(row[t], row[:t].max(initial=-np.inf)),
    "O(n,t) = x(n,t) - sum[s where s <= t](x(n,s))": lambda row, t: row[t] - row[: t + 1].sum(),
    "O(n,t) = x(n,t) + sum[s where s <= t](x(n,s))": lambda row, t: row[t] + row[: t + 1].sum(),
    "O(n,t) = 2*x(n,t) + sum[s where s < t](x(n,s))": lambda row, t: row[t] + row[: t + 1].sum(),
    "O(n,t) = x(n,t) + sum[s in 2:T where s < t](x(n,s))": lambda row, t: row[t] + row[2 : max(2, t)].sum(),
    "O(n,t) = x(n,t) + sum[s in 0:3 where s < t](x(n,s))": lambda row, t: row[t] + row[: min(3, t)].sum(),
    "O(n,t) = x(n,t) + sum[s where s < t && s < 2*t-4](x(n,s))": lambda row, t: (
        row[t] + row[: max(0, min(t, 2 * t - 4))].sum()
    ),
    "O(n,t) = t < T-1 ? x(n,t+1) + sum[s where s <= t](x(n,s)) : 0.0 where t in 0:T": lambda row, t: (
        row[: t + 2].sum() if t < len(row) - 1 else 0
    ),
}


def has_terms_beside(text: str) -> bool:
    """Whether a term is joined with a reduction in the normal form of a statement."""
    (step,) = steps(HEAD, text, SHAPE).steps.values()
    nodes = list(ir.walk(transforms.plain_indices(step).statement.value))
    beside = [(node, part) for node in nodes for part in ir.children(node) if isinstance(part, ir.Reduce)]
    return any(_joins(node, part.reducer) for node, part in beside)


def _joins(node: ir.Expr, reducer: ir.Reducer | ir.Monoid) -> bool:
    match node:
        case ir.Binary(operator):
            return operator == reducer.operator or (operator == "-" and reducer is ir.Reducer.SUM)
        case _:
            return isinstance(node, ir.Call)


def check(text: str, expected: Expected) -> None:
    x = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    kernel = tcjax.kernel(f"def f({HEAD}) -> (O) {{ {text} }}")

    wanted = [[expected(row, t) for t in range(SHAPE[1])] for row in x.astype(np.float64)]

    np.testing.assert_allclose(kernel(x), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(kernel.interpret(x), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("text", GROWN)
def test_a_term_that_is_the_next_value_of_a_reduction_is_part_of_it(text: str) -> None:
    assert not has_terms_beside(text)
    check(text, GROWN[text])


@pytest.mark.parametrize("text", APART)
def test_another_term_stays_beside_it(text: str) -> None:
    assert has_terms_beside(text)
    check(text, APART[text])


def test_a_nan_and_an_infinity_are_extrema_as_before() -> None:
    x = np.array([[1, np.inf, 2, np.nan, 3], [-np.inf, -np.inf, 0, 1, np.inf]], np.float32)

    largest = tcjax.kernel("O(n,t) = max(x(n,t), max[s where s < t](x(n,s)))")(x)

    np.testing.assert_array_equal(largest, np.maximum.accumulate(x, 1))


def test_integers_wrap_around_as_before() -> None:
    x = np.full((1, 4), 100, np.int8)

    total = tcjax.kernel("O(n,t) = x(n,t) + sum[s where s < t](x(n,s))")(x)

    np.testing.assert_array_equal(total, np.array([[100, -56, 44, -112]], np.int8))
