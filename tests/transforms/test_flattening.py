"""Nested reductions of one kind become one, if neither skips points."""

import numpy as np
import pytest

import tcjax
from tcjax import ir, transforms
from tcjax.planning.data.nodes import Node
from tcjax.planning.data.stages import Compute

Array = np.ndarray

SAME = [
    ("O(y) = max[i in 0:3](max[j in 0:2](A(y,i,j)))", "O(y) = max[i in 0:3, j in 0:2](A(y,i,j))"),
    ("O(y) = min[i in 0:3](min[j in 0:2](A(y,i,j)))", "O(y) = min[i in 0:3, j in 0:2](A(y,i,j))"),
    ("O(y) = mean[i in 0:3](mean[j in 0:2](A(y,i,j)))", "O(y) = mean[i in 0:3, j in 0:2](A(y,i,j))"),
    ("O(y) max=! max[j in 0:2](A(y,i,j)) where i in 0:3", "O(y) max=! A(y,i,j) where i in 0:3, j in 0:2"),
]
APART = [
    "O(y) = max[i in 0:3](min[j in 0:2](A(y,i,j)))",
    "O(y) = max[i in 0:3](1.0 - max[j in 0:2](A(y,i,j)))",
    "O(y) = mean[i in 0:3](mean[j in 0:2 where j <= i](A(y,i,j)))",
    "O(y) = mean[i in 0:3](sum[j in 0:2](A(y,i,j)))",
]


def statement(text: str, array: Array) -> ir.Define | ir.Accumulate:
    (found,) = tcjax.kernel(text).ir(array).statements
    assert isinstance(found, (ir.Define, ir.Accumulate))
    return found


def computation(text: str, array: Array) -> Node:
    (stage,) = tcjax.kernel(text).plan(array).stages
    assert isinstance(stage, Compute)
    return stage.value


def numbers() -> Array:
    return np.random.default_rng(0).standard_normal((4, 3, 2)).astype(np.float32)


@pytest.mark.parametrize(("nested", "one"), SAME)
def test_reductions_of_one_kind_are_planned_as_one(nested: str, one: str) -> None:
    array = numbers()

    assert computation(nested, array) == computation(one, array)


@pytest.mark.parametrize("text", APART)
def test_others_stay_apart(text: str) -> None:
    array = numbers()

    assert transforms.flattened(statement(text, array)) is None
    kernel = tcjax.kernel(text)
    np.testing.assert_allclose(kernel(array), kernel.interpret(array), rtol=1e-5)


# A name from a clause binds its indices wherever it is read.
TWICE = [
    "O +=! A(y,0,0) * s * s where s = sum[i in 0:3](A(0,i,1))",
    "O(y) = sum[j in 0:2](s * A(y,0,j) * s) where s = sum[i in 0:3](A(y,i,1))",
    "O +=! s * A(y,0,0) * exp(s) where s = sum[i in 0:3](A(0,i,1))",
    "O +=! s * sum[i in 0:2](A(y,i,0) * s) where s = sum[i in 0:3](A(0,i,1))",
    "O +=! fabs(s) * A(y,1,0) * fabs(s) where s = sum[i in 0:3](A(y,i,1))",
    "O +=! s * A(y,1,0) / s where s = sum[i in 0:3](A(y,i,1))",
    "O +=! (i == y ? s : A(y,i,0)) * s where s = sum[j in 0:2](A(y,0,j))",
    "O mean=! m * A(y,0,0) * m where m = mean[i in 0:3](A(y,i,1))",
    "O max=! max(m, m) where m = max[i in 0:3](A(y,i,1)), y in 0:4",
]


@pytest.mark.parametrize("text", TWICE)
def test_a_sum_that_is_a_factor_twice_is_not_one_sum(text: str) -> None:
    array, kernel = numbers(), tcjax.kernel(text)

    np.testing.assert_allclose(kernel(array), kernel.interpret(array), rtol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("nested", "_"), SAME)
def test_what_is_not_finite_comes_through_as_it_is(nested: str, _: str, bad: float) -> None:
    array, kernel = numbers(), tcjax.kernel(nested)
    array[1, 2, 1] = array[2] = bad

    np.testing.assert_allclose(kernel(array), kernel.interpret(array), rtol=1e-5)
