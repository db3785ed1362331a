"""The first few of many, as for nearest neighbours: selected, not sorted, with the same answer for all numbers."""

import jax
import numpy as np
import pytest

import tcjax
from tests.lowering.test_ranks import REDUCERS, order

MANY = 200


def rows(kind: str, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    found = rng.normal(size=(7, MANY)) * 100
    if kind == "ties":
        found = rng.integers(-2, 3, (7, MANY)).astype(float)
    if kind == "odd":
        odd = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0]
        found = np.where(rng.random((7, MANY)) < 0.5, rng.choice(odd, (7, MANY)), rng.integers(-1, 2, (7, MANY)))
        found[0], found[1, 1:] = np.nan, -np.inf
    return (found > 0) if dtype == "bool" else found.astype(dtype)


CASES = [(kind, "float") for kind in ("normal", "ties", "odd")] + [("ties", "int32"), ("ties", "bool"), ("odd", "half")]
NUMPY = {"float": "float32", "half": "float16", "int32": "int32", "bool": "bool"}


@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize(("kind", "dtype"), CASES)
def test_the_first_few_are_those_of_a_stable_sort(kind: str, dtype: str, reducer: str) -> None:
    x = rows(kind, NUMPY[dtype])
    kernel = tcjax.kernel(f"def f({dtype}(N,M) x) -> (o) {{ o(i,r) = {reducer}[j](x(i,j), r) where r in 0:5 }}")
    places = order(x, descending="max" in reducer)[:, :5]
    expected = places if "arg" in reducer else np.take_along_axis(x, places, -1)

    assert "the first 5 in order" in str(kernel.explain(x))
    np.testing.assert_array_equal(kernel(x), expected)


@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize(("kind", "dtype"), CASES)
def test_what_a_condition_leaves_out_comes_last(kind: str, dtype: str, reducer: str) -> None:
    x = rows(kind, NUMPY[dtype])
    # In the last rows hardly anything takes part, so some ranks do not exist.
    text = (
        f"def f({dtype}(N,M) x) -> (o) {{ o(i,r) = {reducer}[j where j % (40*i + 2) == 1](x(i,j), r) where r in 0:4 }}"
    )
    kernel = tcjax.kernel(text)

    np.testing.assert_array_equal(kernel(x), kernel.interpret(x))


def test_a_batch_and_the_derivative_go_to_what_was_selected() -> None:
    x = rows("normal", "float32")
    kernel = tcjax.kernel("def f(float(N,M) x) -> (o) { o(i,r) = mink[j](x(i,j), r) where r in 0:3 }")
    places = order(x, descending=False)[:, :3]
    expected = np.zeros_like(x)
    np.put_along_axis(expected, places, np.float32([[1, 2, 3]]), 1)

    slopes = jax.grad(lambda x: (kernel(x) * np.float32([1, 2, 3])).sum())(x)

    np.testing.assert_array_equal(slopes, expected)
    np.testing.assert_array_equal(jax.vmap(kernel)(np.stack([x, -x]))[1], kernel(-x))


def test_many_of_them_are_sorted() -> None:
    x = rows("normal", "float32")
    many = tcjax.kernel("def f(float(N,M) x) -> (o) { o(i,r) = mink[j](x(i,j), r) where r in 0:150 }")
    data = tcjax.kernel("def f(float(N,M) x, int32(N) r) -> (o) { o(i) = mink[j](x(i,j), r(i)) }")

    assert "sort" in str(many.explain(x)) and "sort" in str(data.explain(x, np.zeros(7, np.int32)))
    np.testing.assert_array_equal(many(x), np.sort(x, 1)[:, :150])
