"""Inlined temporaries: subscripts, names of indices, guards, clamps, and tensors that are not new."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tcjax import ir, transforms
from tcjax.ir import Reducer
from tcjax.symbolic import Affine, IndexVar
from tcjax.transforms.definitions import as_accumulation, constant, covers, neutral
from tcjax.transforms.inlining import MOST_DEPTH

from .stepping import steps

# Parameters, statements, shapes and the value of the second statement without the name.
VALUES: dict[str, tuple[str, str, list[Sequence[int]], str]] = {
    "an element": ("float(N) A", "B(i) = A(i)*2\n O(i) = B(i)", [(7,)], "(A[i] * 2.0)"),
    "an origin that is not 0": (
        "float(N) A",
        "B(i) = A(i-1) + A(i+1)\n O(i) = B(i)*B(i+1)",
        [(7,)],
        "((A[i - 1] + A[i + 1]) * (A[i] + A[i + 2]))",
    ),
    "a left side that is shifted": ("float(N) A", "B(i+1) = A(i)\n O(i) = B(i)", [(7,)], "A[i - 1]"),
    "a transposed read": ("float(M,N) A", "B(i,j) = A(i,j)+i\n O(j,i) = B(i,j)", [(5, 6)], "(A[i, j] + float32(i))"),
    "two reads of one sum": (
        "float(M,N) A",
        "S(i) +=! A(i,k)\n O(i) = S(i)*S(i)",
        [(5, 6)],
        "(sum[k.1](A[i, k.1]) * sum[k.2](A[i, k.2]))",
    ),
    "an index that the reader has": (
        "float(M,N) A",
        "S(i) +=! A(i,k)\n O(k) = S(k)*sum[i](S(i))",
        [(5, 6)],
        "(sum[k.1](A[k, k.1]) * sum[i](sum[k.2](A[i, k.2])))",
    ),
    "sums in sums": (
        "float(M,N) A",
        "S(i) = sum[j](A(i,j)*max[k](A(i,k)))\n O(j) = S(j) + 1",
        [(5, 6)],
        "(sum[j.1]((A[j, j.1] * max[k.1](A[j, k.1]))) + 1.0)",
    ),
    "a guard of a new tensor": (
        "float(N) A",
        "B(i) = A(i) where A(i) > 0\n O(i) = B(i)+1",
        [(7,)],
        "(((A[i] > 0.0) ? A[i] : 0.0) + 1.0)",
    ),
    "a guard of a tensor": (
        "float(N) A",
        "B(i) = A(i)\n B(i) = 3*A(i) where A(i) > 0",
        [(7,)],
        "((A[i] > 0.0) ? (3.0 * A[i]) : A[i])",
    ),
    "a guard of a sum": (
        "float(M,N) A",
        "B(i) +=! A(i,j) where A(i,j) > 0\n O(i) = B(i)+1",
        [(5, 6)],
        "(sum[j.1 where (A[i, j.1] > 0.0)](A[i, j.1]) + 1.0)",
    ),
    "a sum that goes on": ("float(M,N) A", "B(i) = A(i,0)\n B(i) += A(i,j)", [(5, 6)], "(A[i, 0] + sum[j](A[i, j]))"),
    "an extremum that goes on": (
        "float(M,N) A",
        "B(i) = A(i,0)\n B(i) max= A(i,j)*2",
        [(5, 6)],
        "max(A[i, 0], max[j]((A[i, j] * 2.0)))",
    ),
    "a diagonal": ("float(N) A", "D(i,i) = A(i)\n O(i,j) = D(i,j)", [(7,)], "((j == i) ? A[i] : 0.0)"),
    "a diagonal below": (
        "float(N) A",
        "D(i+1,i) = A(i)\n O(i,j) = D(i,j)",
        [(7,)],
        "((i == (j + 1)) ? A[j] : 0.0)",
    ),
    "a diagonal of a matrix": (
        "float(N,N) A, float(N) Y",
        "B(i,j) = A(i,j)\n B(i,i) = Y(i)",
        [(7, 7), (7,)],
        "((place.1 == i) ? Y[i] : A[i, place.1])",
    ),
    "a diagonal that is added": (
        "float(N,N) A, float(N) Y",
        "B(i,j) = A(i,j)\n B(i,i) += Y(i)",
        [(7, 7), (7,)],
        "((place.1 == i) ? (A[i, i] + Y[i]) : A[i, place.1])",
    ),
    "a part of a diagonal": (
        "float(N,N) A, float(N) Y",
        "B(i,j) = A(i,j)\n B(i,i) = Y(i) where i in 2:4",
        [(7, 7), (7,)],
        "((((2 <= i) && (i < 4)) && (place.1 == i)) ? Y[i] : A[i, place.1])",
    ),
    "a diagonal of what would begin so": (
        "float(N,N) A, float(N) Y",
        "B(i,j) = 1.0 where i in 0:N, j in 0:N\n B(i,i) *= Y(i)",
        [(7, 7), (7,)],
        "((place.1 == i) ? Y[i] : 1.0)",
    ),
    "three subscripts that meet": (
        "float(N) A",
        "D(i,i,i) = A(i)\n O(i,j,k) = D(i,j,k)",
        [(7,)],
        "(((j == i) && (k == i)) ? A[i] : 0.0)",
    ),
    "a position": (
        "float(N,K) A",
        "J(k) argmin=! A(i,k)\n O(k) = A(J(k),k)",
        [(7, 4)],
        "A[argmin[i.1](A[i.1, k]), k]",
    ),
}


@pytest.mark.parametrize(("head", "body", "shapes", "expected"), VALUES.values(), ids=VALUES)
def test_a_name_is_what_it_stands_for(head: str, body: str, shapes: list[Sequence[int]], expected: str) -> None:
    returns = "O" if "O(" in body else "B"
    step = steps(head, body, *shapes, returns=returns).inlined()

    assert step is not None
    assert ir.show_expr(step.statement.value) == expected


def test_a_sum_of_what_counts_is_an_accumulation_with_a_guard() -> None:
    step = steps(
        "float(N) X, int32(N) I",
        "P(b,n) = b == I(n) ? X(n) : 0.0 where b in 0:5\n O(b) = sum[n](P(b,n))",
        *[(7,), (7,)],
        types=["float32", "int32"],
    ).inlined()

    assert step is not None
    statement = step.statement
    assert isinstance(statement, ir.Accumulate)
    assert (statement.reducer, statement.restart) == (Reducer.SUM, True)
    assert ir.show_expr(statement.value) == "X[n]"
    assert statement.domain.guard is not None
    assert ir.show_expr(statement.domain.guard) == "(b == I[n])"


def test_names_in_guards_and_in_subscripts_go_too() -> None:
    guarded = steps("float(N) A, float(K) X", "J(k) = X(k)+1\n O(i) +=! A(i) where J(k) > A(i)", (7,), (4,)).inlined()
    placed = steps(
        "float(N) A, int32(N) I",
        "J(n) = I(n)*2\n O(J(n)) +=! A(n)",
        *[(7,), (7,)],
        returns="float(20) O",
        types=["float32", "int32"],
    ).inlined()

    assert guarded is not None
    assert guarded.statement.domain.guard is not None
    assert ir.show_expr(guarded.statement.domain.guard) == "((X[k] + 1.0) > A[i])"
    assert placed is not None
    assert [str(subscript) for subscript in placed.statement.indices] == ["(I[n] * 2)"]


# The values of a tensor, and what a read at data becomes; None if the tensor clamps differently.
CLAMPS = {
    "T(i) = A(i)*2": "(A[I[m]] * 2.0)",
    "T(i) = A(i-1)*2": None,
    "T(i) = A(i) where i in 0:5": None,
    "T(i) = A(i) where i in 1:7": None,
    "T(i) = A(i) + i": None,
    "T(i) = i > 2 ? A(i) : 1.0": None,
    "T(i) = A(2)*3 where i in 0:4": "(A[2] * 3.0)",
}


@pytest.mark.parametrize(("body", "expected"), CLAMPS.items(), ids=CLAMPS)
def test_a_read_by_data_goes_where_it_clamps_alike(body: str, expected: str | None) -> None:
    found = steps(
        "float(N) A, int32(M) I", f"{body}\n O(m) = T(I(m))", *[(7,), (9,)], types=["float32", "int32"]
    ).inlined()

    assert (found and ir.show_expr(found.statement.value)) == expected


# Statements without an expression for every element.
KEPT = {
    "a part": ("float(N) A", "T(i) = A(i)\n T(i) = 2*A(i) where i in 2:4", 1),
    "one element": ("float(N) A", "T(i) = A(i)\n T(0) = 2.0", 1),
    "a new diagonal that is added": ("float(N) A", "T(i,i) +=! A(i)", 0),
    "a row": ("float(N) A", "T(0,i) = A(i)", 0),
    "places that meet": ("float(N) A", "T(i+j) +=! A(i)*A(j)", 0),
    "a scatter": ("float(N) A, int32(N) I", "T(I(n)) +=! A(n)", 0),
    "an extremum's place at one point": ("float(N) A", "T(i) argmax=! A(i)", 0),
    "a mean that goes on": ("float(N) A", "T(i) = A(i)\n T(i) mean= A(i)*2", 1),
    "reversed": ("float(N) A", "T(6-i) = A(i)", 0),
}


@pytest.mark.parametrize(("head", "body", "number"), KEPT.values(), ids=KEPT)
def test_what_is_no_expression_of_every_element_has_to_stay(head: str, body: str, number: int) -> None:
    typed = "int32" in head
    types = ["float32", "int32"] if typed else ["float32"]
    returns = "float(7) T" if typed else "T"
    found = steps(head, body, *[(7,)] * len(types), returns=returns, types=types)

    assert found.named(number, is_new=number == 0) is None


LONG = {
    "many terms": "sum[k in 0:9](" + " + ".join(["A(i)*k"] * 30) + ")",
    "many in each other": "abs(" * (MOST_DEPTH - 2) + "A(i)" + ")" * (MOST_DEPTH - 2),
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
def test_a_long_expression_has_to_stay(value: str) -> None:
    def named(terms: int) -> transforms.Named | None:
        return steps("float(N) A", "T(i) = " + " + ".join([value] * terms), (7,), returns="T").named(0)

    assert named(1) is not None
    assert named(4) is None


def test_a_sum_that_goes_on_from_zero_begins() -> None:
    def scattered(first: str) -> transforms.Step | None:
        head, body = "float(N) A, int32(N) I", f"T(b) = {first} where b in 0:5\n T(I(n)) += A(n)"
        found = steps(head, body, *[(7,), (7,)], returns="T", types=["float32", "int32"])
        return found.inlined()

    zero = scattered("0.0")

    assert zero is not None
    assert isinstance(zero.statement, ir.Accumulate)
    assert zero.statement.restart
    assert scattered("1.0") is None


def test_an_extremum_that_cancels_keeps_its_mark() -> None:
    found = steps("float(M,N) A", "T(i) max=! A(i,j)\n O(i,j) = A(i,j) - T(i)", (5, 6))
    found.steps[0] = transforms.Step(found.steps[0].statement, found.steps[0].box, fixed=True)

    step = found.inlined()

    assert step is not None
    assert [node.fixed for node in ir.walk(step.statement.value) if isinstance(node, ir.Reduce)] == [True]


@pytest.mark.parametrize(
    "body",
    [
        "O(i) = sum[j](A(i,j)) + 1",
        "O(i) = int32(sum[j](A(i,j)))",
        "O(i) = sum[j](A(i,j)) where A(i,0) > 0",
        "O(i) = mink[j](A(i,j), 2)",
    ],
)
def test_what_is_more_than_a_reduction_is_no_accumulation(body: str) -> None:
    statement = steps("float(M,N) A", body, (5, 6)).steps[0].statement

    assert as_accumulation(statement) is None


def test_what_is_fixed_is_no_accumulation() -> None:
    statement = steps("float(M,N) A", "O(i) = max[j](A(i,j))", (5, 6)).steps[0].statement
    assert isinstance(statement, ir.Define)
    assert isinstance(statement.value, ir.Reduce)
    assert as_accumulation(statement) is not None

    assert as_accumulation(_fixed(statement)) is None


def _fixed(statement: ir.Define) -> ir.Define:
    assert isinstance(statement.value, ir.Reduce)
    return replace(statement, value=replace(statement.value, fixed=True))


def _reduced(reducer: Reducer, dtype: str) -> Any:
    """NumPy's reductions of no elements."""
    empty = np.zeros(0, dtype)
    match reducer:
        case Reducer.SUM:
            return np.sum(empty, dtype=dtype)
        case Reducer.PRODUCT:
            return np.prod(empty, dtype=dtype)
        case Reducer.MIN:
            return np.min(empty, initial=np.inf)
        case Reducer.MAX:
            return np.max(empty, initial=-np.inf)
        case Reducer.ANY:
            return np.any(empty)
        case Reducer.ALL:
            return np.all(empty)
        case _:
            with np.errstate(divide="ignore"):
                return np.log(np.exp(empty).sum())


