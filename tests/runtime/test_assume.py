"""Assumptions about sizes: read, refused, checked at calls, used in formulas, and passed to JAX."""

import jax.export
import numpy as np
import pytest

import tcjax
from tcjax.symbolic import Interval, Size, SizeVar, minimum

SLIDE = "def slide(float(N) A, float(K) W) -> (O) { O(i) +=! A(i+k) * W(k) }"
PRODUCT = "{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }"
N, K = Size.of(SizeVar("N")), Size.of(SizeVar("K"))


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


# ---------------------------------------------------------------- at a call


def test_sizes_that_violate_an_assumption_are_refused_by_name() -> None:
    kernel = tcjax.kernel(SLIDE, assume=["K <= N", "N % 4 == 0"])

    assert kernel(ones(8), ones(3)).shape == (6,)
    with pytest.raises(tcjax.CompileError) as caught:
        kernel(ones(10), ones(3))

    assert (caught.value.code, caught.value.kind) == ("TC0607", "shape")
    assert "`N % 4 == 0`" in caught.value.message and "N = 10" in caught.value.message
    assert "K" not in caught.value.message.partition("for")[2]


def test_an_assumption_is_seen_before_what_it_would_prevent() -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(SLIDE, assume=["K <= N"])(ones(3), ones(5))

    assert caught.value.code == "TC0607"
    with pytest.raises(tcjax.CompileError) as without:
        tcjax.kernel(SLIDE)(ones(3), ones(5))
    assert without.value.code == "TC0602"


def test_dimensions_without_a_name_are_called_by_tensor_and_number() -> None:
    kernel = tcjax.kernel(PRODUCT, assume=["a.1 == b.0", "a.0 > 2"])

    assert kernel(ones(3, 4), ones(4, 2)).shape == (3, 2)
    for a, b, fact in [(ones(3, 4), ones(5, 2), "a.1 == b.0"), (ones(2, 4), ones(4, 2), "a.0 > 2")]:
        with pytest.raises(tcjax.CompileError, match="TC0607") as caught:
            kernel(a, b)
        assert f"`{fact}`" in caught.value.message


def test_a_named_dimension_has_its_number_too() -> None:
    kernel = tcjax.kernel(SLIDE, assume=["A.0 >= 2 * W.0"])

    kernel(ones(6), ones(3))
    with pytest.raises(tcjax.CompileError, match="K = 3 and N = 5"):
        kernel(ones(5), ones(3))


def test_sizes_given_by_keyword_are_checked() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (float(M) B) { B(i) = A(i % N) }", assume=["M % N == 0"])

    assert kernel(ones(3), M=6).shape == (6,)
    with pytest.raises(tcjax.CompileError, match="M = 7 and N = 3"):
        kernel(ones(3), M=7)


def test_a_division_by_zero_is_a_violation() -> None:
    kernel = tcjax.kernel("def f(float(N) A, float(K) B) -> (C) { C(i) = A(i) }", assume=["N % K == 0"])

    with pytest.raises(tcjax.CompileError, match="divides by zero for K = 0 and N = 4"):
        kernel(ones(4), ones(0))


def test_every_entry_takes_assumptions() -> None:
    library = tcjax.load(f"{SLIDE}\ndef twice(float(M) B) -> (C) {{ C(i) = 2 * B(i) }}", assume=["K <= N", "M < 3"])
    sac = tcjax.load("float[n] f(float[n] a) { return a; } float[m] g(float[m] b) { return b; }", assume=["n > 1"])

    library.slide(ones(4), ones(2))
    library.twice(ones(2))
    sac.g(ones(1))
    for call in (lambda: library.slide(ones(2), ones(4)), lambda: library.twice(ones(3)), lambda: sac.f(ones(1))):
        with pytest.raises(tcjax.CompileError, match="TC0607"):
            call()


def test_the_python_notation_takes_assumptions() -> None:
    @tcjax.kernel(assume=["N <= 3"])
    def twice(A: "float(N)"):
        B[i] = 2 * A[i]
        return B

    assert twice(ones(3)).shape == (3,)
    with pytest.raises(tcjax.CompileError, match="TC0607"):
        twice(ones(4))


# ---------------------------------------------------------------- at the definition


@pytest.mark.parametrize(
    ("assume", "code", "kind"),
    [
        (["K <="], "TC0101", "syntax"),
        (["K <= N)"], "TC0101", "syntax"),
        (["K $ N"], "TC0102", "syntax"),
        (["Q <= N"], "TC0201", "name"),
        (["A.1 > 3"], "TC0201", "name"),
        (["O.0 > 3"], "TC0201", "name"),
        (["K + 1"], "TC0302", "type"),
        ("K <= N", "TC0308", "type"),
        ([3], "TC0308", "type"),
        (5, "TC0308", "type"),
        (["N <= 3", "N > 3"], "TC0607", "shape"),
        (["N < 0"], "TC0607", "shape"),
        (["N % 2 == 0", "N % 2 == 1"], "TC0607", "shape"),
        (["N <= K", "K < N"], "TC0607", "shape"),
    ],
)
def test_what_is_no_assumption_is_refused_when_the_kernel_is_made(assume: object, code: str, kind: str) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(SLIDE, assume=assume)  # type: ignore[arg-type]

    assert (caught.value.code, caught.value.kind) == (code, kind)


