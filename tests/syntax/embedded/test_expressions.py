"""Expressions in Python read to the same tree as their TC form, where TC has one."""

import math

import pytest

from tcjax.syntax import ast, tc
from tcjax.syntax.embedded import read_text

i, j, k, A, B = (ast.Name(name) for name in ("i", "j", "k", "A", "B"))


def value(text: str, scope: dict[str, object] | None = None) -> ast.Expr:
    definition = read_text(f"def f(A, B):\n    C[i] = {text}\n    return C\n", scope).definition
    assert definition is not None
    (statement,) = definition.body
    assert isinstance(statement, ast.Assign)
    return statement.value


def tc_value(text: str) -> ast.Expr:
    (statement,) = tc.read(f"C(i) = {text}").definitions[0].body
    assert isinstance(statement, ast.Assign)
    return statement.value


@pytest.mark.parametrize(
    ("python", "text"),
    [
        ("A[i]", "A(i)"),
        ("A[i, j + 1]", "A(i, j + 1)"),
        ("A[()]", "A()"),
        ("A(i)", "A(i)"),
        ("A[B[i], j]", "A(B(i), j)"),
        ("A[-1 + 2*i]", "A(-1 + 2*i)"),
        ("A.shape[1]", "A.1"),
        ("A[i] + B[i] * 2 - 1.5", "A(i) + B(i) * 2 - 1.5"),
        ("-A[i]", "-A(i)"),
        ("+A[i]", "A(i)"),
        ("~A[i]", "~A(i)"),
        ("A[i] // 2 % 3", "A(i) // 2 % 3"),
        ("A[i] & 1 | 2 ^ 3", "(A(i) & 1) | (2 ^ 3)"),
        ("A[i] << 1 >> 2", "A(i) << 1 >> 2"),
        ("A[i] < B[i]", "A(i) < B(i)"),
        ("0 <= i < j", "0 <= i && i < j"),
        ("1 < i <= j != k", "1 < i && i <= j && j != k"),
        ("i == 1 and j != 2 or not k >= 3", "i == 1 && j != 2 || !(k >= 3)"),
        ("i > 1 and j > 2 and k > 3", "i > 1 && j > 2 && k > 3"),
        ("A[i] if i < 3 else B[i]", "i < 3 ? A(i) : B(i)"),
        ("1 if i < 3 else 2 if j < 3 else 3", "i < 3 ? 1 : (j < 3 ? 2 : 3)"),
        ("min(A[i], B[i])", "min(A(i), B(i))"),
        ("max(A[i], B[i], 1.0)", "max(max(A(i), B(i)), 1.0)"),
        ("abs(A[i])", "abs(A(i))"),
        ("exp(A[i])", "exp(A(i))"),
        ("float32(i)", "float32(i)"),
        ("float(i) + int(A[i]) + bool(i)", "float(i) + int32(A(i)) + bool(i)"),
        ("clamp(i - 1)", "clamp(i - 1)"),
        ("pad(A[i - 1], 0.0)", "pad(A(i - 1), 0.0)"),
        ("2j * A[i]", "2i * A(i)"),
        ("div(A[i], 2)", "A(i) / 2"),
        ("sum[k](A[i, k])", "sum[k](A(i, k))"),
        ("max[k, j](A[k, j])", "max[k, j](A(k, j))"),
        ("sum[k in range(0, 3)](A[i + k])", "sum[k in 0:3](A(i + k))"),
        ("sum[k in range(3), j](A[k, j])", "sum[k in 0:3, j](A(k, j))"),
        ("max[k, k <= i](A[k])", "max[k where k <= i](A(k))"),
        ("sum[k, 0 <= k < i, not A[k] > 0](B[k])", "sum[k where 0 <= k && k < i, !(A(k) > 0)](B(k))"),
        ("sum[k, A[k]](B[k])", "sum[k where A(k)](B(k))"),
        ("sum[k, +j](B[k])", "sum[k where j](B(k))"),
        ("mink[j](A[i, j], k)", "mink[j](A(i, j), k)"),
        ("exp(A[i]) * sum[j](exp(A[j]) * max[k](B[k, j]))", "exp(A(i)) * sum[j](exp(A(j)) * max[k](B(k, j)))"),
        ("gcd[k](A[k])", "gcd[k](A(k))"),
    ],
)
def test_an_expression_reads_to_its_tc_form(python: str, text: str) -> None:
    assert value(python) == tc_value(text)


