"""Kernels for GPUs, interpreted: right results for every reducer, shape, guard and type."""

from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import pytest

import tcjax
from tcjax.lowering import pallas_triton
from tcjax.lowering.pallas_triton import Blocks

from .nests import Random, arrays_of, nest_of

pytestmark = pytest.mark.usefixtures("strict", "quickly_compiled")

random = Random()
SMALL = Blocks(8, 16, 16)


def computed(text: str, *arrays: Any, blocks: Blocks = SMALL, **options: Any) -> np.ndarray:
    kernel = tcjax.kernel(text)
    run = pallas_triton.emit(nest_of(kernel, *arrays), blocks, True, **options)
    return np.asarray(jax.jit(run)(arrays_of(kernel, *arrays)))


def interpreted(text: str, *arrays: Any) -> np.ndarray:
    return np.asarray(tcjax.kernel(text).interpret(*arrays))


def assert_same(found: np.ndarray, expected: np.ndarray, tolerance: float = 2e-6) -> None:
    assert found.shape == expected.shape
    if expected.dtype.kind in "biu":
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found.astype("float64"), expected.astype("float64"), tolerance, tolerance)


MINPLUS = "def f(float(M,K) A, float(K,N) B) -> (C) { C(i,j) min=! A(i,k) + B(k,j) }"


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 5), (8, 4, 16), (13, 17, 31), (33, 1, 2), (1, 20, 65)])
def test_every_shape_of_a_tile_is_covered_once(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b = random.floats(m, k), random.floats(k, n)

    found = computed(MINPLUS, a, b)

    assert_same(found, (a[:, :, None] + b[None]).min(1), 0)


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    arrays: tuple[np.ndarray, ...]
    options: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 2e-6


WHOLE = np.arange(12, dtype="int32")
TIES = np.round(random.floats(6, 19), 0)
MISSING = np.where(random.floats(5, 21) > 1.2, np.nan, random.floats(5, 21)).astype("float32")
EXTREME = np.where(random.floats(5, 20) > 0.8, -np.inf, 30 * random.floats(5, 20)).astype("float32")
PLAIN = random.floats(6, 19)
HALVES = random.floats(6, 40, dtype="float16")
BRAINS = np.asarray(jax.numpy.asarray(random.floats(6, 40), "bfloat16"))
NUMBERS = np.random.default_rng(3).integers(-99, 99, (6, 19)).astype("int32")
TABLE = np.array([3, -4, 99, 0, 6], "int32")
SQUARE = random.floats(23, 23)

REDUCERS = [
    Case(f"{reducer} of {label}", f"def f(float(N,M) a) -> (O) {{ O(i) = {reducer}[j](a(i,j)) }}", (array,))
    for label, array, reducers in (
        ("floats", PLAIN, ("sum", "prod", "mean", "logsumexp")),
        ("missing numbers", MISSING, ("sum", "min", "max", "logsumexp", "argmin", "argmax")),
        ("ties", TIES, ("argmin", "argmax")),
    )
    for reducer in reducers
] + [
    Case("any", "def f(float(N,M) a) -> (O) { O(i) = any[j](a(i,j) > 1.9) }", (PLAIN,)),
    Case("all", "def f(float(N,M) a) -> (O) { O(i) = all[j](a(i,j) > 0.0 - 1.3) }", (PLAIN,)),
    Case("minimum of integers", "def f(int32(N,M) a) -> (O) { O(i) = min[j](a(i,j) / 3) }", (NUMBERS,)),
    Case("sum of integers", "def f(int32(N,M) a) -> (O) { O(i) = sum[j](a(i,j) % 7) }", (NUMBERS,)),
    Case("argmax of integers", "def f(int32(N,M) a) -> (O) { O(i) = argmax[j](a(i,j) % 5) }", (NUMBERS,)),
    Case("logsumexp of infinities", "def f(float(N,M) a) -> (O) { O(i) = logsumexp[j](a(i,j)) }", (EXTREME,)),
    Case("argmin of infinities", "def f(float(N,M) a) -> (O) { O(i) = argmin[j](0.0 - a(i,j)) }", (EXTREME,)),
    Case("two indices", "def f(float(N,M) a) -> (O) { O() = argmax[i,j](a(i,j)) }", (TIES,)),
    Case("no axis", "def f(float(N,M) a) -> (O) { O() = sum[i,j](a(i,j)) }", (PLAIN,)),
    Case("sum of halves", "def f(float16(N,M) a) -> (O) { O(i) = sum[j](a(i,j) * a(i,j)) }", (HALVES,), {}, 1e-3),
    Case("max of halves", "def f(float16(N,M) a) -> (O) { O(i) = max[j](a(i,j) / 3) }", (HALVES,), {}, 1e-3),
    Case("sum of bfloat16", "def f(bfloat16(N,M) a) -> (O) { O(i) = sum[j](exp(a(i,j))) }", (BRAINS,), {}, 1e-2),
]

GUARDS = [
    Case(
        f"{reducer} over {label}",
        f"def f(float(N,M) a) -> (O) {{ O(i) = {reducer}[j in 0:M where {guard}](a(i,j)) }}",
        (SQUARE,),
    )
    for reducer in ("mean", "argmin", "logsumexp")
    for label, guard in (
        ("a triangle", "j <= i"),
        ("a band", "j >= i - 2 && j <= i + 3"),
        ("every third", "(i + j) % 3 == 0"),
        ("what data says", "a(j,i) > 0.0"),
        ("nothing", "i > 99"),
    )
]

GATHERS = [
    Case("rows", "def f(float(N,M) a, int32(K) t) -> (O) { O(k) max=! a(t(k), j) * 2.0 }", (PLAIN, TABLE)),
    Case("columns", "def f(float(N,M) a, int32(K) t) -> (O) { O(i) +=! a(i, t(k) + 1) }", (PLAIN, TABLE)),
    Case(
        "of a gather",
        "def f(float(M) a, int32(K) t) -> (O) { O(k) +=! a(t(t(k)) + j) where j in 0:3 }",
        (PLAIN[0], TABLE),
    ),
]

OTHERS = [
    Case(
        "a conditional that keeps reads inside",
        """def f(float(N) a) -> (O) { O(i) = sum[k in 0:5](i + k - 2 >= 0 && i + k - 2 < N ? a(i + k - 2) : 1.0 * k)
            where i in 0:N }""",
        (PLAIN[0],),
    ),
    Case(
        "a reversed and strided read",
        "def f(float(N) a, float(M) b) -> (O) { O(i) max=! a(18 - 2*i - j) + b(3*j) where i in 0:7, j in 0:4 }",
        (PLAIN[0], PLAIN[1]),
    ),
    Case(
        "floors",
        "def f(float(N,M) a) -> (O) { O(i) min=! a(i / 2, j / 3) + j % 4 where i in 0:12, j in 0:50 }",
        (PLAIN,),
    ),
    Case(
        "three axes",
        "def f(float(A,K) x, float(B,K) y, float(C,K) z) -> (O) { O(a,b,c) max=! x(a,k) * y(b,k) - z(c,k) }",
        (random.floats(3, 5), random.floats(9, 5), random.floats(17, 5)),
    ),
    Case(
        "a long inner reduction",
        "def f(float(N,D) x, float(M,D) y) -> (O) { O(i) min=! sum[d](fabs(x(i,d) - y(j,d))) }",
        (random.floats(9, 21), random.floats(18, 21)),
        tolerance=1e-5,
    ),
    Case(
        "a short inner reduction",
        "def f(float(N,D) x, float(M,D) y) -> (O) { O(i) argmin=! sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))) }",
        (random.floats(9, 3), random.floats(30, 3)),
    ),
    Case(
        "an inner maximum and an inner mean",
        "def f(float(N,D) x, float(M,D) y) -> (O) { O(i) +=! max[d](x(i,d) - y(j,d)) * mean[e](y(j,e)) }",
        (random.floats(9, 18), random.floats(20, 18)),
        tolerance=1e-5,
    ),
]


@pytest.mark.parametrize("case", REDUCERS + GATHERS + OTHERS, ids=lambda case: case.name)
def test_the_numbers_are_those_of_the_interpreter(case: Case) -> None:
    assert_same(computed(case.text, *case.arrays), interpreted(case.text, *case.arrays), case.tolerance)


@pytest.mark.parametrize("case", GUARDS, ids=lambda case: case.name)
def test_what_a_guard_excludes_does_not_count(case: Case) -> None:
    assert_same(computed(case.text, *case.arrays), interpreted(case.text, *case.arrays), case.tolerance)


@pytest.mark.parametrize(
    ("reducer", "split"), [("sum", 2), ("prod", 4), ("max", 8), ("mean", 8), ("logsumexp", 8), ("argmin", 2)]
)
def test_programs_that_share_a_reduction_agree_with_one(reducer: str, split: int) -> None:
    text = f"def f(float(N,M) a) -> (O) {{ O(i) = {reducer}[j in 0:M where j != 4](a(i,j)) }}"
    array = np.round(random.floats(3, 101), 1)

    found = computed(text, array, blocks=Blocks(2, 8, 16, split=split))

    assert_same(found, interpreted(text, array), 1e-5)


ATTENTION = """def f(float(Q,D) q, float(K,D) k, float(K,E) v, float(Q) l) -> (O) {
    O(i,e) +=! exp(sum[d](q(i,d) * k(j,d)) - l(i)) * v(j,e) where %s }"""


@pytest.mark.parametrize(
    ("guard", "size"),
    [
        ("i in 0:Q", (40, 41, 24, 33)),
        ("i in 0:Q, j <= i", (37, 35, 130, 16)),
        ("i in 0:Q, j <= i && j > i - 9", (70, 65, 8, 9)),
    ],
)
def test_attention_runs_on_matrix_products(guard: str, size: tuple[int, int, int, int]) -> None:
    queries, keys, depth, values = size
    q, k, v = random.floats(queries, depth), random.floats(keys, depth), random.floats(keys, values)
    scores = q.astype("float64") @ k.T.astype("float64")
    i, j = np.ogrid[:queries, :keys]
    counts = (j <= i) | ("<= i" not in guard)
    counts &= (j > i - 9) | ("> i" not in guard)
    logarithm = np.log(np.sum(np.exp(scores), 1)).astype("float32")
    expected = np.where(counts, np.exp(scores - logarithm[:, None]), 0) @ v
    blocks = Blocks(32, 16, 16)

    run: Any = pallas_triton.emit_group(nest_of(tcjax.kernel(ATTENTION % guard), q, k, v, logarithm), blocks, True)
    found = computed(ATTENTION % guard, q, k, v, logarithm, blocks=blocks)

    assert run.kernels[0].tiling.product is not None
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def test_halves_are_multiplied_as_halves_and_added_in_float32() -> None:
    text = "def f(float16(N,K) a, float16(K,M) b) -> (C) { C(i,j) +=! a(i,k) * b(k,j) }"
    a, b = random.floats(20, 300, dtype="float16"), random.floats(300, 40, dtype="float16")

    found = computed(text, a, b)

    expected = (a.astype("float64") @ b.astype("float64")).astype("float16")
    np.testing.assert_allclose(found.astype("float64"), expected.astype("float64"), 2e-3, 2e-3)


def test_a_reduction_over_nothing_is_the_identity() -> None:
    empty = np.zeros((3, 0), "float32")

    with pytest.raises(pallas_triton.Unsupported, match="no elements"):
        computed("def f(float(N,M) a) -> (O) { O(i) max=! a(i,j) }", empty)

    found = computed("def f(float(N) a) -> (O) { O(i) max=! a(i) * j where j in 0:0 }", PLAIN[0])
    assert_same(found, np.full(19, -np.inf, "float32"))


@pytest.mark.filterwarnings("ignore:.* of bool values adds modulo 2")
def test_a_sum_of_booleans_is_a_parity() -> None:
    text = "def f(float(N,M) a) -> (O) { O(i) +=! a(i,j) > 0.0 }"

    assert_same(computed(text, PLAIN), interpreted(text, PLAIN))
