"""`memory_limit`: valid values, what it refuses, and that allowed programs keep to it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from bench.allocations import temporaries
from tests.lowering.test_memory_contract import NESTS

KERNEL_SUM = "O(i) = sum[j](exp(-(x(i) - y(j)) * (x(i) - y(j))) * b(j))"
# A rank that is data needs a sort of every row.
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
    # The message names the memory that is needed: this much is enough.
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


def test_several_results_are_a_tuple_with_a_limit_too() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (O, P) { O(i) = 2.0 * A(i) P +=! A(i) }", memory_limit="1MiB")
    A = np.float32([1, 2, 3])

    found, back = jax.vjp(kernel, A)

    assert isinstance(kernel(A), tuple) and isinstance(kernel.interpret(A), tuple)
    np.testing.assert_array_equal(found[0], 2 * A)
    np.testing.assert_array_equal(found[1], 6)
    # 2 for each cotangent of O, and that of P.
    np.testing.assert_array_equal(back((np.float32([1, 10, 100]), np.float32(5)))[0], [7, 25, 205])


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


# Programs with gathers and scatters, with the shapes of their arguments.
BY_DATA = {
    "a mixture of experts": (
        "def f(float(T,N) h, int32(T) e, float(E,N,D) w) -> (O) { O(t,d) +=! h(t,n) * w(e(t),n,d) }",
        ("float32[256,64]", "int32[256]", "float32[8,64,64]"),
    ),
    "bags of rows": (
        "def f(int32(N,L) I, float(K,M) A) -> (O) { O(i,j) +=! A(I(i,l),j) }",
        ("int32[512,16]", "float32[1000,64]"),
    ),
    "a factor of low rank for each row": (
        "def f(float(T,D) x, int32(T) s, float(L,D,R) A, float(L,R,E) B) -> (O) {"
        " u(t,r) +=! x(t,d) * A(s(t),d,r)  O(t,e) +=! u(t,r) * B(s(t),r,e) }",
        ("float32[512,64]", "int32[512]", "float32[8,64,8]", "float32[8,8,64]"),
    ),
    "a sum of segments": (
        "def f(float(N,D) x, int32(N) s) -> (float(64,D) O) { O(s(n),d) +=! exp(x(n,d)) }",
        ("float32[4096,32]", "int32[4096]"),
    ),
    "a product of its segments": (
        "def f(float(N,D) x, int32(N) s) -> (float(64,D) O) { O(s(n),d) *=! x(n,d) }",
        ("float32[1024,8]", "int32[1024]"),
    ),
}


def of(*texts: str) -> tuple[jax.ShapeDtypeStruct, ...]:
    """``float32[8,64]`` as a shape and a type."""
    parts = (text.rstrip("]").split("[") for text in texts)
    return tuple(jax.ShapeDtypeStruct(tuple(map(int, shape.split(","))), jnp.dtype(dtype)) for dtype, shape in parts)


def refused_or_counted(function: object, arguments: tuple[jax.ShapeDtypeStruct, ...], direction: str) -> int | None:
    """The temporary bytes by XLA's count; None if the limit is refused."""
    try:
        found = temporaries(function, arguments, direction)  # pyright: ignore[reportArgumentType]
    except tcjax.CompileError as error:
        assert error.code == "TC0810" and error.span is not None and error.help
        return None
    assert found is not None
    return found[0]


@pytest.mark.parametrize("limit", [1 << 14, 1 << 18, 1 << 24])
@pytest.mark.parametrize("name", BY_DATA)
def test_a_limit_is_kept_or_refused_where_data_decides_places(name: str, limit: int) -> None:
    text, shapes = BY_DATA[name]
    kernel, arguments = tcjax.kernel(text, memory_limit=limit), of(*shapes)

    for direction in ("forward", "ahead", "reverse"):
        found = refused_or_counted(kernel, arguments, direction)

        assert found is None or found <= limit + 1024
        assert found is not None or limit < 1 << 24


def test_the_gradient_is_refused_where_it_needs_more_than_the_result() -> None:
    text, shapes = BY_DATA["a mixture of experts"]
    arguments = of(*shapes)
    free = tcjax.kernel(text)
    forward, reverse = (temporaries(free, arguments, direction) for direction in ("forward", "reverse"))
    assert forward is not None and reverse is not None and forward[0] < reverse[0]
    kernel = tcjax.kernel(text, memory_limit=(forward[0] + reverse[0]) // 2)

    assert temporaries(kernel, arguments, "forward") is not None
    with pytest.raises(tcjax.CompileError, match="the gradient of `f` needs") as caught:
        temporaries(kernel, arguments, "reverse")
    assert caught.value.code == "TC0810"
    assert temporaries(tcjax.kernel(text, memory_limit=reverse[0]), arguments, "reverse") == reverse


def test_only_the_derivatives_that_are_asked_for_are_counted() -> None:
    text = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! exp(A(m,k)) * B(k,n) }"
    (A, B), limit = of("float32[512,512]", "float32[512,16]"), 3 << 19
    kernel = tcjax.kernel(text, memory_limit=limit)

    by_B = lambda A, B: jax.grad(lambda B: kernel(A, B).sum())(B)  # noqa: E731
    found = temporaries(by_B, (A, B), "forward")

    assert found is not None and found[0] <= limit
    with pytest.raises(tcjax.CompileError, match="the tangent of `f`"):
        jax.jit(lambda A, B: jax.jvp(kernel, (A, B), (A, B))).lower(A, B)


