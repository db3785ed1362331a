"""Promotion, literals, and the types of outputs."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax import ir
from tcjax.ir.printer import show_expr
from tests.elaboration.programs import body, elaborated, lines, mistake, mistake_in, value_of


def output_type(statements: str, returns: str = "O") -> str:
    return body(statements, returns).returns[0].dtype


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("A(i) + d(i)", "float64"),
        ("A(i) * I(i)", "float32"),
        ("u(i) + w(i)", "int8"),
        ("u(i) * I(i)", "int32"),
        ("b(i) + u(i)", "uint8"),
        ("b(i) + b(i)", "bool"),
        ("h(i) + A(i)", "float32"),
        ("z(i) + A(i)", "complex64"),
        ("z(i) + d(i)", "complex128"),
        ("A(i) + i", "float32"),
        ("i + N", "int32"),
        ("A(i) < d(i)", "bool"),
        ("b(i) && A(i) == 1", "bool"),
        ("b(i) ? u(i) : A(i)", "float32"),
        ("-b(i)", "int32"),
        ("~u(i)", "uint8"),
        ("exp(I(i))", "float32"),
        ("exp(d(i))", "float64"),
        ("exp(h(i))", "float16"),
        ("pow(A(i), d(i))", "float64"),
        ("abs(z(i))", "float32"),
        ("exp(z(i))", "complex64"),
        ("relu(I(i))", "int32"),
        ("isnan(I(i))", "bool"),
        ("popcount(u(i))", "uint8"),
        ("min(u(i), A(i))", "float32"),
        ("I(i) / 2", "int32"),
        ("b(i) / b(i)", "int32"),
        ("int8(A(i))", "int8"),
        ("sum[j](u(j))", "uint8"),
        ("mean[j](I(j))", "float32"),
        ("mean[j](h(j))", "float16"),
        ("logsumexp[j](u(j))", "float32"),
        ("argmax[j](d(j))", "int32"),
        ("maxk[j](d(j), i)", "float64"),
        ("argmink[j](d(j), i)", "int32"),
        ("any[j](b(j))", "bool"),
    ],
)
def test_an_expression_has_its_operands_joined_type(expression: str, dtype: str) -> None:
    assert value_of(f"{expression} where i in 0:N").dtype == dtype


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("u(i) + 1", "uint8"),
        ("u(i) + 255", "uint8"),
        ("u(i) + 256", "int32"),
        ("u(i) + (-1)", "int32"),
        ("w(i) - 128", "int32"),
        ("w(i) + (-128)", "int8"),
        ("b(i) + 1", "int32"),
        ("h(i) * 2.5", "float16"),
        ("d(i) * 2.5", "float64"),
        ("d(i) * 2", "float64"),
        ("I(i) * 2.5", "float32"),
        ("b(i) * 2.5", "float32"),
        ("z(i) * 2", "complex64"),
        ("A(i) * 2i", "complex64"),
        ("d(i) * 2i", "complex128"),
        ("h(i) * (1.5 + 2 * 3)", "float16"),
        ("h(i) * sqrt(2.0)", "float16"),
        ("h(i) * (b(i) ? 1.0 : 0)", "float16"),
        ("u(i) + (b(i) ? 1 : 2)", "uint8"),
        ("u(i) + (b(i) ? 1 : 256)", "int32"),
        ("h(i) * (0.5*i)", "float16"),
        ("h(i) * sqrt(N)", "float16"),
        ("h(i) * (0.5*I(i))", "float32"),
        ("d(i) * (0.5*I(i))", "float64"),
        ("d(i) * sin(I(i))", "float64"),
        ("d(i) + 0.1*i < 0.5", "bool"),
        ("d(i) * sum[k in 0:3](0.1*k)", "float64"),
        ("h(i) * mean[k in 0:3](k)", "float16"),
        ("z(i) * (0.1*i)", "complex64"),
        ("A(i) * (2i*i)", "complex64"),
        ("d(i) * real(2i*i)", "float64"),
        ("u(i) + i", "int32"),
        ("u(i) + (b(i) ? 1 : i)", "int32"),
        ("int64(u(i)) + i*i", "int64"),
        ("I(i) + 0.5*i", "float32"),
        ("0.5*i", "float32"),
        ("float(0.5*i) + d(i)", "float64"),
        ("argmin[k in 0:3](0.1*k)", "int32"),
        ("3", "int32"),
        ("3000000000", "int64"),
        ("2.5", "float32"),
        ("2i", "complex64"),
        ("b(i) ? 1 : 2.0", "float32"),
        ("1 < 2", "bool"),
        ("inf", "float32"),
        ("min(d(i), inf)", "float64"),
    ],
)
def test_a_literal_takes_its_partners_type_if_that_can_hold_it(expression: str, dtype: str) -> None:
    assert value_of(f"{expression} where i in 0:N").dtype == dtype


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("-3%2+4*5+7", -3 % 2 + 4 * 5 + 7),
        ("7 / (0-2)", -4),
        ("7 // 2", 3),
        ("7.0 // 2", 3.0),
        ("7 / 2.0", 3.5),
        ("1.0 / 0.0", math.inf),
        ("-1.0 / 0", -math.inf),
        ("3 << 4 | 1", 49),
        ("~5", -6),
        ("!(1 < 2)", False),
        ("min(3, 2.5)", 2.5),
        ("int32(1.5 + 4)", 5),
        ("uint8(0 - 1)", 255),
        ("int8(200)", -56),
        ("sqrt(2.0)", math.sqrt(2)),
        ("floor(2.5)", 2.0),
        ("2i * 2i", -4 + 0j),
    ],
)
def test_literals_alone_are_computed_while_compiling(expression: str, value: object) -> None:
    found = value_of(f"{expression} where i in 0:3, i >= 0")

    assert isinstance(found, ir.Const)
    assert found.value == value and type(found.value) is type(value)


@pytest.mark.parametrize("expression", ["0.0 / 0.0", "min(1.0, nan)", "max(nan, 1.0)", "inf - inf", "1.0 % 0"])
def test_what_is_not_a_number_stays_so(expression: str) -> None:
    found = value_of(f"{expression} where i in 0:3")

    assert isinstance(found, ir.Const) and math.isnan(float(found.value.real))


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("d(i) * sin(0.1*i)", "(d[i] * sin((0.1:float64 * float64(i))))"),
        ("d(i) * (i*i)", "(d[i] * float64((int64(i) * int64(i))))"),
        ("d(i) * (i + 1)", "(d[i] * float64((i + 1)))"),
        ("A(i) * (i*i)", "(A[i] * float32((i * i)))"),
        ("h(i) * (0.1*i)", "(h[i] * float16((0.1 * float32(i))))"),
        ("h(i) * i", "(h[i] * float16(i))"),
        ("d(i) * float(0.1*i)", "(d[i] * float64((0.1 * float32(i))))"),
        ("0.1*i < 0.5 ? d(i) : 2", "(((0.1:float64 * float64(i)) < 0.5:float64) ? d[i] : 2.0:float64)"),
        ("d(i) * (b(i) ? 0.1 : i)", "(d[i] * (b[i] ? 0.1:float64 : float64(i)))"),
        (
            "d(i) * sum[k in 0:3 where 0.1*k < 0.2](k)",
            "(d[i] * float64(sum[k, k in 0:3 where ((0.1:float64 * float64(k)) < 0.2:float64)](int64(k))))",
        ),
        ("A(i + N - 1 - i)", "A[N - 1]"),
    ],
)
def test_an_index_or_a_size_is_computed_in_the_type_that_it_meets(expression: str, shown: str) -> None:
    assert show_expr(value_of(f"{expression} where i in 0:1")) == shown


def test_a_let_takes_the_type_of_each_value_that_it_meets() -> None:
    first, second = body("x(i) = d(i) * a where a = 0.1*i  y(i) = A(i) * a where a = 0.1*i").statements

    assert isinstance(first, ir.Define) and show_expr(first.value) == "(d[i] * (0.1:float64 * float64(i)))"
    assert isinstance(second, ir.Define) and show_expr(second.value) == "(A[i] * (0.1 * float32(i)))"


def test_a_float_literal_keeps_double_precision_beside_a_double() -> None:
    found = value_of("d(i) * 0.1")

    assert found == ir.Binary("*", value_of("d(i)"), ir.Const(0.1, "float64"), "float64")


def test_slash_floors_integers_and_divides_floats() -> None:
    assert isinstance(value := value_of("I(i) / 2"), ir.Binary) and value.operator == "//"
    assert isinstance(value := value_of("A(i) / 2"), ir.Binary) and value.operator == "/"


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), st.sampled_from(["+", "-", "*", "//", "%"]))
def test_integer_literals_are_exact(left: int, right: int, operator: str) -> None:
    right = right or 1
    python = {"+": left + right, "-": left - right, "*": left * right, "//": left // right, "%": left % right}

    found = value_of(f"({left}) {operator} ({right}) where i in 0:3")

    assert isinstance(found, ir.Const) and found.value == python[operator]


@pytest.mark.parametrize(
    ("statements", "dtype"),
    [
        ("O(i) = u(i)", "uint8"),
        ("O(i) = 0 where i in 0:N", "int32"),
        ("O(i) = 0 where i in 0:N O(i) += A(i)", "float32"),
        ("O(i) = 0 where i in 0:N O(i) += u(i)", "uint8"),
        ("O(i) = u(i) O(i) += d(i)", "float64"),
        ("O(i) = u(i) O(i) = 2.5 where i in 0:N", "float32"),
        ("O(i) = u(i) O(i) = O(i) + 1", "uint8"),
        ("T(i) = u(i) O(i) = T(i) T(i) = A(i)", "float32"),
        ("O +=! u(i)", "uint8"),
        ("O argmax=! A(i)", "int32"),
        ("O mean=! I(i)", "float32"),
        ("O logsumexp=! u(i)", "float32"),
        ("O any=! b(i)", "bool"),
        ("O max=! h(i)", "float16"),
    ],
)
def test_an_output_has_the_joined_type_of_all_its_statements(statements: str, dtype: str) -> None:
    assert output_type(statements) == dtype


def test_every_statement_writes_and_reads_the_type_that_was_found_in_the_end() -> None:
    function = body("T(i) = u(i) O(i) = T(i) T(i) = A(i)", "O, T")

    first, second, _ = function.statements

    assert isinstance(first, ir.Define) and isinstance(first.value, ir.Cast) and first.value.dtype == "float32"
    assert isinstance(second, ir.Define) and isinstance(second.value, ir.Access)
    assert second.value.tensor == function.returns[1]


@pytest.mark.parametrize(
    ("annotation", "expression", "dtype"),
    [
        ("double(N)", "A(i)", "float64"),
        ("half(N)", "1.5", "float16"),
        ("float(N)", "i", "float32"),
        ("double(N)", "0.1*i", "float64"),
        ("half(N)", "0.1*i", "float16"),
        ("int64(N)", "i*i", "int64"),
        ("uint8(N)", "3", "uint8"),
        ("complex64(N)", "A(i)", "complex64"),
        ("int32(N)", "u(i)", "int32"),
    ],
)
def test_an_annotated_output_converts_its_values(annotation: str, expression: str, dtype: str) -> None:
    function = body(f"O(i) = {expression} where i in 0:N", f"{annotation} O")

    (statement,) = function.statements

    assert function.returns[0].dtype == dtype
    assert isinstance(statement, ir.Define) and statement.value.dtype == dtype


@pytest.mark.parametrize(
    ("annotation", "expression"),
    [
        ("float(N)", "d(i)"),
        ("int32(N)", "A(i)"),
        ("int32(N)", "2.5"),
        ("uint8(N)", "-1"),
        ("uint8(N)", "I(i)"),
        ("half(N)", "A(i)"),
        ("bool(N)", "1"),
        ("float(N)", "z(i)"),
    ],
)
def test_an_annotated_output_refuses_what_it_cannot_hold(annotation: str, expression: str) -> None:
    error = mistake_in(f"O(i) = {expression} where i in 0:N", f"{annotation} O")

    assert error.code == "TC0304"


@pytest.mark.parametrize(
    ("statement", "accumulate"),
    [
        ("O +=! h(i)", "float32"),
        ("O +=! u(i)", "uint32"),
        ("O *=! w(i)", "int32"),
        ("O +=! I(i)", "int32"),
        ("O +=! d(i)", "float64"),
        ("O mean=! h(i)", "float32"),
        ("O max=! h(i)", "float16"),
        ("O argmin=! h(i)", "float16"),
        ("O all=! b(i)", "bool"),
        ("O(i) = A(i) O(i) += u(i)", "float32"),
        ("O(i) = A(i) O(i) max= u(i)", "float32"),
    ],
)
def test_a_reduction_runs_in_a_type_that_holds_its_values_and_its_target(statement: str, accumulate: str) -> None:
    last = body(statement, "O").statements[-1]

    assert isinstance(last, ir.Accumulate) and last.accumulate == accumulate


def test_a_sum_into_a_wider_output_runs_in_the_wider_type() -> None:
    (statement,) = body("O +=! A(i)", "double O").statements

    assert isinstance(statement, ir.Accumulate)
    assert (statement.value.dtype, statement.accumulate, statement.target.dtype) == ("float32", "float64", "float64")


@pytest.mark.parametrize(
    ("option", "statement", "accumulate"),
    [
        ("float32", "O +=! d(i)", "float32"),
        ("float16", "O +=! h(i)", "float16"),
        ("float32", "O +=! I(i)", "int32"),
        ("int64", "O +=! I(i)", "int64"),
        ("float32", "O max=! d(i)", "float64"),
        ("float32", "O +=! z(i)", "complex64"),
    ],
)
def test_the_option_chooses_the_type_of_sums_of_its_own_kind(option: str, statement: str, accumulate: str) -> None:
    text = f"def f(double(N) d, half(N) h, int32(N) I, complex64(N) z) -> (O) {{ {statement} }}"

    (found,) = elaborated(text, accumulate=option).statements

    assert isinstance(found, ir.Accumulate) and found.accumulate == accumulate


def test_an_inline_sum_of_halves_runs_in_float32() -> None:
    found = value_of("sum[j](h(j)) where i in 0:2")

    assert isinstance(found, ir.Reduce) and (found.accumulate, found.dtype) == ("float32", "float16")


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("A(i) && b(i)", "TC0302"),
        ("!A(i)", "TC0302"),
        ("!1", "TC0302"),
        ("A(i) ? 1 : 2", "TC0302"),
        ("any[j](A(j))", "TC0302"),
        ("sum[j where A(j)](A(j))", "TC0302"),
        ("A(i) & 1", "TC0301"),
        ("~A(i)", "TC0301"),
        ("b(i) << b(i)", "TC0301"),
        ("popcount(A(i))", "TC0301"),
        ("floor(z(i))", "TC0301"),
        ("float(z(i))", "TC0301"),
        ("z(i) < z(i)", "TC0306"),
        ("min(z(i), 1.0)", "TC0306"),
        ("z(i) % 2", "TC0306"),
        ("max[j](z(j))", "TC0306"),
        ("logsumexp[j](z(j))", "TC0306"),
        ("maxk[j](A(j), 0.5)", "TC0303"),
        ("A(0.5)", "TC0303"),
        ("A(A(i))", "TC0303"),
        ("A(i == 0)", "TC0303"),
        ("int32(1e30)", "TC0107"),
        ("uint8(nan)", "TC0107"),
        ("1 << 100", "TC0107"),
        ("1 << (0-1)", "TC0107"),
        ("9000000000000000000 * 9", "TC0107"),
        ("I(i) / 0", "TC0705"),
        ("I(i) % (1 - 1)", "TC0705"),
        ("1 / 0", "TC0705"),
    ],
)
def test_a_wrong_type_or_number_is_refused(expression: str, code: str) -> None:
    error = mistake_in(f"O(i) = {expression} where i in 0:N")

    assert error.code == code
    assert error.help


def test_an_unknown_accumulation_type_is_refused() -> None:
    error = mistake("def f(float(N) A) -> (O) { O +=! A(i) }", accumulate="float23")

    assert error.code == "TC0308" and "float32" in error.help


def test_a_conversion_of_a_literal_in_a_subscript_counts() -> None:
    assert lines(body("O(i) = A(int32(1.9)) where i in 0:N"))[0].startswith("O[i] = A[1]")
