"""`memory_limit`: what may be written, what it refuses, and that what it allows keeps to it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from bench.allocations import temporaries
from tests.lowering.test_memory_contract import NESTS

KERNEL_SUM = "O(i) = sum[j](exp(-(x(i) - y(j)) * (x(i) - y(j))) * b(j))"
# A rank that data decide takes a sort of every row.
SORT = "def f(float(N,K) A, int32(N) R) -> (O) {\n  O(n) = mink[k](A(n,k), R(n))\n}"


@pytest.mark.parametrize("limit", ["256MiB", "1 GB", "1.5K", "1000000", 10**6, "2 tib", None])
def test_bytes_are_a_number_or_a_text_with_a_unit(limit: object) -> None:
    x, y, b = np.float32([0, 1]), np.float32([0, 1, 2]), np.float32([1, 2, 3])

    kernel = tcjax.kernel(KERNEL_SUM, memory_limit=limit)

    np.testing.assert_allclose(kernel(x, y, b), kernel.interpret(x, y, b), rtol=1e-5)


@pytest.mark.parametrize(
    "limit", ["lots", "", "MiB", "-1", "1e6", "1 MiBi", "12 parsecs", -1, 1.5, True, [], {}, b"1KiB", float("nan"), "٣"]
)
def test_anything_else_is_no_limit(limit: object) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(KERNEL_SUM, memory_limit=limit)

    assert caught.value.code == "TC0308" and "memory_limit" in str(caught.value) and caught.value.help


@pytest.mark.parametrize("option", ["memory_limits", "memory", "nest"])
def test_an_unknown_option_is_named(option: str) -> None:
    with pytest.raises(tcjax.CompileError, match=f"`{option}`"):
        tcjax.kernel(KERNEL_SUM, **{option: "1MiB"})


def test_too_small_a_limit_says_what_needs_more_and_why() -> None:
    kernel = tcjax.kernel(SORT, memory_limit="1MiB")
    A, R = np.ones((1024, 1024), "float32"), np.ones(1024, "int32")

    with pytest.raises(tcjax.CompileError) as caught:
        kernel(A, R)

    error = caught.value
    assert error.code == "TC0810" and error.kind == "schedule" and error.help
    assert error.span is not None and error.span.line == 2
    assert "`O`" in error.message and str(1 << 20) in error.message
    # It asks for what it needs: so much is enough.
    needed = next(int(word) for word in error.message.split() if word.isdigit())
    assert needed > 1 << 20
    np.testing.assert_array_equal(tcjax.kernel(SORT, memory_limit=needed)(A, R), 1.0)


def test_too_small_a_limit_is_refused_under_every_transformation() -> None:
    kernel = tcjax.kernel(SORT, memory_limit=1 << 20)
    A, R = np.ones((1024, 1024), "float32"), np.ones(1024, "int32")

    calls = (
        lambda: jax.jit(kernel)(A, R),
        lambda: jax.grad(lambda A: kernel(A, R).sum())(A),
        lambda: jax.jvp(lambda A: kernel(A, R), (A,), (A,)),
        lambda: jax.vmap(kernel)(A[None], R[None]),
        lambda: jax.eval_shape(kernel, A, R),
    )
    for call in calls:
        with pytest.raises(tcjax.CompileError, match="memory_limit"):
            call()
    with pytest.raises(tcjax.CompileError, match="memory_limit"):
        kernel.plan(A, R)


@pytest.mark.parametrize(
    ("name", "limit"),
    [("a kernel sum", 1 << 20), ("a logsumexp", 1 << 22), ("a position", 1 << 19), ("shortest paths", 1 << 21)],
)
def test_a_nest_keeps_to_a_limit(name: str, limit: int) -> None:
    nest = NESTS[name]
    kernel = tcjax.kernel(nest.text, memory_limit=limit)

    for direction in ("forward", "reverse"):
        found = temporaries(kernel, nest.arguments, direction)
        assert found is None or found[0] <= limit


def test_a_limit_changes_no_number() -> None:
    rng = np.random.default_rng(0)
    x, y, b = (jnp.asarray(rng.standard_normal(n, "float32")) for n in (300, 700, 700))

    usual = tcjax.kernel(KERNEL_SUM)
    tight = tcjax.kernel(KERNEL_SUM, memory_limit=1 << 16)

    np.testing.assert_allclose(tight(x, y, b), usual(x, y, b), rtol=1e-5, atol=5e-5)  # Sums of 700 terms.
    slope = lambda k: jax.grad(lambda x: jnp.sin(k(x, y, b)).sum())(x)  # noqa: E731
    np.testing.assert_allclose(slope(tight), slope(usual), rtol=1e-4, atol=1e-4)


def test_a_batch_and_the_parts_of_a_guard_keep_to_a_limit() -> None:
    limit = 1 << 20
    x = jax.ShapeDtypeStruct((4, 4096), jnp.float32)
    guarded = tcjax.kernel("O(i) +=! tanh(x(i) * x(j)) where j <= i", memory_limit=limit)

    assert "loop nest" in str(guarded.plan(jax.ShapeDtypeStruct((4096,), jnp.float32)))
    found = temporaries(jax.vmap(guarded), (x,), "forward")
    assert found is not None and found[0] <= limit


def test_a_limit_holds_for_one_iteration_of_a_schedule() -> None:
    text = """
    def mlp(float(B,I) x, float(I,H) w, float(H,O) v) -> (y) {
        t(b,h) +=! x(b,i) * w(i,h)
        y(b,o) +=! t(b,h) * v(h,o)
    }"""
    arrays = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((1024, 64), (64, 512), (512, 16))]

    def in_tiles(rows: int, limit: int) -> tcjax.Kernel:
        kernel = tcjax.kernel(text, memory_limit=limit)
        return kernel.with_schedule(kernel.schedule().split("y", "b", rows, outer="bo").compute_at("t", "y", "bo"))

    # 32 rows of 512 values, and as much again while the rest of the tile is computed.
    in_tiles(32, 256 << 10).plan(*arrays)
    with pytest.raises(tcjax.CompileError) as caught:
        in_tiles(256, 256 << 10).plan(*arrays)

    error = caught.value
    assert error.code == "TC0810" and "`y`" in error.message and "tiles" in (error.help or "")
    assert error.span is not None and error.span.line == 4
    needed = next(int(word) for word in error.message.split() if word.isdigit())
    assert needed >= 256 * 512 * 4
    in_tiles(256, needed).plan(*arrays)


def test_a_name_goes_where_the_limit_would_refuse_what_it_stores() -> None:
    kernel = tcjax.kernel(
        """
def f(float(T,D) Q, float(T,D) K, float(T,E) V) -> (O) {
  s(q,k) +=! Q(q,d) * K(k,d) where k <= q
  m(q) max=! s(q,k) where k <= q
  p(q,k) = exp(s(q,k) - m(q)) where k <= q
  l(q) +=! p(q,k)
  O(q,e) +=! p(q,k) * V(k,e) / l(q)
}""",
        memory_limit="1MiB",
    )
    rng = np.random.default_rng(0)
    Q, K, V = (rng.standard_normal((768, 8)).astype(np.float32) for _ in range(3))

    scores = np.where(np.tri(768, dtype=bool), Q.astype(float) @ K.T.astype(float), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))

    np.testing.assert_allclose(kernel(Q, K, V), weights @ V / weights.sum(1, keepdims=True), rtol=1e-4, atol=1e-5)
    analysis = jax.jit(kernel).lower(Q, K, V).compile().memory_analysis()
    assert analysis is not None and analysis.temp_size_in_bytes <= 1 << 20
