"""``...`` as the first subscript: any number of leading dimensions, which broadcast as in NumPy."""

import pickle
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcjax
from tests.effort import examples, phases

MM = "C(...,m,n) +=! A(...,m,k) * B(...,k,n)"
TYPED = "def mm(float(...,M,K) A, float(...,K,N) B) -> (float(...,M,N) C) { C(...,m,n) +=! A(...,m,k) * B(...,k,n) }"


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape).astype(np.float32)


def mistake(source: str, *arrays: Any, **options: Any) -> tcjax.CompileError:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(source, **options)(*arrays)
    return caught.value


BATCHES = [
    ((), ()),
    ((5,), ()),
    ((), (5,)),
    ((5,), (5,)),
    ((2, 1), (7,)),
    ((1,), (1,)),
    ((0,), (1,)),
    ((6, 1, 3), (1, 5, 1)),
]


@pytest.mark.parametrize("text", [MM, TYPED], ids=["implied", "declared"])
@pytest.mark.parametrize("left, right", BATCHES)
def test_products_of_matrices_broadcast_as_numpy_does(text: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    kernel = tcjax.kernel(text)
    a, b = random(*left, 3, 4), random(*right, 4, 2)

    np.testing.assert_allclose(kernel.interpret(a, b), a @ b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(kernel(a, b)), a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("left, right", [((5,), ()), ((2, 1), (7,)), ((1,), (3,))])
def test_derivatives_add_up_what_broadcasts(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    kernel = tcjax.kernel(MM)
    a, b = random(*left, 3, 4), random(*right, 4, 2)
    out = (a @ b).shape
    cotangent = np.random.default_rng(1).standard_normal(out).astype(np.float32)

    _, pull = jax.vjp(jnp.matmul, a, b)
    expected = pull(cotangent)

    for found in (jax.vjp(kernel, a, b)[1](cotangent), kernel.adjoint(a, b)(a, b, cotangent)):
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(mine), other, rtol=1e-4, atol=1e-4)


def test_a_batch_of_products_is_one_contraction() -> None:
    plan = str(tcjax.kernel(MM).plan(random(6, 8, 4), random(6, 4, 8)))

    assert "dot_general -> float32[b0, m, n]" in plan


def test_what_a_kernel_tells_shows_the_indices_of_the_batch() -> None:
    kernel = tcjax.kernel(TYPED)
    a, b = random(2, 1, 3, 4), random(5, 4, 6)

    assert kernel.ranges(a, b) == [{"b0": (0, 2), "b1": (0, 5), "m": (0, 3), "n": (0, 6), "k": (0, 4)}]
    assert list(kernel.ranges()[0]) == ["b0", "m", "n", "k"]
    assert "C[b0, b1, m, n]" in str(kernel.explain(a, b))
    assert "d_A(b0, m, k) +=! d_C(b0, m, n) * B(b0, k, n)" in str(kernel.adjoint())
    assert "d_A(b0, 0, m, k)" in str(kernel.adjoint(a, b))
    assert "..." in str(kernel) and str(tcjax.kernel(str(kernel))) == str(kernel)


def test_an_index_of_the_text_keeps_its_name() -> None:
    kernel = tcjax.kernel("y(..., b0) = x(..., b0)")

    assert list(kernel.ranges(random(2, 3))[0]) == ["batch0", "b0"]


NORM = """
def norm(float(..., D) x, float(D) gain) -> (float(..., D) y) {
    float(...) mean_
    mean_(...) = mean[d](x(..., d))
    var(...) = mean[d](pow(x(..., d) - mean_(...), 2))
    y(..., d) = gain(d) * (x(..., d) - mean_(...)) / sqrt(var(...) + 1e-5)
}"""


@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (2, 1, 3)])
def test_temporaries_have_the_batch_of_what_they_are_made_of(batch: tuple[int, ...]) -> None:
    x, gain = random(*batch, 8), random(8)

    found = tcjax.kernel(NORM)(x, gain)

    expected = gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)


@tcjax.kernel
def attention(Q: "float(..., T, D)", K: "float(..., S, D)", V: "float(..., S, E)") -> "float(..., T, E)":
    s[..., q, k] = sum[d](Q[..., q, d] * K[..., k, d]) / sqrt(Q.shape[-1])
    m[..., q] = max[k](s[..., q, k])
    w[..., q, k] = exp(s[..., q, k] - m[..., q])
    out[..., q, e] = sum[k](w[..., q, k] * V[..., k, e]) / sum[k](w[..., q, k])
    return out


