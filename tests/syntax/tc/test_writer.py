"""A tree becomes the text that reads back to it."""

from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given

from tcjax.diagnostics import CompileError
from tcjax.syntax import ast, tc
from tests.strategies import trees


@given(trees.programs())
def test_what_is_written_reads_back_equal(program: ast.Program) -> None:
    again = tc.read(tc.write(program))

    # `repr` too, because 1 == 1.0 == True.
    assert again == program and repr(again) == repr(program)


@given(trees.statements())
def test_a_statement_stands_on_one_line(statement: ast.Statement) -> None:
    assert "\n" not in tc.write(statement)


@given(trees.expressions())
def test_no_pair_of_parentheses_can_be_left_out(expr: ast.Expr) -> None:
    text = tc.write(expr)

    # Except around a comparison that is compared: `a < b < c` would look like both comparisons.
    assert sum(can_be_left_out(*places, text, expr) for places in grouping_parentheses(text)) == compared(expr)


def test_parentheses_round_a_comparison_that_is_compared_stay() -> None:
    expr = ast.Binary("<", ast.Binary(">=", ast.Name("a"), ast.Name("b")), ast.Name("c"))

    assert tc.write(expr) == "(a >= b) < c"


def can_be_left_out(opening: int, closing: int, text: str, expr: ast.Expr) -> bool:
    """Whether the text means the same without this pair of parentheses."""
    shorter = f"{text[:opening]} {text[opening + 1 : closing]} {text[closing + 1 :]}"
    try:
        read = tc.read(f"O = {shorter}").definitions[0].body
    except CompileError:
        return False
    return read == (ast.Assign("O", None, None, False, expr),)


def compared(node: Any) -> int:
    """The number of comparisons in a tree that are the left operand of another one."""
    order = ("<", "<=", ">", ">=", "==", "!=")
    match node:
        case ast.Binary(operator, ast.Binary(inner)) if operator in order and inner in order:
            own = 1
        case _:
            own = 0
    if isinstance(node, tuple):
        return sum(map(compared, node))
    return own + sum(compared(getattr(node, each.name)) for each in fields(node)) if is_dataclass(node) else own


def grouping_parentheses(text: str) -> list[tuple[int, int]]:
    """The positions of parentheses that follow neither a name nor brackets."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for place, character in enumerate(text):
        if character == "(":
            opened.append(place)
        elif character == ")":
            opening = opened.pop()
            before = text[opening - 1] if opening else " "
            if not (before.isalnum() or before in "_]"):
                pairs.append((opening, place))
    return pairs


def test_a_definition_is_written_with_a_statement_a_line() -> None:
    program = tc.read(
        "def mm(float(M,K) A,float(K,N) B)->C{C(m,n)+=!A(m,k)*B(k,n)where k in 0:K,m=3;D=C.0 } def g(half a)->(a){}"
    )

    assert tc.write(program) == (
        "def mm(float(M,K) A, float(K,N) B) -> (C) {\n"
        "  C(m, n) +=! A(m, k) * B(k, n) where k in 0:K, m = 3\n"
        "  D = C.0\n"
        "}\n"
        "\n"
        "def g(float16 a) -> (a) {\n"
        "}"
    )


def test_a_text_without_def_is_written_without_def() -> None:
    assert tc.write(tc.read("O1,O2=f(A) double(N) z y(i)=sum[j,k in 0:2 where j<k](x(j))")) == (
        "O1, O2 = f(A)\ndouble(N) z\ny(i) = sum[j, k in 0:2 where j < k](x(j))"
    )


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (ast.Binary("**", ast.Name("a"), ast.Number(2)), "pow(a, 2)"),
        (ast.Binary("truediv", ast.Binary("+", ast.Name("a"), ast.Name("b")), ast.Number(2)), "fdivide(a + b, 2)"),
        (ast.Number(True), "bool(1)"),
        (ast.Number(-3), "-3"),
        (ast.Number(-2.5), "-2.5"),
        (ast.Number(1e-6), "1e-06"),
        (ast.Number(1.0), "1.0"),
        (ast.Number(2j), "2.0i"),
        (ast.Number(1 + 2j), "(1.0 + 2.0i)"),
        (ast.Binary("-", ast.Name("a"), ast.Number(-3)), "a - -3"),
        (ast.Binary("-", ast.Name("a"), ast.Binary("-", ast.Name("b"), ast.Name("c"))), "a - (b - c)"),
        (ast.Cast("float32", ast.Cast("float64", ast.Cast("uint8", ast.Name("a")))), "float(double(uint8(a)))"),
    ],
)
def test_an_expression_is_written_as(expr: ast.Expr, text: str) -> None:
    assert tc.write(expr) == text


@pytest.mark.parametrize("name", ["where", "in", "exists", "def", "float", "min"])
def test_a_name_that_is_a_keyword_cannot_be_written(name: str) -> None:
    with pytest.raises(CompileError) as raised:
        tc.write(ast.Assign("O", None, None, False, ast.Name(name)))

    assert raised.value.code == "TC0203" and raised.value.help


def test_the_deepest_tree_is_written() -> None:
    expr: ast.Expr = ast.Name("a")
    for _ in range(199):
        expr = ast.Apply("f", (ast.Name("b"), expr))
    statement = ast.Assign("O", None, None, False, expr)

    assert tc.read(tc.write(statement)).definitions[0].body == (statement,)
