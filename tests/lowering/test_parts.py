"""Runs of statements in parts of their rows agree with the interpreter and JAX for any condition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute
from tcjax.planning.fusion import parts

HEAD = "def f(float(T,D) Q, float(T,D) K, float(T,E) V) -> (O) {\n"
PROGRAMS = {
    "guards": HEAD
    + """s(q,k) +=! Q(q,d) * K(k,d) where COND
m(q) max=! s(q,k) where COND
p(q,k) = exp(s(q,k) - m(q)) where COND
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / (1.0 + l(q)) }""",
    "reductions": HEAD
    + """s(q,k) = sum[d](Q(q,d) * K(k,d))
m(q) = max[k where COND](s(q,k))
O(q,e) = sum[k where COND](exp(s(q,k) - m(q)) * V(k,e)) / (1.0 + sum[k where COND](exp(s(q,k) - m(q)))) }""",
    # Where the condition is false the scores are a finite number.
    "a_number": HEAD
    + """s(q,k) = COND ? sum[d](Q(q,d) * K(k,d)) : -3.0
m(q) max=! s(q,k)
p(q,k) = exp(s(q,k) - m(q))
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q) }""",
    # Where the condition is false the scores are minus infinity, or NaN.
    "added_infinity": HEAD
    + """s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(D) + (COND ? 0.0 : -inf)
m(q) max=! s(q,k)
p(q,k) = exp(s(q,k) - m(q))
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q) }""",
    "added_infinity_logsumexp": HEAD
    + """s(q,k) = sum[d](Q(q,d) * K(k,d)) + (COND ? 0.0 : -inf)
l(q) logsumexp=! s(q,k)
O(q,e) +=! exp(s(q,k) - l(q)) * V(k,e) }""",
    # The maximum is over all scores.
    "times_the_condition": HEAD
    + """s(q,k) = sum[d](Q(q,d) * K(k,d))
m(q) = max[k](s(q,k))
p(q,k) = exp(s(q,k) - m(q)) * float(COND)
l(q) +=! p(q,k)
O(q,e) +=! p(q,k) * V(k,e)
O(q,e) = O(q,e) / l(q) }""",
}
# Those whose scores are NaN where the condition is false, if data are not finite; so are all weights of such a row.
LOW = ("added_infinity", "added_infinity_logsumexp")
CONDITIONS = ("k <= q", "k < q", "k >= q", "k <= q + 2 && q <= k + 2", "2 * k <= q")


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of few rows, whatever they cost."""
    monkeypatch.setattr(parts, "FEWEST_ROWS", 1)
    monkeypatch.setattr(parts, "COUNTS", (3,))
    monkeypatch.setattr(parts, "SAVED", -1.0)
    monkeypatch.setattr(parts, "WORTH", 1e9)


def arrays(rows: int) -> list[np.ndarray]:
    rng = np.random.default_rng(rows)
    return [rng.normal(size=(rows, width)).astype("float32") for width in (3, 3, 2)]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_parts_are_the_whole(name: str, condition: str) -> None:
    kernel = tcjax.kernel(PROGRAMS[name].replace("COND", condition))
    given = arrays(7)

    assert kernel.plan(*given).parts
    np.testing.assert_allclose(kernel(*given), kernel.interpret(*given), rtol=1e-4, atol=1e-5)


