"""Nothing that is long, deep or odd takes long, or raises anything but a `CompileError`."""

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark, logger

from tcjax.diagnostics import CompileError
from tcjax.syntax import tc
from tcjax.syntax.pieces import MAX_DEPTH
from tcjax.syntax.tc.builder import Builder
from tcjax.syntax.tc.reader import GRAMMAR

from .programs import PROGRAMS

LENGTH = 100_000
# A second is the promise, and half of one is what it takes; tests beside others on busy cores get three. What is not
# linear in the length takes minutes.
LIMIT = 3.0


def outcome(text: str) -> tuple[str, float]:
    """The code of the mistake in a text, or ``ok``, and the CPU seconds of reading it, at best of three."""
    code, best = "ok", float("inf")
    for _ in range(3):
        start = time.process_time()
        try:
            tc.read(text)
        except CompileError as error:
            code = error.code
        best = min(best, time.process_time() - start)
        if best < LIMIT:
            break
    return code, best


def filled(text: str) -> str:
    return text * (LENGTH // len(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (filled("("), "TC0101"),
        ("O = " + filled("("), "TC0101"),
        ("O = " + filled("(") + "a" + filled(")"), "ok"),
        ("O = " + filled("f(") + "a" + filled(")"), "TC0103"),
        ("O = " + filled("f("), "TC0101"),
        ("O = " + filled("-") + "a", "TC0103"),
        ("O = " + filled("a?b:") + "a", "TC0103"),
        ("O = " + filled("a?") + "a", "TC0101"),
        ("O = " + filled("a[k]("), "TC0101"),
        ("O = " + "a + " * 20_000 + "a", "TC0103"),
        ("O = " + filled("a*b+c||") + "a", "TC0103"),
        ("O = f(" + filled("a,") + "a)", "ok"),
        ("O = a where " + filled("i<3,") + "a", "ok"),
        ("O = sum[" + filled("i,") + "a](a)", "ok"),
        (filled("O=a\n"), "ok"),
        (filled("O=a "), "ok"),
        (filled("O(i) = -(a(i) + 2.5e-3) * b(i,j) where i in 0:3, j = i\n"), "ok"),
        (filled("def f()->(){}"), "ok"),
        (filled(";"), "TC0101"),
        ("a = b" + filled(";"), "ok"),
        (filled("a"), "TC0101"),
        (filled("a "), "TC0101"),
        (filled("a."), "TC0102"),
        (filled("a.1"), "TC0101"),
        (filled("a="), "TC0101"),
        (filled("a=!"), "TC0101"),
        (filled("1"), "TC0101"),
        ("O = " + filled("1"), "TC0107"),
        ("O = ." + filled("1"), "TC0107"),
        ("O = 1e" + filled("1"), "TC0107"),
        ("O = 0x" + filled("1"), "TC0107"),
        (filled("\n"), "TC0104"),
        (filled("#"), "TC0104"),
        (filled("#\n"), "TC0104"),
        (filled("\0"), "TC0102"),
        (filled("half,"), "TC0101"),
        (filled("{"), "TC0101"),
        (filled("def f("), "TC0101"),
        (filled("\u2028"), "TC0104"),
        (filled("é"), "TC0102"),
    ],
)
def test_a_text_of_100_kilobytes_is_read_in_no_time(text: str, expected: str) -> None:
    code, seconds = outcome(text)

    assert code == expected
    assert seconds < LIMIT


def test_a_long_valid_text_is_read_in_no_time() -> None:
    code, seconds = outcome(filled("\n".join(text for text in PROGRAMS if "def" in text) + "\n"))

    assert code == "ok"
    assert seconds < LIMIT


def test_a_matrix_product_is_read_within_a_millisecond() -> None:
    times = [outcome(PROGRAMS[0])[1] for _ in range(20)]

    assert min(times) < 1e-3


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
    assert outcome(f"O = {deep(MAX_DEPTH)}")[0] == "ok"
    assert outcome(f"O = {deep(MAX_DEPTH + 1)}")[0] == "TC0103"


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


def test_the_grammar_is_built_in_less_than_80_milliseconds() -> None:
    def seconds() -> float:
        start = time.process_time()
        Lark(GRAMMAR.read_text(), parser="lalr", lexer="basic", keep_all_tokens=True, transformer=Builder())
        return time.process_time() - start

    assert min(seconds() for _ in range(5)) < 0.08


def test_reading_does_not_recurse() -> None:
    code = (
        "import sys; from tcjax.syntax import tc\n"
        "sys.setrecursionlimit(60)\n"
        f"tree = tc.read('O = ' + 'f(' * {MAX_DEPTH - 1} + 'a' + ')' * {MAX_DEPTH - 1}); tc.write(tree)"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