@pytest.mark.parametrize(
    ("python", "tree"),
    [
        ("A / B", ast.Binary("truediv", A, B)),
        ("A ** B", ast.Binary("**", A, B)),
        ("A ** -i ** 2", ast.Binary("**", A, ast.Unary("-", ast.Binary("**", i, ast.Number(2))))),
        ("not i < 2", ast.Unary("!", ast.Binary("<", i, ast.Number(2)))),
        ("A if i else B", ast.Conditional(i, A, B)),
        ("half(i)", ast.Cast("float16", i)),
        ("byte(i)", ast.Cast("uint8", i)),
    ],
)
def test_an_expression_reads_to_its_tree(python: str, tree: ast.Expr) -> None:
    assert value(python) == tree


@pytest.mark.parametrize("python", ["True", "False", "3", "3.0", "1e30", "2j", "0x10", "1_000"])
def test_a_number_keeps_its_value_and_its_python_type(python: str) -> None:
    number = value(python)

    expected = eval(python)
    assert isinstance(number, ast.Number)
    assert number.value == expected
    assert type(number.value) is type(expected)


def test_infinity_and_nan_are_written_as_python_spells_them() -> None:
    infinity, nan = value('float("inf")'), value('float("nan")')

    assert infinity == ast.Number(math.inf)
    assert isinstance(nan, ast.Number) and isinstance(nan.value, float) and math.isnan(nan.value)


@pytest.mark.parametrize(
    ("python", "text"),
    [
        ("jnp.exp(A[i])", "exp(A(i))"),
        ("math.sqrt(A[i])", "sqrt(A(i))"),
        ("np.exp(A[i])", "exp(A(i))"),
        ("jax.nn.sigmoid(A[i])", "sigmoid(A(i))"),
        ("jnp.maximum(A[i], 0.0)", "max(A(i), 0.0)"),
        ("np.minimum(A[i], B[i])", "min(A(i), B(i))"),
        ("jnp.where(A[i] > 0, A[i], B[i])", "A(i) > 0 ? A(i) : B(i)"),
        ("jnp.abs(A[i])", "abs(A(i))"),
        ("jnp.power(A[i], 2)", "pow(A(i), 2)"),
        ("jnp.arctan2(A[i], B[i])", "atan2(A(i), B(i))"),
        ("jnp.floor_divide(i, 2)", "i // 2"),
        ("jnp.mod(i, 2)", "i % 2"),
        ("np.remainder(i, 2)", "i % 2"),
        ("math.remainder(A[i], 2)", "remainder(A(i), 2)"),
        ("jnp.logical_and(i < 2, j < 2)", "i < 2 && j < 2"),
        ("jnp.float32(i)", "float32(i)"),
        ("jnp.bool_(i)", "bool(i)"),
        ("np.byte(i)", "int8(i)"),
        ("jax.lax.round(A[i])", "round(A(i))"),
    ],
)
def test_a_librarys_function_is_the_builtin_of_that_meaning(python: str, text: str) -> None:
    assert value(python) == tc_value(text)


def test_a_negative_dimension_counts_from_the_end_of_a_declared_tensor() -> None:
    definition = read_text(
        'def f(A: "float(M,N)"):\n    C[i] = A[i, 0] * A.shape[-1] + A.shape[-2]\n    return C\n'
    ).definition

    assert definition is not None
    (statement,) = definition.body
    assert isinstance(statement, ast.Assign)
    assert statement.value == tc_value("A(i, 0) * A.1 + A.0")
