"""Nothing that is long, deep or odd takes long, or raises anything but a `CompileError`."""

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark, logger

from tcjax.diagnostics import CompileError
from tcjax.syntax import sac
from tcjax.syntax.pieces import MAX_DEPTH
from tcjax.syntax.sac.builder import Builder
from tcjax.syntax.sac.reader import GRAMMAR

from .texts import TEXTS

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
            sac.read(text)
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
        (filled("(") + "a" + filled(")"), "ok"),
        (filled("f(") + "a" + filled(")"), "TC0103"),
        (filled("f("), "TC0101"),
        (filled("[") + filled("]"), "TC0103"),
        (filled("["), "TC0101"),
        (filled("{"), "TC0101"),
        (filled("{["), "TC0108"),
        (filled("{i->"), "TC0101"),
        (filled("{i->") + "a" + filled("}"), "TC0103"),
        (filled("{i->a|i<"), "TC0101"),
        (filled("{i->a|i<") + "a" + filled("}"), "TC0103"),
        ("a" + filled("[0]"), "TC0103"),
        ("a[" + filled("0,") + "0]", "ok"),
        ("a[" + filled(".,") + "0]", "ok"),
        ("a[" + filled("...,") + "0]", "TC0108"),
        ("a[[" + filled(".,") + "0]]", "ok"),
        ("{ [" + filled(".,") + "i] -> a }", "ok"),
        ("{ [" + filled("i,") + "j] -> a }", "TC0108"),
        ("{ [" + ",".join(f"i{n}" for n in range(15_000)) + "] -> a }", "ok"),
        ("{" + filled("i->a;") + "}", "ok"),
        ("{" + filled("i->a|a<i<a;") + "}", "ok"),
        ("{ i -> a | " + filled("a|") + "i < a }", "TC0103"),
        ("{ i -> a | " + filled("i<") + "a }", "TC0101"),
        (filled("-") + "a", "TC0103"),
        (filled("a?b:") + "a", "TC0103"),
        (filled("a?"), "TC0101"),
        ("a + " * 20_000 + "a", "TC0103"),
        (filled("a*b+c||") + "a", "TC0103"),
        ("f(" + filled("a,") + "a)", "ok"),
        (filled("x=a;") + "x", "ok"),
        (filled("x,") + "x=a; x", "ok"),
        (filled("int f(){return 1;}"), "ok"),
        ("int f(" + filled("int x,") + "int y){return x;}", "ok"),
        ("int f(int[" + filled(".,") + ".] x){return x;}", "ok"),
        ("int f()" + filled("|a") + "{return 1;}", "ok"),
        ("int f(){return(" + filled("a,") + "a);}", "ok"),
        (filled("int f("), "TC0101"),
        (filled("a"), "ok"),
        (filled("a "), "TC0101"),
        (filled("."), "TC0101"),
        (filled("1"), "TC0107"),
        (filled("1."), "TC0101"),
        ("0x" + filled("1"), "TC0107"),
        ("1e" + filled("1"), "TC0107"),
        (filled("\n"), "TC0104"),
        (filled("//"), "TC0104"),
        (filled("/**/"), "TC0104"),
        (filled("/*"), "TC0101"),
        (filled("/*/"), "TC0101"),
        (filled("/*\n"), "TC0101"),
        (filled("*/"), "TC0101"),
        (filled(";"), "TC0101"),
        (filled("|"), "TC0101"),
        (filled("\0"), "TC0102"),
        (filled("\u2028"), "TC0104"),
        (filled("é"), "TC0102"),
        (filled("with{"), "TC0105"),
    ],
)
def test_a_text_of_100_kilobytes_is_read_in_no_time(text: str, expected: str) -> None:
    code, seconds = outcome(text)

    assert code == expected
    assert seconds < LIMIT


def test_a_long_valid_text_is_read_in_no_time() -> None:
    functions = [text for text in TEXTS if text.startswith(("int f", "float[n] f", "double"))]
    lets = [f"x = {text};" for text in TEXTS if text.startswith("{") and not text.endswith(";")]
    code, seconds = outcome(
        filled("\n".join(text[: text.rindex("}") + 1] for text in functions)) + filled("\n".join(lets)) + "x"
    )

    assert code == "ok"
    assert seconds < LIMIT


def test_a_comprehension_is_read_within_a_millisecond() -> None:
    times = [outcome("{ [i,j] -> sum({ [k] -> A[i,k] * B[k,j] }) }")[1] for _ in range(20)]

    assert min(times) < 1e-3


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
    assert outcome(deep(MAX_DEPTH))[0] == "ok"
    assert outcome(deep(MAX_DEPTH + 1))[0] == "TC0103"
    assert outcome(deep(10_000))[0] == "TC0103"


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
