"""SaC text is read as the right tree."""

import dataclasses
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax.diagnostics import NOWHERE
from tcjax.syntax import sac
from tcjax.syntax.ast import Node
from tcjax.syntax.sac import tree

from .texts import TEXTS

DOT, DOTS = tree.Dot(), tree.Dot(many=True)


def expression(text: str) -> tree.Expr:
    program = sac.read(text)
    assert program.functions == program.lets == ()
    assert program.result is not None
    return program.result


def comprehension(text: str) -> tuple[tree.Partition, ...]:
    expr = expression(text)
    assert isinstance(expr, tree.Comprehension)
    return expr.partitions


def partition(text: str) -> tree.Partition:
    (only,) = comprehension(text)
    return only


def bounds(text: str) -> tree.Generator:
    generator = partition(text).generator
    assert generator is not None
    return generator


def function(text: str) -> tree.Function:
    (only,) = sac.read(text).functions
    return only


def name(text: str) -> tuple[tree.Name, ...] | tree.Name:
    names = tuple(map(tree.Name, text.split()))
    return names[0] if len(names) == 1 else names


def grouped(expr: tree.Expr) -> str:
    """An expression with every operation in parentheses, written without the writer."""
    match expr:
        case tree.Number(value):
            return str(value)
        case tree.Name(id):
            return id
        case tree.Unary(operator, operand):
            return f"({operator}{grouped(operand)})"
        case tree.Binary(operator, left, right):
            return f"({grouped(left)}{operator}{grouped(right)})"
        case tree.Conditional(condition, then, otherwise):
            return f"({grouped(condition)}?{grouped(then)}:{grouped(otherwise)})"
        case tree.Vector(elements):
            return f"[{','.join(map(grouped, elements))}]"
        case tree.Call(called, arguments):
            return f"{called}({','.join(map(grouped, arguments))})"
        case tree.Select(array, index):
            return f"{grouped(array)}[{','.join('.' if isinstance(e, tree.Dot) else grouped(e) for e in index)}]"
        case _:
            raise NotImplementedError(expr)


# ---------------------------------------------------------------- texts


def test_a_text_has_functions_definitions_and_a_result() -> None:
    program = sac.read("int f(int n) { return n; } int g(int n) { return f(n); } x = f(a); y, z = g(x); y")

    assert [function.name for function in program.functions] == ["f", "g"]
    assert program.lets == (
        tree.Let(("x",), tree.Call("f", (tree.Name("a"),))),
        tree.Let(("y", "z"), tree.Call("g", (tree.Name("x"),))),
    )
    assert program.result == tree.Name("y")


def test_a_text_of_functions_alone_has_no_result() -> None:
    program = sac.read("int f(int n) { return n; }")

    assert program.result is None and program.lets == ()


@pytest.mark.parametrize(
    "text", ["a + b", "a + b;", " a\n+\tb ; ", "/* c */ a + // d\n b", "// first\n\na + b // last"]
)
def test_semicolons_at_the_end_white_space_and_comments_mean_nothing(text: str) -> None:
    assert expression(text) == tree.Binary("+", tree.Name("a"), tree.Name("b"))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a /* } | ; { \n ) */ + b", "a + b"),
        ("a /**/ + /***/ b", "a + b"),
        ("a /* // */ + b", "a + b"),
        ("a + // /*\n b", "a + b"),
        ("a /* one */ + /* two\n three */ b /* four */", "a + b"),
        ("a /* one\n*//* two\n*/ + b", "a + b"),
    ],
)
def test_a_comment_ends_where_it_says(text: str, plain: str) -> None:
    assert expression(text) == expression(plain)


def test_a_text_may_be_a_part_of_a_file() -> None:
    program = sac.read("\na", "file.sac", first_line=10)

    assert program.result is not None
    assert (program.result.span.line, program.result.span.source.name) == (11, "file.sac")


# ---------------------------------------------------------------- functions


def test_a_function_has_all_its_parts() -> None:
    read = function("float[n], int f(float[n] x, int k) | n > 1, k < n { y = x; u, v = g(y); return (u, k); }")

    assert read == tree.Function(
        "f",
        (tree.TypePattern("float32", (tree.Axis("n"),)), tree.TypePattern("int32")),
        (
            tree.Parameter("x", tree.TypePattern("float32", (tree.Axis("n"),))),
            tree.Parameter("k", tree.TypePattern("int32")),
        ),
        (tree.Binary(">", tree.Name("n"), tree.Number(1)), tree.Binary("<", tree.Name("k"), tree.Name("n"))),
        (tree.Let(("y",), tree.Name("x")), tree.Let(("u", "v"), tree.Call("g", (tree.Name("y"),)))),
        (tree.Name("u"), tree.Name("k")),
    )