@pytest.mark.parametrize("queries, keys", [((), ()), ((2, 3), (2, 1)), ((4,), ()), ((), (4,))])
def test_attention_in_python_broadcasts(queries: tuple[int, ...], keys: tuple[int, ...]) -> None:
    q, k, v = random(*queries, 5, 4), random(*keys, 6, 4), random(*keys, 6, 3)

    s = q @ np.swapaxes(k, -1, -2) / 2
    w = np.exp(s - s.max(-1, keepdims=True))
    expected = w @ v / w.sum(-1, keepdims=True)
    np.testing.assert_allclose(np.asarray(attention(q, k, v)), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(attention.interpret(q, k, v), expected, rtol=1e-4, atol=1e-5)


def test_jaxtyping_and_a_kernel_in_python_write_back() -> None:
    @tcjax.kernel
    def scaled(x: "Float32[Array, '... N']", s: "Float32[Array, '...']"):  # noqa: F722
        y[..., i] = x[..., i] * s[...]
        return y

    x, s = random(2, 3, 4), random(3)
    np.testing.assert_allclose(np.asarray(scaled(x, s)), x * s[:, None], rtol=1e-6)
    assert 'x: "float(...,N)", s: "float(...)"' in scaled.to("python")
    assert "y[..., i] = x[..., i] * s[...]" in scaled.to("python")


def test_a_parameter_that_is_accumulated_into_has_a_batch() -> None:
    @tcjax.kernel
    def added(C, A):
        C[..., i] += A[..., i]
        return C

    c, a = random(2, 3), random(3)
    np.testing.assert_allclose(np.asarray(added(c, a)), c + a, rtol=1e-6)


def test_elementwise_programs_take_any_shapes() -> None:
    kernel = tcjax.kernel("y(...) = relu(x(...)) + z(...)")

    for x, z in [(random(3), random(2, 3)), (random(2, 1), random(4)), (np.float32(2), random(2)), (1.0, 2.0)]:
        np.testing.assert_allclose(np.asarray(kernel(x, z)), np.maximum(x, 0) + z, rtol=1e-6)


def test_data_may_be_read_at_places_of_the_batch() -> None:
    kernel = tcjax.kernel("y(..., i) = x(..., I(..., i))", checked=True)
    x, places = random(2, 3, 4), np.random.default_rng(0).integers(0, 4, (3, 5)).astype(np.int32)

    expected = np.take_along_axis(x, np.broadcast_to(places, (2, 3, 5)), -1)
    np.testing.assert_allclose(np.asarray(kernel(x, places)), expected)


def test_guards_lets_and_ranges_see_the_batch() -> None:
    kernel = tcjax.kernel("y(..., i) = t * x(..., i) where i in 0:2, t = 2 * s(...), s(...) > 0")
    x, s = random(2, 3, 4), np.array([1, -1, 2], np.float32)

    expected = np.where(s[:, None] > 0, 2 * s[:, None] * x[..., :2], 0)
    np.testing.assert_allclose(np.asarray(kernel(x, s)), expected, rtol=1e-6)
    np.testing.assert_allclose(kernel.interpret(x, s), expected, rtol=1e-6)


def test_definitions_are_called_with_several_batches() -> None:
    text = (
        TYPED.replace("float(...,M,N) C", "C")
        + """
    def chain(float(...,M,K) A, float(K,L) B, float(L,P) D) -> (E, F) { T = mm(A, B) E = mm(T, D) F = mm(B, D) }
    """
    )
    a, b, d = random(2, 3, 4), random(4, 5), random(5, 6)

    e, f = tcjax.load(text).chain(a, b, d)

    np.testing.assert_allclose(np.asarray(e), a @ b @ d, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.asarray(f), b @ d, rtol=1e-4, atol=1e-4)


def test_a_definition_with_a_batch_is_called_by_one_without() -> None:
    text = (
        NORM
        + " def twice(float(B,T,D) x, float(D) g) -> (z) { h(b,t,d) = 2.0 * x(b,t,d)  y = norm(h, g) z = norm(y, g) }"
    )
    x, gain = random(2, 3, 8), np.ones(8, np.float32)

    found = tcjax.load(text).twice(x, gain)

    np.testing.assert_allclose(np.asarray(found).std(-1), np.ones((2, 3)), rtol=1e-3)


def test_what_an_index_names_may_be_read_as_a_batch() -> None:
    kernel = tcjax.kernel("t(b, i) = 2.0 * x(b, i)  y(..., i) = t(..., i) + x(..., i) + z(..., i)")

    for rows, others in [(3, 1), (1, 3), (3, 3)]:
        x, z = random(rows, 4), random(others, 4)
        np.testing.assert_allclose(np.asarray(kernel(x, z)), 3 * x + z, rtol=1e-5)


def test_batches_are_batched_jitted_exported_pickled_sharded_and_checked() -> None:
    kernel = tcjax.kernel(MM)
    a, b = random(3, 2, 4), random(3, 4, 5)

    expected = a @ b
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    exported = kernel.export("float32[B, M, K]", "float32[B, K, N]")
    others = [
        jax.vmap(kernel)(a, b),
        jax.jit(kernel)(a, b),
        exported.call(a, b),
        pickle.loads(pickle.dumps(kernel))(a, b),
        kernel.sharded(mesh, {"b0": "x"})(a, b),
        tcjax.kernel(MM, checked=True)(a, b),
        tcjax.kernel(kernel.to("python", a, b).split("\n", 1)[1] and kernel.to("tc"))(a, b),
        tcjax.kernel(kernel.to("sac", a, b))(a, b),
    ]
    for other in others:
        np.testing.assert_allclose(np.asarray(other), expected, rtol=1e-4, atol=1e-5)
    one = kernel.export("float32[B, M, K]", "float32[1, K, N]")
    np.testing.assert_allclose(np.asarray(one.call(a, b[:1])), a @ b[:1], rtol=1e-4, atol=1e-5)
    assert kernel.check(examples=2)


def test_a_result_that_goes_on_starts_from_the_value_of_the_call() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        kernel = tcjax.kernel("y(..., i) += x(..., i)")
        x, start = random(2, 3), random(3, 2).T

        np.testing.assert_allclose(np.asarray(kernel(x, y=start)), start + x, rtol=1e-6)


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("text", "shapes", "code", "said"),
    [
        (MM, [(2, 3, 4), (3, 4, 5)], "TC0601", "`A` has 2 along dimension 0, `B` has 3 along dimension 0"),
        (MM, [(5, 2, 3, 4), (2, 2, 4, 5)], "TC0601", "`A` has 5"),
        ("t(...,i) = A(...,i)  y(...,i) = t(...,i) + B(...,i)", [(2, 4), (3, 4)], "TC0601", "`t` has 2"),
        (MM, [(4,), (4, 5)], "TC0502", "`A` has 2 dimensions"),
        (TYPED, [(4,), (4, 5)], "TC0502", "`A` has 2 dimensions"),
        ("s() +=! A(...,i)", [(4,)], "TC0703", "nothing reduces the batch of `A`"),
        ("y(i) = sum[k](A(...,k)) * B(i)", [(4,), (4,)], "TC0703", "nothing reduces the batch of `A`"),
        ("y(i) = A(i, ...)", [(4,)], "TC0101", "..."),
        ("y(i) = relu(...) * A(i)", [(4,)], "TC0201", "`relu`"),
        ("y(..., i) = A(..., i) / A.0", [(4,)], "TC0501", "dimension of `A`"),
        ("y(...,i) = A(...,i)  y(...,i) = y(...,i) + B(...,i)", [(4,), (2, 4)], "TC0601", "this one is larger"),
        ("y(...,i) = A(...,i)  y(...,i) = y(...,i) + B(...,i)", [(1, 4), (2, 4)], "TC0601", "this one is larger"),
        ("t(b,i) = A(b,i) where b in 0:1  y(...,i) = t(...,i) + A(...,i)", [(2, 4)], "TC0501", "`t`"),
        ("def f(float(...,N) A) -> (y) { y(i) = A(i) }", [(2, 4)], "TC0501", "subscript"),
        ("y = g(A)  z(...,i) = y(...,i)", [(4,)], "TC0505", "`y`"),
    ],
)
def test_what_does_not_fit_is_told(text: str, shapes: list[tuple[int, ...]], code: str, said: str) -> None:
    error = mistake(text, *[random(*shape) for shape in shapes], fns={"g": lambda a: a + 1})

    assert error.code == code
    assert said in str(error)
    assert error.help


