"""Streams of blocks against NumPy in float64 and Python's exact numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import tcjax
from tcjax.ir import Reducer
from tcjax.lowering.blocked_loop import Blocks
from tcjax.lowering.vector_accumulators import accumulated

pytestmark = pytest.mark.usefixtures("quickly_compiled")

RANKED = (Reducer.MINK, Reducer.MAXK, Reducer.ARGMINK, Reducer.ARGMAXK)
FLOATS = ("float16", "bfloat16")
INTEGERS = ("int32", "uint8")


def streamed(reducer, values, live=None, *, rows=4, unroll=2, rank=None):
    """The stream over the first axis of an array, under jit."""
    return found(reducer, values, live, rows=rows, unroll=unroll, rank=rank)[0]


def found(reducer, values, live=None, *, rows=4, unroll=2, rank=None, results=1):
    """A given number of results of the stream."""
    extent = values.shape[0]
    blocks, left = divmod(extent, rows)

    def block(array, number, u):
        start = (number + u) * rows
        return None if array is None else jax.lax.dynamic_slice_in_dim(array, start, rows)

    def run(values, live):
        def rest():
            return values[blocks * rows :], None if live is None else live[blocks * rows :]

        def body(number, u):
            return block(values, number, u), block(live, number, u)

        return accumulated(reducer, Blocks(blocks, body, rest if left else None, unroll), rows, rank, results)

    return [np.asarray(array) for array in jax.jit(run)(values, live)]


def order(column, live, *, descending):
    keys = [(x == x, (-x if descending else x) if x == x else 0) for x in column.tolist()]
    return sorted((j for j in range(len(keys)) if live[j]), key=keys.__getitem__)


def identity(reducer, dtype):
    sign = 1 if reducer in (Reducer.MIN, Reducer.MINK) else -1
    if dtype == np.bool_:
        return sign > 0
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min
    return sign * np.inf


def reduced(reducer, column, live, rank):
    """One column in exact or double precision."""
    picked = column[live]
    match reducer:
        case Reducer.SUM:
            return np.logical_xor.reduce(picked) if column.dtype == np.bool_ else picked.sum()
        case Reducer.PRODUCT:
            return picked.all() if column.dtype == np.bool_ else picked.prod()
        case Reducer.ANY:
            return picked.any()
        case Reducer.ALL:
            return picked.all()
        case Reducer.MIN | Reducer.MAX if len(picked) == 0:
            return identity(reducer, column.dtype)
        case Reducer.MIN:
            return picked.min()
        case Reducer.MAX:
            return picked.max()
        case Reducer.MEAN:
            return picked.mean() if len(picked) else np.nan
        case Reducer.LOGSUMEXP:
            return logsumexp(picked) if len(picked) else -np.inf
        case Reducer.ARGMIN | Reducer.ARGMAX:
            places = order(column, live, descending=reducer is Reducer.ARGMAX)
            return places[0] if places else 0
        case _:
            places = order(column, live, descending=reducer in (Reducer.MAXK, Reducer.ARGMAXK))[:rank]
            missing = rank - len(places)
            if reducer in (Reducer.ARGMINK, Reducer.ARGMAXK):
                return places + [0] * missing
            return [column[p] for p in places] + [identity(reducer, column.dtype)] * missing


def expected(reducer, values, live, rank):
    if values.dtype.kind not in "biu":
        values = values.astype(np.float64)
    elif values.dtype.kind in "iu" and reducer in (Reducer.SUM, Reducer.PRODUCT):
        values = values.astype(np.int64)
    shape = values.shape[1:]
    live = np.ones(values.shape, bool) if live is None else np.broadcast_to(live, values.shape)
    columns = [reduced(reducer, values[:, *at], live[:, *at], rank) for at in np.ndindex(*shape)]
    found = np.array(columns)
    return found.reshape(shape) if rank is None else np.moveaxis(found.reshape(*shape, rank), -1, 0)


def check(reducer, values, live=None, *, rows=4, unroll=2, rank=None):
    found = streamed(reducer, values, live, rows=rows, unroll=unroll, rank=rank)
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = expected(reducer, np.asarray(values), None if live is None else np.asarray(live), rank)
    if found.dtype.kind in "iu" and wanted.dtype.kind in "iu":
        wanted = wanted.astype(found.dtype)
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, wanted)
    else:
        exact = reducer in (Reducer.MIN, Reducer.MAX, *RANKED)
        tolerance = 0 if exact else 64 * float(jnp.finfo(found.dtype).eps)
        np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)


def numbers(rng, dtype, shape):
    if dtype == "bool":
        return jnp.asarray(rng.integers(0, 2, shape).astype(bool))
    if np.issubdtype(np.dtype(dtype) if dtype != "bfloat16" else np.float32, np.integer):
        return jnp.asarray(rng.integers(0 if dtype[0] == "u" else -4, 5, shape), dtype)
    return jnp.asarray(rng.integers(-6, 7, shape) / 4, dtype)


def rank_of(reducer):
    return 3 if reducer in RANKED else None


@pytest.mark.parametrize("reducer", Reducer, ids=lambda r: r.value)
def test_any_extent_in_any_blocks_is_the_reduction(reducer):
    rng = np.random.default_rng(0)
    boolean = reducer in (Reducer.ANY, Reducer.ALL)
    for extent, rows, unroll in ((1, 1, 1), (2, 4, 2), (3, 1, 2), (16, 4, 1), (29, 4, 2), (40, 3, 4), (37, 7, 1)):
        values = numbers(rng, "bool" if boolean else "float32", (extent, 3))
        check(reducer, values, rows=rows, unroll=unroll, rank=rank_of(reducer))


@pytest.mark.parametrize("rows", (1, 3))
@pytest.mark.parametrize("reducer", Reducer, ids=lambda r: r.value)
def test_any_number_of_trips_is_the_reduction(reducer, rows):
    rng = np.random.default_rng(6)
    boolean = reducer in (Reducer.ANY, Reducer.ALL)
    for blocks in (4, 5, 8, 9, 10, 13):
        values = numbers(rng, "bool" if boolean else "float32", (blocks * rows, 2, 3))
        live = jnp.asarray(rng.random((blocks * rows, 2, 3)) < 0.7)
        check(reducer, values, rows=rows, unroll=2, rank=rank_of(reducer))
        check(reducer, values, live, rows=rows, unroll=2, rank=rank_of(reducer))


@pytest.mark.parametrize("reducer", Reducer, ids=lambda r: r.value)
def test_points_that_take_no_part_do_not_count(reducer):
    rng = np.random.default_rng(1)
    boolean = reducer in (Reducer.ANY, Reducer.ALL)
    for extent, share in ((1, 0.5), (6, 0.0), (21, 0.1), (40, 0.5)):
        values = numbers(rng, "bool" if boolean else "float32", (extent, 2, 3))
        live = jnp.asarray(rng.random((extent, 2, 3)) < share)
        check(reducer, values, live, rank=rank_of(reducer))
    check(reducer, values, live[:, :1], rank=rank_of(reducer))


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS, "bool"))
@pytest.mark.parametrize("reducer", Reducer, ids=lambda r: r.value)
def test_every_type_is_reduced_in_itself(reducer, dtype):
    if reducer in (Reducer.MEAN, Reducer.LOGSUMEXP) and dtype not in FLOATS:
        pytest.skip("defined on real numbers")
    if reducer in (Reducer.ANY, Reducer.ALL) and dtype != "bool":
        pytest.skip("defined on truth values")
    rng = np.random.default_rng(2)
    values = numbers(rng, dtype, (23, 4))
    if reducer is Reducer.PRODUCT and dtype != "bool":
        values = jnp.where(values == 0, jnp.ones((), dtype), jnp.clip(values, 1, 2).astype(dtype))[:6]

    check(reducer, values, rank=rank_of(reducer))
    check(reducer, values, jnp.asarray(rng.random(values.shape) < 0.6), rank=rank_of(reducer))


@pytest.mark.parametrize("reducer", Reducer, ids=lambda r: r.value)
def test_infinities_and_nan_come_through(reducer):
    if reducer in (Reducer.ANY, Reducer.ALL):
        pytest.skip("defined on truth values")
    rng = np.random.default_rng(3)
    special = np.array([0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
    parts = []
    for weights in ((4, 4, 4, 1, 1, 1), (0, 0, 0, 1, 1, 0), (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 1, 0), (0, 1, 0, 1, 0, 1)):
        share = np.array(weights) / sum(weights)
        parts.append(rng.choice(special, (13, 40), p=share))
    values = jnp.asarray(np.concatenate(parts, axis=1), "float32")

    check(reducer, values, rank=rank_of(reducer))
    check(reducer, values, jnp.asarray(rng.random(values.shape) < 0.4), rank=rank_of(reducer))


@pytest.mark.parametrize("reducer", (Reducer.ARGMIN, Reducer.ARGMAX, Reducer.ARGMINK, Reducer.ARGMAXK))
def test_of_equal_values_the_first_wins(reducer):
    rng = np.random.default_rng(4)
    for rows, unroll in ((3, 2), (8, 4)):
        for values in (rng.integers(0, 3, (61, 20)), np.zeros((61, 20))):
            check(reducer, jnp.asarray(values, "float32"), rows=rows, unroll=unroll, rank=rank_of(reducer))


@pytest.mark.parametrize("reducer", Reducer, ids=lambda r: r.value)
def test_long_loops_are_the_same(reducer):
    rng = np.random.default_rng(5)
    values = rng.normal(size=(1024, 300)).astype("float32")
    if reducer in (Reducer.ANY, Reducer.ALL):
        values = values > 3 if reducer is Reducer.ANY else values < 3
    if reducer is Reducer.PRODUCT:
        values = np.exp(values / 32).astype("float32")
    found = streamed(reducer, jnp.asarray(values), rows=8, unroll=4, rank=rank_of(reducer))
    wanted = expected(reducer, values, None, rank_of(reducer))
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("reducer", (Reducer.ARGMIN, Reducer.LOGSUMEXP, Reducer.SUM, Reducer.MAX))
def test_double_precision_streams(reducer):
    rng = np.random.default_rng(6)
    with jax.enable_x64(True):
        values = jnp.asarray(rng.normal(size=(97, 5)), "float64")
        found = streamed(reducer, values)
    np.testing.assert_allclose(found, expected(reducer, np.asarray(values), None, None), rtol=1e-13)


def test_large_integers_keep_all_their_digits():
    values = jnp.asarray([2**24 + 1, 2**24, 2**31 - 1, -(2**31), -(2**31) + 1] * 6, "int32")[:, None]
    assert streamed(Reducer.ARGMAX, values)[0] == 2
    assert streamed(Reducer.MIN, values)[0] == -(2**31)


def test_a_stream_runs_inside_shard_map():
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    values = jnp.asarray(np.random.default_rng(7).normal(size=(64, 6)), "float32")
    spec = jax.sharding.PartitionSpec(None, "x")
    result = jax.sharding.PartitionSpec("x")
    for reducer in (Reducer.SUM, Reducer.ARGMIN, Reducer.LOGSUMEXP, Reducer.MIN, Reducer.MINK):

        def local(part, reducer=reducer):
            def body(block, u):
                return jax.lax.dynamic_slice_in_dim(part, (block + u) * 4, 4), None

            blocks = Blocks(16, body, unroll=2, arrays={"part": part})
            (found,) = accumulated(reducer, blocks, 4, 2 if reducer is Reducer.MINK else None)
            return found[0] if reducer is Reducer.MINK else found

        found = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=spec, out_specs=result))(values)
        single = Reducer.MIN if reducer is Reducer.MINK else reducer
        np.testing.assert_allclose(found, expected(single, np.asarray(values), None, None), rtol=1e-5)


@pytest.mark.parametrize("largest", (False, True), ids=("smallest", "largest"))
@pytest.mark.parametrize("dtype", ("float32", "bfloat16", "float16", "int32", "uint8", "bool"))
@pytest.mark.parametrize("guarded", (False, True), ids=("all", "some"))
@pytest.mark.parametrize(("extent", "rows", "unroll"), ((1, 4, 2), (7, 3, 1), (24, 4, 2), (61, 4, 3), (33, 1, 4)))
def test_a_place_comes_with_its_value_and_the_number_of_ties(extent, rows, unroll, guarded, dtype, largest):
    rng = np.random.default_rng(extent)
    values = rng.integers(0, 4, (extent, 9)).astype("float32")
    if dtype in (*FLOATS, "float32"):
        values[values == 3] = np.inf
        values[rng.random(values.shape) < 0.1] = -np.inf
        values[extent // 2, 4] = np.nan
        values[:, 5] = np.inf
        values[:, 6] = -np.inf
        values[:, 7] = np.nan
    values = jnp.asarray(values).astype(dtype)
    live = rng.random((extent, 9)) < 0.7
    live[:, 3] = False
    reducer = Reducer.ARGMAX if largest else Reducer.ARGMIN

    places, extrema, ties = found(reducer, values, live if guarded else None, rows=rows, unroll=unroll, results=3)

    plain = np.asarray(values.astype("float32" if dtype in FLOATS else dtype))
    for column in range(9):
        own = plain[:, column]
        takes_part = live[:, column] if guarded else np.ones(extent, bool)
        ordered = order(own, takes_part, descending=largest)
        if not ordered:
            assert (places[column], ties[column]) == (0, 0)
            continue
        first = own[ordered[0]]
        count = 1 if first != first else int((takes_part & (own == first)).sum())
        assert (places[column], ties[column]) == (ordered[0], count)
        np.testing.assert_equal(np.asarray(extrema[column], plain.dtype), first)


def test_ties_of_a_long_loop_are_counted():
    values = np.zeros((1 << 14, 2), "float32")
    values[5, 1] = -1

    places, extrema, ties = found(Reducer.ARGMIN, values, rows=2, unroll=4, results=3)

    assert places.tolist() == [0, 5] and extrema.tolist() == [0, -1] and ties.tolist() == [1 << 14, 1]


@pytest.mark.parametrize("points", (1024, 2048))
@pytest.mark.parametrize("dimensions", (5, 19, 36))
def test_rows_with_gaps_give_the_same_values(points, dimensions):
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((n, dimensions)).astype(np.float32) for n in (2048, points))
    distances = tcjax.kernel("def f(float(N,D) x, float(M,D) y) -> (o) { o(i,j) +=! fabs(x(i,d) - y(j,d)) }")

    result = np.asarray(distances(x, y))

    wide = np.float64
    expected = np.stack([np.abs(row - y.astype(wide)).sum(1) for row in x.astype(wide)])
    np.testing.assert_allclose(result, expected, rtol=1e-5)
