"""`lint` reports what a program does not need, and nothing that it needs."""

import pytest

from tcjax.elaboration import lint
from tcjax.elaboration.sac import lint as lint_sac
from tcjax.syntax import sac, tc
from tcjax.syntax.embedded import read_text


def codes(text: str) -> list[tuple[str, str]]:
    """Code and place of each warning."""
    program = tc.read(text)
    return [(warning.code, warning.span.text) for d in program.definitions for warning in lint(d)]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("def f(float(N) A, float(D) B) -> (C) { C(i) = A(i) }", "TC1203", "float(D) B"),
        ("def f(float(N) A, float b) -> (C) { C(i) = A(i) + N }", "TC1203", "float b"),
        ("def f(float(N) A) -> (C) { B(i) = A(i)  C(i) = A(i) }", "TC1204", "B(i) = A(i)"),
        ("def f(float(N) A) -> (C) { B(i) = A(i)  B(i) += B(i)  C(i) = A(i) }", "TC1204", "B(i) = A(i)"),
        ("def f(float(N) A) -> (C) { float(N) B  C(i) = A(i) }", "TC1204", "float(N) B"),
        ("def f(float(N) A) -> (C) { C(i) = A(i) where x = A(i) }", "TC1205", "x = A(i)"),
        ("def f(float(N) A) -> (C) { C(i) = A(i) where i in 0:2, i in 0:3 }", "TC1206", "i in 0:2"),
        ("def f(float(N) A) -> (C) { C(i) = sum[j in 0:3](A(i)) }", "TC1206", "j in 0:3"),
        ("def f(float(N) A) -> (C) { C(i) = A(i) where A(i) > sum[j in 0:3](2.0) }", "TC1206", "j in 0:3"),
        ("y(i) = sqt(x(i))", "TC1218", "sqt"),
        ("def f(float(N) A) -> () { }", "TC1207", "def f(float(N) A) -> () { }"),
    ],
)
def test_what_a_definition_has_in_vain_is_told_where_it_stands(text: str, code: str, place: str) -> None:
    assert (code, place) in codes(text)


def test_a_temporary_of_a_temporary_in_vain_is_in_vain() -> None:
    found = codes("def f(float(N) A) -> (D) { B(i) = A(i)  C(i) = B(i)  D(i) = A(i) }")

    assert [code for code, _ in found] == ["TC1204", "TC1204"]


@pytest.mark.parametrize(
    "text",
    [
        "def f(float(N) A, float(D) B) -> (C) { C(i) = D * A(i) }",
        "def f(float(N) A, float(N) B) -> (C) { C(i) = A(i) }",
        "def f(float(N) A, int32(B) b) -> (float(B) H) { H(i) = A(0) }",
        "def f(float(N) A, float(D) B) -> (C) { C(i) = B.0 * A(i) }",
        "def f(float(N) A, float(N) B) -> (C) { C(i) = A(i) where exists B(i) }",
        "def f(float(N) A, float(N) B) -> (C) { C(i) = A(i) <=> g(B) }",
        "def f(float(N) A) -> (C) { B(i) = A(i)  C(i) = A(i) where B(i) > 0.0 }",
        "def f(float(N) A) -> (C) { B(i) = A(i)  C(i) = A(i) where x = B(i), y = x, y > 0.0 }",
        "def f(float(N) A, int32(N) I) -> (C) { J(i) = I(i)  C(J(i)) +=! A(i) }",
        "def f(float(N) A) -> (C) { C(i) = sum[j in 0:3, k in 0:j](A(k)) }",
        "def f(float(N) A) -> (C) { C(i) = sum[j where A(j) > 0.0](A(j)) }",
        "def g(float(N) A) -> (B) { B(i) = A(i) } def f(float(N) A) -> (C) { D = g(A)  C = g(D) }",
        "C(i) = A(i)  D(i) = A(i)",
        "C(i) = table(A(i))",
    ],
)
def test_what_is_needed_is_not_told(text: str) -> None:
    assert codes(text) == []


def test_a_comment_on_the_line_silences_a_warning() -> None:
    text = "def f(float(N) A, float b) # tcjax: {}\n-> (C) {{ C(i) = A(i) }}"
    comments = ["ignore[TC1204, TC1203]", "ignore", "ignore[TC1204]"]

    warnings = [warning for c in comments for warning in lint(tc.read(text.format(c)).definitions[0])]

    assert [warning.is_ignored for warning in warnings] == [True, True, False]


def test_python_functions_are_told_of_their_unused_parameters() -> None:
    definition = read_text("def f(A: 'float(N)', B: 'float(D)'):\n    C[i] = 2 * A[i]\n    return C\n").definition
    assert definition is not None

    assert [(warning.code, warning.span.text) for warning in lint(definition)] == [("TC1203", "B: 'float(D)'")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int f(int[n] a, int[m] b) { return a[0]; }", [("TC1203", "int[m] b")]),
        ("int f(int[n] a) { b = a + 1; return a[0]; }", [("TC1205", "b = a + 1;")]),
        ("b = a + 1; a", [("TC1205", "b = a + 1;")]),
        ("int f(int x) { return x; } int g(int x) { return f(x); } a + a", [("TC1208", "f"), ("TC1208", "g")]),
        ("int f(int[n] a, int[n] b) { return b[0]; }", []),
        ("int f(int[n] a) { return n; }", []),
        ("int f(int x) { return x; } int g(int x) { return f(x); } { [i] -> g(a[i]) }", []),
        ("b = a + 1; c = b * 2; { [i] -> c[i] }", []),
    ],
)
def test_a_sac_program_is_told_of_what_it_has_in_vain(text: str, expected: list[tuple[str, str]]) -> None:
    found = [(warning.code, warning.span.text) for warning in lint_sac(sac.read(text))]

    assert [code for code, _ in found] == [code for code, _ in expected]
