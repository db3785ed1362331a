"""Texts that do not parse: the position, and words that say what to write."""

import pytest

from tcjax.diagnostics import CompileError
from tcjax.syntax import sac


def mistake(text: str) -> CompileError:
    with pytest.raises(CompileError) as raised:
        sac.read(text)
    assert raised.value.help and raised.value.message
    return raised.value


@pytest.mark.parametrize(
    ("text", "column", "message", "help"),
    [
        ("a[1:3]", 4, "expected ',' or ']' but found ':'", "`drop([1], take([3], a))`"),
        ("a[:, 1]", 3, "an expression, a dot or ']' but found ':'", "a whole axis is a dot"),
        ("a ** 2", 4, "found '*'", "`pow(a, b)`"),
        ("a and b", 3, "an operator, '=', ',', ';' or the end of the text but found 'and'", "`&&`"),
        ("a or b", 3, "found 'or'", "`||`"),
        ("not a", 5, "found 'a'", "write `!a`"),
        ("a if c else b", 3, "found 'if'", "`c ? a : b`"),
        ("if (a) { b }", 8, "found '{'", "`c ? a : b`"),
        ("for (i = 0; i < 3; i++) a", 8, "found '='", "no loops"),
        ("lambda x: x", 8, "found 'x'", "`float f(float x) { return x; }`"),
        ("def f(x): return x", 5, "found 'f'", "`float[n] f(float[n] x) { return x; }`"),
        ("{ [i] -> a[i] for i }", 15, "found 'for'", "no loops"),
        ("{ [i] -> a[i] | i in 0:3 }", 19, "found 'in'", "bounds go after a `|`"),
        ("a(i) where i in 0:3", 6, "found 'where'", "bounds go after a `|`"),
        ("C(i) +=! A(i)", 7, "found '='", "nothing is changed"),
        ("x += 1; x", 4, "found '='", "`y = x + 1;`"),
        ("i++", 4, "expected an expression but found the end of the text", "nothing is changed"),
        ("a[i] = 3; a", 6, "found '='", "`modarray(a, [i], x)`"),
        ("f(x) = x; f(2)", 6, "found '='", "a function reads"),
        ("a.shape[0]", 2, "found '.'", "`shape(a)`"),
        ("a == 1 = 2", 8, "found '='", "compare with `==`"),
        ("a(i)(j)", 5, "found '('", "selected in brackets, `a[i]`"),
        ("sum[k](a)", 7, "found '('", "`sum({ [k] -> a })`"),
        ("a b", 3, "found 'b'", "an operator is missing before `b`"),
        ("f(a b)", 5, "found 'b'", "a comma or an operator is missing before `b`"),
        ("[1 2]", 4, "found '2'", "a comma or an operator is missing before `2`"),
        ("f(a,)", 5, "expected an expression but found ')'", "a value is missing before `)`"),
        ("(a, b)", 3, "expected ')' but found ','", "a vector reads `[a, b]`"),
        ("(a + b", 7, "found the end of the text", "close the `(` of line 1, column 1"),
        ("[a, b)", 6, "found ')'", "close the `[` of line 1, column 1"),
        ("{ iv -> a[iv }", 14, "found '}'", "close the `[` of line 1, column 10"),
        ("{ iv -> a", 10, "found the end", "close the `{` of line 1, column 1"),
        ("a + b)", 6, "found ')'", "closes nothing"),
        ("a ? b", 6, "expected ':' but", "`c ? a : b`"),
        ("x = a + b", 10, "expected ';' but", "`x = a + b; x * x`"),
        ("x = a + b;", 11, "expected an expression but", "ends with the expression that it is for"),
        ("a; b", 4, "expected the end of the text but found 'b'", "one expression"),
        ("x, 3 = f(a); x", 4, "expected a name but found '3'", "`a, b = f(x);`"),
        ("return a", 1, "found 'return'", "at the end of a function"),
        ("*", 1, "found '*'", "a value is missing"),
        ("a +", 4, "found the end", "finish the last expression"),
        ("float + 1", 7, "found '+'", "a cast reads `float(a)`"),
        ("x = 3; float f(float x) { return x; }", 14, "found 'f'", "before the definitions"),
        ("int x = 3; x", 7, "found '='", "a definition has no type"),
        ("int f() { x }", 13, "found '}'", "ends with `return e;`"),
        ("int f() { x = 1; }", 18, "expected a name or 'return' but", "ends with `return e;`"),
        ("int f() { int x = 1; return x; }", 11, "found 'int'", "a definition has no type"),
        ("int f() { return 1 }", 20, "expected ';' but found '}'", "ends with a `;`"),
        ("int f() { x = 1 return x; }", 17, "found 'return'", "ends with a `;`"),
        ("int f() { return 1, 2; }", 19, "found ','", "`return (a, b);`"),
        ("int f() { return 1; x }", 21, "expected '}' but", "nothing may follow"),
        ("int f(x) { return x; }", 7, "expected a type or ')' but", "a parameter reads"),
        ("int f(int) { return 1; }", 10, "expected a name or '[' but", "name the parameter"),
        ("int f(int[n+1] x) { return 1; }", 12, "found '+'", "an axis of a type"),
        ("int f(int[,] x) { return 1; }", 11, "expected an axis or ']' but found ','", "an axis of a type"),
        ("int f(int x) -> int { return x; }", 14, "found '->'", "goes in front"),
        ("int f() return 1;", 9, "expected '|', ',' or '{' but", "go in braces"),
        ("{ i, j -> a }", 4, "expected '->' but found ','", "`{ [i, j] -> e }`"),
        ("{ (i, j) -> a }", 3, "expected a name or '[' but", "a pattern in square brackets"),
        ("{ iv => a }", 6, "expected '->' but found '='", "the arrow of a comprehension is `->`"),
        ("{ iv : a }", 6, "expected '->' but found ':'", "an arrow `->`"),
        ("{ iv | a }", 6, "expected '->' but found '|'", "the body goes before the `|`"),
        ("{ a[i] | [i] < [3] }", 4, "expected '->' but found '['", "`{ index -> body }`"),
        ("{ }", 3, "found '}'", "a comprehension has a partition"),
        ("{ iv -> a;; iv -> b }", 11, "found ';'", "leave this `;` out"),
        ("{ iv -> a, jv -> b }", 10, "expected '|', ';' or '}' but found ','", "parted by `;`"),
        ("{ iv -> a jv -> b }", 11, "found 'jv'", "a `;` between two partitions"),
        ("{ iv -> a | iv > b }", 20, "expected '<' but found '}'", "written with `<` and `<=`"),
        ("{ iv -> a | iv }", 16, "expected '<' but found '}'", "`lower <= iv < upper`"),
        ("{ iv -> a | iv < }", 18, "an expression or a dot but found '}'", "`lower <= iv < upper`"),
        ("{ iv -> a | b < iv < c < d }", 24, "found '<'", "two bounds at most"),
        ("{ iv -> a | iv < b width c }", 20, "found 'width'", "follows a `step`"),
        ("{ iv -> a | iv < b step c step d }", 27, "found 'step'", "one `step`"),
        ("{ [i,.] -> a | [i,.] < b }", 19, "found '.'", "an index has names alone"),
        ("[., 1]", 2, "found '.'", "in a selection, `a[., 1]`"),
        ("a[[i, .], 1]", 9, "expected ']' but found ','", "in one pair of brackets"),
        ("iv -> a", 4, "found '->'", "`{ [i] -> e }`"),
        ("/* a", 1, "this comment never ends", "`*/`"),
    ],
)
def test_an_unexpected_token_is_shown_with_what_to_write(text: str, column: int, message: str, help: str) -> None:
    error = mistake(text)

    assert (error.code, error.kind, error.span.line, error.span.column) == ("TC0101", "syntax", 1, column)
    assert message in error.message
    assert help in error.help


def test_the_caret_stands_under_the_token() -> None:
    text = str(mistake("{ [i] ->\n  a[1:i] }"))

    assert "2 |   a[1:i] }\n  |      ^\n" in text


def test_a_comment_that_never_ends_is_marked_where_it_begins() -> None:
    error = mistake("a + /* b\n c")

    assert tuple(error.span) == (1, 5, 9)


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("# a", "a comment begins with `//`"),
        ('"a"', "no texts"),
        ("a × b", "write `*`"),
        ("{ [i] → a }", "write `->`"),
        ("∑(a)", "`sum({ [k] -> e })`"),
        ("é", "a to z"),
        ("a @ b", "leave the `@` out"),
        ("a\x00b", "invisible"),
        ("a \\\n + b", "leave the `\\` out"),
        ("a ° b", "a comment begins with `//`"),
    ],
)
def test_a_character_that_begins_nothing_is_shown_with_what_to_write(text: str, help: str) -> None:
    error = mistake(text)

    assert (error.code, error.kind) == ("TC0102", "syntax")
    assert help in error.help
