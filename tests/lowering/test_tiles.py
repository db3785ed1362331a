"""Scheduled kernels: tiles run one by one, producers are computed inside them, and results are the same."""

from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax import planning
from tests.agreement.compiling import whole

pytestmark = pytest.mark.usefixtures("quickly_compiled")

Arrange = Callable[[tcjax.Schedule], tcjax.Schedule]


@dataclass(frozen=True)
class Case:
    """A program, the shapes of its arguments, and the commands of its schedule."""

    name: str
    text: str
    shapes: tuple[tuple[int, ...], ...]
    arrange: Arrange
    tiled: bool = True
    dtype: str = "float32"
    options: dict[str, object] = field(default_factory=dict)


TWO = "def f(float(N,M) A) -> (D) { C(i,j) = A(i,j) + 1.0  D(i,j) = C(i,j) * 2.0 }"
HALO = "def f(float(N) A) -> (D) { C(i) = A(i) * A(i)  D(i) = C(i) + C(i+1) + C(i+2) }"
PADDED = """def f(float(N) A) -> (D) { C(i) = exp(A(i))
    D(i) = (i > 0 ? C(i-1) : 0.0) + C(i) + (i < N - 1 ? C(i+1) : 0.0) where i in 0:N }"""
MATMUL = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
MLP = """def f(float(B,I) x, float(I,H) w, float(H,O) v) -> (y) {
    h(b,j) +=! x(b,i) * w(i,j)  r(b,j) = fmax(h(b,j), 0.0)  y(b,o) +=! r(b,j) * v(j,o) }"""
CONV2 = """def f(float(H,W) I, float(KH,KW) K, float(LH,LW) L) -> (O) {
    T(h,w) +=! I(h+kh,w+kw) * K(kh,kw)  O(h,w) +=! T(h+lh,w+lw) * L(lh,lw) }"""
SOFTMAX = """def f(float(N,D) X) -> (Y) { m(n) max=! X(n,d)  e(n,d) = exp(X(n,d) - m(n))  s(n) +=! e(n,d)
    Y(n,d) = e(n,d) / s(n) }"""
POOL = """def f(float(H,W) I, float(KH,KW) K) -> (P) {
    C(h,w) +=! I(h+kh,w+kw) * K(kh,kw)  R(h,w) = fmax(C(h,w), 0.0)
    P(h,w) max=! R(2*h+ph, 2*w+pw) where ph in 0:2, pw in 0:2 }"""
INTERIOR = "def f(float(N,M) A) -> (B) { B(i,j) = A(i-1,j) + A(i+1,j) - A(i,j-1) where i in 1:N-1, j in 1:M-1 }"

