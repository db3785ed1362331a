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
