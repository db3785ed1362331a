"""Two nested loops as one over diagonals: which loops can run so, and that results equal those point by point.

Whether that is cheaper depends on prices. Here it always is, unless a test is about prices.
"""

import jax
import jax.export
import numpy as np
import pytest

import tcjax
from tcjax.planning import recurrences
from tcjax.planning.data.stages import Call
from tcjax.testing import assert_gradients

random = np.random.default_rng(6)


def real(*shape: int) -> np.ndarray:
    return random.normal(size=shape).astype(np.float32)


def letters(count: int) -> np.ndarray:
    return random.integers(0, 3, count).astype(np.int32)


WARPING = """
def warping(float(N,M) c) -> (D) {
    D(i,0) = c(i,0)
    D(0,j) = c(0,j)
    for i in 1:N { for j in 1:M { D(i,j) = c(i,j) + min(D(i-1,j), min(D(i,j-1), D(i-1,j-1))) } }
}"""
# Values of each point, a batch, and a soft minimum.
SOFT_WARPING = """
def soft(float(B,N,M) c) -> (R) {
    R(b,i,j) = i == 0 && j == 0 ? 0.0 : 1000.0 where b in 0:B, i in 0:N+1, j in 0:M+1
    for i in 1:N+1 {
        for j in 1:M+1 {
            least(b) = min(R(b,i-1,j-1), min(R(b,i-1,j), R(b,i,j-1)))
            ways(b) = exp(least(b) - R(b,i-1,j-1)) + exp(least(b) - R(b,i-1,j)) + exp(least(b) - R(b,i,j-1))
            R(b,i,j) = c(b,i-1,j-1) + least(b) - log(ways(b))
        }
    }
}"""
ALIGNMENT = """
def alignment(float(L,L) score, float gap, int32(N) a, int32(M) b) -> (best) {
    H(i,0) = -gap() * i where i in 0:N+1
    H(0,j) = -gap() * j where j in 0:M+1
    for i in 1:N+1 {
        for j in 1:M+1 { H(i,j) = max(H(i-1,j-1) + score(a(i-1), b(j-1)), max(H(i-1,j), H(i,j-1)) - gap()) }
    }
    best() = H(N,M)
}"""
EDITS = """
def edits(int32(N) a, int32(M) b) -> (E) {
    E(i,j) = i + j where i in 0:N+1, j in 0:M+1
    for i in 1:N+1 {
        for j in 1:M+1 { E(i,j) = min(min(E(i-1,j), E(i,j-1)) + 1, E(i-1,j-1) + (a(i-1) == b(j-1) ? 0 : 1)) }
    }
}"""
COMMON = """
def common(int32(N) a, int32(M) b) -> (L) {
    L(0,j) = 0 where j in 0:M+1
    for i in 1:N+1 {
        for j in 1:M+1 { L(i,j) = a(i-1) == b(j-1) ? L(i-1,j-1) + 1 : max(L(i-1,j), L(i,j-1)) }
    }
}"""
# In place: points after the current one have the previous sweep's values; a north-east neighbour needs steps of two.
SEIDEL = """
def seidel(float(N,N) x) -> (A) {
    A(i,j) = x(i,j)
    for t in 0:2 {
        for i in 1:N-1 {
            for j in 1:N-1 {
                A(i,j) = (A(i-1,j-1) + A(i-1,j) + A(i-1,j+1) + A(i,j-1) + A(i,j)
                        + A(i,j+1) + A(i+1,j-1) + A(i+1,j) + A(i+1,j+1)) / 9.0
            }
        }
    }
}"""
BACKWARDS = """
def backwards(float(N,M) c) -> (D) {
    D(i,M-1) = c(i,M-1)
    D(N-1,j) = c(N-1,j)
    for i in N-2:-1:-1 { for j in M-2:-1:-1 { D(i,j) = c(i,j) + max(D(i+1,j), D(i,j+1)) } }
}"""
EACH_WAY = """
def each_way(float(N,M) c) -> (D) {
    D(i,M-1) = c(i,M-1)
    D(0,j) = c(0,j)
    for i in 1:N { for j in M-2:-1:-1 { D(i,j) = c(i,j) + max(D(i-1,j), D(i,j+1)) } }
}"""
THREE = """
def three(float(N,M,K) c) -> (D) {
    D(i,j,k) = c(i,j,k)
    for i in 1:N { for j in 1:M { for k in 1:K {
        D(i,j,k) = c(i,j,k) + min(D(i-1,j,k), min(D(i,j-1,k), D(i,j,k-1)))
    } } }
}"""
COLUMNS = """
def columns(float(N,M) c) -> (h) {
    h(i,0) = c(i,0)
    for i in 0:N { for j in 1:M { h(i,j) = 0.5 * h(i,j-1) + c(i,j) } }
}"""
# The longest palindrome within each part of a string: ranges of the inner loop that move.
PALINDROMES = """
def palindromes(int32(N) a) -> (P) {
    P(i,i) = 1 where i in 0:N
    for i in N-2:-1:-1 {
        for j in 1:N {
            P(i,j) = a(i) == a(j) ? (j > i + 1 ? P(i+1,j-1) : 0) + 2 : max(P(i+1,j), P(i,j-1)) where j > i
        }
    }
}"""
# Accumulations, a guard, several tensors, one of them written a row ahead, and swapped axes.
GUARDED = """
def guarded(float(N,M,K) c, float(K) w) -> (D) {
    D(i,j) = c(i,j,0)
    for i in 1:N {
        for j in 1:M {
            z() +=! w(k) * c(i,j,k)
            D(i,j) += z() + 0.5 * (D(i-1,j) + i * D(i,j-1)) where j <= i + 1
        }
    }
}"""
COUPLED = """
def coupled(float(N,M) c) -> (D, E) {
    D(0,j) = c(0,j)
    D(i,0) = c(i,0)
    E(j,i) = 0.0 where i in 0:N+1, j in 0:M+1
    for i in 1:N {
        for j in 1:M {
            D(i,j) = c(i,j) + 0.5 * (D(i-1,j) + D(i,j-1)) + 0.1 * E(j-1,i)
            E(j,i+1) = D(i,j) * E(j,i) + i - j
        }
    }
}"""
# Nothing outside of the loops' ranges may reach a derivative.
ROOTS = """
def roots(float(N,M) c) -> (D) {
    D(i,0) = c(i,0)
    D(0,j) = c(0,j)
    for i in 1:N { for j in 1:M { D(i,j) = sqrt(D(i-1,j) * D(i,j-1)) / c(i,j) + log(D(i-1,j-1) + c(i,j)) / D(i-1,j) } }
}"""

