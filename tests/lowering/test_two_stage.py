"""Order statistics by blocks: the values and positions that NumPy's stable sort puts first."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning.data.nodes import LoopNest
from tests.agreement.compiling import thoroughly

pytestmark = pytest.mark.usefixtures("quickly_compiled")

REDUCERS = ("mink", "maxk", "argmink", "argmaxk")


def text(reducer: str, ranks: int = 4) -> str:
    return f"O(i,r) = {reducer}[j](sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))), r) where r in 0:{ranks}"


def expected(values: np.ndarray, reducer: str, ranks: int = 4) -> np.ndarray:
    """The first ones along the last axis: NaN before all others, equal values in order of position."""
    keys = -values if "max" in reducer else values
    missing = np.isnan(values)
    order = np.lexsort((np.where(missing, 0, keys), ~missing), axis=-1)[..., :ranks]
    return order if reducer.startswith("arg") else np.take_along_axis(values, order, axis=-1)


def squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((x[:, None].astype(np.float64) - y[None].astype(np.float64)) ** 2).sum(-1)


def sieve_of(kernel: tcjax.Kernel, *arrays: np.ndarray) -> int:
    [stage] = kernel.plan(*arrays).stages
    assert isinstance(stage.value, LoopNest)
    return stage.value.form.sieve


def points(number: int, seed: int, dimensions: int = 2) -> np.ndarray:
    """Points of a coarse grid: many distances are equal."""
    return np.random.default_rng(seed).integers(-3, 4, (number, dimensions)).astype(np.float32)


@pytest.mark.parametrize(("reducer", "extent"), [*((reducer, 1000) for reducer in REDUCERS), ("argmink", 1024)])
def test_what_comes_first_is_found_with_ties_and_a_last_block_that_is_short(reducer, extent):
    x, y = points(1100, 0), points(extent, 1)
    kernel = tcjax.kernel(text(reducer))

    assert sieve_of(kernel, x, y) > 1
    np.testing.assert_array_equal(kernel(x, y), expected(squares(x, y), reducer))


def test_tiles_of_the_longest_axis_are_joined():
    x, y = points(20001, 2), points(515, 3)
    kernel = tcjax.kernel(text("argmink", 8))
    with thoroughly():
        compiled = jax.jit(kernel).lower(x, y).compile()

    assert sieve_of(kernel, x, y) > 1
    np.testing.assert_array_equal(kernel(x, y), expected(squares(x, y), "argmink", 8))
    analysis = compiled.memory_analysis()
    assert analysis is not None
    assert analysis.temp_size_in_bytes <= 16 << 20


@pytest.mark.parametrize("reducer", ("mink", "argmaxk"))
def test_missing_and_infinite_values_keep_their_places(reducer):
    y = points(1000, 4, 1)[:, 0]
    y[[3, 77, 500, 998]] = [np.nan, np.inf, -np.inf, np.nan]
    x = np.linspace(1.0, 2.0, 1100, dtype=np.float32)
    kernel = tcjax.kernel(f"O(i,r) = {reducer}[j](x(i) * y(j), r) where r in 0:4")

    assert sieve_of(kernel, x, y) > 1
    np.testing.assert_array_equal(kernel(x, y), expected(x[:, None] * y[None], reducer))


def test_whole_numbers_at_their_limits_are_in_order():
    limits = np.iinfo(np.int32)
    y = np.random.default_rng(5).choice([limits.min, -1, 0, 1, limits.max], 1000).astype(np.int32)
    x = np.ones(1100, np.int32)
    kernel = tcjax.kernel("O(i,r) = argmaxk[j](x(i) * y(j), r) where r in 0:6")
    order = np.argsort(-y.astype(np.int64), kind="stable")[:6]

    assert sieve_of(kernel, x, y) > 1
    np.testing.assert_array_equal(kernel(x, y), np.broadcast_to(order, (1100, 6)))


def test_one_set_of_points_meets_itself():
    x = points(1500, 6, 3)
    kernel = tcjax.kernel("O(i,r) = argmink[j](sum[d]((x(i,d) - x(j,d)) * (x(i,d) - x(j,d))), r) where r in 0:3")

    assert sieve_of(kernel, x) > 1
    np.testing.assert_array_equal(kernel(x), expected(squares(x, x), "argmink", 3))


def test_long_rows_are_gathered_as_rows():
    random = np.random.default_rng(7)
    x, y = (random.integers(-2, 3, (n, 40)).astype(np.float32) for n in (1100, 1100))
    kernel = tcjax.kernel(text("mink"))

    assert sieve_of(kernel, x, y) > 1
    np.testing.assert_array_equal(kernel(x, y), expected(squares(x, y), "mink"))


def test_a_batch_and_the_derivative_of_the_values():
    random = np.random.default_rng(8)
    x, y = (random.normal(size=(2, n, 2)).astype(np.float32) for n in (1100, 1000))
    kernel = tcjax.kernel(text("mink"))
    weights = random.normal(size=(2, 1100, 4)).astype(np.float32)

    found = jax.vmap(jax.grad(lambda x, y, w: (w * kernel(x, y)).sum()))(x, y, weights)

    for number in range(2):
        nearest = y[number][expected(squares(x[number], y[number]), "argmink")]
        slope = 2 * weights[number][..., None] * (x[number][:, None] - nearest)
        np.testing.assert_allclose(found[number], slope.sum(1), rtol=2e-4, atol=2e-5)


def test_a_guard_one_rank_or_few_points_need_no_sieve():
    x, y = points(1100, 9), points(1000, 10)
    guarded = text("mink").replace("mink[j]", "mink[j where j != i]")

    assert sieve_of(tcjax.kernel(guarded), x, y) == 0
    assert sieve_of(tcjax.kernel(text("mink", 1)), x, y) == 0
    assert sieve_of(tcjax.kernel(text("mink", 30)), points(9000, 11), points(120, 12)) == 0


def test_a_memory_limit_below_its_room_takes_rank_after_rank():
    x, y = points(1100, 13), points(1000, 14)
    kernel = tcjax.kernel(text("argmink"), memory_limit="4MiB")

    assert sieve_of(kernel, x, y) == 0
    np.testing.assert_array_equal(kernel(x, y), expected(squares(x, y), "argmink"))
    assert jnp.issubdtype(kernel(x, y).dtype, jnp.integer)


@pytest.mark.parametrize(
    ("reducer", "dtype"), [*zip(REDUCERS, ("float16", "bfloat16", "bfloat16", "float16"), strict=True)]
)
def test_values_of_16_bits_are_compared_as_they_are(reducer, dtype):
    x, y = (points(number, seed, 1)[:, 0] / 2 for number, seed in ((3000, 4), (2000, 5)))
    kernel = tcjax.kernel(f"O(i,r) = {reducer}[j](fabs(x(i) - y(j)), r) where r in 0:3")
    arrays = x.astype(jnp.dtype(dtype)), y.astype(jnp.dtype(dtype))

    assert sieve_of(kernel, *arrays) > 1
    found = np.asarray(kernel(*arrays)).astype(np.float64)
    np.testing.assert_array_equal(found, expected(np.abs(x[:, None] - y[None]).astype(np.float64), reducer, 3))
