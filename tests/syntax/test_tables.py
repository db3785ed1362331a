"""The stored parser tables match their grammars, and are used only for them."""

from pathlib import Path
from typing import Any

import pytest
from lark import Lark
from lark.parsers.lalr_analysis import Shift

from tcjax.syntax import tables
from tcjax.syntax.sac.builder import Builder as SacBuilder
from tcjax.syntax.sac.reader import GRAMMAR as SAC
from tcjax.syntax.tc.builder import Builder as TcBuilder
from tcjax.syntax.tc.reader import GRAMMAR as TC

grammars = pytest.mark.parametrize("grammar, builder", [(TC, TcBuilder), (SAC, SacBuilder)], ids=["tc", "sac"])


def automaton(parser: Lark) -> list[dict[str, tuple[str, str | int]]]:
    """The action of each state for each token, with states numbered in the order in which they are reached."""
    table: Any = parser.parser.parser._parse_table  # type: ignore[attr-defined]
    reached = [table.start_states["start"]]
    automaton = []
    for state in reached:
        steps = {}
        for token, (action, argument) in sorted(table.states[state].items()):
            if action is Shift and argument not in reached:
                reached.append(argument)
            steps[token] = ("shift", reached.index(argument)) if action is Shift else ("reduce", str(argument))
        automaton.append(steps)
    return automaton


def words(parser: Lark) -> tuple[list[tuple[str, str, int]], list[str]]:
    """The terminals, and which of them are ignored."""
    terminals = [(terminal.name, terminal.pattern.to_regexp(), terminal.priority) for terminal in parser.terminals]
    return terminals, list(parser.lexer_conf.ignore)


@grammars
def test_the_stored_tables_are_those_of_the_grammar(grammar: Path, builder: type, update_golden: bool) -> None:
    text = grammar.read_text()
    if update_golden:
        tables.tables_of(grammar).write_text(tables.written(text))
    made = Lark(text, parser="lalr", lexer="basic", keep_all_tokens=True, transformer=builder())

    stored = tables.parser_of(grammar, builder())

    assert automaton(stored) == automaton(made)
    assert words(stored) == words(made)


@grammars
def test_the_tables_are_stored_for_the_grammar_as_it_is(grammar: Path, builder: type) -> None:
    stored = tables.tables_of(grammar).read_text()

    _, text = tables.made_by(grammar.read_text())
    assert f",{text}]," in stored, "`make golden` stores them"


def test_tables_of_another_grammar_are_not_used(tmp_path: Path) -> None:
    changed = tmp_path / "grammar.lark"
    changed.write_text('start: "a" "b"\n')
    tables.tables_of(changed).write_text(tables.tables_of(TC).read_text())

    parser = tables.parser_of(changed, None)

    assert [len(steps) for steps in automaton(parser)] == [2, 1, 0, 1]
