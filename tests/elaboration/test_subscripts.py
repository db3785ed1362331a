"""Integer expressions as canonical affine subscripts."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax import ir
from tcjax.elaboration.subscripts import affine
from tcjax.symbolic import Affine, Atom, IndexVar, Size, SizeVar
from tests.elaboration.programs import body, mistake_in, subscript_of


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("i", "i"),
        ("i + 1", "i + 1"),
        ("1 + i - 1", "i"),
        ("2*i + 3*k - i", "i + 3*k"),
        ("-(i - k)", "-i + k"),
        ("(N - 1) - i", "-i + N - 1"),
        ("N*i", "N*i"),
        ("(N - 1) * (2 * i)", "(2 * N - 2)*i"),
        ("i / 2", "i // 2"),
        ("(i + 1) // N", "(i + 1) // N"),
        ("i % 3", "i % 3"),
        ("i / (0-2)", "(-i) // 2"),
        ("min(i, N - 1)", "min(N - 1, i)"),
        ("max(min(i, N - 1), 0)", "max(0, min(N - 1, i))"),
        ("min(min(i, k), N)", "min(N, i, k)"),
        ("i + min(N, 3)", "i + min(3, N)"),
        ("int32(i)", "i"),
        ("int64(i) + 1", "i + 1"),
        ("A.0 - 1 - i", "-i + N - 1"),
        ("I(i) + k", "k + I[i]"),
        ("I(i) + k - I(i)", "k"),
        ("2 * I(i + 1)", "2*I[i + 1]"),
        ("(I(i) + k) / 2", "(k + I[i]) // 2"),
        ("i * k", "(i * k)"),
        ("i * k + i", "i + (i * k)"),
        ("N / i", "(N // i)"),
        ("i % k", "(i % k)"),
        ("I(i) * k", "(I[i] * k)"),
        ("b(i) ? i : k", "(b[i] ? i : k)"),
        ("int32(A(i))", "int32(A[i])"),
        ("uint8(i)", "uint8(i)"),
        ("u(i) + 1", "u[i] + 1"),
        ("I(i) & 3", "(I[i] & 3)"),
    ],
)
def test_a_subscript_is_affine_as_far_as_it_goes(written: str, canonical: str) -> None:
    assert subscript_of(written) == canonical


@pytest.mark.parametrize("written", ["i * k", "I(i)", "b(i) ? i : k", "N / i", "uint8(i)"])
def test_what_is_not_affine_is_data(written: str) -> None:
    (statement,) = body(f"O +=! A({written})").statements

    assert isinstance(statement, ir.Accumulate) and isinstance(statement.value, ir.Access)
    assert statement.value.indices[0].is_data


def test_equal_subscripts_are_equal_however_they_are_written() -> None:
    first, second = body("O(i) = A(2*i + 1 - N)"), body("O(i) = A(i - (N - i) + 1)")

    assert first == second


@pytest.mark.parametrize("written", ["i / 0", "i % 0", "i // (N - N)", "i % (2 - 2)"])
def test_division_by_zero_in_a_subscript_is_refused(written: str) -> None:
    assert mistake_in(f"O(i) = A({written})").code == "TC0705"


def test_a_product_of_sums_of_sizes_that_explodes_is_refused() -> None:
    sizes = " + ".join(f"B.{d % 2} / {d + 2}" for d in range(12))

    error = mistake_in(f"O(i) = A(i * ({sizes}) * ({sizes}) * ({sizes}))")

    assert error.code == "TC0103"


I, K = IndexVar("i"), IndexVar("k")
N = SizeVar("N")
LEAVES = st.sampled_from([ir.Index(I), ir.Index(K), ir.Extent(Size.of(N)), *(ir.Const(c, "int32") for c in range(4))])
DIVISORS = st.sampled_from([ir.Const(2, "int32"), ir.Const(-3, "int32"), ir.Extent(Size.of(N))])


def grown(inner: st.SearchStrategy[ir.Expr]) -> st.SearchStrategy[ir.Expr]:
    def binary(operators: list[str], right: st.SearchStrategy[ir.Expr]) -> st.SearchStrategy[ir.Expr]:
        return st.builds(lambda o, a, b: ir.Binary(o, a, b, "int32"), st.sampled_from(operators), inner, right)

    return binary(["+", "-", "*", "min", "max"], inner) | binary(["//", "%"], DIVISORS)


@given(st.recursive(LEAVES, grown, max_leaves=8), st.integers(-5, 5), st.integers(-5, 5), st.integers(1, 5))
def test_the_affine_form_has_the_expressions_value(expr: ir.Expr, i: int, k: int, n: int) -> None:
    found = affine(expr)

    assert evaluate_affine(found, {I: i, K: k}, n) == evaluate(expr, {I: i, K: k}, n)


def evaluate_affine(found: Affine, point: dict[IndexVar, int], n: int) -> int:
    def value(atom: Atom) -> int:
        if isinstance(atom, IndexVar):
            return point[atom]
        assert isinstance(atom, ir.Data)
        return evaluate(atom.expr, point, n)

    return found.evaluate(value, {N: n})


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
}


def evaluate(expr: ir.Expr, point: dict[IndexVar, int], n: int) -> int:
    match expr:
        case ir.Const(int(value)):
            return value
        case ir.Extent():
            return n
        case ir.Index(variable):
            return point[variable]
        case ir.Binary(operator, left, right):
            return OPERATORS[operator](evaluate(left, point, n), evaluate(right, point, n))
        case _:
            raise AssertionError(expr)
