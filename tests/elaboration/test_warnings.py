"""What is legal but probably not meant."""

import warnings

import pytest

from tcjax.diagnostics import CompileWarning
from tcjax.elaboration import elaborate
from tcjax.syntax import tc
from tests.elaboration.programs import PARAMETERS


def warnings_of(statements: str) -> list[str]:
    program = tc.read(f"def f({PARAMETERS}) -> () {{ {statements} }}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        elaborate(program.definitions[0], program, {}, {})
    assert all(issubclass(warning.category, CompileWarning) for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("statement", "form"),
    [
        ("y(i) +=! A(i) + B(i,j)", "A(i) + sum[j](B(i,j))"),
        ("y(i) +=! B(i,j) - A(i)", "sum[j](B(i,j)) - A(i)"),
        ("y(i) +=! A(i) - (B(i,j) + 1)", "A(i) - sum[j](B(i,j)) - 1"),
        ("y(i) +=! -A(i) + B(i,j)", "-A(i) + sum[j](B(i,j))"),
        ("y(i) +=! B(i,j) + B(i,k)", "sum[j](B(i,j)) + sum[k](B(i,k))"),
        ("y(i) +=! x + B(i,j) where x = A(i)", "x + sum[j](B(i,j))"),
        ("y(i) +=! (b(i) ? A(i) : s) + B(i,j)", "(b(i) ? A(i) : s) + sum[j](B(i,j))"),
        ("y(i) +=! A(i) * 2 + B(i,j)", "(A(i) * 2) + sum[j](B(i,j))"),
        ("y +=! A(i) + sum[j](A(j))", "sum[i](A(i)) + sum[j](A(j))"),
    ],
)
def test_a_summand_without_a_reduction_index_is_shown_its_inline_form(statement: str, form: str) -> None:
    (message,) = warnings_of(statement)

    assert f"`{form}`" in message
    assert "^" in message


@pytest.mark.parametrize(
    "statement",
    [
        "y(i) +=! A(j) + B(i,j)",
        "y(i) +=! A(i) * B(i,j)",
        "y(i) +=! A(i) + s",
        "y(i) +=! x + B(i,j) where x = A(j)",
        "y(i) max=! A(i) + B(i,j)",
        "y(i) = A(i) + sum[j](B(i,j))",
        "y(i) +=! (A(i) + B(i,j))*B(i,j)",
    ],
)
def test_even_sums_are_silent(statement: str) -> None:
    assert warnings_of(statement) == []


@pytest.mark.parametrize(
    "statement",
    [
        "y(i) = 0.0 < A(i) < 2.0 ? 1.0 : 0.0",
        "y(i) = A(i) where 0 <= i < 3",
        "y(i) = sum[j where 0 <= j < i](A(j)) where i in 0:3",
    ],
)
def test_a_comparison_of_a_comparison_is_told(statement: str) -> None:
    (message,) = warnings_of(statement)

    assert "compares the truth of" in message and "&&" in message


@pytest.mark.parametrize(
    "statement",
    [
        "y(i) = (0.0 < A(i)) < 2.0 ? 1.0 : 0.0",
        "y(i) = A(i) < 1.0 == B(i,i) < 1.0 ? 1.0 : 0.0",
        "y(i) +=! int32(A(i) > 0.0)",
        "y(i) = A(i) > 0.0",
        "y() any=! A(i) > 0.0",
    ],
)
def test_comparisons_that_mean_what_they_say_are_silent(statement: str) -> None:
    assert warnings_of(statement) == []


def test_a_sum_of_conditions_is_told() -> None:
    (statement,) = warnings_of("y() +=! A(i) > 0.0")
    (inline,) = warnings_of("y(j) = sum[i](A(i) > 0.0) where j in 0:2, exists A(j)")

    assert "`int32(A(i) > 0.0)`" in statement and "`int32(A(i) > 0.0)`" in inline


def test_a_reduction_without_initialisation_is_told_once() -> None:
    (message,) = warnings_of("y(i) += A(i) y(i) += A(i)")

    assert "reduction without initialisation" in message and "`+=!`" in message


def test_a_second_round_of_types_does_not_warn_again() -> None:
    assert len(warnings_of("T(i) = u(i) y(i) += T(i) T(i) = A(i)")) == 1


def test_a_callees_warning_is_told_once() -> None:
    text = "def f(float(N) A) -> (B, C) { B = g(A) C = g(A) } def g(float(N) X) -> (Y) { Y += X(i) }"
    program = tc.read(text)

    with pytest.warns(CompileWarning) as caught:
        elaborate(program.definitions[0], program, {}, {})

    assert len(caught) == 1


def test_a_warning_points_at_the_caller_outside_the_package() -> None:
    program = tc.read("def f(float(N) A) -> (B) { B(i) += A(i) }")

    with pytest.warns(CompileWarning) as caught:
        elaborate(program.definitions[0], program, {}, {})

    assert caught[0].filename == __file__
