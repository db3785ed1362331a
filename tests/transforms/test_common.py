"""Repeated reductions are computed once, where that costs less."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute

T, D, E = 160, 32, 24
RNG = np.random.default_rng(0)
Q, K, V = (RNG.standard_normal((T, size)).astype(np.float32) for size in (D, D, E))
HEAD = "def f(float(T,D) Q, float(S,D) K, float(S,E) V) -> (O)"
SCORES = "sum[d](Q(q,d) * K(k,d)) / 8"
# A mean of rows whose weights are exponentials of scores; each has the scores twice, under different names.
REPEATED = {
    "a logarithm and a sum": f"l(q) = logsumexp[k]({SCORES})\nO(q,e) = sum[k](exp({SCORES} - l(q)) * V(k,e))",
    "other names": f"""
l(a) = logsumexp[b](sum[c](Q(a,c) * K(b,c)) / 8)
O(q,e) = sum[k](exp({SCORES} - l(q)) * V(k,e))""",
    "a maximum and two sums": f"""
m(q) = max[k]({SCORES})
O(q,e) = sum[k](exp({SCORES} - m(q)) * V(k,e)) / sum[k](exp({SCORES} - m(q)))""",
}


def kernel_of(text: str) -> tcjax.Kernel:
    return tcjax.kernel(f"{HEAD} {{\n{text}\n}}")


def named(kernel: tcjax.Kernel, *arrays: object) -> list[str]:
    return [s.target for s in kernel.plan(*arrays).stages if isinstance(s, Compute) and "~" in s.target]


def expected(Q: jax.Array, K: jax.Array, V: jax.Array) -> jax.Array:
    return jax.nn.softmax(Q @ K.T / 8, axis=1) @ V


@pytest.mark.parametrize("name", REPEATED)
def test_scores_that_are_written_twice_are_computed_once(name: str) -> None:
    kernel = kernel_of(REPEATED[name])

    assert named(kernel, Q, K, V) == ["sum~a"]
    for compute, arrays in ((kernel, (Q, K, V)), (kernel.interpret, (Q[:9], K[:8], V[:8]))):
        with jax.enable_x64(True):
            wanted = expected(*(jnp.asarray(array, jnp.float64) for array in arrays))
        np.testing.assert_allclose(compute(*arrays), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", REPEATED)
def test_the_derivative_is_that_of_the_program(name: str) -> None:
    kernel = kernel_of(REPEATED[name])

    with jax.enable_x64(True):
        wanted = jax.grad(lambda *arrays: jnp.sum(jnp.sin(expected(*arrays))), (0, 1, 2))(
            *(jnp.asarray(array, jnp.float64) for array in (Q, K, V))
        )
    found = jax.grad(lambda *arrays: jnp.sum(jnp.sin(kernel(*arrays))), (0, 1, 2))(Q, K, V)

    for own, each in zip(found, wanted, strict=True):
        np.testing.assert_allclose(own, each, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        # A different range, different operands, a value that is written in between.
        "O(q) = max[k](sum[d](Q(q,d) * K(k,d))) + max[k](sum[d in 0:16](Q(q,d) * K(k,d)))",
        "O(q) = max[k](sum[d](Q(q,d) * K(k,d))) + max[k](sum[d](K(k,d) * K(q,d)))",
        """A(q,d) = Q(q,d)
O(q) = max[k](sum[d](A(q,d) * K(k,d)))
A(q,d) = -Q(q,d)
O(q) += max[k](sum[d](A(q,d) * K(k,d)))""",
    ],
)
def test_what_differs_keeps_its_own_value(text: str) -> None:
    kernel = kernel_of(text.replace(" / 8", ""))

    assert named(kernel, Q, K, V) == []
    np.testing.assert_allclose(kernel(Q, K, V), kernel.interpret(Q, K, V), rtol=1e-4, atol=1e-4)


def test_rows_that_count_from_elsewhere_are_the_same_rows() -> None:
    kernel = kernel_of("""
A(q) = max[k](sum[d](Q(q,d) * K(k,d))) where q in 0:80
O(q) = A(q) + max[k](exp(sum[d](Q(q,d) * K(k,d)) / 8)) where q in 0:80""")
    moved = kernel_of("""
A(q) = max[k](sum[d](Q(q,d) * K(k,d))) where q in 0:80
O(r) = A(r - 5) + max[k](exp(sum[d](Q(r - 5,d) * K(k,d)) / 8)) where r in 5:85""")

    for each in (kernel, moved):
        assert named(each, Q, K, V) == ["sum~a"]
        np.testing.assert_allclose(each(Q, K, V), each.interpret(Q, K, V), rtol=1e-4, atol=1e-4)


def test_a_transposed_value_is_the_same_value() -> None:
    kernel = kernel_of("O(q) = max[k](sum[d](Q(q,d) * K(k,d))) + max[k](sum[d](Q(k,d) * K(q,d)))")

    assert named(kernel, Q, K, V) == ["sum~a"]
    scores = Q.astype(float) @ K.astype(float).T
    np.testing.assert_allclose(kernel(Q, K, V), scores.max(1) + scores.max(0), rtol=1e-4, atol=1e-4)


def test_both_ways_of_a_ternary_share_what_they_repeat() -> None:
    kernel = kernel_of("O(q) = q > 3 ? max[k](sum[d](Q(q,d) * K(k,d))) : min[k](sum[d](Q(q,d) * K(k,d)))")

    assert named(kernel, Q, K, V) == ["sum~a"]
    scores = Q.astype(float) @ K.astype(float).T
    expected = np.where(np.arange(T) > 3, scores.max(1), scores.min(1))
    np.testing.assert_allclose(kernel(Q, K, V), expected, rtol=1e-4, atol=1e-5)


def test_a_limit_of_memory_is_kept() -> None:
    text = f"{HEAD} {{\n{REPEATED['a logarithm and a sum']}\n}}"

    kernel = tcjax.kernel(text, memory_limit="64KiB")

    assert named(kernel, Q, K, V) == []


def test_it_is_explained() -> None:
    explained = str(kernel_of(REPEATED["a logarithm and a sum"]).explain(Q, K, V))

    assert "sum.a[q, k] = sum[d]" in explained and "is computed once" in explained


GUARDED = f"""
l(q) = logsumexp[k where k <= q]({SCORES})
O(q,e) = sum[k where k <= q](exp({SCORES} - l(q)) * V(k,e))"""


def test_what_a_condition_decides_has_a_name_where_it_can_be_read_everywhere() -> None:
    kernel = tcjax.kernel(f"def f(float(T,D) Q, float(T,D) K, float(T,E) V) -> (O) {{\n{GUARDED}\n}}")

    assert named(kernel, Q, K, V) == ["sum~a"]
    scores = np.where(np.tri(T, dtype=bool), Q.astype(float) @ K.astype(float).T / 8, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(kernel(Q, K, V), weights @ V / weights.sum(1, keepdims=True), rtol=1e-4, atol=1e-5)


def test_what_would_read_beside_its_tensor_where_a_condition_is_false_has_no_name() -> None:
    # Rows from T - 1 on have no next row.
    scores = "sum[d](Q(q,d) * K(k+1,d))"
    kernel = tcjax.kernel(
        f"""def f(float(T,D) Q, float(S,D) K, float(S,E) V) -> (O) {{
        l(q) = logsumexp[k in 0:S where k < S - 1]({scores})
        O(q,e) = sum[k in 0:S where k < S - 1](exp({scores} - l(q)) * V(k,e)) }}"""
    )

    assert named(kernel, Q, K, V) == []
