"""TextMate grammars for editors and for GitHub: the same words as the lexers for Pygments."""

from collections.abc import Iterable
from typing import Any, Final

from .lexers import BUILTINS, NAME, REDUCERS, SAC_TYPES, TC_TYPES

_NUMBERS: Final = {
    "name": "constant.numeric",
    "match": r"\b0[xX][0-9a-fA-F]+|(?:\b[0-9]+\.(?!\.)[0-9]*|(?<!\.)\.[0-9]+|\b[0-9]+)(?:[eE][+-]?[0-9]+)?[A-Za-z]*",
}


def _words(words: Iterable[str]) -> str:
    return rf"\b(?:{'|'.join(sorted(words, key=lambda word: (-len(word), word)))})\b"


def _grammar(name: str, scope: str, suffix: str, patterns: list[dict[str, Any]]) -> dict[str, Any]:
    """A grammar whose scopes end with the language, by TextMate's conventions."""

    def scoped(pattern: dict[str, Any]) -> dict[str, Any]:
        named = {**pattern}
        if "name" in named:
            named["name"] = f"{named['name']}.{suffix}"
        if "captures" in named:
            named["captures"] = {
                number: {"name": f"{capture}.{suffix}"} for number, capture in named["captures"].items()
            }
        return named

    return {"name": name, "scopeName": scope, "fileTypes": [suffix], "patterns": [scoped(each) for each in patterns]}


def tc_grammar() -> dict[str, Any]:
    """The grammar of TC texts, scope ``source.tc``."""
    return _grammar(
        "Tensor Comprehensions",
        "source.tc",
        "tc",
        [
            {"name": "comment.line.number-sign", "match": "#.*$"},
            {
                "match": rf"\b(def)\s+({NAME})",
                "captures": {"1": "keyword.declaration", "2": "entity.name.function"},
            },
            {"name": "keyword.control", "match": _words(("where", "in", "exists", "unique", "for"))},
            {"name": "keyword.operator.word", "match": _words(("and", "or", "not"))},
            {
                "match": rf"({_words(REDUCERS)})(=!?)(?![=<])",
                "captures": {"1": "support.function", "2": "keyword.operator.assignment"},
            },
            {"name": "support.function", "match": rf"\b{NAME}(?=\[)"},
            {"name": "storage.type", "match": _words(TC_TYPES)},
            {"name": "support.function", "match": rf"{_words(BUILTINS)}(?=\s*\()"},
            {"name": "variable.other", "match": rf"\b{NAME}"},
            _NUMBERS,
            {"name": "keyword.operator", "match": r"<=>|->|[+*]=!?|\|\||&&|[=!<>]=|<<|>>|//|[-+*/%<>=!~&|^?:]"},
        ],
    )


def sac_grammar() -> dict[str, Any]:
    """The grammar of SaC texts, scope ``source.sac``."""
    return _grammar(
        "SaC comprehensions",
        "source.sac",
        "sac",
        [
            {"name": "comment.line.double-slash", "match": "//.*$"},
            {"name": "comment.block", "begin": r"/\*", "end": r"\*/"},
            {"name": "keyword.control", "match": _words(("return", "step", "width", "with"))},
            {"name": "constant.language", "match": _words(("true", "false"))},
            {"name": "storage.type", "match": _words(SAC_TYPES)},
            {"name": "entity.name.function", "match": rf"\b{NAME}(?=\s*\()"},
            {"name": "variable.other", "match": rf"\b{NAME}"},
            _NUMBERS,
            {"name": "keyword.operator", "match": r"->|\+\+\^?|\|\||&&|[=!<>]=|<<|>>|\.\.\.|[-+*/%<>=!~&|^?:.]"},
        ],
    )


def python_grammar() -> dict[str, Any]:
    """An injection into Python: the texts of ``tcjax.kernel(...)`` and ``tcjax.load(...)`` are programs."""
    quotes = ['"""', "'''", '"']
    return {
        "scopeName": "source.python.tcjax",
        "injectionSelector": "L:source.python -comment -string",
        "patterns": [
            {
                "begin": rf"(?<=\bkernel\(|\bload\()\s*({quote})",
                "end": rf"(?<!\\)({quote})",
                "beginCaptures": {"1": {"name": "punctuation.definition.string.begin.python"}},
                "endCaptures": {"1": {"name": "punctuation.definition.string.end.python"}},
                "contentName": "meta.embedded.tc",
                "patterns": [{"include": "source.tc"}],
            }
            for quote in quotes
        ],
    }


GRAMMARS: Final = {"tc": tc_grammar, "sac": sac_grammar, "python": python_grammar}
