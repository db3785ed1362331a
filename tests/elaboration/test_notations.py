"""The same program from different notations is the same typed program."""

from dataclasses import replace

from tcjax import ir
from tcjax.elaboration import elaborate
from tcjax.syntax import ast
from tests.elaboration.programs import elaborated

MATRICES = (
    ast.Parameter("A", ast.TensorType("float32", ("M", "K"))),
    ast.Parameter("B", ast.TensorType("float32", ("K", "N"))),
)
M, N, K = map(ast.Name, "mnk")


def python(*statements: ast.Statement, parameters: tuple[ast.Parameter, ...] = MATRICES) -> ir.Function:
    """The function that a Python body of these statements means."""
    definition = ast.Definition("mm", parameters, (ast.Parameter("C"),), statements)
    return elaborate(definition, ast.Program((definition,)), {}, {})


def read(tensor: str, *indices: ast.Expr) -> ast.Apply:
    return ast.Apply(tensor, indices, subscript=True)


def test_a_matrix_product_in_tc_and_in_python_is_one_function() -> None:
    text = elaborated("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")

    product = ast.Binary("*", read("A", M, K), read("B", K, N))
    written = python(ast.Assign("C", (M, N), "+", True, product))

    assert written == text


def test_true_division_of_integers_is_division_of_floats() -> None:
    parameters = (ast.Parameter("A", ast.TensorType("int32", ("M",))),)
    text = elaborated("def mm(int32(M) A) -> (C) { C(m) = float(A(m)) / 2.0 }")

    written = python(
        ast.Assign("C", (M,), None, False, ast.Binary("truediv", read("A", M), ast.Number(2))), parameters=parameters
    )

    assert written == text


def test_a_power_is_a_power_of_the_joined_type() -> None:
    def power(dtype: str, exponent: ast.Expr) -> ir.Expr:
        parameters = (ast.Parameter("A", ast.TensorType(dtype, ("M",))),)
        value = ast.Binary("**", read("A", M), exponent)
        (statement,) = python(ast.Assign("C", (M,), None, False, value), parameters=parameters).statements
        assert isinstance(statement, ir.Define)
        return statement.value

    two, minus_one = ast.Number(2), ast.Unary("-", ast.Number(1))

    assert power("float64", two).dtype == "float64"
    assert power("int32", two).dtype == "int32"
    assert power("int32", minus_one).dtype == "float32"
    assert power("int32", ast.Name("m")).dtype == "float32"


def test_true_and_false_are_literals() -> None:
    parameters = (ast.Parameter("A", ast.TensorType("bool", ("M",))),)

    (statement,) = python(
        ast.Assign("C", (M,), None, False, ast.Binary("&&", read("A", M), ast.Number(True))), parameters=parameters
    ).statements

    assert isinstance(statement, ir.Define)
    assert isinstance(statement.value, ir.Binary) and statement.value.right == ir.Const(True, "bool")


def test_max_of_three_is_max_of_max() -> None:
    value = ast.Apply("max", (read("A", M, K), ast.Number(0.0), ast.Number(1.0)))
    text = elaborated("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,k) = max(max(A(m,k), 0.0), 1.0) }")

    assert python(ast.Assign("C", (M, K), None, False, value)) == text


def test_where_something_was_written_does_not_count() -> None:
    function = elaborated("def mm(float(M,K) A) -> (C) { C(m,k) = A(m,k) + 1 }")

    elsewhere = elaborated("def mm(float(M,K) A) -> (C)\n{\n  C(m,  k) =   A(m,k)   +\n 1 }")

    assert elsewhere == function
    assert replace(function, span=elsewhere.span) == function
