"""A tree becomes the text that reads back to it."""

import pytest
from hypothesis import given

from tcjax.diagnostics import CompileError
from tcjax.syntax import sac
from tcjax.syntax.sac import tree
from tests.strategies import sac_trees

from .texts import TEXTS

A, B, C, IV = tree.Name("a"), tree.Name("b"), tree.Name("c"), tree.Name("iv")


@given(sac_trees.programs())
def test_what_is_written_reads_back_equal(program: tree.Program) -> None:
    again = sac.read(sac.write(program))

    # `repr` too, because 1 == 1.0 == True.
    assert again == program and repr(again) == repr(program)


@given(sac_trees.expressions())
def test_an_expression_stands_on_one_line(expr: tree.Expr) -> None:
    text = sac.write_expr(expr)

    assert "\n" not in text
    assert sac.read(text) == tree.Program((), (), expr)


@given(sac_trees.expressions())
def test_no_pair_of_parentheses_can_be_left_out(expr: tree.Expr) -> None:
    text = sac.write_expr(expr)

    for opening, closing in grouping_parentheses(text):
        shorter = f"{text[:opening]} {text[opening + 1 : closing]} {text[closing + 1 :]}"
        try:
            read = sac.read(shorter).result
        except CompileError:
            continue
        assert read != expr


def grouping_parentheses(text: str) -> list[tuple[int, int]]:
    """The positions of parentheses that do not follow a name."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for place, character in enumerate(text):
        if character == "(":
            opened.append(place)
        elif character == ")":
            opening = opened.pop()
            before = text[opening - 1] if opening else " "
            if not (before.isalnum() or before == "_"):
                pairs.append((opening, place))
    return pairs


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_read_written_and_read_again(text: str) -> None:
    program = sac.read(text)

    assert repr(sac.read(sac.write(program))) == repr(program)


def test_a_program_is_written_with_its_functions_first_and_a_statement_a_line() -> None:
    program = sac.read(
        "float[m,.],int[*]f(float[m,d>0:s]x,int[2:t,+]y)|m>1,(m|1)<3{z=x*2.5;u,v=g(z);return(z,u|v);}a=b+c;{[i]->a[i];}"
    )

    assert sac.write(program) == (
        "float[m, .], int[*] f(float[m, d > 0:s] x, int[2:t, +] y) | m > 1 | (m | 1) < 3 {\n"
        "  z = x * 2.5;\n"
        "  u, v = g(z);\n"
        "  return (z, u | v);\n"
        "}\n"
        "\n"
        "a = b + c;\n"
        "{ [i] -> a[i] }"
    )


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (tree.Number(True), "true"),
        (tree.Number(2.0, "float32"), "2.0f"),
        (tree.Number(3, "uint8"), "3ub"),
        (tree.Number(-3), "-3"),
        (tree.Number(2.5, "float16"), "float16(2.5)"),
        (tree.Binary("-", A, tree.Number(-3)), "a - -3"),
        (tree.Binary("*", A, tree.Number(float("-inf"))), "a * (-1.0 / 0.0)"),
        (tree.Number(float("nan")), "0.0 / 0.0"),
        (tree.Select(tree.Number(-3), ()), "(-3)[]"),
        (tree.Unary("+", tree.Unary("+", A)), "+ +a"),
        (tree.Unary("-", tree.Unary("-", A)), "--a"),
        (tree.Binary("-", A, tree.Binary("-", B, C)), "a - (b - c)"),
        (tree.Binary("++", A, tree.Binary("+", B, C)), "a ++ b + c"),
        (tree.Binary("+", A, tree.Binary("++", B, C)), "a + (b ++ c)"),
        (tree.Unary("-", tree.Select(A, (B,))), "-a[b]"),
        (tree.Select(tree.Unary("-", A), (B,)), "(-a)[b]"),
        (tree.Call("float32", (A,)), "float(a)"),
        (tree.Call("int16", (A,)), "int16(a)"),
        (tree.Comprehension((tree.Partition(tree.IndexVector("iv"), tree.Binary("|", A, B)),)), "{ iv -> (a | b) }"),
    ],
)
def test_an_expression_is_written_as(expr: tree.Expr, text: str) -> None:
    assert sac.write_expr(expr) == text


@pytest.mark.parametrize(
    ("lower", "upper", "text"),
    [
        (tree.Bound(A, False), None, "a <= iv"),
        (None, tree.Bound(A, True), "iv < a"),
        (tree.Bound(tree.Dot(), True), tree.Bound(tree.Dot(), False), ". < iv <= ."),
        (tree.Bound(IV, False), None, "(iv) <= iv"),
        (None, tree.Bound(IV, False), "iv <= iv"),
        (tree.Bound(IV, False), tree.Bound(A, False), "(iv) <= iv <= a"),
        (tree.Bound(tree.Binary("<", A, B), True), None, "(a < b) < iv"),
        (tree.Bound(tree.Binary(">", A, B), True), None, "a > b < iv"),
        (None, tree.Bound(tree.Conditional(A, tree.Binary("<=", A, B), C), True), "iv < (a ? a <= b : c)"),
        (None, tree.Bound(tree.Vector((tree.Binary("<", A, B),)), True), "iv < [a < b]"),
    ],
)
def test_a_generator_is_written_as(lower: tree.Bound | None, upper: tree.Bound | None, text: str) -> None:
    partition = tree.Partition(tree.IndexVector("iv"), C, tree.Generator(lower, upper))
    comprehension = tree.Comprehension((partition,))

    assert sac.write_expr(comprehension) == f"{{ iv -> c | {text} }}"
    assert sac.read(f"{{ iv -> c | {text} }}").result == comprehension


def test_a_pattern_without_names_is_its_own_bound() -> None:
    nothing = tree.Vector(())
    generator = tree.Generator(tree.Bound(nothing, False), tree.Bound(nothing, False))

    comprehension = tree.Comprehension((tree.Partition(tree.IndexPattern(()), C, generator),))

    assert sac.write_expr(comprehension) == "{ [] -> c | [] <= [] <= [] }"
    assert sac.read("{ [] -> c | [] <= [] <= [] }").result == comprehension


@pytest.mark.parametrize("name", ["float", "int32", "true", "return"])
def test_a_name_that_is_a_keyword_cannot_be_written(name: str) -> None:
    with pytest.raises(CompileError) as raised:
        sac.write_expr(tree.Name(name))

    assert raised.value.code == "TC0203" and raised.value.help


def test_the_deepest_tree_is_written() -> None:
    expr: tree.Expr = A
    for _ in range(199):
        expr = tree.Call("f", (B, expr))

    assert sac.read(sac.write_expr(expr)).result == expr
