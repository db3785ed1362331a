"""The grammars for editors have the keywords of the language, and colour as the lexers do."""

import json
import re
from typing import Any

import pytest

from tcjax.highlighting.textmate import GRAMMARS
from tests.docs.markdown import ROOT

FOLDER = ROOT / "editors" / "vscode"


@pytest.mark.parametrize("name", GRAMMARS)
def test_the_stored_grammars_are_those_of_the_language(name: str, update_golden: bool) -> None:
    path = FOLDER / "syntaxes" / f"{name}.tmLanguage.json"
    grammar = json.dumps(GRAMMARS[name](), indent=2) + "\n"
    if update_golden:
        path.write_text(grammar)

    assert path.read_text() == grammar


def scopes(grammar: dict[str, Any], line: str) -> dict[str, str]:
    """The scope of each word of a line: of the patterns that match earliest, the first in the list."""
    found: dict[str, str] = {}
    place = 0
    while place < len(line):
        matches = [
            (pattern, re.compile(pattern["match"]).search(line, place))
            for pattern in grammar["patterns"]
            if "match" in pattern
        ]
        hits = [
            (match.start(), number)
            for number, (_, match) in enumerate(matches)
            if match and match.end() > match.start()
        ]
        if not hits:
            break
        pattern, match = matches[min(hits)[1]]
        assert match is not None
        if "name" in pattern:
            found[match.group()] = pattern["name"]
        else:
            found |= {match.group(int(n)): capture["name"] for n, capture in pattern["captures"].items()}
        place = match.end()
    return found


def test_words_of_a_program_have_scopes() -> None:
    line = "def f(float(N) A) -> (B) { B(i) max=! exp(A(i+k)) * 1.5e3 where k in 0:A.0 # three"

    found = scopes(GRAMMARS["tc"](), line)

    expected = {
        "def": "keyword.declaration.tc",
        "f": "entity.name.function.tc",
        "float": "storage.type.tc",
        "A": "variable.other.tc",
        "max": "support.function.tc",
        "=!": "keyword.operator.assignment.tc",
        "exp": "support.function.tc",
        "1.5e3": "constant.numeric.tc",
        "where": "keyword.control.tc",
        "# three": "comment.line.number-sign.tc",
    }
    assert {word: found.get(word) for word in expected} == expected


def test_the_extension_names_what_is_in_its_folder() -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    given = package["contributes"]

    named = [package["main"], *(each["path"] for each in given["grammars"])]
    named += [each["configuration"] for each in given["languages"]]
    assert [path for path in named if not (FOLDER / path).is_file()] == []
    assert {each["scopeName"] for each in given["grammars"]} == {
        grammar()["scopeName"] for grammar in GRAMMARS.values()
    }
