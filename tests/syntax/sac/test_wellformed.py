"""Ill-formed texts: the code of each mistake, and the words marked by its caret."""

import pytest

from tcjax.diagnostics import CompileError
from tcjax.syntax import sac


def mistake(text: str) -> CompileError:
    with pytest.raises(CompileError) as raised:
        sac.read(text)
    assert raised.value.message and raised.value.help and raised.value.kind == "syntax"
    return raised.value


def marked(text: str, error: CompileError) -> str:
    line, column, end = error.span
    return f"{text.splitlines()[line - 1]} "[column - 1 : end - 1]


@pytest.mark.parametrize(
    ("text", "caret", "message", "help"),
    [
        ("{ [i,1] -> a }", "1", "a pattern holds names and dots, and here is '1'", "name the axis and bound it"),
        ("{ [i+1] -> a }", "+", "a pattern holds names and dots", "name the axis and bound it"),
        ("{ [f(i)] -> a }", "(", "a pattern holds names and dots", "name the axis and bound it"),
        ("{ [[i]] -> a }", "[", "a pattern holds names and dots", "name the axis and bound it"),
        ("{ iv -> b; [-1] -> a }", "-", "a pattern holds names and dots", "name the axis and bound it"),
        ("{ [i:3] -> a }", ":", "a pattern holds names and dots", "bounds go after a `|`"),
        ("{ [i j] -> a }", "j", "a pattern holds names and dots", "a comma is missing before `j`"),
        ("{ [i,,j] -> a }", ",", "a pattern holds names and dots", "missing before the comma"),
        ("{ [..] -> a }", ".", "a pattern holds names and dots", "write `...`"),
        ("{ [...,i,...] -> a }", "...", "a pattern holds at most one `...`", "`.` for each axis"),
        ("{ [i,i] -> a }", "i", "`i` appears twice in this pattern", "`{ [i] -> a[i, i] }`"),
        ("{ [i,.,j,...,i] -> a }", "i", "`i` appears twice in this pattern", "a name of its own"),
        ("a[..., 1, ...]", "...", "a selection holds at most one `...`", "`.` for each axis"),
        ("a[[..., 1, ...]]", "...", "a selection holds at most one `...`", "`.` for each axis"),
    ],
)
def test_a_pattern_holds_names_and_dots(text: str, caret: str, message: str, help: str) -> None:
    error = mistake(text)

    assert (error.code, marked(text, error)) == ("TC0108", caret)
    assert error.message.startswith(message) and help in error.help


def test_the_caret_stands_under_the_second_of_two_names() -> None:
    assert mistake("{ [i, j, i] -> a }").span.column == 10


@pytest.mark.parametrize(
    ("text", "caret", "index"),
    [
        ("{ iv -> a | b <= [iv] }", "[iv]", "iv"),
        ("{ iv -> a | [iv] < b }", "[iv]", "iv"),
        ("{ iv -> a | jv < b }", "b", "iv"),
        ("{ iv -> a | b < jv }", "jv", "iv"),
        ("{ iv -> a | b <= jv < c }", "jv", "iv"),
        ("{ iv -> a | b <= (iv) < c }", "(iv)", "iv"),
        ("{ [i,j] -> a | [j,i] < [3,3] }", "[j,i]", "[i, j]"),
        ("{ [i,j] -> a | [0,0] <= [j,i] < [3,3] }", "[j,i]", "[i, j]"),
        ("{ [i,j] -> a | [i] < [3] }", "[i]", "[i, j]"),
        ("{ [i,j] -> a | [i,j,k] < [3] }", "[i,j,k]", "[i, j]"),
        ("{ [i] -> a | i < 3 }", "i", "[i]"),
        ("{ [i] -> a | 0 <= i < 3 }", "i", "[i]"),
        ("{ [i,.] -> a | . < [j] < . }", "[j]", "[i]"),
        ("{ [i,.] -> a | . < . }", ".", "[i]"),
        ("{ [.] -> a | [i] < [3] }", "[3]", "[]"),
        ("{ [i] -> a | [i + 1] < [3] }", "[3]", "[i]"),
    ],
)
def test_a_generator_repeats_the_index_of_its_partition(text: str, caret: str, index: str) -> None:
    error = mistake(text)

    assert (error.code, marked(text, error)) == ("TC0110", caret)
    assert error.message == f"the bounds of this partition are bounds of `{index}`, and this is something else"
    assert f"lower <= {index} < upper" in error.help


def test_the_dots_of_a_pattern_are_not_repeated() -> None:
    assert "without its dots" in mistake("{ [i,.] -> a | [j] < [3] }").help
    assert "without its dots" not in mistake("{ [i] -> a | [j] < [3] }").help


