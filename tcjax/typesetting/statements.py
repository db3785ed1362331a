"""Statements and functions as lines of formulas."""

from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from .. import ir
from ..symbolic import Affine, IndexVar
from .formula import Cases, Fenced, Formula, Line, Lines, Number, Row, Sign, Space, Symbol, Word, applied, listed
from .letters import index_symbol
from .typeset_expressions import ATOM, PRODUCT, REDUCTION, Expressions

_JOINED: Final = {"+": "+", "*": "⋅", "||": "∨", "&&": "∧"}
_LEVEL: Final = {"+": REDUCTION, "*": PRODUCT, "||": ATOM, "&&": ATOM}


def typeset(function: ir.Function) -> Lines:
    """A line for each statement; the definitions that it calls come first, each after a line with its name."""
    return Lines(tuple(_Program().lines(function)))


def typeset_statement(statement: ir.Statement, defined: Iterable[str] = ()) -> Lines:
    """One statement alone; `defined` are the tensors that have values before it."""
    return Lines(tuple(_statement(statement, frozenset(defined))))


class _Program:
    """One call of `typeset`: every called function is shown once."""

    def __init__(self) -> None:
        self.shown: set[str] = set()

    def lines(self, function: ir.Function) -> Iterator[Line]:
        for statement in function.statements:
            if isinstance(statement, ir.Invoke) and statement.function.name not in self.shown:
                self.shown.add(statement.function.name)
                callee = statement.function
                head = applied(Word(callee.name), *_symbols(callee.parameters))
                lines = list(self.lines(callee))
                yield Line(head, Sign("↦"), Row((_tuple(callee.returns), Space("wide"), Word("where"))))
                yield from lines
        defined = {tensor.name for tensor in function.initial}
        for statement in function.statements:
            yield from _statement(statement, frozenset(defined))
            defined |= {tensor.name for tensor in ir.targets(statement)}


def _statement(statement: ir.Statement, defined: frozenset[str]) -> Iterator[Line]:
    match statement:
        case ir.Define():
            yield _define(statement, statement.target.name in defined)
        case ir.Accumulate():
            yield _accumulate(statement, statement.target.name in defined)
        case ir.Invoke(targets, function, arguments):
            yield Line(_tuple(targets), Sign("="), applied(Word(function.name), *_symbols(arguments)))
        case ir.ApplyForeign(targets, name, arguments):
            yield Line(_tuple(targets), Sign("="), applied(Word(name), *_symbols(arguments)))
        case _:
            assert_never(statement)


def _define(statement: ir.Define, again: bool) -> Line:
    scope = _scope(statement)
    left = scope.subscripted(statement.target, statement.indices)
    relation = Sign("←" if again else "=")
    value, domain = statement.value, statement.domain
    conditions = scope.propositions(ir.conjuncts(domain.guard))
    given = [scope.range(range_) for range_ in domain.ranges]
    if conditions and _covers(statement.indices):
        # An excluded point keeps its value, which is initially zero.
        rest = left if again else Number("0")
        right: Formula = Cases(((scope.plain(value), listed(conditions)), (rest, None)))
        return Line(left, relation, _among(right, given))
    if isinstance(value, ir.Select):
        right = scope.cases(value)
    elif value.dtype == "bool" and isinstance(value, (ir.Binary, ir.Unary)):
        right = Fenced("[", scope.proposition(value), "]")
    else:
        right = scope.plain(value)
    return Line(left, relation, _among(right, [*given, *conditions]))


def _accumulate(statement: ir.Accumulate, again: bool) -> Line:
    scope = _scope(statement)
    left = scope.subscripted(statement.target, statement.indices)
    reducer, reduction, domain = statement.reducer, statement.reduction, statement.domain
    conditions = ir.conjuncts(domain.guard)
    inner = tuple(range_ for range_ in domain.ranges if range_.index in reduction)
    outer = [scope.range(range_) for range_ in domain.ranges if range_.index not in reduction]
    if reduction:
        value = scope.over(reducer, reduction, inner, conditions, statement.value, None)
        level = REDUCTION
    else:
        value, level = scope.write(statement.value)
        outer += scope.propositions(conditions)
    operator = reducer.operator or reducer.value
    if not _covers(statement.indices):
        # Several points may write one element.
        points = Row((Word("for all"), Space(), listed([scope.indices[i] for i in _on_the_left(statement.indices)])))
        return Line(left, _update(operator), _among(value, [points, *outer]))
    if statement.restart:
        return Line(left, Sign("←" if again else "="), _among(value, outer))
    if operator in _JOINED:
        value = value if level >= _LEVEL[operator] else Fenced("(", value, ")")
        value = Row((left, Sign(_JOINED[operator]), value))
    else:
        value = applied(Word(operator), left, value)
    return Line(left, Sign("←"), _among(value, outer))


def _update(operator: str) -> Sign | Word:
    return Sign(f"{_JOINED.get(operator, operator)}=") if operator in _JOINED else Word(f"{operator}=")


def _among(value: Formula, conditions: list[Formula]) -> Formula:
    """The value, and the points for which it holds."""
    return Row((value, Space("wide"), listed(conditions))) if conditions else value


def _covers(indices: tuple[Affine, ...]) -> bool:
    """Whether every point writes its own element: plain indices, each once."""
    bare = [index.bare for index in indices]
    return None not in bare and len(set(bare)) == len(bare)


def _on_the_left(indices: tuple[Affine, ...]) -> list[IndexVar]:
    found = frozenset[IndexVar]().union(*(index.variables for index in indices))
    return sorted(found, key=lambda index: (index.name, index.tag))


def _scope(statement: ir.Define | ir.Accumulate) -> Expressions:
    """Every index of the statement except those of inline reductions."""
    found = [*_on_the_left(statement.indices), *statement.domain.loops]
    if isinstance(statement, ir.Accumulate):
        found += statement.reduction
    names: dict[IndexVar, Symbol] = {}
    for index in dict.fromkeys(found):
        names[index] = index_symbol(index, set(names.values()))
    return Expressions(names)


def _symbols(tensors: tuple[ir.Tensor, ...]) -> list[Formula]:
    return [Symbol(tensor.name) for tensor in tensors]


def _tuple(tensors: tuple[ir.Tensor, ...]) -> Formula:
    symbols = _symbols(tensors)
    return symbols[0] if len(symbols) == 1 else Fenced("(", listed(symbols), ")")