@pytest.mark.parametrize("text", ["s() +=! A(...,i)", "y(...,i) = x(...,i) + q(i) * z", "y(...,i) = relu(...) * A(i)"])
def test_what_is_wrong_for_every_rank_is_told_without_arguments(text: str) -> None:
    with pytest.raises(tcjax.CompileError):
        tcjax.kernel(text)


def test_notations_and_exports_that_need_ranks_ask_for_them() -> None:
    kernel = tcjax.kernel(TYPED)

    for ask in (lambda: kernel.to("sac"), kernel.export):
        with pytest.raises(tcjax.CompileError, match="TC0505"):
            ask()


def test_dots_in_python_stand_first_only() -> None:
    with pytest.raises(tcjax.CompileError, match="it comes first"):

        @tcjax.kernel
        def wrong(A):
            y[i] = A[i, ...]
            return y

    with pytest.raises(tcjax.CompileError, match="depends on what its"):

        @tcjax.kernel
        def sized(A: "float(..., N)"):
            y[..., i] = A[..., i] / A.shape[0]
            return y


# ---------------------------------------------------------------- random batches


def _shapes() -> st.SearchStrategy[tuple[tuple[int, ...], ...]]:
    """Shapes of three batches that broadcast."""

    def cut(whole: list[int], ones: list[list[bool]], lengths: list[int]) -> tuple[tuple[int, ...], ...]:
        found = []
        for mask, length in zip(ones, lengths, strict=True):
            own = [1 if one else extent for extent, one in zip(whole, mask, strict=False)]
            found.append(tuple(own[len(own) - min(length, len(own)) :]))
        return tuple(found)

    masks = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=3, max_size=3)
    return st.builds(
        cut, st.lists(st.integers(0, 3), max_size=3), masks, st.lists(st.integers(0, 3), min_size=3, max_size=3)
    )


