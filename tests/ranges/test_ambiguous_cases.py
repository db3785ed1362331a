"""What TC calls ambiguous or wrong: which cases are refused, with which messages."""

import pytest

from tcjax.diagnostics import CompileError
from tcjax.ranges import bind, infer_ranges

from .texts import function


def refused(text: str, **shapes: tuple[int, ...]) -> CompileError:
    with pytest.raises(CompileError) as caught:
        bind(function(text), shapes)
    return caught.value


@pytest.mark.parametrize(
    ("text", "shapes", "index", "reason"),
    [
        (
            "def f(float(N,M,K) A) -> (O) { O(i,j) = A(i+j, i+j, i+j) }",
            {"A": (3, 3, 3)},
            "i",
            "`A(i+j, i+j, i+j)` depends on `j` too",
        ),
        (
            "def f(float(N,M) I) -> (O) { O(i,j) = I(10+i-j, i+j) }",
            {"I": (3, 3)},
            "i",
            "`I(10+i-j, i+j)` depends on `j` too",
        ),
        ("def f(float(N) A) -> (O) { O(i,j) = 3.0 }", {"A": (3,)}, "i", "no tensor is read at it"),
        (
            "def f(float(N,M,K,L,P) I) -> (O) { O(i,j,k,l,m) = I(j,i,k,i,l) }",
            {"I": (3,) * 5},
            "m",
            "no tensor is read at it",
        ),
        (
            "def f(float(N) B, int32(M) S) -> (A) { A(i) = B(S(0)*i) }",
            {"B": (3,), "S": (3,)},
            "i",
            "in `B(S(0)*i)` the data decides",
        ),
        ("def f(float(N) A) -> (O) { O(i) = A(i*i) }", {"A": (3,)}, "i", "`A(i*i)` multiplies or divides indices"),
        ("def f(float(N) A) -> (O) { O(i) = A(i % 3) }", {"A": (3,)}, "i", "`i % 3` in `A(i % 3)` does not limit it"),
        (
            "def f(float(N) A) -> (O) { O(i) = i > 3 ? A(i-1) : 0.0 }",
            {"A": (3,)},
            "i",
            "`A(i-1)` is read under a condition, where only a bare `i` limits it",
        ),
        (
            "def f(float(N,N) A) -> (L) { for j in 0:N { L(i,j) = A(i,j) - sum[k where k < j](L(i,k)) } }",
            {"A": (3, 3)},
            "k",
            "the loop gives the size of `L` only later",
        ),
    ],
)
def test_an_index_that_nothing_bounds_is_refused_with_what_was_seen(
    text: str, shapes: dict[str, tuple[int, ...]], index: str, reason: str
) -> None:
    error = refused(text, **shapes)

    assert error.code == "TC0401"
    assert error.kind == "bound"
    assert error.message == f"nothing says how far `{index}` runs: {reason}"
    assert f"{index} in 0:N" in error.help


def test_an_index_without_bounds_is_refused_before_any_call_too() -> None:
    with pytest.raises(CompileError) as caught:
        infer_ranges(function("def f(float(N) A) -> (O) { O(i,j) = A(i) }"))

    assert caught.value.code == "TC0401"


def test_a_misspelt_size_is_an_index_without_bounds_and_gets_a_suggestion() -> None:
    error = refused("def f(float(WIDTH) A) -> (O) { O +=! A(i) / WIDHT }", A=(3,))

    assert error.code == "TC0401"
    assert "did you mean `WIDTH`" in error.help


def test_a_range_that_waits_for_an_index_without_bounds_is_refused() -> None:
    error = refused("def f(float(N) A) -> (O) { O +=! A(i) + j where i in 0:j }", A=(3,))

    assert error.code == "TC0401"
    assert error.message == "the range `i in 0:j` waits for `j`, which nothing bounds"
    assert "where j in 0:N" in error.help


def test_sums_of_plain_subscripts_are_accepted_with_numbers_that_fit() -> None:
    text = "def f(float(N,NM,M) I) -> (O) { O(i,j) = I(i,i+j,j) }"

    bound = bind(function(text), {"I": (10, 19, 10)})

    assert bound.shapes["O"] == (10, 10)


