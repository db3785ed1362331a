"""Long, deep or odd texts are read quickly, or raise a `CompileError`."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark, logger

from tcjax.diagnostics import CompileError
from tcjax.syntax import tc
from tcjax.syntax.pieces import MAX_DEPTH
from tcjax.syntax.tc.builder import Builder
from tcjax.syntax.tc.reader import GRAMMAR
from tests.syntax.filling import LENGTH, filled, in_proportion
from tests.work import within

from .programs import PROGRAMS


def outcome(text: str) -> str:
    """The code of the mistake in a text, or ``ok``."""
    try:
        tc.read(text)
    except CompileError as error:
        return error.code
    return "ok"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (lambda n: filled("(", n), "TC0101"),
        (lambda n: "O = " + filled("(", n), "TC0101"),
        (lambda n: "O = " + filled("(", n) + "a" + filled(")", n), "ok"),
        (lambda n: "O = " + filled("f(", n) + "a" + filled(")", n), "TC0103"),
        (lambda n: "O = " + filled("f(", n), "TC0101"),
        (lambda n: "O = " + filled("-", n) + "a", "TC0103"),
        (lambda n: "O = " + filled("a?b:", n) + "a", "TC0103"),
        (lambda n: "O = " + filled("a?", n) + "a", "TC0101"),
        (lambda n: "O = " + filled("a[k](", n), "TC0101"),
        (lambda n: "O = " + filled("a + ", n) + "a", "TC0103"),
        (lambda n: "O = " + filled("a*b+c||", n) + "a", "TC0103"),
        (lambda n: "O = f(" + filled("a,", n) + "a)", "ok"),
        (lambda n: "O = a where " + filled("i<3,", n) + "a", "ok"),
        (lambda n: "O = sum[" + filled("i,", n) + "a](a)", "ok"),
        (lambda n: filled("O=a\n", n), "ok"),
        (lambda n: filled("O=a ", n), "ok"),
        (lambda n: filled("O(i) = -(a(i) + 2.5e-3) * b(i,j) where i in 0:3, j = i\n", n), "ok"),
        (lambda n: filled("def f()->(){}", n), "ok"),
        (lambda n: filled(";", n), "TC0101"),
        (lambda n: "a = b" + filled(";", n), "ok"),
        (lambda n: filled("a", n), "TC0101"),
        (lambda n: filled("a ", n), "TC0101"),
        (lambda n: filled("a.", n), "TC0102"),
        (lambda n: filled("a.1", n), "TC0101"),
        (lambda n: filled("a=", n), "TC0101"),
        (lambda n: filled("a=!", n), "TC0101"),
        (lambda n: filled("1", n), "TC0101"),
        (lambda n: "O = " + filled("1", n), "TC0107"),
        (lambda n: "O = ." + filled("1", n), "TC0107"),
        (lambda n: "O = 1e" + filled("1", n), "TC0107"),
        (lambda n: "O = 0x" + filled("1", n), "TC0107"),
        (lambda n: filled("\n", n), "TC0104"),
        (lambda n: filled("#", n), "TC0104"),
        (lambda n: filled("#\n", n), "TC0104"),
        (lambda n: filled("\0", n), "TC0102"),
        (lambda n: filled("half,", n), "TC0101"),
        (lambda n: filled("{", n), "TC0101"),
        (lambda n: filled("def f(", n), "TC0101"),
        (lambda n: filled("\u2028", n), "TC0104"),
        (lambda n: filled("é", n), "TC0102"),
    ],
)
def test_a_text_of_100_kilobytes_is_read_with_work_in_proportion(text: Callable[[int], str], expected: str) -> None:
    assert within(60.0, lambda: outcome(text(LENGTH))) == expected
    assert in_proportion(outcome, text)


def test_a_long_valid_text_is_read_with_work_in_proportion() -> None:
    programs = "\n".join(text for text in PROGRAMS if "def" in text) + "\n"

    assert within(60.0, lambda: outcome(filled(programs))) == "ok"
    assert in_proportion(outcome, lambda n: programs * (n // 1000))


@pytest.mark.parametrize(
    "deep",
    [
        lambda depth: "a" + " + a" * (depth - 1),
        lambda depth: "-" * (depth - 1) + "a",
        lambda depth: "f(" * (depth - 1) + "a" + ")" * (depth - 1),
        lambda depth: "int32(" * (depth - 1) + "a" + ")" * (depth - 1),
        lambda depth: "a ? b : " * (depth - 1) + "a",
        lambda depth: "sum[k](" * (depth - 1) + "a" + ")" * (depth - 1),
        lambda depth: "s[k in 0:" * (depth - 1) + "a" + "](b)" * (depth - 1),
    ],
)
def test_an_expression_is_too_deep_from_one_more_than_the_limit(deep) -> None:
    assert outcome(f"O = {deep(MAX_DEPTH)}") == "ok"
    assert outcome(f"O = {deep(MAX_DEPTH + 1)}") == "TC0103"


@given(st.text())
def test_no_text_raises_anything_else(text: str) -> None:
    outcome(text)


WORDS = (
    *("def", "f", "(", ")", "[", "]", "{", "}", "->", "<=>", "=", "+=", "+=!", "min", "max", "min=", "max=!", "any="),
    *("where", "in", "exists", ":", "..", ",", ";", "?", "float", "half", "int", "and", "not", "x", "A(i)", "3", "2.5"),
    *(
        "A.1",
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "!",
        "~",
        "&&",
        "||",
        "<",
        "<=",
        "==",
        "&",
        "<<",
        "1.5f",
        ".",
        "#",
        "\n",
        "é",
    ),
)


@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_no_sequence_of_words_raises_anything_else(words: list[str]) -> None:
    outcome(" ".join(words))
    outcome("".join(words))


def test_the_grammar_has_no_conflict(caplog: pytest.LogCaptureFixture) -> None:
    logger.addHandler(caplog.handler)
    with caplog.at_level("DEBUG", logger=logger.name):
        Lark(GRAMMAR.read_text(), parser="lalr", lexer="basic", keep_all_tokens=True, transformer=Builder(), debug=True)
    logger.removeHandler(caplog.handler)

    assert caplog.messages == []


def test_every_rule_has_its_method() -> None:
    parser = Lark(GRAMMAR.read_text(), parser="lalr", lexer="basic")

    for rule in parser.rules:
        name = rule.alias or rule.origin.name
        assert name == "start" or callable(getattr(Builder, name))


def test_reading_does_not_recurse() -> None:
    code = (
        "import sys; from tcjax.syntax import tc\n"
        "sys.setrecursionlimit(60)\n"
        f"tree = tc.read('O = ' + 'f(' * {MAX_DEPTH - 1} + 'a' + ')' * {MAX_DEPTH - 1}); tc.write(tree)"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
