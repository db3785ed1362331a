"""Long, deep or odd texts are read quickly, or raise a `CompileError`."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark, logger

from tcjax.diagnostics import CompileError
from tcjax.syntax import sac
from tcjax.syntax.pieces import MAX_DEPTH
from tcjax.syntax.sac.builder import Builder
from tcjax.syntax.sac.reader import GRAMMAR
from tests.syntax.filling import LENGTH, filled, in_proportion
from tests.work import within

from .texts import TEXTS


def outcome(text: str) -> str:
    """The code of the mistake in a text, or ``ok``."""
    try:
        sac.read(text)
    except CompileError as error:
        return error.code
    return "ok"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (lambda n: filled("(", n), "TC0101"),
        (lambda n: filled("(", n) + "a" + filled(")", n), "ok"),
        (lambda n: filled("f(", n) + "a" + filled(")", n), "TC0103"),
        (lambda n: filled("f(", n), "TC0101"),
        (lambda n: filled("[", n) + filled("]", n), "TC0103"),
        (lambda n: filled("[", n), "TC0101"),
        (lambda n: filled("{", n), "TC0101"),
        (lambda n: filled("{[", n), "TC0108"),
        (lambda n: filled("{i->", n), "TC0101"),
        (lambda n: filled("{i->", n) + "a" + filled("}", n), "TC0103"),
        (lambda n: filled("{i->a|i<", n), "TC0101"),
        (lambda n: filled("{i->a|i<", n) + "a" + filled("}", n), "TC0103"),
        (lambda n: "a" + filled("[0]", n), "TC0103"),
        (lambda n: "a[" + filled("0,", n) + "0]", "ok"),
        (lambda n: "a[" + filled(".,", n) + "0]", "ok"),
        (lambda n: "a[" + filled("...,", n) + "0]", "TC0108"),
        (lambda n: "a[[" + filled(".,", n) + "0]]", "ok"),
        (lambda n: "{ [" + filled(".,", n) + "i] -> a }", "ok"),
        (lambda n: "{ [" + filled("i,", n) + "j] -> a }", "TC0108"),
        (lambda n: "{ [" + ",".join(f"i{n}" for n in range(n // 7)) + "] -> a }", "ok"),
        (lambda n: "{" + filled("i->a;", n) + "}", "ok"),
        (lambda n: "{" + filled("i->a|a<i<a;", n) + "}", "ok"),
        (lambda n: "{ i -> a | " + filled("a|", n) + "i < a }", "TC0103"),
        (lambda n: "{ i -> a | " + filled("i<", n) + "a }", "TC0101"),
        (lambda n: filled("-", n) + "a", "TC0103"),
        (lambda n: filled("a?b:", n) + "a", "TC0103"),
        (lambda n: filled("a?", n), "TC0101"),
        (lambda n: filled("a + ", n) + "a", "TC0103"),
        (lambda n: filled("a*b+c||", n) + "a", "TC0103"),
        (lambda n: "f(" + filled("a,", n) + "a)", "ok"),
        (lambda n: filled("x=a;", n) + "x", "ok"),
        (lambda n: filled("x,", n) + "x=a; x", "ok"),
        (lambda n: filled("int f(){return 1;}", n), "ok"),
        (lambda n: "int f(" + filled("int x,", n) + "int y){return x;}", "ok"),
        (lambda n: "int f(int[" + filled(".,", n) + ".] x){return x;}", "ok"),
        (lambda n: "int f()" + filled("|a", n) + "{return 1;}", "ok"),
        (lambda n: "int f(){return(" + filled("a,", n) + "a);}", "ok"),
        (lambda n: filled("int f(", n), "TC0101"),
        (lambda n: filled("a", n), "ok"),
        (lambda n: filled("a ", n), "TC0101"),
        (lambda n: filled(".", n), "TC0101"),
        (lambda n: filled("1", n), "TC0107"),
        (lambda n: filled("1.", n), "TC0101"),
        (lambda n: "0x" + filled("1", n), "TC0107"),
        (lambda n: "1e" + filled("1", n), "TC0107"),
        (lambda n: filled("\n", n), "TC0104"),
        (lambda n: filled("//", n), "TC0104"),
        (lambda n: filled("/**/", n), "TC0104"),
        (lambda n: filled("/*", n), "TC0101"),
        (lambda n: filled("/*/", n), "TC0101"),
        (lambda n: filled("/*\n", n), "TC0101"),
        (lambda n: filled("*/", n), "TC0101"),
        (lambda n: filled(";", n), "TC0101"),
        (lambda n: filled("|", n), "TC0101"),
        (lambda n: filled("\0", n), "TC0102"),
        (lambda n: filled("\u2028", n), "TC0104"),
        (lambda n: filled("é", n), "TC0102"),
        (lambda n: filled("with{", n), "TC0105"),
    ],
)
def test_a_text_of_100_kilobytes_is_read_with_work_in_proportion(text: Callable[[int], str], expected: str) -> None:
    assert within(60.0, lambda: outcome(text(LENGTH))) == expected
    assert in_proportion(outcome, text)


def test_a_long_valid_text_is_read_with_work_in_proportion() -> None:
    functions = [text for text in TEXTS if text.startswith(("int f", "float[n] f", "double"))]
    lets = [f"x = {text};" for text in TEXTS if text.startswith("{") and not text.endswith(";")]
    definitions, values = "\n".join(text[: text.rindex("}") + 1] for text in functions), "\n".join(lets)

    assert within(60.0, lambda: outcome(filled(definitions) + filled(values) + "x")) == "ok"
    assert in_proportion(outcome, lambda n: definitions * (n // 1000) + values * (n // 1000) + "x")


@pytest.mark.parametrize(
    "deep",
    [
        lambda depth: "a" + " + a" * (depth - 1),
        lambda depth: "-" * (depth - 1) + "a",
        lambda depth: "f(" * (depth - 1) + "a" + ")" * (depth - 1),
        lambda depth: "int8(" * (depth - 1) + "a" + ")" * (depth - 1),
        lambda depth: "[" * (depth - 1) + "a" + "]" * (depth - 1),
        lambda depth: "a" + "[0]" * (depth - 1),
        lambda depth: "a[" * (depth - 1) + "0" + "]" * (depth - 1),
        lambda depth: "a ? b : " * (depth - 1) + "a",
        lambda depth: "{ iv -> " * (depth - 1) + "a" + " }" * (depth - 1),
        lambda depth: "{ iv -> a | iv < " * (depth - 1) + "a" + " }" * (depth - 1),
        lambda depth: "{ iv -> a | iv < b step " * (depth - 1) + "a" + " }" * (depth - 1),
    ],
)
def test_an_expression_is_too_deep_from_one_more_than_the_limit(deep) -> None:
    assert outcome(deep(MAX_DEPTH)) == "ok"
    assert outcome(deep(MAX_DEPTH + 1)) == "TC0103"
    assert outcome(deep(10_000)) == "TC0103"


@given(st.text())
def test_no_text_raises_anything_else(text: str) -> None:
    outcome(text)


WORDS = (
    *("{", "}", "(", ")", "[", "]", "->", "|", "<", "<=", ">", "=", "==", ";", ",", ":", "?", ".", "...", "+", "++"),
    *(
        "iv",
        "[i]",
        "i",
        "a",
        "f(",
        "step",
        "width",
        "with",
        "int",
        "float[n]",
        "return",
        "true",
        "1",
        "2.5f",
        ".5",
        "3x",
    ),
    *("-", "*", "/", "!", "&&", "||", "++^", "//", "/*", "*/", "\n", "#", "é", "where", "if", "{ iv -> a", "int f() {"),
)


@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_no_sequence_of_words_raises_anything_else(words: list[str]) -> None:
    outcome(" ".join(words))
    outcome("".join(words))


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_ends_early_raises_nothing_else(text: str) -> None:
    for end in range(len(text)):
        outcome(text[:end])


def test_the_grammar_has_no_conflict(caplog: pytest.LogCaptureFixture) -> None:
    logger.addHandler(caplog.handler)
    with caplog.at_level("DEBUG", logger=logger.name):
        Lark(GRAMMAR.read_text(), parser="lalr", lexer="basic", keep_all_tokens=True, transformer=Builder(), debug=True)
    logger.removeHandler(caplog.handler)

    assert caplog.messages == []


def test_every_rule_has_its_method() -> None:
    parser = Lark(GRAMMAR.read_text(), parser="lalr", lexer="basic", maybe_placeholders=True)

    for rule in parser.rules:
        name = rule.alias or rule.origin.name
        assert name == "start" or rule.options.expand1 or callable(getattr(Builder, name))


def test_reading_and_writing_do_not_recurse() -> None:
    code = (
        "import sys; from tcjax.syntax import sac\n"
        "sys.setrecursionlimit(60)\n"
        f"tree = sac.read('{{ iv -> ' * {MAX_DEPTH - 1} + 'a' + '}}' * {MAX_DEPTH - 1}); sac.write(tree)"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