def test_a_batch_counts_as_a_whole() -> None:
    text, shapes = BY_DATA["a sum of segments"]
    x, s = of(*shapes)
    one = temporaries(tcjax.kernel(text), (x, s), "forward")
    assert one is not None
    kernel = tcjax.kernel(text, memory_limit=max(4096, 2 * one[0]))
    batch = jax.ShapeDtypeStruct((16, *x.shape), x.dtype)

    found = refused_or_counted(jax.vmap(kernel, (0, None)), (batch, s), "forward")

    assert found is None or found <= max(4096, 2 * one[0])


def test_the_figures_of_a_kernel_are_told_where_they_exceed_its_limit() -> None:
    text, shapes = BY_DATA["a mixture of experts"]
    forward = temporaries(tcjax.kernel(text), of(*shapes), "forward")
    assert forward is not None
    kernel = tcjax.kernel(text, memory_limit=forward[0])

    compiled = kernel.explain(*of(*shapes), compiled=True).to_dict()["compiled"]

    assert compiled["vjp"]["temporary_bytes"] > forward[0] >= compiled["forward"]["temporary_bytes"]


def test_numbers_pass_a_limit_as_they_are() -> None:
    text, _ = BY_DATA["a mixture of experts"]
    rng = np.random.default_rng(0)
    h, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((6, 5), (3, 5, 4)))
    e = np.int32([0, 2, 1, 1, 0, 2])
    kernel = tcjax.kernel(text, memory_limit="1MiB")
    weights = rng.standard_normal((6, 4)).astype(np.float32)

    expected = np.einsum("tn,tnd->td", h.astype(float), w.astype(float)[e])
    np.testing.assert_allclose(kernel(h, e, w), expected, rtol=1e-5, atol=1e-6)
    by_h = jax.grad(lambda h: (kernel(h, e, w) * weights).sum())(h)
    np.testing.assert_allclose(by_h, np.einsum("td,tnd->tn", weights, w[e]), rtol=1e-5, atol=1e-5)
    moved = jax.jvp(lambda h: kernel(h, e, w), (h,), (h,))[1]
    np.testing.assert_allclose(moved, expected, rtol=1e-5, atol=1e-6)
    stack = jax.vmap(jax.grad(lambda h: (kernel(h, e, w) * weights).sum()))(np.stack([h, 2 * h]))
    np.testing.assert_allclose(stack[1], by_h, rtol=1e-5, atol=1e-5)
    twice = jax.grad(lambda h: (jax.grad(lambda h: (kernel(h, e, w) ** 2).sum())(h) * h).sum())(h)
    np.testing.assert_allclose(twice, 4 * np.einsum("td,tnd->tn", expected, w[e]), rtol=1e-4, atol=1e-4)


def test_a_kernel_without_a_limit_passes_nothing() -> None:
    traced = jax.make_jaxpr(tcjax.kernel(KERNEL_SUM))(*of("float32[8]", "float32[9]", "float32[9]"))

    assert "tcjax_limit" not in str(traced)


def test_each_device_of_a_mesh_keeps_to_the_limit_or_it_is_refused() -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "tests.runtime.limits_on_devices"]

    ran = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment, timeout=300)

    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(ran.stdout)
    units = {"KiB": 1 << 10, "MiB": 1 << 20}
    for name, by_direction in found.items():
        text = name.rpartition(", ")[2]
        limit = int(text[:-3]) * units[text[-3:]]
        assert all(count is None or count <= limit + 1024 for count in by_direction.values()), (name, by_direction)
    kept = [name for name, by_direction in found.items() if None not in by_direction.values()]
    assert {"rows of a kernel sum, 1MiB", "values that are sent away, 4MiB", "experts, 4MiB"} <= set(kept)
    assert found["terms of a product, 256KiB"] == {"forward": None, "reverse": None}


def test_a_tensor_as_it_lies_is_no_temporary() -> None:
    kernel = tcjax.kernel("O(i) max=! X(i,j)", memory_limit="64KiB")
    X = jax.ShapeDtypeStruct((512, 512), jnp.float32)

    assert "loop nest" not in str(kernel.plan(X))
    found = temporaries(kernel, (X,), "forward")
    assert found is not None and found[0] <= 64 << 10