@pytest.mark.parametrize(
    ("head", "guards"),
    [
        ("int f()", ()),
        ("int f() | a", ("a",)),
        ("int f(), a", ("a",)),
        ("int f() | a | b", ("a", "b")),
        ("int f() | a, b", ("a", "b")),
        ("int f() | (a | b) | sum({ [i] -> c | [i] < n })", ("a | b", "sum({ [i] -> c | [i] < n })")),
    ],
)
def test_guards_stand_behind_bars_or_commas(head: str, guards: tuple[str, ...]) -> None:
    assert function(f"{head} {{ return 1; }}").guards == tuple(map(expression, guards))


def test_a_bar_in_a_function_is_an_operator() -> None:
    read = function("int f(int a) | (a | 1) > 0 { b = a | 2; return a | b; }")

    assert read.returns == (tree.Binary("|", tree.Name("a"), tree.Name("b")),)
    assert read.lets == (tree.Let(("b",), tree.Binary("|", tree.Name("a"), tree.Number(2))),)


def test_a_bar_behind_a_function_is_an_operator() -> None:
    program = sac.read("int f(int a) | a > 0 { return a; } x = a | b; x | c")

    assert program.lets[0].value == tree.Binary("|", tree.Name("a"), tree.Name("b"))
    assert program.result == tree.Binary("|", tree.Name("x"), tree.Name("c"))


def test_a_text_may_begin_with_a_cast() -> None:
    assert expression("float(a) | b") == tree.Binary("|", tree.Call("float32", (tree.Name("a"),)), tree.Name("b"))


@pytest.mark.parametrize(
    ("written", "scalar"),
    [
        ("int", "int32"),
        ("float", "float32"),
        ("double", "float64"),
        *((scalar, scalar) for scalar in ("bool", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64")),
        *((scalar, scalar) for scalar in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")),
    ],
)
def test_a_type_is_a_type_and_a_cast(written: str, scalar: str) -> None:
    assert function(f"{written}[n] f({written} x) {{ return x; }}").parameters[0].type == tree.TypePattern(scalar)
    assert expression(f"{written}(x)") == tree.Call(scalar, (tree.Name("x"),))


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ("", ()),
        (".", (tree.Axis(),)),
        ("3", (tree.Axis(3),)),
        ("m, k", (tree.Axis("m"), tree.Axis("k"))),
        ("*", (tree.Axes(),)),
        ("+", (tree.Axes(least=1),)),
        ("2:shp", (tree.Axes(2, 0, "shp"),)),
        ("d:shp", (tree.Axes("d", 0, "shp"),)),
        ("d>0:shp", (tree.Axes("d", 1, "shp"),)),
        ("d > 2 : shp", (tree.Axes("d", 3, "shp"),)),
        (".,o:os,i:is", (tree.Axis(), tree.Axes("o", 0, "os"), tree.Axes("i", 0, "is"))),
    ],
)
def test_a_type_pattern_has_axes(axes: str, expected: tuple[tree.Axis | tree.Axes, ...]) -> None:
    assert function(f"int f(float[{axes}] x) {{ return 1; }}").parameters[0].type == tree.TypePattern(
        "float32", expected
    )


# ---------------------------------------------------------------- comprehensions


def test_a_comprehension_has_its_partitions_in_order() -> None:
    first, second, third = comprehension("{ iv -> a | iv < b; [i,j] -> c; jv -> d; }")

    assert (first.index, second.index, third.index) == (
        tree.IndexVector("iv"),
        tree.IndexPattern(("i", "j")),
        tree.IndexVector("jv"),
    )
    assert first.generator == tree.Generator(None, tree.Bound(tree.Name("b"), True))
    assert second.generator is third.generator is None


@pytest.mark.parametrize(
    ("pattern", "elements"),
    [
        ("[]", ()),
        ("[i]", ("i",)),
        ("[i,.]", ("i", DOT)),
        ("[.,.]", (DOT, DOT)),
        ("[...]", (DOTS,)),
        ("[i,...,j]", ("i", DOTS, "j")),
        ("[.,...,i,.]", (DOT, DOTS, "i", DOT)),
    ],
)
def test_a_pattern_holds_names_and_dots(pattern: str, elements: tuple[str | tree.Dot, ...]) -> None:
    assert partition(f"{{ {pattern} -> a }}").index == tree.IndexPattern(elements)


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("iv < a", None, ("a", True)),
        ("iv <= a", None, ("a", False)),
        ("a < iv", ("a", True), None),
        ("a <= iv", ("a", False), None),
        ("a <= iv < b", ("a", False), ("b", True)),
        ("a < iv <= b", ("a", True), ("b", False)),
        (". <= iv", (".", False), None),
        ("iv < .", None, (".", True)),
        (". < iv < .", (".", True), (".", True)),
    ],
)
def test_a_generator_bounds_the_index_below_above_or_both(
    text: str, lower: tuple[str, bool] | None, upper: tuple[str, bool] | None
) -> None:
    def bound(written: tuple[str, bool] | None) -> tree.Bound | None:
        return written and tree.Bound(DOT if written[0] == "." else tree.Name(written[0]), written[1])

    assert bounds(f"{{ iv -> c | {text} }}") == tree.Generator(bound(lower), bound(upper))


