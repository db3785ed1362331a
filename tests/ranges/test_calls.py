"""Ranges through calls."""

import pytest

from tcjax import ir
from tcjax.diagnostics import CompileError
from tcjax.ranges import Shape, bind
from tcjax.symbolic import Size, SizeVar

from .texts import function

TRANSPOSE = "def g(float(M,K) X) -> (Y) { Y(k,m) = X(m,k) } "


def test_a_callee_is_bound_with_its_arguments_shapes() -> None:
    text = TRANSPOSE + "def f(float(A,B) T) -> (O) { S = g(T)  O(i,j) = S(i,j) }"

    found = bind(function(text), {"T": (2, 5)})

    assert found.calls[0].shapes == {"X": (2, 5), "Y": (5, 2)}
    assert found.shapes["O"] == (5, 2)
    assert [len(box) for box in found.boxes] == [0, 2]
    assert [len(reasons) for reasons in found.reasons] == [0, 2]


def test_a_size_of_a_calls_result_is_known() -> None:
    text = TRANSPOSE + "def f(float(A,B) T) -> (O) { S = g(T)  O(i) = 1.0 where i in 0:S.0 }"

    found = bind(function(text), {"T": (2, 5)})

    assert found.shapes["O"] == (5,)


def test_a_calls_result_starts_at_zero() -> None:
    text = "def g(float(N) X) -> (Y) { Y(i) = X(i-1) } def f(float(N) A) -> (O) { S = g(A)  O(i) = S(i) }"

    found = bind(function(text), {"A": (4,)})

    assert found.calls[0].origins["Y"] == (1,)
    assert found.origins["S"] == (0,)
    assert found.origins["O"] == (0,)


def test_arguments_that_do_not_fit_the_callee_are_refused() -> None:
    text = """def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
        def f(float(P,Q) X, float(R,S) Y) -> (Z) { Z = mm(X, Y) }"""

    with pytest.raises(CompileError) as caught:
        bind(function(text), {"X": (2, 3), "Y": (4, 5)})

    assert caught.value.code == "TC0601"
    assert "`K` is 3" in caught.value.message


def test_a_result_that_does_not_fit_its_annotation_is_refused() -> None:
    text = TRANSPOSE + "def f(float(A,B) T) -> (float(A,B) S) { S = g(T) }"

    with pytest.raises(CompileError) as caught:
        bind(function(text), {"T": (2, 5)})

    assert caught.value.code == "TC0603"
    assert bind(function(text), {"T": (3, 3)}).shapes["S"] == (3, 3)


def test_the_shapes_of_a_python_functions_results_are_asked_for() -> None:
    def shapes(name: str, tensors: tuple[ir.Tensor, ...], given: tuple[Shape, ...]) -> tuple[Shape, ...]:
        assert (name, [tensor.name for tensor in tensors]) == ("sort", ["A"])
        return (given[0], (given[0][0] + 1,))

    a, s, p = (ir.Tensor(name, "float32", (Size.of(SizeVar(f"{name}.0")),)) for name in "ASP")
    defined = ir.Function("f", (a,), (s, p), (ir.ApplyForeign((s, p), "sort", (a,)),))

    found = bind(defined, {"A": (4,)}, foreign=shapes)

    assert found.shapes == {"A": (4,), "S": (4,), "P": (5,)}
    assert found.sizes[SizeVar("P.0")] == 5