def test_a_precondition_on_another_tensor_is_checked_with_numbers() -> None:
    text = "def f(float(N) B, float(NM) C, float(M) D) -> (A) { A(i,j) = B(i) * C(i+j) * D(j) }"

    assert bind(function(text), {"B": (3,), "C": (6,), "D": (4,)}).shapes["A"] == (3, 4)
    assert refused(text, B=(3,), C=(5,), D=(4,)).message == "at i = 2, j = 3 this reads C[5]; C has 5 rows"


def test_a_range_beyond_the_data_is_refused() -> None:
    error = refused("def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:N+5 }", A=(4,))

    assert error.code == "TC0701"
    assert "where i in 0:4" in error.help


def test_a_dimension_without_elements_is_an_empty_range() -> None:
    bound = bind(function("def f(float(0) A) -> (B) { B(i) = A(i) }"), {"A": (0,)})

    assert bound.shapes["B"] == (0,)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("def f(float(N) A) -> (B) { B(i) = A(i) where i in 8:4 }", {"A": (9,)}),
        ("def f(float(N) A, float(K) W) -> (B) { B(i) +=! A(i+k) * W(k) }", {"A": (2,), "W": (5,)}),
        ("def f(float(N) A) -> (B) { B(i) = sum[k in 3:1](A(k)) where i in 0:2 }", {"A": (9,)}),
    ],
)
def test_a_negative_extent_is_refused(text: str, shapes: dict[str, tuple[int, ...]]) -> None:
    error = refused(text, **shapes)

    assert error.code == "TC0602"
    assert "an extent of -" in error.message


def test_a_negative_extent_names_its_cause() -> None:
    error = refused("def f(float(N) A, float(K) W) -> (B) { B(i) +=! A(i+k) * W(k) }", A=(2,), W=(5,))

    assert error.message == "`i` would run over [0, -2), an extent of -2: `A(i+k)` makes it so"


def test_a_triangle_is_a_hull() -> None:
    text = "def f(float(N,N) A) -> (O) { O(i) +=! A(i,j) where j in 0:i }"

    bound = bind(function(text), {"A": (4, 4)})

    assert [{str(i): ends for i, ends in box.items()} for box in bound.boxes] == [{"i": (0, 4), "j": (0, 3)}]


def test_a_later_definition_updates_the_part_that_it_reaches() -> None:
    text = "def f(float(N) A, float(M) C) -> (B) { B(i) = A(i)  B(i) = B(i) + C(i) }"

    bound = bind(function(text), {"A": (5,), "C": (3,)})

    assert bound.shapes["B"] == (5,)
    assert [list(box.values()) for box in bound.boxes] == [[(0, 5)], [(0, 3)]]


def test_a_longer_operand_of_an_update_is_cut_to_the_tensor() -> None:
    text = "def f(float(N) A, float(M) C) -> (B) { B(i) = A(i)  B(j) += C(j) }"

    bound = bind(function(text), {"A": (3,), "C": (5,)})

    assert bound.shapes["B"] == (3,)
    assert [list(box.values()) for box in bound.boxes] == [[(0, 3)], [(0, 3)]]


def test_a_given_range_beyond_the_first_definition_is_refused() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:5  B(i) = B(i) + A(i) where i in 0:9 }"

    error = refused(text, A=(10,))

    assert error.code in ("TC0701", "TC0702")


def test_a_range_with_a_size_does_not_poison_later_statements() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:N  B(i) += 1.0 }"

    assert bind(function(text), {"A": (4,)}).boxes[1] == bind(function(text), {"A": (4,)}).boxes[0]


def test_a_size_in_a_range_is_a_constant_for_other_reads() -> None:
    text = "def f(float(N) A, float(K) dilation) -> (B) { B(i) +=! A(i+k) where k in 0:K }"

    assert bind(function(text), {"A": (9,), "dilation": (4,)}).shapes["B"] == (6,)


def test_a_gather_takes_its_range_from_the_subscripts_tensor() -> None:
    text = "def f(float(E) B, int32(N) C) -> (A) { A(i) = B(C(i)) }"

    assert bind(function(text), {"B": (3,), "C": (7,)}).shapes["A"] == (7,)