def test_a_pattern_without_names_has_the_empty_index() -> None:
    assert bounds("{ [] -> c | [] < a }").upper == tree.Bound(tree.Name("a"), True)
    assert bounds("{ [.] -> c | a < [] }").lower == tree.Bound(tree.Name("a"), True)
    assert bounds("{ [] -> c | [] <= [] < [] }") == tree.Generator(
        tree.Bound(tree.Vector(()), False), tree.Bound(tree.Vector(()), True)
    )


def test_what_is_in_parentheses_is_a_bound_and_not_the_index() -> None:
    assert bounds("{ iv -> c | (iv) < iv }").lower == tree.Bound(tree.Name("iv"), True)


def test_a_generator_has_a_step_and_a_width() -> None:
    both = bounds("{ [i] -> c | [1] <= [i] < [9] step [4] width [2] }")
    one = bounds("{ iv -> c | iv < . step s }")

    assert (both.step, both.width) == (tree.Vector((tree.Number(4),)), tree.Vector((tree.Number(2),)))
    assert (one.step, one.width) == (tree.Name("s"), None)


def test_step_and_width_are_names_wherever_an_operand_stands() -> None:
    step, width = name("step width")

    assert expression("step * width[step]") == tree.Binary("*", step, tree.Select(width, (step,)))
    read = partition("{ step -> width | width <= step < step step step width width }")
    assert read == tree.Partition(
        tree.IndexVector("step"),
        width,
        tree.Generator(tree.Bound(width, False), tree.Bound(step, True), step, width),
    )


@pytest.mark.parametrize(
    ("body", "same"),
    [
        ("f(a | b)", True),
        ("a[b | c]", True),
        ("[a | b]", True),
        ("(a | b)", True),
        ("{ jv -> (a | b) }", True),
        ("a || b", True),
    ],
)
def test_a_bar_inside_of_brackets_is_an_operator(body: str, same: bool) -> None:
    read = partition(f"{{ iv -> {body} | iv < n }}")

    assert (read.body == expression(body)) is same
    assert read.generator == tree.Generator(None, tree.Bound(tree.Name("n"), True))


def test_the_first_bar_of_a_body_begins_the_generator() -> None:
    read = partition("{ iv -> a + b | iv < c | d }")

    assert read.body == expression("a + b")
    assert read.generator == tree.Generator(None, tree.Bound(expression("c | d"), True))


def test_the_generator_of_an_inner_comprehension_is_its_own() -> None:
    read = partition("{ iv -> { jv -> a | jv < b } | iv < c }")

    assert read.body == expression("{ jv -> a | jv < b }")
    assert read.generator == tree.Generator(None, tree.Bound(tree.Name("c"), True))


@pytest.mark.parametrize(
    "bound", ["[a < b]", "f(a <= b)", "(a < b)", "a[b < c]", "{ jv -> c | jv < a }", "a > b", "a ? b : c"]
)
def test_a_relation_inside_of_brackets_is_an_operator(bound: str) -> None:
    read = bounds(f"{{ iv -> c | {bound} <= iv < {bound} }}")

    assert read == tree.Generator(tree.Bound(expression(bound), False), tree.Bound(expression(bound), True))


