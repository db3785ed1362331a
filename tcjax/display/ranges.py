"""The ranges of a program as tables."""

from collections.abc import Iterator, Mapping
from typing import Any

from .. import ir, ranges
from ..markup import Cell, Element, element, table
from ..symbolic import Interval
from ..typesetting import Symbol, inline, interval_formula


def symbolic_table(found: ranges.SymbolicRanges) -> Element:
    """For each index of each statement, its range as a formula of sizes, and what determined it."""
    rows = list(_rows(found))
    headings = ("writes", "range", "because of")
    several = sum(bool(written) for written, _, _ in rows) > 1
    return table(headings, rows) if several else table(headings[1:], [row[1:] for row in rows])


def _rows(found: ranges.SymbolicRanges) -> Iterator[tuple[Cell, Cell, Cell]]:
    for number, (statement, given) in enumerate(zip(found.function.statements, found.statements, strict=True)):
        if isinstance(statement, ir.Invoke):
            yield from _rows(found.calls[number])
            continue
        written = statement.target.name if isinstance(statement, (ir.Define, ir.Accumulate)) else statement.function
        for index, interval in given.intervals.items():
            yield written, _range(str(index), interval), quoted(given.reasons.get(index, ""))
            # Given once for each statement.
            written = ""


def _range(index: str, interval: Interval | None) -> Element:
    if interval is None:
        return element("span", f"{index}: the arguments' sizes decide")
    return inline(interval_formula(interval, Symbol(index)))


def number_table(given: Mapping[str, Mapping[str, Any]]) -> Element:
    """The ranges of one statement as numbers, taken from an explanation."""
    rows = [(name, f"{r['lo']}:{r['hi']}", r["hi"] - r["lo"], quoted(r["fixed_by"])) for name, r in given.items()]
    return table(("index", "range", "values", "because of"), rows)


def quoted(text: str) -> Element:
    """A sentence with its code in backticks."""
    pieces = text.split("`")
    return element("span", *(element("code", p) if n % 2 else p for n, p in enumerate(pieces) if p))
