"""A statement that reads elements that it writes is refused, and no others."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import tcjax
from tcjax import CompileError
from tcjax.ranges import bind, infer_ranges
from tests.ranges.texts import function

VECTOR = "def f(float(N) x) -> (y) {{ y(i) = x(i)  {} }}"
MATRIX = "def f(float(N,N) A) -> (y) {{ y(i,j) = A(i,j)  {} }}"
DATA = "def f(float(N) x, int32(N) J) -> (y) {{ y(i) = x(i)  {} }}"


def shapes_of(text: str, n: int) -> dict[str, tuple[int, ...]]:
    return {tensor.name: (n,) * tensor.rank for tensor in function(text).parameters}


def arguments_of(text: str, n: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(n)
    return [
        rng.integers(0, n, (n,) * t.rank).astype(t.dtype)
        if t.dtype == "int32"
        else rng.standard_normal((n,) * t.rank).astype(t.dtype)
        for t in function(text).parameters
    ]


def refusal(text: str, n: int | None = None) -> CompileError | None:
    """The TC0708 for arrays of this size, or, without a size, for all sizes; None if there is none."""
    try:
        if n is None:
            infer_ranges(function(text))
        else:
            bind(function(text), shapes_of(text, n))
    except CompileError as error:
        assert error.code == "TC0708", error
        return error
    return None


# Where a loop and a formula would differ: the statement, and the points.
REFUSED = [
    (VECTOR, "y(i) = y(i-1) + x(i) where i in 1:N", "i = 2", "y[2]", "y[1]", "i = 1"),
    (VECTOR, "y(i) = y(i-1) + x(i)", "i = 2", "y[2]", "y[1]", "i = 1"),
    (VECTOR, "y(i) = y(i-1) + x(i) where i in 0:N", "i = 1", "y[1]", "y[0]", "i = 0"),
    (VECTOR, "y(i) = y(i+1) where i in 0:N-1", "i = 0", "y[0]", "y[1]", "i = 1"),
    (VECTOR, "y(i) = y(0) * x(i)", "i = 1", "y[1]", "y[0]", "i = 0"),
    (VECTOR, "y(i) += y(i-1) where i in 1:N", "i = 2", "y[2]", "y[1]", "i = 1"),
    (VECTOR, "y(i) max= y(i+k) where k in 0:2, i in 0:N-1", "i = 0, k = 1", "y[0]", "y[1]", "i = 1"),
    (VECTOR, "y(i) +=! y(k) * x(i)", "i = 1, k = 0", "y[1]", "y[0]", "i = 0"),
    (VECTOR, "y(i) argmax=! y(k) + x(i)", "i = 1, k = 0", "y[1]", "y[0]", "i = 0"),
    (VECTOR, "y(i) = y(i) / sum[k](y(k))", "i = 1, k = 0", "y[1]", "y[0]", "i = 0"),
    (VECTOR, "y(i) = sum[k where k < i](y(k)) + x(i)", "i = 1, k = 0", "y[1]", "y[0]", "i = 0"),
    (VECTOR, "y(i) = y(j) where j = i + 1, i in 0:N-1", "i = 0", "y[0]", "y[1]", "i = 1"),
    (VECTOR, "y(i) = x(i) where y(0) > 0", "i = 1", "y[1]", "y[0]", "i = 0"),
    (VECTOR, "y(i) = i > 0 ? y(i-1) : x(i)", "i = 1", "y[1]", "y[0]", "i = 0"),
    (VECTOR, "y(i) = x(min(max(int32(y(i-1)), 0), N-1)) where i in 1:N", "i = 2", "y[2]", "y[1]", "i = 1"),
    (VECTOR, "y(i) = y(max(i-1, 0)) where i in 0:x.0", "i = 1", "y[1]", "y[0]", "i = 0"),
    (VECTOR, "y(2*i) = y(i) where i in 0:N/2", "i = 2", "y[4]", "y[2]", "i = 1"),
    (MATRIX, "y(i,j) = y(j,i)", "i = 1, j = 0", "y[1, 0]", "y[0, 1]", "i = 0, j = 1"),
    (MATRIX, "y(i,j) += y(i,k) * A(k,j)", "i = 0, j = 1, k = 0", "y[0, 1]", "y[0, 0]", "i = 0, j = 0"),
    (MATRIX, "y(i,i) = y(i+1,i+1) where i in 0:N-1", "i = 0", "y[0, 0]", "y[1, 1]", "i = 1"),
    (DATA, "y(i) = y(J(i))", "i = 1", "y[1]", "y[J[i]]", None),
    (DATA, "y(J(i)) += y(i)", "i = 0", "y[J[i]]", "y[0]", None),
    (DATA, "y(J(i)) += y(J(i)+1)", "i = 0", "y[J[i]]", "y[J[i] + 1]", None),
]  # fmt: skip


@pytest.mark.parametrize(("program", "statement", "at", "written", "read", "there"), REFUSED)
def test_a_read_of_what_another_point_writes_shows_both_points(
    program: str, statement: str, at: str, written: str, read: str, there: str | None
) -> None:
    text = program.format(statement)
    writes = "may write at another point" if there is None else f"writes at {there}"

    for error in (refusal(text), refusal(text, 9)):
        assert error is not None
        assert error.message == f"at {at} this writes {written} and reads {read}, which the same statement {writes}"


def test_points_at_the_far_end_are_formulas_without_sizes_and_numbers_with() -> None:
    text = VECTOR.format("y(i) = y(N-1-i)")

    general, special = refusal(text), refusal(text, 2)

    assert general is not None and special is not None
    assert "at i = N - 1 this writes y[N - 1] and reads y[0], which" in general.message
    assert re.search(r"at i = ([01]) this writes y\[\1\]", special.message)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 12])
@pytest.mark.parametrize(
    ("program", "statement"),
    [
        (VECTOR, "y(i) = y(i) + 1"),
        (VECTOR, "y(i) = y(i) * 2 where i in 0:N/2"),
        (VECTOR, "y(i) *= y(i) + 1"),
        (VECTOR, "y(i) += y(i) * x(k)"),
        (VECTOR, "y(i) = y(i + N/2) where i in 0:N/2"),
        (VECTOR, "y(i + N/2) = y(i) where i in 0:N/2"),
        (VECTOR, "y(2*i) = y(2*i+1) where i in 0:N/2"),
        (VECTOR, "y(i) = y(i+1) where i in 0:N-1, i % 2 == 0"),
        (VECTOR, "y(0) = y(N-1)"),
        (VECTOR, "y(0) += y(k)"),
        (VECTOR, "y(i) = x(i) * y(0) where i in 1:N"),
        (VECTOR, "y(i) = x(i) where i in 1:N, y(0) > 0"),
        (VECTOR, "y(i) = sum[k where k == i](y(k)) * x(i)"),
        (VECTOR, "y(i) = i > 0 ? x(i) : y(i)"),
        (MATRIX, "y(i,j) = y(j,i) where i < j"),
        (MATRIX, "y(0,j) = y(N-1,j)"),
        (MATRIX, "y(i,j) = y(i,j) - y(i,0) * y(0,j) where i in 1:N, j in 1:N"),
        (MATRIX, "y(i,i) = y(i,i) * 2"),
        (DATA, "y(J(i)) += y(J(i))"),
        (DATA, "y(i) = x(J(min(max(int32(y(i)), 0), N-1)))"),
    ],
)
def test_the_element_itself_and_elements_that_no_point_writes_may_be_read(program: str, statement: str, n: int) -> None:
    assert refusal(program.format(statement), n) is None
    assert refusal(program.format(statement)) is None


@pytest.mark.parametrize(
    ("program", "statement", "legal", "refused"),
    [
        (VECTOR, "y(i) = y(i-1) where i in N:N", 3, None),
        (VECTOR, "y(i) = y(i-1) where i in 1:N", 2, 3),
        (VECTOR, "y(i) = y(N-1-i)", 1, 2),
        (VECTOR, "y(i) = y(i+3) where i in 0:N-3", 6, 7),
        (MATRIX, "y(i,j) = y(j,i)", 1, 2),
        (DATA, "y(i) = y(J(i))", 1, 2),
    ],
)
def test_one_point_or_none_meets_no_other(program: str, statement: str, legal: int, refused: int | None) -> None:
    assert refusal(program.format(statement), legal) is None
    assert refused is None or refusal(program.format(statement), refused) is not None


def test_with_an_exclamation_mark_a_guard_does_not_keep_elements() -> None:
    """`+=!` starts every element of its left side from the identity, `+=` leaves those without points unchanged."""
    statement = "y(i) {} y(i+1) where i in 0:N-1, i < 1"

    assert refusal(VECTOR.format(statement.format("+="))) is None
    assert refusal(VECTOR.format(statement.format("+=!"))) is not None


def test_where_sizes_decide_only_numbers_tell() -> None:
    text = "def f(float(N) x, float(H) s) -> (y) { y(i) = x(i)  y(i) = y(i+H) where i in 0:N-H }"

    found = infer_ranges(function(text))

    assert [access.span.text for access in found.undecided] == ["y(i+H)"]
    bind(function(text), {"x": (8,), "s": (4,)})
    with pytest.raises(CompileError, match="TC0708"):
        bind(function(text), {"x": (9,), "s": (4,)})


def test_what_is_proved_to_be_apart_is_decided() -> None:
    assert infer_ranges(function(VECTOR.format("y(i) = y(i + N/2) where i in 0:N/2"))).undecided == ()


def test_an_assumption_of_small_sizes_is_believed() -> None:
    kernel = tcjax.kernel(VECTOR.format("y(i) = y(i-1) where i in 1:N"), assume=["N <= 2"])

    assert str(kernel.ranges()[1]["i"]) == "[1, N)"


def test_a_called_definition_is_checked_at_the_sizes_of_the_call() -> None:
    library = tcjax.load("""
        def reversed(float(N) x) -> (y) { y(i) = x(i)  y(i) = y(N-1-i) }
        def outer(float(N) x) -> (z) { y = reversed(x)  z(i) = y(i) }""")

    assert library.outer(np.ones(1, np.float32)).shape == (1,)
    for run in (library.outer, library.outer.interpret):
        with pytest.raises(CompileError, match=r"at i = . this writes y"):
            run(np.ones(2, np.float32))


@pytest.mark.parametrize(
    ("program", "statement"),
    [(program, statement) for program, statement, *_ in REFUSED if "in 0:N" not in statement[-7:]],
)
def test_the_help_followed_to_the_letter_reads_the_old_values(program: str, statement: str) -> None:
    text = program.format(statement)
    error = refusal(text, 6)
    assert error is not None and error.span is not None
    copy, read = re.findall(r"`(y_old[^`]*)`", error.help)
    # `y` is a copy of the only parameter of its rank.
    source = "A" if program == MATRIX else "x"
    left, right = re.fullmatch(r"(y\(.*?\) \S*=!? )(.*)", statement).groups()  # type: ignore[union-attr]
    apart = program.format(left + right.replace("y(", f"{source}("))

    mended = program.format(f"{copy}  {left}{right.replace(error.span.text, read)}")

    arguments = arguments_of(text, 6)
    expected = tcjax.kernel(apart).interpret(*arguments)
    np.testing.assert_allclose(tcjax.kernel(mended).interpret(*arguments), expected, rtol=1e-6)


def test_old_values_are_no_alternative_where_the_tensor_has_too_few() -> None:
    text = "def f(float(N) x) -> (y) { y(i) = x(i) where i in 0:1  y(i) = y(i-1) + x(i) where i in 1:N }"

    for error in (refusal(text), refusal(text, 5)):
        assert error is not None
        loop = "`for i in 1:N { y(i) = y(i-1) + x(i) }`"
        assert error.help == f"steps that need the one before stand in a loop: {loop}"


def test_a_parameter_that_python_accumulates_into_has_its_own_name() -> None:
    @tcjax.kernel
    def summed(x):
        if i > 0:
            x[i] += x[i - 1]
        return x

    @tcjax.kernel
    def mended(x):
        x_old[i] = x[i]
        for i in range(1, x.shape[0]):
            x[i] += x_old[i - 1]
        return x

    with pytest.raises(CompileError) as caught:
        summed(np.ones(4, np.float32))

    assert caught.value.message.startswith("at i = 2 this writes x[2] and reads x[1], which")
    assert caught.value.help.endswith("copy them before this, `x_old[i] = x[i]`, and read `x_old[i - 1]`")
    np.testing.assert_array_equal(mended(np.float32([1, 2, 4, 8])), [1, 3, 6, 12])


# ---------------------------------------------------------------- by counting

N = 6
SUBSCRIPTS = ["i", "j", "i+1", "j-1", "2*i", "2*j+1", "N-1-i", "0", "3", "i/2", "i%2", "i+j", "min(i,j)", "max(i-2,0)"]
GUARDS = ["i < j", "i != j", "i % 2 == 0", "i + j > 3 || i == j", "i > 2", "j < 3"]


def at(text: str, i: int, j: int, k: int = 0) -> int:
    """A subscript or a guard at a point, by Python."""
    python = text.replace("||", "or").replace("/", "//")
    return int(eval(python, {"i": i, "j": j, "k": k, "N": N, "min": min, "max": max}))


@st.composite
def updates(draw: st.DrawFn) -> tuple[tuple[str, str], tuple[str, str], str, str]:
    """The two subscripts of the left side, those of a read, the operator, and a guard that keeps both inside."""
    left = draw(st.sampled_from([("i", "j"), ("j", "i"), ("i", "0"), ("2*i", "j"), ("i", "i"), ("i+1", "j")]))
    read = draw(st.sampled_from(SUBSCRIPTS)), draw(st.sampled_from(SUBSCRIPTS))
    # An index that occurs only in clauses is refused earlier (TC0402).
    assume("j" in "".join(left + read))
    guard = draw(st.sampled_from(["", *GUARDS]))
    return left, read, draw(st.sampled_from(["+=", "max="])), inside(guard, *left, *read)


def inside(guard: str, *subscripts: str) -> str:
    return ", ".join(filter(None, [guard, *(f"{s} >= 0, {s} < N" for s in subscripts)]))


@given(updates())
# N-1-2*i >= 0 is known, and 2*i+1-N >= 0 is found while the facts are being rebuilt.
@example((("i+1", "j"), ("N-1-i", "2*i"), "+=", inside("", "i+1", "j", "N-1-i", "2*i")))
def test_what_is_refused_is_what_a_visit_of_all_points_finds(
    update: tuple[tuple[str, str], tuple[str, str], str, str],
) -> None:
    left, read, operator, guard = update
    text = MATRIX.format(f"y({','.join(left)}) {operator} y({','.join(read)}) where i in 0:N, j in 0:N, {guard}")
    points = [p for p in product(range(N), range(N)) if all(at(part, *p) for part in guard.split(", "))]
    written = {p: tuple(at(s, *p) for s in left) for p in points}
    reads = {p: tuple(at(s, *p) for s in read) for p in points}

    meets = any(reads[p] != written[p] and reads[p] in written.values() for p in points)

    assert (refusal(text, N) is not None) == meets
    if refusal(text) is not None:
        assert all(refusal(text, n) is not None for n in (8, 9, 12))
    elif not infer_ranges(function(text)).undecided:
        assert all(refusal(text, n) is None for n in (1, 4, 8, 9))
