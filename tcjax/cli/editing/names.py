"""Where a name is defined, and which names are valid at a place."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from ... import ir
from ...diagnostics import CompileError, Span
from ...syntax import ast, sac, tc
from ...syntax.tc.spelling import TYPES
from ..texts import Text
from .programs import Program, programs_of
from .words import BOUNDARIES, REDUCTIONS, describe, word_at

_KEYWORDS: Final = ("def", "where", "in", "exists", "unique", "for")

Kind = Literal["function", "reduction", "type", "keyword", "tensor", "index", "size"]


@dataclass(frozen=True, slots=True)
class Completion:
    """A name for completion, what it is, and one line about it."""

    name: str
    kind: Kind
    detail: str


def definition(text: Text, line: int, column: int) -> Span | None:
    """Where the name at a place is defined: a parameter, a first assignment, a range, a definition."""
    word = word_at(text, line, column)
    if word is None:
        return None
    if text.notation == "sac":
        return sac_function(text, word[0])
    programs = programs_of(text)
    inside = [each for each in programs if each.first <= line <= each.last]
    for program in inside:
        for name, span in _given(program.definition, line):
            if name == word[0]:
                return span.part(name)
    for program in programs:
        if program.definition.name == word[0]:
            return program.definition.span.part(word[0])
    return None


def sac_function(text: Text, name: str) -> Span | None:
    """Where a SaC function is defined."""
    try:
        functions = sac.read(text.content, text.name).functions
    except CompileError:
        return None
    return next((each.span.part(name) for each in functions if each.name == name), None)


def _given(definition: ast.Definition, line: int) -> Iterator[tuple[str, Span]]:
    """The names of a definition and where each is defined, as seen from a statement at a line."""
    for parameter in definition.parameters or ():
        yield parameter.name, parameter.span
        yield from ((size, parameter.span) for size in _sizes(parameter.type))
    own: list[ast.Leaf] = []
    for leaf in definition.leaves:
        if leaf.span.line <= line:
            own = [leaf]
    for leaf in own:
        for clause in leaf.where if isinstance(leaf, ast.Assign) else ():
            match clause:
                case ast.RangeClause(index):
                    yield index, clause.span
                case ast.LetClause(name):
                    yield name, clause.span
                case _:
                    pass
    for leaf in definition.leaves:
        match leaf:
            case ast.Assign(target, indices):
                yield target, leaf.span
                if leaf in own:
                    yield from ((node.id, leaf.span) for part in indices or () for node in _names(part))
            case ast.CallAssign(targets):
                yield from ((target, leaf.span) for target in targets)
            case ast.Declare(name):
                yield name, leaf.span


def _names(part: ast.Expr) -> Iterator[ast.Name]:
    return (node for node in ast.walk(part) if isinstance(node, ast.Name))


def _sizes(type: ast.TensorType | None) -> tuple[str, ...]:
    return () if type is None else tuple(size for size in type.dimensions if isinstance(size, str))


def completions(text: Text, line: int) -> list[Completion]:
    """What may be written in a line: names of its definition first, then functions, reductions, types and keywords."""
    from ..python_files import kernel_at

    if text.notation == "sac":
        return [*_functions()]
    inside = [each for each in programs_of(text) if each.first <= line <= each.last]
    if text.notation == "python" and not inside and kernel_at(text, line) is None:
        return []
    own = [each for program in inside for each in _own(program)]
    general = [*_functions(), *_reductions()]
    if text.notation == "tc" or not inside:
        general += [*(Completion(name, "type", "type of elements") for name in TYPES)]
        general += [*(Completion(name, "keyword", "keyword") for name in _KEYWORDS)]
    return list({each.name: each for each in reversed([*own, *general])}.values())[::-1]


def _own(program: Program) -> Iterator[Completion]:
    definition = program.definition
    for parameter in definition.parameters or ():
        shown = "" if parameter.type is None else f" {tc.write_type(parameter.type)}"
        yield Completion(parameter.name, "tensor", f"parameter{shown}")
    if definition.parameters is None and program.ranges is not None:
        for tensor in program.ranges.function.parameters:
            yield Completion(tensor.name, "tensor", "parameter")
    for leaf in definition.leaves:
        match leaf:
            case ast.Assign(target):
                yield Completion(target, "tensor", "tensor")
            case ast.CallAssign(targets):
                yield from (Completion(target, "tensor", "tensor") for target in targets)
            case ast.Declare(name):
                yield Completion(name, "tensor", "tensor")
    if program.ranges is not None:
        for statement in program.ranges.statements:
            for index in statement.intervals:
                yield Completion(index.name, "index", f"index over {statement.show(index)}")
    for parameter in definition.parameters or ():
        yield from (Completion(size, "size", "size") for size in _sizes(parameter.type))
    for other in program.program.definitions:
        if other.name != definition.name:
            yield Completion(other.name, "function", "definition")


def _functions() -> Iterator[Completion]:
    for name in ir.builtins.BUILTINS:
        yield Completion(name, "function", describe(name))
    for name, told in BOUNDARIES.items():
        yield Completion(name, "function", told)


def _reductions() -> Iterator[Completion]:
    for name, told in REDUCTIONS.items():
        yield Completion(name, "reduction", told)