def test_a_mistake_is_shown_in_the_text_of_its_own_assumption() -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(SLIDE, assume=["K <= N", "N > Q"])

    assert caught.value.span.source.text == "N > Q"
    assert (caught.value.span.line, caught.value.span.column) == (1, 5)
    assert "    ^" in str(caught.value)


def test_an_assumption_that_no_definition_of_a_text_can_have_is_refused() -> None:
    text = f"{SLIDE}\ndef twice(float(M) B) -> (C) {{ C(i) = 2 * B(i) }}"

    for fact in ("Q > 3", "K <= M"):
        with pytest.raises(tcjax.CompileError, match="TC0201"):
            tcjax.load(text, assume=[fact])


def test_leaving_it_out_is_no_assumption() -> None:
    for nothing in ([], (), None):
        assert tcjax.kernel(SLIDE, assume=nothing)(ones(5), ones(2)).shape == (4,)  # type: ignore[arg-type]


# ---------------------------------------------------------------- in formulas


def test_ranges_have_shorter_formulas_under_assumptions() -> None:
    text = "def f(float(N) A, float(K) B) -> (C) { C(i) = A(i) + B(i) }"

    assert tcjax.kernel(text).ranges() == [{"i": Interval.of(0, minimum(N, K))}]
    assert tcjax.kernel(text, assume=["K <= N"]).ranges() == [{"i": Interval.of(0, K)}]
    assert tcjax.kernel(text, assume=["K == N + 2"]).ranges() == [{"i": Interval.of(0, N)}]


def test_sac_runs_over_the_one_extent_that_matters() -> None:
    ranges = tcjax.kernel(PRODUCT, assume=["a.1 == b.0"]).ranges()

    assert str(ranges[0]["k"]) == "[0, a.1)"


def test_explain_cites_what_was_assumed() -> None:
    kernel = tcjax.kernel(SLIDE, assume=["K <= N", "N % 4 == 0"])

    explained = kernel.explain(ones(8), ones(3))

    assert explained.to_dict()["facts"] == ["K <= N", "N % 4 == 0"]
    assert "K <= N, N % 4 == 0" in str(explained)
    assert "assumed" not in str(tcjax.kernel(SLIDE).explain(ones(8), ones(3)))


# ---------------------------------------------------------------- for JAX


@pytest.mark.parametrize(
    ("text", "assume", "expected"),
    [
        (SLIDE, [], ("N + 1 >= K",)),
        (SLIDE, ["K <= N"], ("K <= N",)),
        (SLIDE, ["K < N", "N % 8 == 0"], ("K + 1 <= N", "mod(N, 8) == 0")),
        (SLIDE, ["N // 4 >= K and K >= 2"], ("floordiv(N, 4) >= K", "K >= 2")),
        (SLIDE, ["not K > N"], ("K <= N",)),
        (SLIDE, ["N + K == 9"], ("K == 9 - N", "N + 1 >= K")),
        (SLIDE, ["N != 4", "K == 1 or K == 3", "K <= N"], ("K <= N",)),
        ("def f(float(N) A) -> (B) { B(i) = A(i+2) where i in 0:5 }", [], ("N >= 7",)),
        ("def f(float(N) A, float(M) X) -> (B) { B(i) = A(i) where i in 0:M }", [], ("N >= M",)),
        ("def f(float(N) A) -> (B) { B(i,j) = A(8*i+j) where i in 0:N/8, j in 0:8 }", [], ()),
        ("def f(float(N) A) -> (B) { B(i) = i < N ? A(i) : 0.0 where i in 0:9 }", [], ()),
        (PRODUCT, ["a.1 == b.0"], ("a_1 == b_0",)),
    ],
)
def test_constraints_are_what_jax_takes(text: str, assume: list[str], expected: tuple[str, ...]) -> None:
    constraints = tcjax.kernel(text, assume=assume).constraints()

    assert constraints == expected
    jax.export.symbolic_shape("N, K, M, a_1, b_0", constraints=constraints)


def test_jax_decides_with_the_constraints() -> None:
    constraints = tcjax.kernel(SLIDE, assume=["2*K <= N", "N % 8 == 0"]).constraints()

    n, k = jax.export.symbolic_shape("N, K", constraints=constraints)

    assert n - k >= k and n % 8 == 0 and n // 8 * 8 == n


def test_constraints_hold_for_legal_calls_and_fail_for_others() -> None:
    kernel = tcjax.kernel(SLIDE)
    (constraint,) = kernel.constraints()

    for n in range(1, 6):
        for k in range(1, 8):
            holds = eval(constraint, {"N": n, "K": k})
            if holds:
                kernel.plan(ones(n), ones(k))
            else:
                with pytest.raises(tcjax.CompileError):
                    kernel.plan(ones(n), ones(k))


def test_long_assumptions_are_no_trouble() -> None:
    kernel = tcjax.kernel(SLIDE, assume=["N <= " + "+".join(["K"] * 2000)])

    assert kernel.constraints()[0] == "N <= 2000*K"
    with pytest.raises(tcjax.CompileError, match="TC0103"):
        tcjax.kernel(SLIDE, assume=["(" * 500])