CASES = [
    Case("at the inner loop", TWO, ((5, 16),), lambda s: s.compute_at("C", "D", "j")),
    Case("at the outer loop", TWO, ((5, 16),), lambda s: s.compute_at("C", "D", "i")),
    Case(
        "at the inner part of a split",
        TWO,
        ((5, 16),),
        lambda s: s.split("D", "j", factor=8, outer="jo", inner="ji").compute_at("C", "D", "ji"),
    ),
    Case("a tail", TWO, ((5, 20),), lambda s: s.split("D", "j", 16, outer="jo").compute_at("C", "D", "jo")),
    Case("parts", TWO, ((5, 20),), lambda s: s.split("D", "j", nparts=3, outer="jo").compute_at("C", "D", "jo")),
    Case("a tail of both", TWO, ((7, 11),), lambda s: s.tile("D", "i", "j", 3, 4)),
    Case(
        "fused, then split",
        TWO,
        ((4, 4),),
        lambda s: s.fuse("D", "i", "j", into="f").split("D", "f", 4, outer="fo").compute_at("C", "D", "fo"),
    ),
    Case(
        "fused, then split across rows",
        TWO,
        ((5, 7),),
        lambda s: s.fuse("D", "i", "j", into="f").split("D", "f", 3, outer="fo").compute_at("C", "D", "fo"),
    ),
    Case(
        "splits of splits",
        TWO,
        ((3, 100),),
        lambda s: (
            s.split("D", "j", 48, outer="jo", inner="ji").split("D", "ji", 32, outer="jio").compute_at("C", "D", "jio")
        ),
    ),
    Case("a halo", HALO, ((21,),), lambda s: s.split("D", "i", 4, outer="io").compute_at("C", "D", "io")),
    Case("a guarded halo", PADDED, ((19,),), lambda s: s.split("D", "i", 4, outer="io").compute_at("C", "D", "io")),
    Case("a halo at every point", HALO, ((9,),), lambda s: s.compute_at("C", "D", "i")),
    Case("an interior", INTERIOR, ((9, 13),), lambda s: s.tile("B", "i", "j", 4, 4)),
    Case("matmul tiles", MATMUL, ((10, 12), (12, 9)), lambda s: s.tile("C", "m", "n", 4, 4)),
    Case(
        "matmul with a split reduction",
        MATMUL,
        ((10, 13), (13, 9)),
        lambda s: s.split("C", "k", 4, outer="ko").reorder("C", "ko", "m", "n"),
    ),
    Case(
        "matmul, all three split",
        MATMUL,
        ((10, 13), (13, 9)),
        lambda s: (
            s.tile("C", "m", "n", 4, 8, names=("mo", "no", "mi", "ni"))
            .split("C", "k", 5, outer="ko", inner="ki")
            .reorder("C", "mo", "no", "ko", "mi", "ni", "ki")
        ),
    ),
    Case(
        "mlp by rows",
        MLP,
        ((10, 6), (6, 8), (8, 3)),
        lambda s: s.split("y", "b", 4, outer="bo").compute_at("r", "y", "bo").compute_at("h", "y", "bo"),
    ),
    Case(
        "mlp by hidden units",
        MLP,
        ((10, 6), (6, 9), (9, 3)),
        lambda s: (
            s.split("y", "b", 4, outer="bo", inner="bi")
            .split("y", "j", 4, outer="jo", inner="ji")
            .reorder("y", "bo", "jo", "bi", "o", "ji")
            .compute_at("r", "y", "jo")
            .compute_at("h", "r", "b")
        ),
    ),
    Case(
        "two convolutions",
        CONV2,
        ((15, 19), (3, 3), (3, 3)),
        lambda s: s.tile("O", "h", "w", 4, 6, names=("ho", "wo", "hi", "wi")).compute_at("T", "O", "wo"),
    ),
    Case(
        "softmax by rows",
        SOFTMAX,
        ((10, 7),),
        lambda s: (
            s.split("Y", "n", 4, outer="no")
            .compute_at("s", "Y", "no")
            .compute_at("e", "Y", "no")
            .compute_at("m", "Y", "no")
        ),
    ),
    Case(
        "convolution, activation, pooling",
        POOL,
        ((14, 14), (3, 3)),
        lambda s: s.split("P", "h", 2, outer="ho").compute_at("R", "P", "ho").compute_at("C", "R", "h"),
    ),
    Case(
        "max over a split reduction",
        "M(i) max=! A(i,j)",
        ((6, 11),),
        lambda s: s.split("M", "j", 4).reorder("M", "j_outer", "i"),
    ),
    Case(
        "a mean is not parted",
        "M(i) mean=! A(i,j)",
        ((6, 11),),
        lambda s: s.split("M", "j", 4).reorder("M", "j_outer", "i"),
        tiled=False,
    ),
    Case("a mean by rows", "M(i) mean=! A(i,j)", ((6, 11),), lambda s: s.split("M", "i", 4)),
    Case(
        "sums by splits that come to a row again",
        "M(i) +=! A(i,j)",
        ((6, 11),),
        lambda s: s.split("M", "i", 5, outer="io", inner="ii").reorder("M", "ii", "io").split("M", "ii", 3),
    ),
    Case(
        "largest places by splits that come to a row again",
        "M(i) argmax=! A(i,j)",
        ((6, 11),),
        lambda s: s.split("M", "i", 5, outer="io", inner="ii").reorder("M", "ii", "io").split("M", "ii", 3),
        tiled=False,
    ),
    Case("argmax by rows", "M(i) argmax=! A(i,j)", ((6, 11),), lambda s: s.split("M", "i", 4)),
    Case("every second element", "O(2*i+1) = A(i)", ((9,),), lambda s: s.split("O", "i", 4)),
    Case("halves added up", "O(i/2) +=! A(i)", ((9,),), lambda s: s.split("O", "i", 4)),
    Case("index values", "O(i,j) = A(i,j) * (2*i - j)", ((7, 6),), lambda s: s.tile("O", "i", "j", 2, 4)),
    Case(
        "the other way round",
        "def f(float(N) A) -> (O) { O(i) = A(N-1-i) where i in 0:N }",
        ((9,),),
        lambda s: s.split("O", "i", 4),
    ),
    Case(
        "a gather",
        "def f(float(N,D) E, int32(M) idx) -> (O) { O(m,d) = E(idx(m), d) }",
        ((5, 3), (7,)),
        lambda s: s.split("O", "m", 2),
    ),
    Case(
        "remainders",
        "def f(float(N) A) -> (O) { O(i) = A(i % 4) + A(i / 4) where i in 0:N }",
        ((16,),),
        lambda s: s.split("O", "i", 6),
    ),
    Case(
        "integers",
        TWO.replace("float", "int32").replace(".0", ""),
        ((5, 20),),
        lambda s: s.split("D", "j", 16, outer="jo").compute_at("C", "D", "jo"),
        dtype="int32",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_schedule_does_not_change_the_numbers(case: Case) -> None:
    kernel = tcjax.kernel(case.text)
    arrays = _arrays(case)
    scheduled = kernel.with_schedule(case.arrange(kernel.schedule(*arrays)))
    expected = np.asarray(kernel.interpret(*arrays))

    found = np.asarray(scheduled(*arrays))

    plan = scheduled.plan(*arrays)
    assert plan.scheduled is not None
    assert any(isinstance(stage, planning.Tiled) for stage in plan.scheduled) == case.tiled
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.dtype == "float32" and "argmax" not in case.text],
    ids=lambda case: case.name,
)
def test_derivatives_are_those_without_a_schedule(case: Case) -> None:
    kernel = tcjax.kernel(case.text)
    arrays = _arrays(case)
    scheduled = kernel.with_schedule(case.arrange(kernel.schedule(*arrays)))
    found = whole(jax.grad(lambda a: (scheduled(a, *arrays[1:]) ** 2).sum()), case.name)(arrays[0])
    expected = jax.jit(jax.grad(lambda a: (kernel(a, *arrays[1:]) ** 2).sum()))(arrays[0])

    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_batch_of_scheduled_kernels() -> None:
    kernel = tcjax.kernel(HALO)
    scheduled = kernel.with_schedule(kernel.schedule().split("D", "i", 4, outer="io").compute_at("C", "D", "io"))
    batch = np.arange(3 * 21, dtype="float32").reshape(3, 21) / 7

    found = jax.vmap(scheduled)(batch)

    np.testing.assert_allclose(found, np.stack([kernel.interpret(row) for row in batch]), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:reduction without initialisation")
def test_an_initial_value_goes_through_the_tiles() -> None:
    kernel = tcjax.kernel("def f(float(M,K) A) -> (C) { C(m) += A(m,k) }")
    scheduled = kernel.with_schedule(
        kernel.schedule().split("C", "k", 4).reorder("C", "k_outer", "m").split("C", "m", 3)
    )
    a, c = np.arange(35, dtype="float32").reshape(5, 7), np.arange(5, dtype="float32")

    np.testing.assert_allclose(scheduled(a, C=c), a.sum(1) + c)
    np.testing.assert_allclose(scheduled(a), a.sum(1))


@pytest.mark.parametrize("dtype", ["half", "bfloat16", "int8"])
def test_a_sum_in_parts_keeps_its_wide_type_between_tiles(dtype: str) -> None:
    kernel = tcjax.kernel(
        f"def f({dtype}(N,K) A) -> (D) {{ C(i) +=! A(i,k)  D(i) = C(i) where i in 0:N }}",
    )
    schedule = kernel.schedule().split("C", "k", 3, outer="ko").reorder("C", "ko", "i")
    a = np.random.default_rng(0).integers(0, 3, (4, 3000)).astype("int8" if dtype == "int8" else "float32")
    array = jnp.asarray(a, jnp.dtype("float16" if dtype == "half" else dtype))

    # Inside another statement, and at the root.
    for arranged in (schedule, schedule.compute_at("C", "D", "i")):
        found = kernel.with_schedule(arranged)(array)
        np.testing.assert_array_equal(np.asarray(found, "float32"), np.asarray(kernel.interpret(array), "float32"))


def test_no_elements_are_no_tiles() -> None:
    kernel = tcjax.kernel(TWO)
    scheduled = kernel.with_schedule(kernel.schedule().split("D", "j", 16, outer="jo").compute_at("C", "D", "jo"))

    assert scheduled(np.ones((5, 0), "float32")).shape == (5, 0)


def _arrays(case: Case) -> list[np.ndarray]:
    generator = np.random.default_rng(len(case.name))
    arrays = [generator.normal(size=shape) for shape in case.shapes]
    if case.dtype == "int32":
        return [np.round(5 * array).astype("int32") for array in arrays]
    if "idx" in case.text:
        return [arrays[0].astype("float32"), generator.integers(0, case.shapes[0][0], case.shapes[1], "int32")]
    return [array.astype("float32") for array in arrays]
