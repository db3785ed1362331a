"""Names for the output: valid in the notation, and unique."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import assert_never

from .. import ir
from ..symbolic import IndexVar

_NOT_IN_NAMES = re.compile(r"\W")

IndexNames = Mapping[IndexVar, str]


def unique(name: str, taken: Collection[str]) -> str:
    """An identifier like `name` that is not taken."""
    name = _NOT_IN_NAMES.sub("_", name)
    if not name or name[0].isdigit():
        name = f"_{name}"
    if name not in taken:
        return name
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def index_names(indices: Iterable[IndexVar], taken: Collection[str]) -> dict[IndexVar, str]:
    """A name for each index, none of them taken."""
    names: dict[IndexVar, str] = {}
    for index in indices:
        names[index] = unique(index.name, {*taken, *names.values()})
    return names


def inside(reduce: ir.Reduce, names: IndexNames, taken: Collection[str]) -> dict[IndexVar, str]:
    """The names inside an inline reduction: its own indices may hide outer ones that it does not use."""
    used = {names[index] for index in ir.free_indices(reduce) if index in names}
    return {**names, **index_names(reduce.indices, {*taken, *used})}


def statement_indices(statement: ir.Define | ir.Accumulate) -> tuple[IndexVar, ...]:
    """The indices of a statement, except those of inline reductions: first those of its left side, then those of the
    reduction.
    """
    found = [index for target in statement.indices for index in _ordered(target.variables)]
    if isinstance(statement, ir.Accumulate):
        found += statement.reduction
    for given in statement.domain.ranges:
        found.append(given.index)
    for expr in expressions(statement):
        found += _ordered(ir.free_indices(expr))
    return tuple(dict.fromkeys(found))


def expressions(statement: ir.Statement) -> Iterator[ir.Expr]:
    """The expressions of a statement, including those in its left side."""
    match statement:
        case ir.Define(_, indices, value, domain) | ir.Accumulate(_, indices, _, _, _, value, _, domain):
            yield from (data.expr for index in indices for data in ir.data_atoms(index))
            yield from ir.ragged_ends(domain.ranges)
            yield value
            if domain.guard is not None:
                yield domain.guard
            yield from domain.exists
        case ir.Invoke() | ir.ApplyForeign():
            return
        case _:
            assert_never(statement)


def called(function: ir.Function) -> frozenset[str]:
    """The names of all functions that the function applies."""
    names: set[str] = set()
    for statement in function.statements:
        match statement:
            case ir.Invoke(_, callee):
                names.add(callee.name)
            case ir.ApplyForeign(_, name):
                names.add(name)
            case _:
                for expr in expressions(statement):
                    names |= {node.function for node in ir.walk(expr) if isinstance(node, (ir.Call, ir.Foreign))}
    return frozenset(names)


def _ordered(indices: Iterable[IndexVar]) -> list[IndexVar]:
    return sorted(indices, key=lambda index: (index.name, index.tag))
