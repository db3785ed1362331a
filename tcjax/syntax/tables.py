"""The parser of a notation, from tables stored next to its grammar: generating them takes twenty times as long."""

import json
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

_OPTIONS: Final = {"parser": "lalr", "lexer": "basic", "keep_all_tokens": True}


def parser_of(grammar: Path, builder: object) -> Lark:
    """The parser for the language of `grammar`, which passes every rule that it recognises to `builder`.

    ``tables.json`` is used if it was made from this text by this release of Lark; otherwise the tables are generated.
    """
    text = grammar.read_text(encoding="utf-8")
    stored = json.loads(tables_of(grammar).read_text(encoding="utf-8"), object_pairs_hook=_with_numbers)
    if stored["made by"] != made_by(text):
        return Lark(text, transformer=builder, **_OPTIONS)
    # The beginning of the stand-alone parsers that Lark writes; `Lark.load` reads only pickles.
    return Lark._load_from_dict(stored["data"], stored["memo"], transformer=builder)


def tables_of(grammar: Path) -> Path:
    """The file of the tables of `grammar`."""
    return grammar.with_name("tables.json")


def written(text: str) -> str:
    """The contents of the tables' file for the grammar `text`."""
    data, memo = Lark(text, **_OPTIONS).memo_serialize([TerminalDef, Rule])
    return json.dumps({"made by": made_by(text), "data": data, "memo": memo}, separators=(",", ":")) + "\n"


def made_by(text: str) -> list[Any]:
    """The release of Lark and a hash of the text: any other needs other tables."""
    return [lark.__version__, crc32(text.encode())]


def _with_numbers(pairs: list[tuple[str, Any]]) -> dict[str | int, Any]:
    """A dictionary of the tables: JSON does not allow numbers as keys."""
    return {int(key) if key.isdigit() else key: value for key, value in pairs}
