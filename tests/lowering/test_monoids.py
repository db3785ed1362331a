"""The states of reductions: order and grouping of lanes do not matter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tcjax.ir import Reducer
from tcjax.lowering.keys import key_of, value_of
from tcjax.lowering.monoids import collapse
from tcjax.lowering.reducers import make_monoid

pytestmark = pytest.mark.usefixtures("quickly_compiled")

WANTED = {
    Reducer.SUM: lambda flat: flat.sum(0),
    Reducer.PRODUCT: lambda flat: flat.prod(0),
    Reducer.MIN: lambda flat: flat.min(0),
    Reducer.MAX: lambda flat: flat.max(0),
    Reducer.ANY: lambda flat: flat.any(0),
    Reducer.ALL: lambda flat: flat.all(0),
    Reducer.MEAN: lambda flat: flat.mean(0),
    Reducer.LOGSUMEXP: lambda flat: np.log(np.exp(flat).sum(0)),
    Reducer.ARGMIN: lambda flat: flat.argmin(0),
    Reducer.ARGMAX: lambda flat: flat.argmax(0),
}
SPECIAL = np.array([np.nan, -np.inf, -3.5, -1.0, -2e-38, 0.0, 2e-38, 2.0, np.inf], "float32")


def state_of(monoid, rows):
    points = [(jnp.asarray(row), block, None) for block, row in enumerate(rows)]
    return monoid.absorb(monoid.empty(points[0][0]), points)


@pytest.mark.parametrize("reducer", WANTED, ids=lambda r: r.value)
def test_any_number_of_lanes_collapses_to_one(reducer):
    rng = np.random.default_rng(0)
    boolean = reducer in (Reducer.ANY, Reducer.ALL)
    for lanes in range(1, 12):
        values = rng.integers(1, 4, (3, lanes, 5))
        values = values > 1 if boolean else values.astype("float32")
        monoid = make_monoid(reducer, jnp.asarray(values).dtype, 3 * lanes)

        def whole(rows, monoid=monoid, lanes=lanes):
            return monoid.finish(collapse(monoid, monoid.place(state_of(monoid, rows), lanes, 0)))

        found = np.asarray(jax.jit(whole)(values))

        wanted = WANTED[reducer](values.reshape(3 * lanes, 5))
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("reducer", WANTED, ids=lambda r: r.value)
def test_parts_combine_in_either_order(reducer):
    rng = np.random.default_rng(1)
    boolean = reducer in (Reducer.ANY, Reducer.ALL)
    values = rng.integers(0, 3, (4, 6, 7))
    values = values > 1 if boolean else values.astype("float32")
    monoid = make_monoid(reducer, jnp.asarray(values).dtype, 24)

    @jax.jit
    def both_ways(values):
        first = monoid.place(state_of(monoid, values[:2]), 6, 0)
        second = monoid.place(state_of(monoid, values[2:]), 6, 12)
        return monoid.combine(first, second), monoid.combine(second, first)

    one, other = both_ways(values)

    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("descending", (False, True))
@pytest.mark.parametrize("dtype", ("float32", "float16", "bfloat16"))
def test_keys_are_in_the_order_of_their_numbers_with_nan_first(dtype, descending):
    ordered = np.concatenate([SPECIAL[:1], SPECIAL[:0:-1] if descending else SPECIAL[1:]])

    keys = np.asarray(key_of(jnp.asarray(ordered).astype(dtype), descending=descending))
    back = np.asarray(value_of(jnp.asarray(keys), jnp.dtype(dtype), descending=descending), "float32")

    assert np.all(np.diff(keys.astype(np.int64)) >= 0)
    assert keys.max() < np.iinfo(keys.dtype).max
    np.testing.assert_array_equal(back, np.asarray(jnp.asarray(ordered).astype(dtype), "float32"))


def test_both_zeros_have_one_key():
    keys = np.asarray(key_of(jnp.asarray([0.0, -0.0]), descending=True))

    assert keys[0] == keys[1]


@pytest.mark.parametrize("dtype", ("int32", "uint32", "int8", "uint8"))
def test_integer_keys_reverse_without_overflow(dtype):
    info = np.iinfo(dtype)
    values = jnp.asarray([info.max, 3, 0, info.min], dtype)

    keys = key_of(values, descending=True)

    assert np.all(np.diff(np.asarray(keys).astype(np.int64)) >= 0)
    np.testing.assert_array_equal(value_of(keys, jnp.dtype(dtype), descending=True), values)