# Statements around the inner loop, before it and after it.
BESIDE = """
def beside(float(N,M) c) -> (D) {
    D(i,j) = i == 0 && j == 0 ? c(0,0) : inf where i in 0:N, j in 0:M
    for j in 1:M { D(0,j) = c(0,j) + D(0,j-1) }
    for i in 1:N {
        D(i,0) = c(i,0) + D(i-1,0)
        for j in 1:M-1 { D(i,j) = c(i,j) + min(D(i-1,j), min(D(i,j-1), D(i-1,j-1))) }
        D(i,M-1) = 2.0 * D(i,M-2) - c(i,0)
    }
}"""
BESIDE_BACKWARDS = """
def beside_backwards(float(N,M) c) -> (D) {
    D(i,j) = c(i,j)
    for i in N-2:-1:-1 {
        D(i,M-1) = D(i,M-1) + c(i,M-1) + 0.5 * D(i+1,M-2)
        for j in M-2:0:-1 { D(i,j) = c(i,j) + 0.5 * max(D(i+1,j), D(i,j+1)) }
        D(i,0) = D(i+1,1) + D(i,1)
    }
}"""

CASES = {
    WARPING: ("11 steps along the diagonals i + j", [real(5, 7)]),
    SOFT_WARPING: ("11 steps along the diagonals i + j", [real(2, 4, 6)]),
    ALIGNMENT: ("12 steps along the diagonals i + j", [real(3, 3), np.float32(0.7), letters(6), letters(5)]),
    EDITS: ("15 steps along the diagonals i + j", [letters(6), letters(8)]),
    COMMON: ("15 steps along the diagonals i + j", [letters(6), letters(8)]),
    SEIDEL: ("19 steps along the diagonals 2*i + j", [real(7, 7)]),
    BACKWARDS: ("12 steps along the diagonals -i - j", [real(8, 5)]),
    EACH_WAY: ("11 steps along the diagonals i - j", [real(5, 7)]),
    THREE: ("10 steps along the diagonals j + k", [real(3, 5, 6)]),
    COLUMNS: ("6 steps along j", [real(5, 7)]),
    PALINDROMES: ("17 steps along the diagonals -i + j", [letters(9)]),
    BESIDE: ("11 steps along the diagonals i + j", [np.abs(real(5, 7))]),
    BESIDE_BACKWARDS: ("16 steps along the diagonals -2*i - j", [real(6, 6)]),
    GUARDED: ("8 steps along the diagonals i + j", [real(4, 5, 3), real(3)]),
    COUPLED: ("13 steps along the diagonals i + j", [real(5, 7)]),
    ROOTS: ("8 steps along the diagonals i + j", [1 + np.abs(real(4, 5))]),
}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Diagonals wherever they are possible."""
    monkeypatch.setattr(recurrences, "stage_price", lambda stage, *_: 0 if stage.steps is None else 1)


def leaves(results: object) -> list[np.ndarray]:
    return [np.asarray(result) for result in jax.tree.leaves(results)]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("text", CASES, ids=lambda text: text.split()[1].partition("(")[0])
def test_diagonals_are_what_the_interpreter_says(text: str) -> None:
    steps, arrays = CASES[text]
    kernel = tcjax.kernel(text)

    found = leaves(kernel(*arrays))

    assert steps in str(kernel.explain(*arrays))
    for one, expected in zip(found, leaves(kernel.interpret(*arrays)), strict=True):
        np.testing.assert_allclose(one, expected, rtol=2e-5, atol=1e-5)
    if any(array.dtype == np.float32 for array in arrays):
        assert_gradients(kernel, *arrays)


@pytest.mark.usefixtures("always")
def test_a_batch_is_one_of_diagonals() -> None:
    kernel, (c,) = tcjax.kernel(WARPING), CASES[WARPING][1]

    found = jax.vmap(kernel)(np.stack([c, 2 * c]))

    for one, scale in zip(found, (1, 2), strict=True):
        np.testing.assert_allclose(one, kernel.interpret(scale * c), rtol=1e-5)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("shape", [(1, 4), (2, 2), (3, 1), (0, 3), (2, 9)])
def test_loops_without_steps_and_with_few(shape: tuple[int, int]) -> None:
    kernel, scores = tcjax.kernel(COMMON), [letters(extent) for extent in shape]

    np.testing.assert_array_equal(kernel(*scores), kernel.interpret(*scores))


@pytest.mark.usefixtures("always")
def test_what_is_no_number_stays_in_its_place() -> None:
    kernel, c = tcjax.kernel(BACKWARDS), real(6, 5)
    c[2, 1], c[4, 3], c[1, 2] = np.nan, np.inf, -np.inf

    np.testing.assert_allclose(kernel(c), kernel.interpret(c), rtol=1e-5)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    "body",
    [
        # A whole row of the previous step, a row at a distance given by data, and every second row.
        "for i in 1:N { for j in 0:M { D(i,j) = c(i,j) + max[k](D(i-1,k)) } }",
        "for i in 1:N { for j in 0:M { D(i,j) = c(i,j) + D(i-1,min(i,j)) } }",
        "for i in 2:N:2 { for j in 1:M { D(i,j) = c(i,j) + D(i-2,j) + D(i,j-1) } }",
        "for i in 1:N { r() = c(i,0) for j in 1:M { D(i,j) = r() + D(i-1,j) + D(i,j-1) } }",
    ],
)
def test_other_loops_go_one_point_after_the_other(body: str) -> None:
    kernel = tcjax.kernel(f"def f(float(N,M) c) -> (D) {{ D(i,j) = c(i,j) {body} }}")
    c = real(5, 4)

    assert "diagonals" not in str(kernel.explain(c))
    np.testing.assert_allclose(kernel(c), kernel.interpret(c), rtol=1e-5)


def stages_of(text: str, *arrays: np.ndarray) -> list[Call]:
    return [stage for stage in tcjax.kernel(text).plan(*arrays).stages if isinstance(stage, Call)]


def test_a_cpu_takes_diagonals_where_a_point_takes_long_and_a_gpu_everywhere() -> None:
    c = np.zeros((256, 256), np.float32)

    [_, cheap] = stages_of(WARPING, c)
    [_, dear] = stages_of(SOFT_WARPING, c[None])

    assert cheap.steps is not None and cheap.elsewhere is not None
    assert dear.steps is None
    assert "255 steps along i, on a GPU 511 steps along the diagonals i + j" in str(tcjax.kernel(WARPING).explain(c))


def test_what_is_exported_for_a_gpu_has_one_loop() -> None:
    kernel, c = tcjax.kernel(WARPING), np.zeros((40, 30), np.float32)

    def loops(platform: str) -> int:
        return jax.export.export(jax.jit(kernel), platforms=[platform])(c).mlir_module().count("stablehlo.while")

    assert (loops("cpu"), loops("cuda")) == (2, 1)


def test_a_plan_for_a_gpu_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrences, "LAUNCHING", ("cpu",))
    kernel, c = tcjax.kernel(WARPING), real(9, 6)

    assert stages_of(WARPING, c)[1].elsewhere is not None
    np.testing.assert_allclose(kernel(c), kernel.interpret(c), rtol=1e-5)
    assert_gradients(kernel, c)
