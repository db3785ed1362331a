"""`k.export`: kernels for numbers as planned, and for symbols, serialised and called again."""

import warnings
from collections.abc import Sequence
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings

import tcjax
from tests.agreement.comparing import agree, loosest_of
from tests.agreement.compiling import quickly
from tests.effort import examples, phases
from tests.strategies.programs import Case, programs

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) OP A(m,k) * B(k,n) }"
Shapes = tuple[tuple[int, ...] | int, ...]


def kernel(text: str) -> tcjax.Kernel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        return tcjax.kernel(text)


def arrays(shapes: Shapes) -> list[np.ndarray]:
    """Floats of each shape; for an int, a vector of small integers."""
    rng = np.random.default_rng(0)
    return [
        rng.integers(0, 5, s).astype("int32") if isinstance(s, int) else rng.normal(size=s).astype("float32")
        for s in shapes
    ]


def again(exported: jax.export.Exported, order: int = 0) -> jax.export.Exported:
    """What another process receives."""
    return jax.export.deserialize(exported.serialize(vjp_order=order))


def leaves(results: Any) -> list[np.ndarray]:
    return [np.asarray(result) for result in jax.tree.leaves(results)]


PROGRAMS: dict[str, tuple[str, Sequence[Shapes]]] = {
    "contraction": (MM.replace("OP", "+=!"), [((4, 5), (5, 6)), ((30, 7), (7, 1))]),
    "max": (MM.replace("OP", "max=!"), [((4, 5), (5, 6)), ((3, 40), (40, 2))]),
    "min": (MM.replace("OP", "min=!"), [((4, 5), (5, 6))]),
    "product": (MM.replace("OP", "*=!"), [((4, 5), (5, 6))]),
    "mean": (MM.replace("OP", "mean=!"), [((4, 5), (5, 6))]),
    "logsumexp": (MM.replace("OP", "logsumexp=!"), [((4, 5), (5, 6))]),
    "argmin": (MM.replace("OP", "argmin=!"), [((4, 5), (5, 6)), ((3, 40), (40, 2))]),
    "correlation": (
        "def c(float(N) A, float(K) w) -> (B) { B(i) +=! A(i+k) * w(k) }",
        [((9,), (3,)), ((30,), (30,)), ((40,), (20,))],
    ),
    "convolution": (
        "def c(float(C,H,W) A, float(O,C,3,3) w) -> (B) { B(o,h,v) +=! A(c,h+y,v+x) * w(o,c,y,x) }",
        [((2, 9, 8), (3, 2, 3, 3))],
    ),
    "softmax": (
        "def s(float(N,M) X) -> (O, Z) { Z(i) max=! X(i,j)  S(i) +=! exp(X(i,j) - Z(i))"
        "  O(i,j) = exp(X(i,j) - Z(i)) / S(i) }",
        [((4, 5),), ((1, 30),)],
    ),
    "boundary": (
        "def j(float(N,M) A) -> (C) { C(i,j) = A(i,j)"
        "  C(i,j) = A(i-1,j) + A(i+1,j) - A(i,j-1) where i in 1:N-1, j in 1:M-1 }",
        [((4, 5),), ((8, 9),)],
    ),
    "rows by data": ("def h(int32(N) I, float(K,M) A) -> (O) { O(i,j) = A(I(i),j) }", [(8, (5, 6)), (3, (9, 2))]),
    "into rows by data": (
        "def h(int32(N) I, float(N,M) A) -> (float(9,M) O) { O(I(i),j) +=! A(i,j) }",
        [(8, (8, 6)), (3, (3, 2))],
    ),
    "products by data": (
        "def h(int32(N) I, float(N) A) -> (float(9) O) { O(I(i)) *=! A(i) }",
        [(8, (8,)), (3, (3,))],
    ),
    "minima by data and by an index": (
        "def h(int32(N) I, float(N) A) -> (float(9,5) O) { O(I(i), j) min=! A(i) + j where j in 1:4 }",
        [(8, (8,))],
    ),
    "as far as both go": (
        "def c(float(N) A, float(M) B) -> (O) { O +=! exp(A(u+2) * B(u)) }",
        [((9,), (3,)), ((2,), (4,))],
    ),
    "guard": (
        "def g(float(N,M) X) -> (O) { O(i) +=! X(i,j) * j where i in 0:N, j in 0:M, j <= i }",
        [((5, 8),), ((20, 5),)],
    ),
    "nested reductions": (
        "def g(float(N,D) X) -> (O) { O(i) = sum[j](exp(0.0 - sum[d]((X(i,d) - X(j,d)) * (X(i,d) - X(j,d))))) }",
        [((5, 3),), ((20, 2),)],
    ),
    "sizes as values": ("def g(float(N) X) -> (O) { O(i) = X(N-1-i) + N * i }", [((5,),), ((1,),)]),
    "choice": ("def g(float(N) X) -> (O) { O(i) = i > 2 ? X(i) : X(i+1) * 2 where i in 0:N-1 }", [((5,),), ((2,),)]),
    "diagonal": ("def g(float(N) X) -> (O) { O(i,i) = X(i) }", [((5,),)]),
    "every other": ("def g(float(N) X) -> (O) { O(2*i) = X(i) }", [((5,),)]),
    "pairs": ("def g(float(N) X) -> (O) { O(i/2) +=! X(i) where i in 0:N }", [((6,),), ((8,),)]),
    "call": (
        "def g(float(N) A) -> (B) { B(i) = A(i) * 2 } def f(float(N) A) -> (C) { B = g(A)  C(i) = B(i) + A(i) }",
        [((4,),)],
    ),
    "positions by data": (
        "def h(int32(N) I, float(N) A) -> (int32(9) O) { O(I(i)) argmin=! A(i) }",
        [(8, (8,)), (3, (3,))],
    ),
    "minima by data, of nothing too": (
        "def h(int32(N) I, float(N) A) -> (float(9) O) { O(I(i)) min=! A(i) where i in 0:N-3 }",
        [(8, (8,)), (3, (3,))],
    ),
    "means by data": ("def h(int32(N) I, float(N) A) -> (float(9) O) { O(I(i)) mean=! A(i) }", [(8, (8,))]),
    "from the middle on": (
        "def h(float(N) A, float(N,K) B) -> (O) { O(i) = A(i)  O(i) = A(i) * B(0,0) where i in N/2:N }",
        [((9,), (9, 3)), ((4,), (4, 4))],
    ),
    "nothing in front of what is there": (
        "def h(float(N) A) -> (O) { O(i) = A(i) where i in 2:5  O(i) max= A(0) * i where i in 1:1 }",
        [((5,),), ((8,),)],
    ),
    "positions under a condition": (
        "def h(float(N,M) A) -> (O) { O(i) argmax=! A(i,j) where i in 0:N, j in 0:M, j > i, A(i,j) < 0.5 }",
        [((4, 9),), ((5, 3),)],
    ),
    "mean under a condition": (
        "def h(float(N,M) A) -> (O) { O(i) mean=! A(i,j) where i in 0:N, j in 0:M, j >= i }",
        [((4, 9),), ((4, 5),)],
    ),
    "three matrices": (
        "def h(float(N,M) A, float(M,K) B, float(K,L) C) -> (O) { O(i,l) +=! A(i,j) * B(j,k) * C(k,l) }",
        [((4, 5), (5, 6), (6, 2))],
    ),
    "rows times rows": ("def h(float(N,M) A, float(N,M) B) -> (O) { O(i) +=! A(i,j) * B(i,j) }", [((4, 5), (4, 5))]),
    "remainders by a size": ("def h(float(N) A, float(K) B) -> (O) { O(i) = A(i) * B(i % K) }", [((9,), (4,))]),
    "scalar": ("def g(float(N) X, float a) -> (O) { O(i) = X(i) * a }", [((4,), ())]),
    "recurrence": (
        "def r(float(T,D) a, float(T,D) b) -> (h) { h(0,d) = b(0,d)"
        " for t in 1:T { h(t,d) = a(t,d) * h(t-1,d) + b(t,d) } }",
        [((5, 3), (5, 3)), ((1, 2), (1, 2)), ((40, 1), (40, 1))],
    ),
    "two loops, one backwards": (
        "def r(float(T,D) x, float(D,D) W) -> (g) { h(0,d) = x(0,d)"
        " for t in 1:T { h(t,n) = tanh(x(t,n) + sum[m](W(n,m) * h(t-1,m))) }"
        " g(T-1,d) = h(T-1,d) for t in T-2:-1:-1 { g(t,d) = 0.5 * g(t+1,d) + h(t,d) } }",
        [((5, 3), (3, 3)), ((1, 2), (2, 2))],
    ),
    "states": (
        "def r(float(T,D) x, float(T,N) B) -> (y) { for t in 0:T {"
        " h(d,n) = 0.5 * h(d,n) + B(t,n) * x(t,d)  y(t,d) = sum[n](B(t,n) * h(d,n)) } }",
        [((5, 3), (5, 2)), ((1, 1), (1, 1))],
    ),
    "a loop in a loop": (
        "def r(float(N,M) c) -> (D) { D(0,j) = c(0,j)  D(i,0) = c(i,0)"
        " for i in 1:N { for j in 1:M { D(i,j) = c(i,j) + min(D(i-1,j), min(D(i,j-1), D(i-1,j-1))) } } }",
        [((5, 3),), ((1, 4),), ((6, 7),)],
    ),
    "every other step, of what lies ahead": (
        "def r(float(T) b, float(3) w) -> (h) { h(i) = b(i)"
        " for t in 2:T:2 { h(t) = h(t-2) - t * sum[k where t + k < T](w(k) * b(t+k)) } }",
        [((6,), (3,)), ((7,), (3,)), ((3,), (3,))],
    ),
    "rows from the last on, with boundaries": (
        "def r(float(T,D) a) -> (h) { h(T-1,d) = a(0,d)"
        " for t in 1:T { h(T-1-t,d) = h(T-t,d) / 2 + a(clamp(t+1),wrap(d-1)) } }",
        [((6, 2),), ((1, 3),)],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_export_with_symbols_serves_all_sizes(name: str) -> None:
    text, calls = PROGRAMS[name]
    exported = again(kernel(text).export())

    for shapes in calls:
        given = arrays(shapes)
        for result, expected in zip(leaves(exported.call(*given)), leaves(kernel(text).interpret(*given)), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


LOOPS = ("recurrence", "two loops, one backwards", "states", "a loop in a loop")


@pytest.mark.parametrize("name", ["contraction", "max", "correlation", "softmax", "guard", "nested reductions", *LOOPS])
def test_its_gradient_is_exported_with_it(name: str) -> None:
    text, (shapes, *_) = PROGRAMS[name]
    plain, exported = kernel(text), again(kernel(text).export(), order=1)
    given = arrays(shapes)

    def loss(function: Any) -> Any:
        return lambda *a: sum(jnp.sum(jnp.sin(result)) for result in jax.tree.leaves(function(*a)))

    numbers = tuple(range(len(given)))
    for found, expected in zip(
        jax.grad(loss(exported.call), numbers)(*given), jax.grad(loss(plain), numbers)(*given), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_gradient_of_a_loop_with_symbols_takes_memory_in_proportion_to_its_steps() -> None:
    exported = again(kernel(PROGRAMS["recurrence"][0]).export(), order=1)
    backward = jax.jit(jax.grad(lambda a, b: exported.call(a, b).sum(), (0, 1)))

    arrays = [jax.ShapeDtypeStruct((steps, 8), "float32") for steps in (500, 4000)]
    short, long = (backward.lower(each, each).compile().memory_analysis().temp_size_in_bytes for each in arrays)

    assert long < 10 * short


def test_numbers_are_exported_as_planned() -> None:
    mm = kernel(MM.replace("OP", "+=!"))
    A, B = arrays(((4, 5), (5, 6)))

    exported = again(mm.export(A, jax.ShapeDtypeStruct((5, 6), "float32")))

    assert [str(aval) for aval in exported.in_avals] == ["float32[4,5]", "float32[5,6]"]
    assert exported.fun_name == "mm"
    np.testing.assert_array_equal(exported.call(A, B), mm(A, B))


def test_an_export_may_be_for_several_platforms() -> None:
    exported = kernel(MM.replace("OP", "max=!")).export("f32[M, 5]", "f32[5, N]", platforms=("cpu", "cuda"))

    assert exported.platforms == ("cpu", "cuda")
    assert [str(aval) for aval in again(exported).in_avals] == ["float32[M,5]", "float32[5,N]"]


def test_the_programs_conditions_are_those_of_its_symbols() -> None:
    exported = kernel(PROGRAMS["correlation"][0]).export("f32[N]", "f32[K]")

    with pytest.raises(ValueError, match="N \\+ 1 >= K"):
        exported.call(np.ones(3, "float32"), np.ones(9, "float32"))


def test_initial_values_and_sizes_go_by_keyword() -> None:
    A, B, C = arrays(((4, 5), (5, 6), (4, 6)))
    mm = kernel(MM.replace("OP", "+="))
    histogram = kernel("def h(int32(N) I) -> (float(B) H) { H(I(i)) +=! 1.0 }")

    products = again(mm.export("f32[M, K]", "f32[K, N]", C="f32[M, N]"))
    counts = again(histogram.export("int32[N]", B=4))

    np.testing.assert_allclose(products.call(A, B, C=C), A @ B + C, rtol=1e-5)
    np.testing.assert_array_equal(counts.call(np.array([0, 2, 2], "int32")), [1, 0, 2, 0])


@pytest.mark.parametrize(
    ("text", "specs", "code", "message"),
    [
        (MM, ("f32[M,K]", "f32[L,N]"), "TC0601", "K = K, but the argument has L"),
        (MM, ("f32[M,K]",), "TC0503", "`B` missing"),
        (MM, ("f32[M,K]", "f32[K]"), "TC0502", "dimension"),
        (MM, ("i32[M,K]", "f32[K,N]"), "TC0305", "declared float32"),
        (MM, ("f32[M,", "f32[K,N]"), "TC0308", "brackets are missing"),
        (MM, ("word[M]", "f32[K,N]"), "TC0308", "word is not a type"),
        (MM, ("f32[M,K+]", "f32[K,N]"), "TC0308", "syntax error"),
        (MM, (object(), "f32[K,N]"), "TC0308", "has no shape"),
        ("O(i) = A(i) + 1", (), "TC0505", "without specs"),
        ("def f(float(N,M) X) -> (O) { O(i) = maxk[j](X(i,j), 1) }", (), "TC0901", "needs numbers"),
        ("{ [i] -> a[i] * 2 }", ("f32[N]",), "TC0901", "not all numbers"),
        ("def f(float(N) x, float(H) s) -> (y) { y(i) = x(i)  y(i) = y(i+H) where i in 0:N-H }", (), "TC0901", "reads"),
        ("def f(float(N) x) -> (y) { y(i) = x(i)  y(i) = y(i-1) where i in 1:N }", (), "TC0708", "at i = 2"),
        (
            "def f(float(N) x, float(H) s) -> (y) { y(i) = x(i) for t in 0:N-H { y(t) = y(t+H) } }",
            (),
            "TC0901",
            "whether a later step writes elements of `y` that this one reads",
        ),
        ("def f(float(N) x, float(M) z) -> (y) { y(i) = x(i)  y(i) = z(i) where i in 0:M-1 }", (), "TC0901", "M - 1"),
    ],
)
def test_what_cannot_be_exported_is_refused_with_a_reason(
    text: str, specs: tuple[Any, ...], code: str, message: str
) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        kernel(text.replace("OP", "+=!")).export(*specs)

    assert caught.value.code == code
    assert message in caught.value.message


@pytest.mark.parametrize("platforms", ["cpu", (), (1,), 3])
def test_what_names_no_platforms_is_refused(platforms: Any) -> None:
    with pytest.raises(tcjax.CompileError, match="platforms"):
        kernel(MM.replace("OP", "+=!")).export(platforms=platforms)


# Each is compiled: the default profile tries few.
@settings(
    max_examples=examples(5),
    phases=phases(),
)
@given(programs())
def test_a_random_program_is_exported_with_symbols_for_its_sizes(case: Case) -> None:
    # Initial values need specs.
    assume(not case.initial)
    try:
        exported = again(case.kernel.export())
    except tcjax.CompileError as error:
        assert error.code == "TC0901"
        return
    with quickly():
        found = exported.call(*(jnp.asarray(array) for array in case.arguments.values()))

    agree(found, case.kernel.interpret(**case.arguments), loosest=loosest_of(case))