def test_a_comparison_in_a_body_a_step_or_a_width_is_an_operator() -> None:
    read = partition("{ iv -> a < b | iv < c step a < b ? c : d width a <= b }")

    assert read.body == expression("a < b")
    assert read.generator is not None
    assert (read.generator.step, read.generator.width) == (expression("a < b ? c : d"), expression("a <= b"))


# ---------------------------------------------------------------- expressions


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a?b:c?d:e", "(a?b:(c?d:e))"),
        ("a?b?c:d:e", "(a?(b?c:d):e)"),
        ("a||b?c:d", "((a||b)?c:d)"),
        ("a||b&&c", "(a||(b&&c))"),
        ("a&&b|c", "(a&&(b|c))"),
        ("a|b^c", "(a|(b^c))"),
        ("a^b&c", "(a^(b&c))"),
        ("a&b==c", "(a&(b==c))"),
        ("a==b<c", "(a==(b<c))"),
        ("a!=b==c", "((a!=b)==c)"),
        ("a<b<=c", "((a<b)<=c)"),
        ("a>b>=c", "((a>b)>=c)"),
        ("a<b++c", "(a<(b++c))"),
        ("a++b<<c", "(a++(b<<c))"),
        ("a++b+c", "(a++(b+c))"),
        ("[0]++iv+1", "([0]++(iv+1))"),
        ("a++b++^c", "((a++b)++^c)"),
        ("a<<b+c", "(a<<(b+c))"),
        ("a>>b<<c", "((a>>b)<<c)"),
        ("a-b+c", "((a-b)+c)"),
        ("a+b*c", "(a+(b*c))"),
        ("a*b/c%d", "(((a*b)/c)%d)"),
        ("-a*b", "((-a)*b)"),
        ("-a[b]", "(-a[b])"),
        ("!a&&~b", "((!a)&&(~b))"),
        ("- -+a", "(-(-(+a)))"),
        ("a - -b", "(a-(-b))"),
        ("a+ +b", "(a+(+b))"),
        ("(a+b)*c", "((a+b)*c)"),
        ("a[b][c]", "a[b][c]"),
        ("f(a)[b]", "f(a)[b]"),
        ("[a,b][0]", "[a,b][0]"),
        ("(a+b)[c]", "(a+b)[c]"),
        ("a<-b", "(a<(-b))"),
    ],
)
def test_an_operator_binds_as_in_sac(text: str, meaning: str) -> None:
    assert grouped(expression(text)) == meaning


LEVELS = (
    *(("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">=")),
    *(("++", "++^"), ("<<", ">>"), ("+", "-"), ("*", "/", "%")),
)


@given(st.lists(st.sampled_from([operator for level in LEVELS for operator in level]), min_size=1, max_size=8))
def test_a_chain_splits_at_its_last_loosest_operator(operators: list[str]) -> None:
    text = "a" + "".join(f" {operator} a" for operator in operators)

    def meaning(chain: list[str]) -> str:
        if not chain:
            return "a"
        levels = [next(n for n, level in enumerate(LEVELS) if operator in level) for operator in chain]
        last = max(position for position, level in enumerate(levels) if level == min(levels))
        return f"({meaning(chain[:last])}{chain[last]}{meaning(chain[last + 1 :])})"

    assert grouped(expression(text)) == meaning(operators)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("a[]", ()),
        ("a[[]]", (tree.Vector(()),)),
        ("a[i]", (tree.Name("i"),)),
        ("a[[i,j]]", (tree.Vector((tree.Name("i"), tree.Name("j"))),)),
        ("a[i,j]", (tree.Name("i"), tree.Name("j"))),
        ("a[.,i]", (DOT, tree.Name("i"))),
        ("a[i,...,j]", (tree.Name("i"), DOTS, tree.Name("j"))),
        ("a[[i,.]]", (tree.Name("i"), DOT)),
        ("a[[.,i,...]]", (DOT, tree.Name("i"), DOTS)),
        ("a[...]", (DOTS,)),
        ("a[.,.5]", (DOT, tree.Number(0.5))),
        ("a[ [[i]] ]", (tree.Vector((tree.Vector((tree.Name("i"),)),)),)),
    ],
)
def test_a_selection_has_elements_and_dots(text: str, index: tuple[tree.Expr | tree.Dot, ...]) -> None:
    assert expression(text) == tree.Select(tree.Name("a"), index)


