"""Every program of the documents and the tests is coloured, and nothing in it is an error."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from pygments.lexer import Lexer
from pygments.token import Comment, Error, Keyword, Name, Number, Operator

from tcjax.highlighting import SacLexer, TensorComprehensionLexer
from tests.docs.markdown import ROOT, Block, blocks

LEXERS = {"tc": TensorComprehensionLexer(), "sac": SacLexer()}


def programs(path: Path) -> list[Block]:
    return [block for block in blocks(path.read_text()) if block.language in LEXERS]


PAGES = [
    path
    for folder in ("docs", "tests", "tcjax/diagnostics/explanations")
    for path in sorted((ROOT / folder).rglob("*.md"))
    if programs(path)
]


def tokens(lexer: Lexer, text: str) -> list[tuple[object, str]]:
    return [(kind, value) for kind, value in lexer.get_tokens(text) if value.strip()]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_programs_of_a_page_have_no_token_that_is_an_error(path) -> None:
    for block in programs(path):
        found = list(LEXERS[block.language].get_tokens(block.text))

        assert [value for kind, value in found if kind is Error] == []
        assert "".join(value for _, value in found).strip() == block.text.strip()


def test_programs_in_strings_of_the_tests_have_none_either() -> None:
    texts = [
        text
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for text in re.findall(r'"""\n?\s*(def \w+\([^"]*?\) -> [^"]*?\})\s*"""', path.read_text())
    ]

    errors = [value for text in texts for kind, value in LEXERS["tc"].get_tokens(text) if kind is Error]

    assert len(texts) > 20
    assert errors == []


def test_words_of_tc_have_kinds() -> None:
    text = "def f(float(N) A) -> (B) { B(i) max=! exp(A(i+k)) * 1.5e3 where k in 0:A.0 # three\n}"

    found = dict(reversed([(value, kind) for kind, value in tokens(LEXERS["tc"], text)]))

    assert found["def"] is Keyword.Declaration and found["f"] is Name.Function
    assert found["float"] is Keyword.Type and found["where"] is Keyword
    assert found["max"] is Name.Builtin and found["=!"] is Operator and found["exp"] is Name.Builtin
    assert found["1.5e3"] is Number.Float and found[".0"] is Name.Attribute and found["# three"] is Comment.Single


def test_a_tensor_may_be_called_as_a_reducer() -> None:
    found = tokens(LEXERS["tc"], "mean = A(0)\nmean(i) = A(i)")

    assert [kind for kind, value in found if value == "mean"] == [Name, Name]


def test_words_of_sac_have_kinds() -> None:
    text = "float[n] f(float[n] a) { /* all */ return { iv -> a[iv] * 2f | . < iv <= [3] step [2] }; }"

    found = dict(reversed([(value, kind) for kind, value in tokens(LEXERS["sac"], text)]))

    assert found["float"] is Keyword.Type and found["f"] is Name.Function and found["return"] is Keyword
    assert found["/* all */"] is Comment.Multiline and found["->"] is Operator and found["step"] is Keyword


def test_pygments_finds_them_by_what_the_package_declares() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pygments.lexers"]

    for place in declared.values():
        module, name = place.split(":")
        assert issubclass(getattr(import_module(module), name), Lexer)
    assert set(declared) == {"tc", "sac"}
