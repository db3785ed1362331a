"""Texts that do not parse: the code, the position, and words that say what to write."""

import pytest

from tcjax.diagnostics import CompileError
from tcjax.syntax import tc


def mistake(text: str) -> CompileError:
    with pytest.raises(CompileError) as raised:
        tc.read(text)
    assert raised.value.help and raised.value.message
    return raised.value


HEAD = "def f(float(N) A) -> (C) "


@pytest.mark.parametrize(
    ("text", "column", "message", "help"),
    [
        ("C(m,n) -= A(m)", 8, "found '-'", "write `C(m, n) +=! -(A(m))`"),
        ("C /= A(m)", 3, "found '/'", "write `C = C / (A(m))`"),
        ("C(m) == A(m)", 6, "an assignment such as '=' or '+=!' but found '=='", "one `=` defines a tensor: `C(m)"),
        ("C(m) := A(m)", 6, "found ':'", "`C(m) = ...`"),
        ("C(m) min = A(m)", 6, "found 'min'", "`min=` as one word"),
        ("C(m) any = A(m)", 6, "found 'any'", "`any=` as one word"),
        ("C(m) + A(m)", 6, "found '+'", "a statement reads `C(m) = ...`"),
        ("C[m] = A(m)", 2, "found '['", "parentheses: `C(m) = ...`"),
        ("C(m) = A[m]", 12, "expected '(' but found the end of the text", "indices go in parentheses"),
        ("C(m) = A[m+1]", 11, "found '+'", "indices go in parentheses"),
        ("C = sum[](k)", 9, "expected a name but found ']'", "`r[k, l in 0:3](e)`"),
        ("def f(float a) (C) {}", 16, "expected '->' but found '('", "`-> (C) {`"),
        ("def f(float a) {}", 16, "expected '->' but found '{'", "`-> (C) {`"),
        (HEAD + "C = 3", 26, "expected '{' but found 'C'", "in braces"),
        (HEAD + "{ C = A(i }", 36, "expected ',' or ')' but found '}'", "close the `(` of line 1, column 33"),
        (HEAD + "{ C = A(i)", 36, "found the end of the text", "close the `{` of line 1, column 26"),
        (HEAD + "{ C = A(i)) }", 36, "found ')'", "closes nothing"),
        (HEAD + "{} C = 3", 29, "expected 'def' or the end of the text but found 'C'", "`{ }`"),
        ("def f(float(N+1) A) -> (C) {}", 14, "found '+'", "a dimension is a name or a whole number"),
        ("def f(float(N)) -> (C) {}", 15, "expected a name but found ')'", "`float(N) A`"),
        ("def in(A) -> (C) {}", 5, "expected a name but found 'in'", "`in` is a keyword"),
        ("def f(3) -> (C) {}", 7, "expected a parameter or ')' but found '3'", "a parameter reads"),
        ("C = f(a b)", 9, "expected ',' or ')' but found 'b'", "a comma is missing before `b`"),
        ("C = a ** b", 8, "expected an expression but found '*'", "`pow(a, b)`"),
        ("C = +a", 5, "expected an expression but found '+'", "no unary `+`"),
        ("C = a /* no */", 8, "found '*'", "a comment begins with `#`"),
        ("C = a where", 12, "expected a range, a let or a guard but found the end", "`where i in 0:N`"),
        ("C = a where i in 0,N", 19, "found ','", "`i in 0:N`"),
        ("C = a where i in 0:2, in 0:3", 23, "found 'in'", "`where i in 0:N`"),
        ("C = a where i<3 where j<3", 17, "found 'where'", "a comma between its clauses"),
        ("C = a ? b", 10, "expected ':' but found the end", "`c ? a : b`"),
        ("C = f(a,)", 9, "expected an expression but found ')'", "a value is missing before `)`"),
        ("C = float x", 11, "expected '(' but found 'x'", "`float(e)`"),
        ("C = i = 0 ? 1 : 2", 7, "found '='", "compare with `==`"),
        ("if x > 0", 4, "found 'x'", "TC has no `if`"),
        ("for i < 3", 5, "found 'i'", "`for t in 1:N { h(t) = a(t) * h(t-1) }`"),
        ("for i in 0:3 C = 3", 14, "expected ':' or '{' but found 'C'", "a range reads"),
        ("while i < 3", 7, "found 'i'", "a known number of steps"),
        ("C = A(i) return C", 17, "found 'C'", "TC has no `return`"),
        ("float(N) z = 3", 12, "expected the next statement but found '='", "declare first"),
        ("O1, O2 = 3", 10, "expected a name but found '3'", "`O1, O2 = f(A, B)`"),
        ("O1, O2 += f(A)", 8, "expected '=' or ',' but found '+='", "`O1, O2 = f(A, B)`"),
        ("= 3", 1, "expected a 'def' or a statement but found '='", "begins with the tensor"),
    ],
)
def test_an_unexpected_token_is_shown_with_what_to_write(text: str, column: int, message: str, help: str) -> None:
    error = mistake(text)

    assert (error.code, error.kind, error.span.line, error.span.column) == ("TC0101", "syntax", 1, column)
    assert error.message.startswith("expected ") and message in error.message
    assert help in error.help


