"""The sizes of a call."""

import pytest

from tcjax.diagnostics import CompileError
from tcjax.ranges import bind_sizes
from tcjax.symbolic import SizeVar

from .texts import function

MATMUL = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


def refused(text: str, shapes: dict[str, tuple[int, ...]], sizes: dict[str, int] | None = None) -> CompileError:
    with pytest.raises(CompileError) as caught:
        bind_sizes(function(text), shapes, sizes)
    return caught.value


def test_shapes_give_the_declared_sizes() -> None:
    sizes = bind_sizes(function(MATMUL), {"A": (2, 3), "B": (3, 4)})

    assert sizes == {SizeVar("M"): 2, SizeVar("K"): 3, SizeVar("N"): 4}


def test_two_arguments_that_disagree_are_both_named() -> None:
    error = refused(MATMUL, {"A": (2, 3), "B": (5, 4)})

    assert error.code == "TC0601"
    assert error.kind == "shape"
    assert error.message == "`K` is 3 in dimension 1 of `A`, but 5 in dimension 0 of `B`"
    assert error.span.column == MATMUL.index("float(K,N)") + 1


def test_one_argument_may_disagree_with_itself() -> None:
    error = refused("def f(float(N,N) A) -> (t) { t +=! A(i,i) }", {"A": (2, 3)})

    assert error.message == "`N` is 2 in dimension 0 of `A`, but 3 in dimension 1 of `A`"


def test_a_constant_dimension_is_checked() -> None:
    error = refused("def f(float(4) A) -> (t) { t +=! A(i) }", {"A": (5,)})

    assert error.code == "TC0601"
    assert error.message == "dimension 0 of `A` is declared to be 4, but the argument has 5 there"


@pytest.mark.parametrize("shape", [(), (2,), (2, 3, 4)])
def test_a_wrong_rank_is_refused(shape: tuple[int, ...]) -> None:
    error = refused(MATMUL, {"A": shape, "B": (3, 4)})

    assert error.code == "TC0502"
    assert error.kind == "rank"
    assert error.message.startswith("`A` has 2 dimensions (M, K), but the argument has ")


def test_an_array_where_a_scalar_is_declared_is_refused() -> None:
    error = refused("def f(float a, float(N) A) -> (B) { B(i) = a * A(i) }", {"a": (1,), "A": (3,)})

    assert error.message.startswith("`a` is a scalar, but the argument has 1 dimension")


def test_a_keyword_gives_a_free_size() -> None:
    text = "def f(int32(N) J) -> (float(B) H) { H(J(i)) +=! 1.0 }"

    assert bind_sizes(function(text), {"J": (3,)}, {"B": 7}) == {SizeVar("N"): 3, SizeVar("B"): 7}


def test_a_keyword_that_agrees_with_the_arguments_is_accepted() -> None:
    sizes = bind_sizes(function(MATMUL), {"A": (2, 3), "B": (3, 4)}, {"K": 3})

    assert sizes[SizeVar("K")] == 3


def test_a_keyword_that_disagrees_with_the_arguments_is_refused() -> None:
    error = refused(MATMUL, {"A": (2, 3), "B": (3, 4)}, {"K": 5})

    assert error.code == "TC0601"
    assert error.message == "`K` is given as 5, but dimension 1 of `A` makes it 3"


def test_a_keyword_that_names_no_size_is_refused_with_a_suggestion() -> None:
    error = refused("def f(int32(N) J) -> (float(BINS) H) { H(J(i)) +=! 1.0 }", {"J": (3,)}, {"BIN": 7})

    assert error.code == "TC0404"
    assert "did you mean `BINS`?" in error.help


def test_a_negative_size_is_refused() -> None:
    error = refused("def f(int32(N) J) -> (float(B) H) { H(J(i)) +=! 1.0 }", {"J": (3,)}, {"B": -1})

    assert error.code == "TC0602"
