"""Order statistics of a few terms, compared in one fused loop: NaN first, equal values in order of position."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax.planning.data.nodes import Unroll
from tcjax.planning.data.stages import Compute

from .test_places import images, unrolled

REDUCERS = ("mink", "maxk", "argmink", "argmaxk")
WINDOWS = "def f(TYPE(N,H,W) I) -> (P) { P(n,h,w) = REDUCE[i in 0:2, j in 0:2](I(n,2*h+i,2*w+j), RANK) }"
MEDIAN = "def f(float(H,W) I) -> (O) { O(y,x) = mink[i in 0:3, j in 0:3](I(y+i,x+j), 4) }"


def order(rows: np.ndarray, *, descending: bool) -> np.ndarray:
    """The positions along the last axis in order: a stable sort, NaN first, then by value."""
    keys = rows.astype(np.float64) * (-1 if descending else 1)
    by_value = np.argsort(np.where(np.isnan(keys), 0, keys), -1, kind="stable")
    group = np.take_along_axis(~np.isnan(keys), by_value, -1)
    return np.take_along_axis(by_value, np.argsort(group, -1, kind="stable"), -1)


@pytest.mark.parametrize("rank", [0, 1, 3])
@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize("name", images())
def test_what_has_a_rank_in_a_window_is_found_among_its_terms(name: str, reducer: str, rank: int) -> None:
    image = images()[name]
    rows = image.reshape(3, 4, 2, 3, 2).transpose(0, 1, 3, 2, 4).reshape(3, 4, 3, 4)
    places = order(rows, descending="max" in reducer)[..., rank]
    expected = places if "arg" in reducer else np.take_along_axis(rows, places[..., None], -1)[..., 0]
    text = WINDOWS.replace("TYPE", {"float32": "float"}.get(str(image.dtype), str(image.dtype)))
    kernel = tcjax.kernel(text.replace("REDUCE", reducer).replace("RANK", str(rank)))

    found = kernel(image)

    assert unrolled(kernel, image)
    np.testing.assert_array_equal(found, expected)
    if found.dtype == np.float32:
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("rank", [-1, 4])
def test_a_rank_that_no_term_has_gives_what_nothing_gives(rank: int) -> None:
    image = images()["normal"]
    kernel = tcjax.kernel(WINDOWS.replace("TYPE", "float").replace("REDUCE", "mink").replace("RANK", str(rank)))

    np.testing.assert_array_equal(kernel(image), np.full((3, 4, 3), np.inf, np.float32))


@pytest.mark.parametrize("rank", [0, 2])
def test_the_derivative_goes_to_the_first_place_of_a_rank(rank: int) -> None:
    rng = np.random.default_rng(0)
    x, weights = rng.integers(-2, 3, (500, 6)).astype(np.float32), rng.standard_normal(500).astype(np.float32)
    kernel = tcjax.kernel(f"def f(float(N,K) x) -> (o) {{ o(n) = maxk[k](x(n,k), {rank}) }}")
    expected = np.zeros_like(x)
    np.put_along_axis(expected, order(x, descending=True)[:, [rank]], weights[:, None], 1)

    (found,) = jax.vjp(kernel, x)[1](weights)

    assert unrolled(kernel, x)
    np.testing.assert_array_equal(found, expected)


def test_the_derivative_of_a_median_filter_adds_up_what_each_window_gives() -> None:
    rng = np.random.default_rng(0)
    image, weights = rng.permutation(300).reshape(20, 15).astype(np.float32), rng.standard_normal((18, 13))
    rows = np.lib.stride_tricks.sliding_window_view(image, (3, 3)).reshape(18, 13, 9)
    expected = np.zeros((20, 15))
    y, x = np.indices((18, 13))
    place = order(rows, descending=False)[..., 4]
    np.add.at(expected, (y + place // 3, x + place % 3), weights)
    kernel = tcjax.kernel(MEDIAN)

    value, derivative = jax.vjp(kernel, image)

    np.testing.assert_array_equal(value, np.median(rows, -1))
    np.testing.assert_allclose(derivative(weights.astype(np.float32))[0], expected, rtol=1e-5, atol=1e-5)


def test_a_batch_of_images_is_a_median_filter_of_each() -> None:
    images = np.random.default_rng(0).standard_normal((3, 8, 7)).astype(np.float32)
    rows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), (1, 2)).reshape(3, 6, 5, 9)

    np.testing.assert_array_equal(jax.vmap(tcjax.kernel(MEDIAN))(images), np.median(rows, -1))


def test_many_comparisons_are_a_sort() -> None:
    """XLA would take seconds to compile comparisons of many terms with many others."""
    x = np.zeros((100, 40), np.float32)
    (stage,) = tcjax.kernel("def f(float(N,K) x) -> (o) { o(n) = mink[k](x(n,k), 20) }").plan(x).stages

    assert isinstance(stage, Compute) and not isinstance(stage.value, Unroll)