def test_an_index_left_of_both_bounds_is_no_lower_bound() -> None:
    text = "{ [i] -> a | [i] <= [j] < [3] }"
    error = mistake(text)

    assert (error.code, marked(text, error)) == ("TC0110", "[i]")
    assert error.message == "`[i]` is left of both bounds" and "lower <= [i] < upper" in error.help


def test_a_bit_or_in_a_body_needs_parentheses() -> None:
    text = "{ iv -> a | b | iv < c }"
    error = mistake(text)

    assert (error.code, marked(text, error)) == ("TC0110", "b | iv")
    assert "`(a | b)`" in error.help
    assert "`(a | b)`" in mistake("{ iv -> a | b }").help


@pytest.mark.parametrize(
    "text",
    [
        "{ [i,.] -> a | [i,.] < [3] }",
        "{ iv -> a | b < iv < c < d }",
        "{ iv -> a | b < c < iv < d }",
        "{ iv -> a | iv }",
        "{ iv -> a | b <= iv < c width d }",
        "{ iv -> a | b <= iv < c step d step e }",
        "{ iv -> a | step d }",
        "{ iv -> a | }",
        "{ iv -> a | iv > b }",
        "{ iv -> a | iv == b }",
        "{ iv -> a | ... < iv }",
        "{ }",
        "{}",
        "{ iv }",
        "{ a[i] }",
        "{ ; iv -> a }",
        "{ iv -> a;; iv -> b }",
        "{ iv -> a, jv -> b }",
        "{ iv -> a",
        "{ -> a }",
        "{ (i) -> a }",
        "{ 3 -> a }",
        "iv -> a",
        "(iv -> a)",
        "[., 1]",
        ".",
        "f(.)",
        "a[[., 1], 2]",
        "a[[[., 1]]]",
        "a b",
        "x = a",
        "x = a;",
        "a; b",
        "= a",
        "x, y = a; = b; x",
        "int x = 3; x",
        "f(x) = x; f(1)",
        "int f() { return; }",
        "int f() { }",
        "int f() { x = 1; }",
        "int f() { return 1 }",
        "int f() { return 1; } return 2;",
        "int f() { return 1; return 2; }",
        "int f() { return (1, 2; }",
        "int f() { return 1, 2; }",
        "int f(x) { return x; }",
        "int f(int) { return 1; }",
        "int f(int[n x) { return 1; }",
        "int f(int[n+1] x) { return 1; }",
        "int f(int[d>m:s] x) { return 1; }",
        "int f(int[-1] x) { return 1; }",
        "int f() | { return 1; }",
        "int f() return 1;",
        "x = 3; int f() { return 1; } x",
        "int true() { return 1; }",
        "return = 3; return",
        "/* never closed",
        "a + /* never \n closed",
        "",
        " \n // nothing\n /* at all */",
    ],
)
def test_a_text_that_the_grammar_has_not_is_a_syntax_error(text: str) -> None:
    assert mistake(text).code in ("TC0101", "TC0104")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.5x", "`1.5x` is not a number"),
        ("1e", "`1e` is not a number"),
        ("2fd", "`2fd` is not a number"),
        ("1.5i", "`1.5i` is a fraction, and its suffix `i` names a type of whole numbers"),
        ("128b", "`128b` does not fit in an int8"),
        ("2147483648i", "`2147483648i` does not fit in an int32"),
        ("256ub", "`256ub` does not fit in an uint8"),
        ("18446744073709551616", "does not fit in 64 bits"),
        ("1e999", "`1e999` is larger than any double"),
        ("1e999f", "is larger than any double"),
        ("int f(int[1.5] x) { return x; }", "`1.5` is not a whole number"),
        ("0x", "`0x` is not a number"),
    ],
)
def test_a_number_that_is_none_is_a_syntax_error(text: str, message: str) -> None:
    error = mistake(text)

    assert error.code == "TC0107" and message in error.message


def test_a_with_loop_is_not_part_of_the_notation() -> None:
    for text in ("with { (. <= iv <= .) : a[iv]; } : genarray(shape(a), 0)", "x = with {} : genarray(s, 0); x"):
        error = mistake(text)

        assert (error.code, marked(text, error)) == ("TC0105", "with")
        assert "`{ iv -> e | lower <= iv < upper }`" in error.help


def test_a_cast_takes_one_value() -> None:
    for text in ("float()", "int8(a, b)"):
        with pytest.raises(CompileError) as raised:
            sac.read(text)
        assert raised.value.code == "TC0503" and raised.value.help