PROGRAMS = {
    "y(..., i) +=! a(..., i, j) * b(..., j) * c(...)": ("...ij,...j,...->...i", (2, 3), (3,), ()),
    "y(..., j, i) +=! a(..., i) * b(..., j, k) * c(..., k)": ("...i,...jk,...k->...ji", (2,), (3, 4), (4,)),
    "t(...) +=! a(..., i) * b(..., i)  y(..., j) = t(...) * c(..., j)": ("...i,...i,...j->...j", (3,), (3,), (2,)),
    "y(..., i) = sum[j](a(..., i, j) * b(..., j)) * c(..., i)": ("...ij,...j,...i->...i", (2, 3), (3,), (2,)),
}


@given(st.sampled_from(sorted(PROGRAMS)), _shapes(), st.integers(0, 2**16))
@settings(max_examples=examples(10), phases=phases(), deadline=None)
def test_random_batches_agree_with_einsum(text: str, batches: tuple[tuple[int, ...], ...], seed: int) -> None:
    subscripts, *own = PROGRAMS[text]
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(-3, 4, (*b, *shape)).astype(np.float32) for b, shape in zip(batches, own, strict=True)]

    kernel = tcjax.kernel(text)
    expected = np.einsum(subscripts, *arrays)

    np.testing.assert_allclose(kernel.interpret(*arrays), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.asarray(kernel(*arrays)), expected, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------- plans


@pytest.mark.parametrize(
    ("batched", "plain", "shapes"),
    [
        (MM, "C(b0,m,n) +=! A(b0,m,k) * B(b0,k,n)", [(6, 8, 4), (6, 4, 8)]),
        (MM, "C(b0,m,n) +=! A(b0,m,k) * B(k,n)", [(6, 8, 4), (4, 8)]),
        (
            "s(...,q,k) +=! Q(...,q,d) * K(...,k,d)  y(...,q,e) = sum[k](exp(s(...,q,k)) * V(...,k,e))"
            " / sum[k](exp(s(...,q,k)))",
            "s(b0,q,k) +=! Q(b0,q,d) * K(b0,k,d)  y(b0,q,e) = sum[k](exp(s(b0,q,k)) * V(b0,k,e))"
            " / sum[k](exp(s(b0,q,k)))",
            [(4, 32, 8), (4, 48, 8), (4, 48, 8)],
        ),
        (
            "y(...,i) = logsumexp[j](x(...,i) - z(...,j))",
            "y(b0,b1,i) = logsumexp[j](x(b0,b1,i) - z(0,b1,j))",
            [(2, 3, 40), (1, 3, 50)],
        ),
    ],
)
def test_a_batch_is_planned_as_if_its_dimensions_were_named(
    batched: str, plain: str, shapes: list[tuple[int, ...]]
) -> None:
    arrays = [random(*shape) for shape in shapes]

    assert str(tcjax.kernel(batched).plan(*arrays)) == str(tcjax.kernel(plain).plan(*arrays))


def test_a_batch_of_a_result_that_an_inner_index_shadows_is_not_guessed() -> None:
    with pytest.raises(tcjax.CompileError, match="TC0501"):
        tcjax.kernel("t(i) = a(i) + sum[i](b(i))  y(...) = t(...) + a(...)")


def test_parameters_that_are_only_passed_on_wait_for_the_call() -> None:
    text = TYPED + " def passed(A, B) -> (D) { D = mm(A, B) }"
    a, b = random(2, 3, 4), random(4, 5)

    np.testing.assert_allclose(np.asarray(tcjax.load(text).passed(a, b)), a @ b, rtol=1e-4, atol=1e-5)


def test_what_python_computes_has_no_batch() -> None:
    text = TYPED + " def made(A, B) -> (D) { E = g(A) D = mm(E, B) }"

    with pytest.raises(tcjax.CompileError, match="TC0505"):
        tcjax.load(text, fns={"g": lambda a: a})["made"](random(3, 4), random(4, 5))


def test_schedules_name_the_indices_of_the_batch() -> None:
    kernel = tcjax.kernel(MM)
    a, b = random(3, 8, 4), random(4, 6)

    scheduled = kernel.with_schedule(kernel.schedule())

    np.testing.assert_allclose(np.asarray(scheduled(a, b)), a @ b, rtol=1e-4, atol=1e-5)
