"""What is legal but probably not meant."""

import warnings

import numpy as np
import pytest

import tcjax
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


def test_what_a_loop_of_python_adds_each_time_is_silent() -> None:
    def f(x: "float(N)"):  # type: ignore[no-untyped-def]
        for j in range(x.shape[0]):
            f[i] += x[j] - x[i]  # type: ignore[name-defined]
        return f

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tcjax.kernel(f)
        found = kernel(np.float32([1, 2, 4]))

    np.testing.assert_allclose(found, [4, 1, -5])


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


INDEPENDENT = [
    ("C(m,n) +=! A(m,kk) * B(k,n)", "sum[kk](A(m,kk)) * sum[k](B(k,n))"),
    ("C(m,n) +=! A(m,kk) * B(k,n) / 2.0", "sum[kk](A(m,kk)) * sum[k](B(k,n)) * (1.0 / 2.0)"),
    ("C(m,n) +=! A(m,kk) / (B(k,n) + 9.0)", "sum[kk](A(m,kk)) * sum[k]((1.0 / (B(k,n) + 9.0)))"),
    ("C(m,n) min=! A(m,kk) - B(k,n)", "min[kk](A(m,kk)) + min[k]((-B(k,n)))"),
    ("C(m) +=! A(m,k) * B(k,n) * A(n,m) * B(l,l)", "sum[k, n](A(m,k) * B(k,n) * A(n,m)) * sum[l](B(l,l))"),
    ("C(m,n) logsumexp=! A(m,kk) + B(k,n)", "logsumexp[kk](A(m,kk)) + logsumexp[k](B(k,n))"),
    ("C(m,n) = sum[k, kk](A(m,kk) * B(k,n))", "sum[kk](A(m,kk)) * sum[k](B(k,n))"),
]
MATRICES = "float(M,K) A, float(K,N) B"


def independent(statement: str) -> list[CompileWarning]:
    program = tc.read(f"def f({MATRICES}) -> (C) {{ {statement} }}")
    found: list[CompileWarning] = []
    elaborate(program.definitions[0], program, {}, {}, report=found.append)
    return [warning for warning in found if warning.code == "TC1209"]


