"""Programs written as TC elaborate to the same function again."""

import re
from dataclasses import replace

import numpy as np
import pytest

import tcjax
from tcjax import ir, ranges
from tcjax.diagnostics import CompileError
from tcjax.interpreter import interpret
from tcjax.ir import Reducer
from tcjax.symbolic import Affine, IndexVar, Size, SizeVar
from tcjax.syntax import embedded, tc
from tcjax.translation import to_tc

from .programs import PROGRAMS, Called, elaborated

I, J, K = IndexVar("i"), IndexVar("j"), IndexVar("k")
A = ir.Tensor("A", "int32", (Size.of(4), Size.of(3)))


def at(*indices: IndexVar) -> tuple[Affine, ...]:
    return tuple(map(Affine.of, indices))


def given(index: IndexVar, extent: int) -> ir.Range:
    return ir.Range(index, Affine.of(0), Affine.of(extent))


def function(*statements: ir.Statement) -> ir.Function:
    """A function of `A` that returns what its last statement writes."""
    last = statements[-1]
    assert isinstance(last, ir.Define | ir.Accumulate)
    return ir.Function("f", (A,), (last.target,), statements)


def local(name: str, dtype: str, rank: int) -> ir.Tensor:
    return ir.Tensor(name, dtype, tuple([Size.of(SizeVar(f"{name}.{d}")) for d in range(rank)]))


def run(function: ir.Function, *arrays: np.ndarray) -> np.ndarray:
    named = {p.name: array for p, array in zip(function.parameters, arrays, strict=True)}
    bound = ranges.bind(function, {name: array.shape for name, array in named.items()})
    return np.asarray(interpret(bound, named)[0])


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_function_written_as_tc_elaborates_to_itself(program: Called) -> None:
    tree = to_tc(program.function)

    assert tc.read(tc.write(tree)) == tree
    again = elaborated(tree, program.arguments)
    # A batch has unnamed sizes, `A.0`, among named ones; they are written as `A_0`.
    if "..." in program.text:
        assert _named(again) == _named(program.function)
    else:
        assert again == program.function


def _named(function: ir.Function) -> str:
    return re.sub(r"\b([A-Za-z]\w*)\.(\d)", r"\1_\2", ir.show(function))


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_function_written_as_tc_can_be_written_in_python(program: Called) -> None:
    (*_, definition) = to_tc(program.function).definitions

    assert f"def {definition.name}(" in embedded.write(definition)


def test_names_that_tc_uses_otherwise_get_another() -> None:
    source = ir.Tensor("where", "float32", (Size.of(4),))
    target = local("in", "float32", 1)
    copy = ir.Define(target, at(IndexVar("exp")), ir.Access(source, at(IndexVar("exp"))))

    text = tc.write(to_tc(ir.Function("min", (source,), (target,), (copy,))))

    assert text == "def min_1(float(4) where_1) -> (in_1) {\n  in_1(exp_1) = where_1(exp_1)\n}"


def test_a_place_that_is_a_size_is_no_index_on_the_left() -> None:
    kernel = tcjax.kernel(
        "def f(float(N) x, int32(M) p) -> (y) { z(i) = x(i) * x(i)\n y() = z(M) * p(0) }", assume=("M < N",)
    )

    adjoint = kernel.adjoint(wrt=("x",))

    assert "d_z(M + 0) +=! " in str(adjoint)
    assert str(tcjax.kernel(str(adjoint), assume=("M < N",))) == str(adjoint)


def test_an_index_hides_no_outer_one_that_is_used_inside() -> None:
    inner = IndexVar("i", 1)
    body = ir.Binary("*", ir.Access(A, at(I, inner)), ir.Index(I), "int32")
    total = ir.Reduce(Reducer.SUM, (inner,), (), None, body, None, "int32", "int32")
    source = function(ir.Define(local("O", "int32", 1), at(I), total))

    written = to_tc(source)

    assert "O(i) = sum[i_1](A(i, i_1) * i)" in tc.write(written)


def test_a_reduction_index_that_the_value_does_not_mention_stands_in_brackets() -> None:
    source = function(
        ir.Accumulate(
            local("O", "int32", 1),
            at(I),
            Reducer.SUM,
            True,
            (J, K),
            ir.Access(A, at(I, J)),
            "int32",
            ir.Domain((given(K, 5),)),
        )
    )

    text = tc.write(to_tc(source))

    assert "O(i) = sum[j, k in 0:5](A(i, j))" in text
    np.testing.assert_array_equal(run(source, np.ones((4, 3), "i")), np.full(4, 15))


