"""All prefixes, or suffixes, of a row: one running reduction."""

import itertools
from collections.abc import Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.ir import Reducer
from tcjax.lowering.running import _run_natively as run_natively
from tcjax.lowering.running import running, running_p
from tcjax.planning import choice, reductions
from tcjax.planning.data.nodes import Scan, has
from tests.runtime.test_monoid import register


def real(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def whole(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).integers(-5, 6, shape).astype(np.int32)


@pytest.fixture
def running_wherever_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short rows are cheaper in other ways."""
    register()
    cheapest = choice.cheapest

    def preferred(candidates: Iterable[Any], scope: Any) -> Any:
        found = list(candidates)
        return cheapest([node for node in found if has(node, Scan)] or found, scope)

    for room in (choice, reductions):
        monkeypatch.setattr(room, "cheapest", preferred)


# Parameters in the order in which the texts read them.
RUNNING = {
    "up to and with": ("o(i) +=! x(j) where j <= i, i in 0:9", real(9)),
    "up to": ("o(i) +=! x(j) where j < i, i in 0:9", real(9)),
    "from and with": ("o(i) +=! x(j) where j >= i, i in 0:9", real(9)),
    "from": ("o(i) +=! x(j) where i < j, i in 0:9", real(9)),
    "later": ("o(i) +=! x(j) where j <= i + 3, i in 0:9", real(9)),
    "earlier": ("o(i) +=! x(j) where j <= i - 4, i in 0:9", real(9)),
    "suffixes that begin before": ("o(i) +=! x(j) where j >= i - 3, i in 0:9", real(9)),
    "more results than elements": ("o(i) +=! x(j) where j <= i, i in 0:18", real(9)),
    "fewer results": ("o(i) +=! x(j) where j >= i + 2, i in 0:3", real(9)),
    "a part of the elements": ("o(i) +=! x(j) where j <= i, j in 3:9, i in 0:9", real(9)),
    "a product": ("o(i) *=! x(j) where j <= i, i in 0:9", real(9)),
    "columns": ("o(i,b) +=! x(j,b) where j <= i, i in 0:9", real(9, 7)),
    "transposed": ("o(b,i) +=! x(j,b) where j <= i, i in 0:9", real(9, 7)),
    "a sum at each element": ("o(i) +=! x(j,k) * w(k) where j <= i, i in 0:9", real(9, 7), real(7)),
    "a product of matrices": ("o(i,e) +=! x(j,k) * w(k,e) where j <= i, i in 0:9", real(9, 7), real(7, 3)),
    "two triangles": ("o(i,k) +=! x(j,l) where j <= i, l <= k, i in 0:9, k in 0:7", real(9, 7)),
    "elements that are left out": ("o(i) +=! x(j) where j <= i, x(j) > 0, i in 0:9", real(9)),
    "a factor of each result": ("o(i) +=! y(i) * x(j) where j <= i", real(9), real(9)),
    "inside of an expression": ("o(i) = y(i) + 2 * sum[j where j <= i](x(j)) / (i + 1)", real(9), real(9)),
    "a mean": ("o(i) mean=! x(j) where j <= i, i in 0:9", real(9)),
    "integers": ("o(i) +=! x(j) where j <= i, i in 0:9", whole(9)),
    "extrema of integers": ("o(i) max=! x(j) where j <= i, i in 0:9", whole(9)),
    "extrema": ("o(i) max=! x(j) where j <= i, i in 0:9", real(9)),
    "extrema of an expression": ("o(i,b) min=! x(j,b) * y(j) where j >= i, i in 0:9", real(9, 7), real(9)),
    "extrema of what is left": ("o(i) max=! x(j) where j <= i, x(j) > 0, i in 0:9", np.abs(real(9))),
    "extrema of none": ("o(i) min=! x(j) where j > i, i in 0:9", whole(9)),
    "sums of exponentials": ("o(i) logsumexp=! x(j) where j <= i, i in 0:30", real(30)),
    "exponentials that follow": ("o(i,b) logsumexp=! x(j,b) where j >= i, i in 0:21", real(21, 5)),
    "exponentials of an expression": ("o(i) logsumexp=! x(j) * y(j) where j <= i, i in 2:21", real(21), real(21)),
    "some exponentials": ("o(b,i) logsumexp=! x(b,j) where j <= i, x(b,j) > 0, i in 0:21", np.abs(real(3, 21))),
    "exponentials of pairs": ("o(i) = 2 * logsumexp[j,k where j <= i](x(j,k)) where i in 0:21", real(21, 4)),
    "whether any": ("o(i) = any[j where j < i](x(j) > 1) ? 1.0 : 0.0 where i in 0:30", np.abs(real(30)) + 2),
    "whether all": ("o(i) = all[j where j >= i](x(j) < 5) ? 1.0 : 0.0 where i in 0:30", whole(30)),
    "the place of the largest": ("o(i) argmax=! x(j) where j <= i, i in 0:30", whole(30)),
    "places from the end": ("o(i,b) argmin=! x(j,b) where j >= i, i in 0:20, j in 3:20", whole(20, 3)),
    "places of equal numbers": ("o(i) argmax=! x(0) where j <= i, j in 0:20, i in 0:20", whole(20)),
    "later places of equal numbers": ("o(i) argmin=! x(0) where j >= i - 2, j in 3:20, i in 0:20", whole(20)),
    "places of some": ("o(i) argmin=! x(j) where j < i, x(j) > 2, i in 0:30", whole(30)),
    "a mean of many": ("o(i) = mean[j where j < i + 1](x(j)) where i in 0:30", real(30)),
    "a registered one": ("o(i) smooth=! x(j) where j <= i, i in 0:30", real(30)),
    "one in order": ("o(i) line=! x(j) where j >= i, i in 0:30", real(30) / 2),
    "states of some": ("o(i,b) variance=! x(j,b) where j < i, x(j,b) > 0, i in 2:30", np.abs(real(30, 2)) + 1),
    "the last one": ("o(i) = last[j, k where j <= i](x(j,k)) where i in 0:20", real(20, 3)),
}


@pytest.mark.usefixtures("running_wherever_possible")
@pytest.mark.parametrize("name", RUNNING)
def test_a_running_reduction_is_that_of_every_part(name: str) -> None:
    text, *arguments = RUNNING[name]
    kernel = tcjax.kernel(text)
    assert "running" in str(kernel.plan(*arguments))

    np.testing.assert_allclose(kernel(*arguments), kernel.interpret(*arguments), rtol=1e-5, atol=1e-5)

    if arguments[0].dtype != np.float32:
        return
    rng = np.random.default_rng(0)
    ways = [rng.standard_normal(a.shape).astype(np.float32) for a in arguments]
    _, tangent = jax.jvp(kernel, arguments, ways)
    step = 1e-3
    ahead, behind = (
        kernel.interpret(*(a + sign * step * way for a, way in zip(arguments, ways, strict=True))) for sign in (1, -1)
    )
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * step), rtol=2e-2, atol=2e-2)
    result, back = jax.vjp(kernel, *arguments)
    weights = rng.standard_normal(result.shape).astype(np.float32)
    cotangents = back(jnp.asarray(weights))
    paired = sum(float(np.sum(np.asarray(c, float) * way)) for c, way in zip(cotangents, ways, strict=True))
    assert paired == pytest.approx(float(np.sum(np.asarray(tangent, float) * weights)), rel=1e-4, abs=1e-4)


def test_an_infinity_is_in_the_parts_that_hold_it_alone() -> None:
    x = real(9)
    x[4] = np.inf
    found = np.asarray(tcjax.kernel("o(i) +=! x(j) where j <= i, i in 0:9")(x))
    assert np.isfinite(found[:4]).all() and np.isinf(found[4:]).all()


@pytest.mark.parametrize("condition", ["j <= i - 2", "j >= i + 3", "j <= i"])
def test_what_no_result_counts_meets_no_cotangent(condition: str) -> None:
    """Zero times infinity would be NaN in the derivative with respect to the other factor."""
    text = f"o(i) = y(i) > 0 ? sum[j where {condition}](x(j) * w(j)) : 0.0"
    y, x, w = np.where(np.arange(9) < 6, 1.0, -1.0).astype(np.float32), real(9), real(9)
    counted = {i: [j for j in range(9) if eval(condition, {"i": i, "j": j})] for i in range(6)}
    left_out = sorted(set(range(9)) - {j for each in counted.values() for j in each})
    assert left_out
    w[left_out] = np.inf

    slope = np.asarray(jax.grad(lambda x: tcjax.kernel(text)(y, x, w).sum())(x))

    wanted = [sum(w[j] for each in counted.values() if j in each) if j not in left_out else 0 for j in range(9)]
    np.testing.assert_allclose(slope, wanted, rtol=1e-5)


@pytest.mark.parametrize("reducer", ["max", "min"])
@pytest.mark.parametrize("condition", ["j <= i", "j < i", "j >= i", "j >= i + 2", "j <= i + 1"])
def test_equal_running_extrema_share_their_derivative(reducer: str, condition: str) -> None:
    """As those of any set do; of no elements there is none."""
    kernel = tcjax.kernel(f"o(i) {reducer}=! x(j) where {condition}, i in 0:11")
    x = np.array([0, 2, 1, 2, 2, 3, 0, 3, -1, 4, 0], np.float32)
    weights = np.random.default_rng(1).standard_normal(11).astype(np.float32)
    wanted = np.zeros(11)
    for i in range(11):
        members = [j for j in range(11) if eval(condition, {"i": i, "j": j})]
        if members:
            found = (max if reducer == "max" else min)(x[j] for j in members)
            ties = [j for j in members if x[j] == found]
            wanted[ties] += weights[i] / len(ties)
    assert "running" in str(kernel.plan(x))

    result, back = jax.vjp(kernel, x)

    np.testing.assert_array_equal(result, kernel.interpret(x))
    np.testing.assert_allclose(back(jnp.asarray(weights))[0], wanted, rtol=1e-5, atol=1e-6)
    tangent = jax.jvp(kernel, (x,), (np.arange(11, dtype=np.float32),))[1]
    assert float(tangent @ weights) == pytest.approx(float(wanted @ np.arange(11)), rel=1e-5)


def test_a_running_maximum_is_nan_from_the_first_on() -> None:
    kernel = tcjax.kernel("o(i) max=! x(j) where j <= i, i in 0:9")
    x = np.array([-np.inf, 1, np.inf, 0, np.nan, 3, np.nan, np.inf, 1], np.float32)

    np.testing.assert_array_equal(kernel(x), kernel.interpret(x))
    slope = jax.vjp(kernel, x)[1](np.arange(1, 10, dtype=np.float32))[0]

    # The first of each run of equal results, and the first NaN from there on.
    np.testing.assert_array_equal(slope, [1, 2, 3 + 4, 0, 5 + 6 + 7 + 8 + 9, 0, 0, 0, 0])


# No block divides the rows of the last two.
SHAPES = [((2, 0, 3), 1), ((3,), 0), ((37,), 0), ((3, 21, 2), 1)]
NUMPY: dict[Reducer, Any] = {
    Reducer.SUM: np.cumsum,
    Reducer.PRODUCT: np.cumprod,
    Reducer.MIN: np.minimum.accumulate,
    Reducer.MAX: np.maximum.accumulate,
}


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("reducer", NUMPY, ids=str)
def test_every_way_of_running_gives_the_same(reducer: Reducer, looped: bool) -> None:
    for (shape, axis), reverse in itertools.product(SHAPES, (False, True)):
        given = [real(*shape) / 2]
        if shape == (37,):
            given += [whole(37)] if reducer is not Reducer.PRODUCT else []
            given += [jnp.asarray(real(37), jnp.bfloat16)] if reducer in (Reducer.MIN, Reducer.MAX) else []
        for x in given:
            way = partial(running, reducer, axis=axis, reverse=reverse, block=4, looped=looped)
            rows = np.flip(np.asarray(x), axis) if reverse else np.asarray(x)
            wanted = NUMPY[reducer](rows, axis)

            found = jax.jit(way)(x)

            assert found.shape == shape and found.dtype == x.dtype
            wanted = np.flip(wanted, axis) if reverse else wanted
            np.testing.assert_allclose(np.asarray(found, float), wanted.astype(float), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("looped", [False, True])
def test_every_way_of_running_has_infinities_and_nan_where_they_belong(looped: bool) -> None:
    x = np.ones((3, 41), np.float32)
    x[0, 7], x[1, 30], x[2, 11], x[2, 20] = np.inf, np.nan, np.inf, -np.inf
    for reverse in (False, True):
        way = partial(running, Reducer.SUM, axis=1, reverse=reverse, block=4, looped=looped)
        with np.errstate(invalid="ignore"):
            wanted = np.cumsum(x[:, ::-1], 1)[:, ::-1] if reverse else np.cumsum(x, 1)
        np.testing.assert_array_equal(jax.jit(way)(x), wanted)


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("reducer", NUMPY, ids=str)
def test_every_way_of_running_has_the_derivative(reducer: Reducer, looped: bool) -> None:
    x, way, weights = (np.random.default_rng(n).standard_normal((2, 13, 3)) for n in range(3))
    x[0, 5, 1] = 0.0
    for reverse in (False, True):
        run = partial(running, reducer, axis=1, reverse=reverse, block=4, looped=looped)

        def by_numpy(x: Any, reverse: bool = reverse) -> Any:
            return NUMPY[reducer](x[:, ::-1], 1)[:, ::-1] if reverse else NUMPY[reducer](x, 1)

        @jax.jit
        def slopes(x: Any, way: Any, weights: Any, run: Any = run) -> Any:
            back = jax.vjp(run, x)[1]
            return jax.jvp(run, (x,), (way,))[1], jax.vmap(lambda w: back(w)[0])(jnp.stack([weights, 2 * weights]))

        with jax.enable_x64(True):
            tangent, (cotangent, twice) = map(np.asarray, slopes(x, way, weights))

        step = 1e-7
        wanted = (by_numpy(x + step * way) - by_numpy(x - step * way)) / (2 * step)
        np.testing.assert_allclose(tangent, wanted, rtol=1e-5, atol=1e-6)
        assert float(np.sum(cotangent * way)) == pytest.approx(float(np.sum(wanted * weights)), rel=1e-6)
        np.testing.assert_allclose(twice, 2 * cotangent, rtol=1e-12)


def test_a_batch_and_a_batch_of_slopes() -> None:
    kernel = tcjax.kernel("o(i) +=! x(j) where j <= i, i in 0:9")
    x = real(5, 9)
    np.testing.assert_allclose(jax.vmap(kernel)(x), np.cumsum(x.astype(float), 1), rtol=1e-5, atol=1e-5)
    slopes = jax.vmap(jax.grad(lambda row: kernel(row).sum()))(x)
    np.testing.assert_allclose(slopes, np.tile(np.arange(9, 0, -1.0), (5, 1)))


def test_a_long_row_is_stored_once_more_and_no_triangle() -> None:
    kernel = tcjax.kernel("o(i) +=! x(j) where j <= i, i in 0:50000")
    explained = kernel.explain(jax.ShapeDtypeStruct((50_000,), jnp.float32)).to_dict()
    assert explained["statements"][0]["operation"] == "running sum"
    assert explained["temporary_bytes"] <= 4 * 200_000 and explained["flops"] <= 200_000


def shares_of_extrema(x: Any, weights: Any, largest: bool) -> Any:
    """Each element's share of an extremum's cotangent: equal for ties, all for the first NaN."""
    wanted = np.zeros(x.shape)
    for i in range(len(x)):
        members = x[: i + 1]
        unknown = np.flatnonzero(np.isnan(members))
        if unknown.size:
            wanted[unknown[0]] += weights[i]
        else:
            equal = np.flatnonzero(members == (members.max() if largest else members.min()))
            wanted[equal] += weights[i] / equal.size
    return wanted


@pytest.mark.parametrize("way", ["loop", "tree", "device"])
@pytest.mark.parametrize("reducer", [Reducer.MIN, Reducer.MAX], ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_every_way_of_running_shares_the_derivative_of_extrema(reducer: Reducer, reverse: bool, way: str) -> None:
    rng = np.random.default_rng(3)
    x: Any = rng.integers(-3, 4, (21, 5)).astype(np.float32)
    x[:, 0] = -0.0, *[0.0] * 20
    x[:, 1] = np.inf if reducer is Reducer.MIN else -np.inf
    x[8, 2], x[13, 2], x[0, 3] = np.nan, np.nan, np.nan
    weights, tangent = real(21, 5), real(21, 5)[::-1]
    turned = slice(None, None, -1 if reverse else 1)
    columns = zip(x[turned].T, weights[turned].T, strict=True)
    wanted = np.stack([shares_of_extrema(*each, largest=reducer is Reducer.MAX) for each in columns], 1)[turned]
    how: Any = {"axis": 0, "reverse": reverse, "block": 4, "looped": way == "loop"}

    if way == "device":
        # Lowered for other platforms only: the same steps as the rules of the derivative, and of its transpose.
        how["reducer"] = reducer
        result, ties = run_natively(x, role="ties", **how)
        [along] = run_natively(tangent, x, result, ties, role="slope", **how)
        [back] = run_natively(weights, x, result, ties, role="handed", **how | {"reverse": not reverse})
    else:
        run = jax.jit(partial(running, reducer, **how))
        along, [back] = jax.jvp(run, (x,), (tangent,))[1], jax.vjp(run, x)[1](weights)
        again = jax.jvp(lambda w: jax.vjp(run, x)[1](w)[0], (weights,), (weights,))[1]
        np.testing.assert_array_equal(again, back)
        curved = jax.jvp(jax.grad(lambda x: (run(x) ** 2 / 2).sum()), (x[:, 4:],), (tangent[:, 4:],))[1]
        assert np.isfinite(curved).all() and np.any(curved)

    np.testing.assert_allclose(back, wanted, rtol=1e-5, atol=1e-5)
    products = np.sum(wanted * tangent, 0)
    np.testing.assert_allclose(np.sum(np.asarray(along, float) * weights, 0), products, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_equal_extrema_are_counted_in_a_type_that_has_all_numbers(dtype: str) -> None:
    """A row of more than 2**24 elements may have more equal ones than float32 tells apart."""
    count = partial(running_p.bind, reducer=Reducer.MAX, role="ties", axis=0, reverse=False, block=4, looped=True)
    for size, wanted in ((2**23, "float32"), (2**24 + 1, "int32")):
        _, ties = jax.eval_shape(count, jax.ShapeDtypeStruct((size,), dtype))
        assert ties.dtype == wanted


def exponentials(x: Any, *, reverse: bool) -> Any:
    """The logsumexp of every prefix, or suffix, of rows, each computed separately."""
    rows = jnp.arange(x.shape[0])
    counts = (rows[:, None] <= rows) if reverse else (rows[:, None] >= rows)
    return jax.nn.logsumexp(jnp.where(counts[..., None], x, -jnp.inf), axis=1)


@pytest.mark.parametrize("way", ["loop", "tree", "device"])
@pytest.mark.parametrize("reverse", [False, True])
def test_every_way_of_running_has_both_derivatives_of_exponentials(reverse: bool, way: str) -> None:
    x, tangent, weights = (np.random.default_rng(n).standard_normal((13, 3)) * 3 for n in range(3))
    x[:4, 1], x[6, 1], x[5, 2] = -np.inf, 800.0, -900.0
    how: Any = {"reducer": Reducer.LOGSUMEXP, "axis": 0, "reverse": reverse, "block": 4, "looped": way == "loop"}

    def run(x: Any) -> Any:
        return run_natively(x, role="values", **how)[0] if way == "device" else running(array=x, **how)

    def both(run: Any) -> Any:
        slope = jax.jit(jax.grad(lambda x: (weights * jnp.where(jnp.isfinite(y := run(x)), y, 0) ** 2).sum()))
        return jax.jit(run)(x), slope(x), *jax.jvp(slope, (x,), (tangent,)), jax.jvp(run, (x,), (tangent,))[1]

    with jax.enable_x64(True):
        if way == "device":
            # Lowered for other platforms only: the derivative and its transpose.
            [found] = run_natively(x, role="values", **how)
            [along] = run_natively(tangent, x, found, role="slope", **how)
            [back] = run_natively(weights, x, found, role="handed", **how | {"reverse": not reverse})
            wanted, turn = jax.vjp(lambda x: exponentials(x, reverse=reverse), x)
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
            np.testing.assert_allclose(back, np.nan_to_num(turn(jnp.asarray(weights))[0]), rtol=1e-9, atol=1e-12)
            assert float(np.sum(back * tangent)) == pytest.approx(float(np.sum(along * weights)), rel=1e-12)
            return
        results = zip(both(run), both(lambda x: exponentials(x, reverse=reverse)), strict=True)
        for found, wanted in results:
            np.testing.assert_allclose(found, np.nan_to_num(wanted, neginf=-np.inf), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("text", ["logsumexp[j where j <= i](x(j,b))", "logsumexp[j where j > i](x(j,b))"])
def test_odd_exponentials_are_what_the_interpreter_says(text: str) -> None:
    kernel = tcjax.kernel(f"o(i,b) = {text} where i in 0:64")
    x = real(64, 5)
    x[:, 0], x[10, 1], x[12, 1], x[20, 2], x[30, 3], x[:50, 4] = -np.inf, np.inf, -np.inf, np.nan, 1000, -1000
    assert "running" in str(kernel.plan(x))

    np.testing.assert_allclose(kernel(x), kernel.interpret(x), rtol=1e-6)
    slope = jax.grad(lambda x: kernel(x).sum())(x)
    assert np.isfinite(slope[:, [0, 3, 4]]).all() and not np.any(slope[:, 0])