@pytest.mark.parametrize(
    ("text", "value", "scalar"),
    [
        ("12", 12, None),
        ("0", 0, None),
        ("0x1F", 31, None),
        ("18446744073709551615", 2**64 - 1, None),
        ("1.5", 1.5, None),
        (".5", 0.5, None),
        ("2.", 2.0, None),
        ("1e-3", 1e-3, None),
        ("2.5E+2", 250.0, None),
        ("true", True, None),
        ("false", False, None),
        ("2f", 2.0, "float32"),
        ("2.5F", 2.5, "float32"),
        ("1d", 1.0, "float64"),
        ("1e3d", 1000.0, "float64"),
        ("3i", 3, "int32"),
        ("4l", 4, "int64"),
        ("4LL", 4, "int64"),
        ("7b", 7, "int8"),
        ("7s", 7, "int16"),
        ("7ub", 7, "uint8"),
        ("7us", 7, "uint16"),
        ("7u", 7, "uint32"),
        ("7ui", 7, "uint32"),
        ("7ul", 7, "uint64"),
        ("0x10l", 16, "int64"),
        ("127b", 127, "int8"),
    ],
)
def test_a_number_has_a_value_and_the_type_of_its_suffix(text: str, value: float, scalar: str | None) -> None:
    read = expression(text)

    assert isinstance(read, tree.Number)
    assert (read.value, type(read.value), read.scalar) == (value, type(value), scalar)


# ---------------------------------------------------------------- spans


def nodes(node: object) -> Iterator[Node]:
    if isinstance(node, tuple):
        for part in node:
            yield from nodes(part)
    elif isinstance(node, Node):
        yield node
        for field in dataclasses.fields(node):
            yield from nodes(getattr(node, field.name))


def quoted(text: str, node: Node) -> str:
    """The part of `text` at the node's span."""
    line, column, end = node.span
    return text.splitlines()[line - 1][column - 1 : end - 1]


@pytest.mark.parametrize("text", TEXTS)
def test_every_node_knows_where_it_was_written(text: str) -> None:
    program = sac.read(text)

    for node in nodes(program):
        assert node.span is not NOWHERE
        assert quoted(text, node).strip() == quoted(text, node) != ""


def test_spans_cover_what_was_written() -> None:
    text = "{ [i, .] -> -(a + b)[., 2.5] | [0] <= [i] < . step [2]; iv -> f(c) }"
    first, second = comprehension(text)
    assert isinstance(first.generator, tree.Generator) and isinstance(first.body, tree.Unary)
    assert first.generator.lower and first.generator.upper and isinstance(first.body.operand, tree.Select)

    assert quoted(text, expression(text)) == text
    assert quoted(text, first) == "[i, .] -> -(a + b)[., 2.5] | [0] <= [i] < . step [2]"
    assert quoted(text, first.index) == "[i, .]"
    assert quoted(text, first.body) == "-(a + b)[., 2.5]"
    assert quoted(text, first.body.operand) == "(a + b)[., 2.5]"
    assert quoted(text, first.body.operand.array) == "a + b"
    assert [quoted(text, element) for element in nodes(first.body.operand.index)] == [".", "2.5"]
    assert quoted(text, first.generator) == "[0] <= [i] < . step [2]"
    assert [quoted(text, bound) for bound in (first.generator.lower, first.generator.upper)] == ["[0]", "."]
    assert quoted(text, second) == "iv -> f(c)"


def test_spans_of_a_function_cover_what_was_written() -> None:
    text = "float[n, d>0:s], int f(float[n] x) | n > 1 { u, v = g(x); return (u, v); }"
    read = function(text)

    assert quoted(text, read) == text
    assert [quoted(text, part) for part in (*read.results, *read.parameters)] == [
        "float[n, d>0:s]",
        "int",
        "float[n] x",
    ]
    assert [quoted(text, axis) for axis in read.results[0].axes] == ["n", "d>0:s"]
    assert [quoted(text, part) for part in (*read.guards, *read.lets)] == ["n > 1", "u, v = g(x)"]


def test_a_node_over_lines_is_marked_on_its_first() -> None:
    text = "{ iv ->\n  a[iv] }"

    assert quoted(text, expression(text)) == "{ iv ->"
    assert quoted(text, partition(text).body) == "a[iv]"
