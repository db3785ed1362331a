"""Constants passed to a SaC kernel: free names of the program that stand for numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...diagnostics import Code, CompileError, Span
from ...syntax import ast
from ...syntax.sac import tree
from ..constants import Constant, Place, check_constants, dimension
from .walks import pattern_names


def with_constants(program: tree.Program, constants: Mapping[str, Constant]) -> tree.Program:
    """The program with every constant replaced by its number.

    Raises TC0202 for a constant whose name the program binds anywhere, TC0201 for one that it does not use, TC0301 for
    a complex number.
    """
    if not constants:
        return program
    used: set[str] = set()
    for node in ast.nodes(program):
        match node:
            case tree.Name(name):
                used.add(name)
            case tree.TypePattern():
                used.update(pattern_names(node))
            case _:
                continue
    check_constants(constants, (place for node in ast.nodes(program) for place in _bound(node)), used)

    def change(node: ast.Node) -> ast.Node:
        match node:
            case tree.Name(name) if name in constants:
                return _number(name, constants[name], node.span)
            case tree.Axis(str() as name) if name in constants:
                return replace(node, extent=dimension(name, constants, node.span))
            case _:
                return node

    return ast.mapped(program, change)


def _bound(node: ast.Node) -> Iterator[Place]:
    """The names that a node binds, and what they are."""
    match node:
        case tree.IndexVector(name):
            yield name, "an index", node.span
        case tree.IndexPattern():
            yield from ((name, "an index", node.span) for name in node.names)
        case tree.Let(names):
            yield from ((name, "a let", node.span) for name in names)
        case tree.Parameter(name, type):
            yield name, "a parameter", node.span
            yield from ((size, f"a size of `{name}`", node.span) for size in pattern_names(type))
        case tree.Axes():
            yield from ((name, "a part of a shape", node.span) for name in pattern_names(tree.TypePattern("", (node,))))
        case tree.Call(name) | tree.Function(name):
            yield name, "a function", node.span
        case _:
            return


def _number(name: str, value: Constant, span: Span) -> tree.Expr:
    match ast.literal(value, span):
        case ast.Number(bool() | int() | float() as number):
            return tree.Number(number, span=span)
        case ast.Unary(operator, ast.Number(bool() | int() | float() as number)):
            return tree.Unary(operator, tree.Number(number, span=span), span=span)
        case _:
            raise CompileError(
                Code.WRONG_TYPE,
                f"`{name}` is a complex number in `consts`, and SaC has none",
                span,
                help="pass its real and its imaginary part, or write the program in index notation",
            )