@pytest.mark.parametrize(
    ("reducer", "dtype"),
    [
        *[(reducer, dtype) for reducer in (Reducer.SUM, Reducer.PRODUCT) for dtype in ("int8", "float16", "complex64")],
        *[(reducer, "bool") for reducer in (Reducer.ANY, Reducer.ALL)],
        *[(reducer, "float32") for reducer in (Reducer.MIN, Reducer.MAX, Reducer.LOGSUMEXP)],
    ],
)
def test_what_a_reduction_gives_over_nothing_is_numpys(reducer: Reducer, dtype: str) -> None:
    found = neutral(reducer, dtype)

    assert found is not None
    assert found.dtype == dtype
    assert found.value == _reduced(reducer, dtype)
    assert type(found.value) is type(constant(0, dtype).value)


@pytest.mark.parametrize(
    ("reducer", "dtype"),
    [(Reducer.MAX, "int32"), (Reducer.MEAN, "float32"), (Reducer.ARGMIN, "float32"), (Reducer.MINK, "float32")],
)
def test_some_reductions_give_no_number_over_nothing(reducer: Reducer, dtype: str) -> None:
    assert neutral(reducer, dtype) is None


I, J = Affine.of(IndexVar("i")), Affine.of(IndexVar("j"))
# A left side over i in 0:4 and j in 2:5, with the shape and origin of its tensor, and whether it covers each element
# once.
SIDES = {
    "all": ((I, J), (4, 3), (0, 2), True),
    "shifted": ((I + 1, J - 2), (4, 3), (1, 0), True),
    "more rows": ((I, J), (5, 3), (0, 2), False),
    "another origin": ((I, J), (4, 3), (0, 0), False),
    "one row": ((0, J), (1, 3), (0, 2), False),
    "a diagonal": ((I, I), (4, 4), (0, 0), False),
    "reversed": ((3 - I, J), (4, 3), (0, 2), False),
    "strided": ((I.scale(2), J), (7, 3), (0, 2), False),
}


@pytest.mark.parametrize(("left", "shape", "origin", "expected"), SIDES.values(), ids=SIDES)
def test_a_left_side_covers_a_tensor_whose_elements_it_names_once(
    left: tuple[Affine | int, ...], shape: tuple[int, ...], origin: tuple[int, ...], expected: bool
) -> None:
    indices = tuple(map(Affine.of, left))
    statement = ir.Define(ir.Tensor("O", "float32", ()), indices, ir.Const(0.0, "float32"))

    assert covers(statement, {IndexVar("i"): (0, 4), IndexVar("j"): (2, 5)}, shape, origin) is expected
