"""Constants passed to a kernel: names in the text that stand for numbers."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

from ..diagnostics import Code, CompileError, Span, phrases
from ..syntax import ast
from .spelling import closest

Constant = bool | int | float | complex
Place: TypeAlias = tuple[str, str, Span]

_ON_THE_LEFT: Final = "an index of the left side"

_Tree = TypeVar("_Tree", ast.Program, ast.Definition)


def with_constants(tree: _Tree, constants: Mapping[str, Constant]) -> _Tree:
    """The tree with every constant replaced by its number.

    Raises TC0202 for a constant whose name the text declares, TC0201 for one that it does not use.
    """
    if not constants:
        return tree
    check_constants(constants, _declared(tree), _used(tree))

    def change(node: ast.Node) -> ast.Node:
        match node:
            case ast.Name(name) if name in constants:
                return ast.literal(constants[name], node.span)
            case ast.TensorType(dimensions=dimensions) if not constants.keys().isdisjoint(dimensions):
                return replace(node, dimensions=tuple([_dimension(d, constants, node.span) for d in dimensions]))
            case _:
                return node

    return ast.mapped(tree, change)


def check_constants(constants: Mapping[str, Constant], declared: Iterator[Place], used: Collection[str]) -> None:
    """Raises TC0202 for a constant whose name is `declared`, TC0201 for one whose name is not `used`.

    `declared` gives each name, what it is, and where.
    """
    for name, kind, span in declared:
        if name in constants:
            raise CompileError(
                Code.ALREADY_DEFINED,
                f"`{name}` is {kind} here, and a constant of `consts`",
                span.part(name),
                help=f"leave `{name}` out of `consts`, or rename one of the two"
                + (f"; {phrases.only_at(name)}" if kind == _ON_THE_LEFT else ""),
            )
    for name in constants:
        if name not in used:
            near = closest(name, used)
            raise CompileError(
                Code.UNDEFINED_NAME,
                f"the program does not use the constant `{name}` of `consts`",
                help=(f"did you mean `{near}`? Otherwise " if near else "") + f"leave `{name}` out of `consts`",
            )


def dimension(name: str, constants: Mapping[str, Constant], span: Span) -> int:
    """The extent that a constant stands for. Raises TC0303 if it is not a valid extent."""
    value = constants[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CompileError(
            Code.NOT_INTEGRAL,
            f"`{name}` is {value!r} in `consts`, which is not an extent",
            span.part(name),
            help=f"an extent is a whole number that is not negative, such as consts={{{name!r}: 8}}",
        )
    return value


def _dimension(given: str | int, constants: Mapping[str, Constant], span: Span) -> str | int:
    return dimension(given, constants, span) if isinstance(given, str) and given in constants else given


def _used(tree: ast.Program | ast.Definition) -> set[str]:
    """The names in places where a number could be."""
    found: set[str] = set()
    for node in ast.nodes(tree):
        match node:
            case ast.Name(name):
                found.add(name)
            case ast.TensorType(dimensions=dimensions):
                found.update(d for d in dimensions if isinstance(d, str))
            case _:
                continue
    return found


def _declared(tree: ast.Program | ast.Definition) -> Iterator[Place]:
    for definition in tree.definitions if isinstance(tree, ast.Program) else (tree,):
        for parameter in definition.parameters or ():
            yield parameter.name, "a parameter", parameter.span
            for size in parameter.type.dimensions if parameter.type is not None else ():
                if isinstance(size, str):
                    yield size, f"a size of `{parameter.name}`", parameter.span
        for parameter in definition.returns:
            yield parameter.name, "an output", parameter.span
        for statement in definition.leaves:
            yield from _in_statement(statement)


def _in_statement(statement: ast.Leaf) -> Iterator[Place]:
    match statement:
        case ast.Declare(name):
            yield name, "a tensor", statement.span
        case ast.CallAssign(targets):
            yield from ((target, "a tensor", statement.span) for target in targets)
        case ast.Assign(target, indices, where=where):
            yield target, "a tensor", statement.span
            for index in indices or ():
                if isinstance(index, ast.Name):
                    yield index.id, _ON_THE_LEFT, index.span
            for clause in where:
                match clause:
                    case ast.RangeClause(index):
                        yield index, "an index", clause.span
                    case ast.LetClause(name):
                        yield name, "a let", clause.span
                    case _:
                        continue
    for node in ast.nodes(statement):
        match node:
            case ast.Bound(index):
                yield index, "an index", node.span
            case ast.Apply(name) | ast.SizeOf(name):
                yield name, "a tensor or a function", node.span
            case _:
                continue