def test_the_gradient_of_parts_is_that_of_a_mask() -> None:
    program = PROGRAMS["a_number"].replace("COND", "k <= q")
    given = [jnp.asarray(array) for array in arrays(8)]

    def masked(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return jax.nn.softmax(jnp.where(jnp.tri(8, dtype=bool), q @ k.T, -3.0), axis=1) @ v

    kernel = tcjax.kernel(program)
    found, wanted = (jax.grad(lambda *a, f=f: jnp.sum(jnp.sin(f(*a))), (0, 1, 2))(*given) for f in (kernel, masked))

    assert kernel.plan(*given).parts
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_rows_in_which_nothing_counts_have_a_derivative() -> None:
    kernel = tcjax.kernel(PROGRAMS["reductions"].replace("COND", "k < q"))

    found = jax.grad(lambda *a: jnp.sum(kernel(*a)), (0, 1, 2))(*arrays(5))

    assert all(np.isfinite(array).all() for array in found)


def test_what_meets_a_zero_weight_is_not_left_out() -> None:
    kernel = tcjax.kernel(PROGRAMS["guards"].replace("COND", "k <= q"))
    q, k, v = arrays(6)
    v[5, 0] = np.inf

    found = np.asarray(kernel(q, k, v))

    np.testing.assert_array_equal(np.isnan(found), np.isnan(kernel.interpret(q, k, v)))


@pytest.mark.parametrize("name", LOW)
def test_minus_infinity_may_be_added_to_anything(name: str) -> None:
    kernel = tcjax.kernel(PROGRAMS[name].replace("COND", "k <= q"))
    given = [np.random.default_rng(1).normal(size=(768, width)).astype("float32") for width in (64, 64, 2)]
    assert has_proviso(kernel, *given)

    for number in (1.0, np.inf, -np.inf, np.nan, 3e38):
        for place in (0, 300, 767):
            q, k, v = (array.copy() for array in given)
            k[place, 1] = number
            with np.errstate(all="ignore"):
                scores = q @ k.T / np.float32(8 if name == "added_infinity" else 1)
                scores += np.where(np.tri(768, dtype=bool), np.float32(0), np.float32(-np.inf))
                weights = np.exp(scores - scores.max(1, keepdims=True))
                wanted = (weights / weights.sum(1, keepdims=True)) @ v

            np.testing.assert_allclose(kernel(q, k, v), wanted, rtol=1e-3, atol=1e-4)


def has_proviso(kernel: tcjax.Kernel, *given: np.ndarray) -> bool:
    stages = [stage for run in kernel.plan(*given).parts.values() for part in run.plans for stage in part.stages]
    return any(isinstance(stage, Compute) and stage.proviso is not None for stage in stages)


@pytest.mark.parametrize("name", LOW)
def test_the_gradient_of_parts_beyond_which_scores_are_minus_infinity(name: str) -> None:
    scale = np.sqrt(3) if name == "added_infinity" else 1.0
    given = [jnp.asarray(array) for array in arrays(8)]

    def masked(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return jax.nn.softmax(jnp.where(jnp.tri(8, dtype=bool), q @ k.T / scale, -jnp.inf), axis=1) @ v

    kernel = tcjax.kernel(PROGRAMS[name].replace("COND", "k <= q"))
    found, wanted = (jax.grad(lambda *a, f=f: jnp.sum(jnp.sin(f(*a))), (0, 1, 2))(*given) for f in (kernel, masked))

    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def with_weights_of_the_triangle(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    scores = q @ k.T
    weights = jnp.where(jnp.tri(len(q), dtype=bool), jnp.exp(scores - scores.max(1, keepdims=True)), 0.0)
    return (weights @ v) / weights.sum(1, keepdims=True)


@pytest.mark.parametrize("number", [1.0, np.inf, -np.inf, 3e38, 200.0, -200.0])
@pytest.mark.parametrize("place", [0, 5, 8])
def test_a_score_that_is_left_out_later_is_in_the_maximum(number: float, place: int) -> None:
    kernel = tcjax.kernel(PROGRAMS["times_the_condition"].replace("COND", "k <= q"))
    q, k, v = arrays(9)
    k[place, 1] = number

    found = kernel(q, k, v)

    assert kernel.plan(q, k, v).parts
    wanted = with_weights_of_the_triangle(jnp.asarray(q), jnp.asarray(k), jnp.asarray(v))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_the_gradient_where_all_scores_are_in_the_maximum() -> None:
    kernel = tcjax.kernel(PROGRAMS["times_the_condition"].replace("COND", "k <= q"))
    given = [jnp.asarray(array) for array in arrays(8)]

    pair = kernel, with_weights_of_the_triangle
    found, wanted = (jax.grad(lambda *a, f=f: jnp.sum(jnp.sin(f(*a))), (0, 1, 2))(*given) for f in pair)

    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_what_was_known_of_a_tensor_is_forgotten_where_its_operands_change() -> None:
    program = (
        HEAD
        + """m(q) max=! Q(q,d)
p(q,k) = k <= q ? K(k,0) * Q(q,0) : m(q)
m(q) = 2.0 * m(q)
l(q) +=! p(q,k)
O(q,e) = (l(q) + m(q)) * V(q,e) }"""
    )
    kernel = tcjax.kernel(program)
    given = arrays(9)

    np.testing.assert_allclose(kernel(*given), kernel.interpret(*given), rtol=1e-4, atol=1e-5)


def test_a_batch_of_calls_in_parts() -> None:
    kernel = tcjax.kernel(PROGRAMS["guards"].replace("COND", "k <= q"))
    batch = [np.stack([array, 2 * array]) for array in arrays(7)]

    found = jax.vmap(kernel)(*batch)

    for number in range(2):
        wanted = kernel.interpret(*(array[number] for array in batch))
        np.testing.assert_allclose(found[number], wanted, rtol=1e-4, atol=1e-5)