@pytest.mark.parametrize(("statement", "apart"), INDEPENDENT)
def test_sums_that_share_nothing_are_shown_apart_and_are_the_same_apart(statement: str, apart: str) -> None:
    (warning,) = independent(statement)
    assert f"`{apart}`" in warning.help

    rewritten = statement.replace(warning.span.text, apart)
    if "= sum[" in statement:
        rewritten = f"C(m,n) = {apart}"
    assert independent(rewritten) == []
    A, B = np.random.default_rng(0).normal(size=(2, 4, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        together = tcjax.kernel(f"def f({MATRICES}) -> (C) {{ {statement} }}").interpret(A, B)
    alone = tcjax.kernel(f"def f({MATRICES}) -> (C) {{ {rewritten} }}").interpret(A, B)
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "statement",
    [
        "C(m,n) +=! A(m,k) * B(k,n)",
        "C(m,n) +=! A(m,kk) * B(k,n) where kk <= k",
        "C(m,n) +=! A(m,kk) * B(k,n) where k in 0:3, kk in 0:k",
        "C +=! A(m,k) * B(k,n)",
        "C(m) +=! A(m,k) * 2.0 * A(m,l) * B(k,l)",
        "C(m) +=! A(m,k) + A(m,l)",
        "C(m) max=! A(m,k) * A(m,l)",
        "C(m,n) = sum[k](A(m,k)) * sum[k](B(k,n))",
    ],
)
def test_sums_that_share_an_index_are_silent(statement: str) -> None:
    assert independent(statement) == []


def found_in(statements: str) -> list[CompileWarning]:
    program = tc.read(f"def f({PARAMETERS}) -> () {{ {statements} }}")
    found: list[CompileWarning] = []
    elaborate(program.definitions[0], program, {}, {}, report=found.append)
    return found


@pytest.mark.parametrize(
    ("statement", "quotient", "instead"),
    [
        ("y(i) = 1/2 * A(i)", "1/2", "1.0/2"),
        ("y(i) = 1 / N * A(i)", "1 / N", "1.0 / N"),
        ("y(i) = (i+1)/N * A(i)", "(i+1)/N", "1.0 * (i+1)/N"),
        ("y(i) = I(i)/I(i) * A(i)", "I(i)/I(i)", "1.0 * I(i)/I(i)"),
        ("y(i) = A(i) + i/2", "i/2", "1.0 * i/2"),
        ("y(i) = A(i) * (1 + max(i/2, 1))", "i/2", "1.0 * i/2"),
        ("y(i) = A(i) * -(2*i/N)", "2*i/N", "1.0 * 2*i/N"),
        ("y(i) = a * A(i) where a = 1/N", "1/N", "1.0/N"),
        ("a = 1/N  y(i) = a * A(i)", "1/N", "1.0/N"),
        ("a(i) = I(i)/N  y(i) = a(i) * A(i)", "I(i)/N", "1.0 * I(i)/N"),
        ("y(i) = pow(A(i), 1/2)", "1/2", "1.0/2"),
        ("y(i) = sin(i/2) * A(i)", "i/2", "1.0 * i/2"),
        ("y(i) = A(i) > 0 ? 1/2 : A(i)", "1/2", "1.0/2"),
        ("y(i) = A(i) * sum[k in 0:4](k/2)", "k/2", "1.0 * k/2"),
        ("y(i) = A(i) * mean[k in 0:4](k/2)", "k/2", "1.0 * k/2"),
        ("y(i) = 0.5 * (i/2) where i in 0:N", "i/2", "1.0 * i/2"),
        ("float(N) y  y(i) = i/2", "i/2", "1.0 * i/2"),
        ("float(N) y  y(i) += i/2", "i/2", "1.0 * i/2"),
    ],
)
def test_a_quotient_of_integers_that_becomes_a_float_is_shown_as_one_of_floats(
    statement: str, quotient: str, instead: str
) -> None:
    (warning,) = [w for w in found_in(statement) if w.code == "TC1210"]

    assert f"`{quotient}`" in warning.message and f"`{instead}`" in warning.help
    for meant in (instead, quotient.replace("/", "//")):
        assert "TC1210" not in [w.code for w in found_in(statement.replace(quotient, meant))]


@pytest.mark.parametrize(
    "statement",
    [
        "y(i) = A(i/2)",
        "y(i) = A(i) where i in 0:N/2",
        "y(i) = A(i) where i in 0:N, i/2 > 1",
        "y(i) = A(i) where i in 0:N, A(i) > i/2",
        "y(i) = sum[k where k/2 <= i](A(k)) where i in 0:N",
        "y(i/2) +=! A(i)",
        "y(i) = I(i)/2",
        "y(i) = I(i)/2 + i/3",
        "y(i) = A(i) * float(i/2)",
        "y(i) = A(i)/2",
        "y(i) = A(i) * 1/2",
        "y(i) = A(i) * (4/2)",
        "y(i) = i/2 > 3 ? A(i) : 0",
        "y(i) = A(i) * (i % 2)",
        "int32(N) a  a(i) = I(i)/2  y(i) = a(i) * A(i)",
    ],
)
def test_integers_that_are_meant_are_silent(statement: str) -> None:
    assert "TC1210" not in [warning.code for warning in found_in(statement)]


@pytest.mark.parametrize(
    ("statement", "limits"),
    [
        ("y(i) = A(i) + pad(I(i), 0)", "i in 0:N"),
        ("t(i) = A(2*i)  y(i) = A(i) + pad(t(i), 0)", "i in 0:N"),
        ("t(i) = A(2*i)  q(i) = 2 * A(i)  y(i) = q(i) + pad(t(i), 0)", "i in 0:q.0"),
        ("y(i) +=! A(i) * pad(B(i,j), 0)", "i in 0:N"),
        ("y = sum[i](pad(A(i), 0))", "i in 0:N"),
    ],
)
def test_a_pad_around_bare_indices_pads_nothing(statement: str, limits: str) -> None:
    (warning,) = [w for w in found_in(statement) if w.code == "TC1219"]

    assert warning.span.text.startswith("pad(") and f"`where {limits}`" in warning.help


@pytest.mark.parametrize(
    "statement",
    [
        "y(i) = A(i) + pad(I(i), 0) where i in 0:N",
        "y(i) = A(i) + pad(A(i - 1), 0)",
        "y(i) = A(i) + pad(B(i, 2), 0)",
        "y(i) = A(i) + sum[k in 0:3](pad(A(k), 0))",
        "y(0) = A(0) for i in 1:N { y(i) = y(i-1) + pad(A(i), 0) }",
    ],
)
def test_a_pad_that_may_pad_is_silent(statement: str) -> None:
    assert "TC1219" not in [warning.code for warning in found_in(statement)]