def test_the_caret_stands_under_the_token() -> None:
    text = str(mistake("C(i) =\n  A(i) ++ 1"))

    assert "2 |   A(i) ++ 1\n  |         ^\n" in text


@pytest.mark.parametrize(
    ("text", "shown", "help"),
    [
        ("C = 'a'", "'''", "no quotes"),
        ("C = a × b", "'×'", "write `*`"),
        ("C = a ≤ b", "'≤'", "write `<=`"),
        ("C = α", "'α'", "a to z"),
        ("C = a.b", "'.'", "`A.0`"),
        ("C = 3\0", "U+0000", "invisible"),
        ("C\u00a0= 3", "U+00A0", "invisible"),
        ("C = \ud800", "U+D800", "invisible"),
        ("@tcjax.kernel", "'@'", "leave the `@` out"),
        ("C = a \\", "'\\'", "leave the `\\` out"),
        ("C = 3 €", "'€'", "begins with `#`"),
    ],
)
def test_an_unexpected_character_is_shown_with_what_to_write(text: str, shown: str, help: str) -> None:
    error = mistake(text)

    assert error.code == "TC0102"
    assert error.message == f"unexpected character {shown}" and help in error.help


@pytest.mark.parametrize(
    ("number", "help"),
    [
        ("1.5f", "no suffix: write `1.5`"),
        ("3abc", "write `3 * abc`"),
        ("2j", "`2i`"),
        ("1e400", "1.8e308"),
        ("1e400i", "1.8e308"),
        ("18446744073709551616", "18446744073709551615"),
        ("0xFFFFFFFFFFFFFFFFF", "18446744073709551615"),
        ("0x1Fi", "multiply"),
        ("9" * 50_000, "20 digits"),
        ("0." + "9" * 50_000, "20 digits"),
    ],
)
def test_a_bad_number_is_shown_as_a_whole(number: str, help: str) -> None:
    error = mistake(f"C = {number} + 3")

    assert error.code == "TC0107" and help in error.help
    assert tuple(error.span) == (1, 5, 5 + len(number))
    assert len(error.message) < 120


@pytest.mark.parametrize("dimension", ["3.5", "2i", "99999999999999999999"])
def test_a_dimension_is_a_whole_number(dimension: str) -> None:
    assert mistake(f"def f(float({dimension}) A) -> (C) {{}}").code == "TC0107"
    assert mistake("O = A." + "9" * 5000).code == "TC0107"


@pytest.mark.parametrize("call", ["min()", "min(a)", "max(a, b, c)", "sum[k]()", "mink[k](a, b, c)"])
def test_a_wrong_number_of_values_is_an_error(call: str) -> None:
    error = mistake(f"C = {call}")

    assert error.code == "TC0503"
    assert tuple(error.span) == (1, 5, 5 + len(call))


def test_lines_are_numbered_from_the_first() -> None:
    with pytest.raises(CompileError) as raised:
        tc.read("C = 1\nD = %", "model.py", 40)

    assert "model.py:41:5" in str(raised.value) and "41 | D = %" in str(raised.value)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r", "\x0c", "\x85", "\u2028"])
def test_the_line_that_is_shown_is_the_line_that_is_meant(ending: str) -> None:
    error = mistake(f"C = 1{ending}D = 2{ending}E = %{ending}F = 3")

    assert error.span.source.line(error.span.line) == "E = %"
    assert error.span.column == 5