def test_positions_keep_the_order_of_their_indices() -> None:
    source = function(
        ir.Accumulate(
            local("O", "int32", 0), (), Reducer.ARGMAX, True, (J, I), ir.Access(A, at(I, J)), "int32", ir.Domain()
        )
    )

    again = elaborated(to_tc(source), (np.ones((4, 3), "i"),))

    array = np.array([[0, 1, 2], [3, 9, 5], [6, 7, 8], [1, 1, 1]], "i")
    assert run(again, array) == run(source, array) == 1 * 4 + 1


@pytest.mark.parametrize("operator", ["quot", "rem"])
@pytest.mark.parametrize("divisor", [3, -3, None])
def test_division_that_truncates_is_written_with_the_one_that_floors(operator: str, divisor: int | None) -> None:
    right = ir.Access(A, at(I, J)) if divisor is None else ir.Const(divisor, "int32")
    value = ir.Binary(operator, ir.Access(A, (Affine.of(I), Affine.of(0))), right, "int32")
    source = function(ir.Define(local("O", "int32", 2), at(I, J), value, ir.Domain((given(J, 3),))))
    array = np.array([[7, 2, -2], [-7, 2, -2], [8, 4, -4], [-8, 4, -3]], "i")

    again = elaborated(to_tc(source), (array,))

    np.testing.assert_array_equal(run(again, array), run(source, array))


def test_numbers_keep_their_types() -> None:
    left, right = ir.Const(2.0, "float64"), ir.Const(0.5, "float64")
    value = ir.Binary("+", ir.Binary("*", left, right, "float64"), ir.Const(-1.0, "float64"), "float64")
    source = function(ir.Define(local("O", "float64", 0), (), value))

    assert elaborated(to_tc(source), (np.ones((4, 3), "i"),)) == source


def test_a_parameter_that_nothing_reads_is_declared() -> None:
    unread = ir.Tensor("B", "float32", local("B", "float32", 1).shape)
    target = local("O", "int32", 2)
    source = ir.Function("f", (A, unread), (target,), (ir.Define(target, at(I, J), ir.Access(A, at(I, J))),))

    assert tc.write(to_tc(source)).startswith("def f(int32(4,3) A, float(B_0) B)")


def test_a_parameter_whose_size_a_declaration_names_is_declared() -> None:
    turned = tcjax.kernel("{ [i] -> rotate(0, 2, { [] -> a[0] }) | [i] < [3] }", dialect="sac")
    a = np.array([[1, -2, 5], [3, 3, 3]], "float32")

    again = tcjax.kernel(turned.to("tc", a))

    np.testing.assert_array_equal(again.interpret(a), np.array([[-2, 5, 1]] * 3))


def test_functions_of_one_name_are_told_apart() -> None:
    def twice(dtype: str) -> ir.Function:
        x, y = ir.Tensor("x", dtype, (Size.of(4),)), local("y", dtype, 1)
        value = ir.Binary("+", ir.Access(x, at(I)), ir.Access(x, at(I)), dtype)
        return ir.Function("twice", (x,), (y,), (ir.Define(y, at(I), value),))

    inputs = tuple([ir.Tensor(name, dtype, (Size.of(4),)) for name, dtype in (("a", "int32"), ("b", "float32"))])
    results = tuple([local(name, tensor.dtype, 1) for name, tensor in zip(("c", "d"), inputs, strict=True)])
    calls = [ir.Invoke((r,), twice(a.dtype), (a,)) for a, r in zip(inputs, results, strict=True)]
    source = ir.Function("f", inputs, results, tuple(calls))

    names = [definition.name for definition in to_tc(source).definitions]

    assert names == ["twice", "twice_1", "f"]


def test_an_integer_power_of_a_tensor_cannot_be_said() -> None:
    element = ir.Access(A, at(I, J))
    source = function(ir.Define(local("O", "int32", 2), at(I, J), ir.Binary("**", element, element, "int32")))

    with pytest.raises(CompileError) as caught:
        to_tc(source)

    assert caught.value.code == "TC0109" and "integer power" in caught.value.message


def test_functions_on_cells_cannot_be_said() -> None:
    target = local("O", "int32", 1)
    source = ir.Function("f", (A,), (target,), (ir.ApplyForeign((target,), "g", (A,), 1, (True,)),))

    with pytest.raises(CompileError) as caught:
        to_tc(source)

    assert caught.value.code == "TC0109" and "cells" in caught.value.message


def test_what_nests_too_deeply_is_a_mistake() -> None:
    value: ir.Expr = ir.Access(A, at(I, J))
    for _ in range(20_000):
        value = ir.Unary("-", value, "int32")
    source = function(ir.Define(local("O", "int32", 2), at(I, J), value))

    with pytest.raises(CompileError) as caught:
        to_tc(replace(source, name="deep"))

    assert caught.value.code == "TC0103"
