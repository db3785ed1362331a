"""Calls on whole tensors, and Python functions on scalars."""

from dataclasses import dataclass

import pytest

from tcjax import ir
from tcjax.elaboration import Argument
from tests.elaboration.programs import elaborated, lines, mistake

ROW_SUM = "def row_sum(float(N,M) X) -> (Y) { Y(i) +=! X(i,j) }"


@dataclass(frozen=True)
class Python:
    """A Python function with known results."""

    result: str = "float32"
    results: tuple[Argument, ...] = (Argument("float32", 1),)

    def scalar(self, dtypes: tuple[str, ...]) -> str:
        assert set(dtypes) <= set(ir.types.SCALARS)
        return self.result

    def whole(self, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
        return self.results


def test_a_definition_of_the_same_text_is_invoked_in_any_order() -> None:
    function = elaborated(f"def f(float(N,M) A) -> (O) {{ T = row_sum(A) O(i) = T(i) / A.1 }} {ROW_SUM}")

    call, _ = function.statements

    assert isinstance(call, ir.Invoke)
    assert [tensor.name for tensor in call.arguments] == ["A"]
    assert call.function == elaborated(ROW_SUM)
    assert (call.targets[0].name, call.targets[0].dtype, call.targets[0].rank) == ("T", "float32", 1)


def test_a_callee_is_typed_by_its_arguments() -> None:
    text = (
        "def f(double(N) d, half(N) h) -> (P, Q) { P = twice(d) Q = twice(h) } def twice(X) -> (Y) { Y(i) = 2 * X(i) }"
    )

    function = elaborated(text)

    assert [tensor.dtype for tensor in function.returns] == ["float64", "float16"]


def test_several_results_have_several_names() -> None:
    text = "def f(float(N) A) -> (P, Q) { P, Q = g(A) } def g(float(N) X) -> (Y, Z) { Y +=! X(i) Z(i) = X(i) < 0 }"

    function = elaborated(text)

    assert [(tensor.name, tensor.dtype, tensor.rank) for tensor in function.returns] == [
        ("P", "float32", 0),
        ("Q", "bool", 1),
    ]


def test_a_result_of_another_type_than_its_target_is_converted() -> None:
    text = f"def f(float(N,M) A) -> (double(N) O) {{ O = row_sum(A) }} {ROW_SUM}"

    call, conversion = elaborated(text).statements

    assert isinstance(call, ir.Invoke) and isinstance(conversion, ir.Define)
    assert call.targets[0].dtype == "float32"
    assert conversion.target.name == "O" and conversion.value.dtype == "float64"


def test_a_result_that_a_later_statement_widens_is_converted() -> None:
    text = f"def f(float(N,M) A, double(N) d) -> (O) {{ O = row_sum(A) O(i) += d(i) }} {ROW_SUM}"

    function = elaborated(text)

    assert function.returns[0].dtype == "float64"
    assert len(function.statements) == 3


def test_a_result_may_replace_a_tensor() -> None:
    text = f"def f(float(N,M) A) -> (O) {{ O(i) = A(i,0) O = row_sum(A) }} {ROW_SUM}"

    _, call, copy = elaborated(text).statements

    assert isinstance(call, ir.Invoke) and isinstance(copy, ir.Define)
    assert copy.target.name == "O" and copy.value == ir.Access(call.targets[0], copy.indices)


def test_a_callee_is_elaborated_once_for_equal_arguments() -> None:
    function = elaborated(f"def f(float(N,M) A) -> (P, Q) {{ P = row_sum(A) Q = row_sum(A) }} {ROW_SUM}")

    first, second = function.statements

    assert isinstance(first, ir.Invoke) and isinstance(second, ir.Invoke)
    assert first.function is second.function


def test_a_python_function_on_scalars_is_part_of_the_expression() -> None:
    functions = {"f": Python("float64")}

    function = elaborated("def k(float(N) A) -> (O) { O(i) = f(A(i), 2) + 1 }", functions=functions)

    assert lines(function) == ["O[i] = (python f(A[i], 2) + 1.0:float64)"]


def test_a_python_function_on_tensors_is_a_statement() -> None:
    functions = {"f": Python(results=(Argument("int32", 2), Argument("float32", 0)))}

    function = elaborated("def k(float(N) A) -> (P, Q) { P, Q = f(A, A) }", functions=functions)

    assert lines(function) == ["P, Q = python f(A, A)"]
    assert [(tensor.dtype, tensor.rank) for tensor in function.returns] == [("int32", 2), ("float32", 0)]


def test_a_python_function_on_scalar_expressions_defines_a_scalar() -> None:
    function = elaborated("def k(float a) -> (O) { O = f(a + 1.0) }", functions={"f": Python()})

    assert lines(function) == ["O[] = python f((a[] + 1.0))"]


def test_a_tensor_hides_a_python_function_of_its_name() -> None:
    function = elaborated("def k(float(N) f) -> (O) { O(i) = f(i) }", functions={"f": Python()})

    assert lines(function) == ["O[i] = f[i]"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("O = row_sum(A + 1)", "TC0105"),
        ("O = row_sum(A(i,j))", "TC0105"),
        ("O = row_sum(3)", "TC0105"),
        ("O = row_sum(N)", "TC0105"),
        ("O = row_sum(A) where i in 0:3", "TC0105"),
        ("O = python(A, 1.0)", "TC0105"),
        ("O = row_sum(AA)", "TC0201"),
        ("O = row_sum(T) T(i,j) = A(i,j)", "TC0208"),
        ("O = row_sum(A, A)", "TC0503"),
        ("O, P = row_sum(A)", "TC0503"),
        ("O, P = python(A)", "TC0503"),
        ("O, O = two(A)", "TC0202"),
        ("O, P = rowsum(A)", "TC0205"),
        ("A = row_sum(A)", "TC0204"),
        ("exp = row_sum(A)", "TC0203"),
        ("O = row_sum(v)", "TC0502"),
        ("O = row_sum(D)", "TC0305"),
        ("O = rowsum(A)", "TC0201"),
        ("O(i) = row_sum(A)", "TC0504"),
        ("O(i) = v(i) + row_sum(A)", "TC0504"),
        ("O += row_sum(A)", "TC0504"),
        ("O = same(A)", "TC0207"),
        ("O = first(A)", "TC0207"),
    ],
)
def test_a_mistaken_call_is_refused(body: str, code: str) -> None:
    text = f"""def same(float(N,M) A, double(N,M) D, float(N) v) -> () {{ {body} }} {ROW_SUM}
    def two(float(N,M) A) -> (Y, Z) {{ Y = row_sum(A) Z = row_sum(A) }}
    def first(A) -> (Y) {{ Y = second(A) }} def second(A) -> (Y) {{ Y = first(A) }}"""

    error = mistake(text, functions={"python": Python()})

    assert error.code == code
    assert error.help


def test_a_circle_of_calls_is_named() -> None:
    error = mistake(
        "def a(X) -> (Y) { Y = b(X) } def b(X) -> (Y) { Y = a(X) }", signature={"X": Argument("float32", 1)}
    )

    assert error.code == "TC0207" and "a -> b -> a" in error.message


def test_calls_that_double_at_every_level_end_in_an_error() -> None:
    levels = [f"def f{n}(float(N) X) -> (Y) {{ T = f{n + 1}(X) Y = f{n + 1}(T) }}" for n in range(20)]

    error = mistake(" ".join([*levels, "def f20(float(N) X) -> (Y) { Y(i) = X(i) }"]))

    assert error.code == "TC0103"


def test_a_long_chain_of_calls_ends_in_an_error() -> None:
    levels = [f"def f{n}(float(N) X) -> (Y) {{ Y = f{n + 1}(X) }}" for n in range(500)]

    error = mistake(" ".join([*levels, "def f500(float(N) X) -> (Y) { Y(i) = X(i) }"]))

    assert error.code == "TC0103"
