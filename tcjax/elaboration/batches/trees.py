"""Finds the ``...`` in a definition, and names that are free for its indices."""

import re
from collections.abc import Iterator

from ...syntax import ast


def has_batch(definition: ast.Definition, program: ast.Program | None = None) -> bool:
    """Whether a definition, or one of `program` that it calls, contains ``...``."""
    known = {} if program is None else {each.name: each for each in reversed(program.definitions)}
    pending, seen = [definition], {definition.name}
    while pending:
        current = pending.pop()
        if _mentions(current):
            return True
        for name in applied(current):
            if name in known and name not in seen:
                seen.add(name)
                pending.append(known[name])
    return False


def _mentions(definition: ast.Definition) -> bool:
    return any(
        isinstance(node, ast.Batch) or (isinstance(node, ast.TensorType) and node.batch)
        for node in ast.nodes(definition)
    )


def applied(definition: ast.Definition) -> Iterator[str]:
    for node in ast.nodes(definition):
        if isinstance(node, ast.Apply | ast.CallAssign):
            yield node.function


def batch_reads(node: ast.Assign) -> Iterator[ast.Apply]:
    for part in ast.nodes(node):
        if isinstance(part, ast.Apply) and part.arguments and isinstance(part.arguments[0], ast.Batch):
            yield part


def subscripts_of(definition: ast.Definition) -> Iterator[tuple[str, int, bool]]:
    """Each name with subscripts, how many, and whether ``...`` comes before them."""
    for node in ast.nodes(definition):
        match node:
            case ast.Apply(name, arguments) | ast.Assign(name, tuple() as arguments):
                is_batch = bool(arguments) and isinstance(arguments[0], ast.Batch)
                yield name, len(arguments) - is_batch, is_batch
            case _:
                continue


def prefix_of(definition: ast.Definition) -> str:
    """The prefix of the batch indices' names: ``b``, unless the text uses such names."""
    names: set[str] = set()
    for node in ast.nodes(definition):
        match node:
            case ast.Name(name) | ast.Apply(name) | ast.Assign(name) | ast.Parameter(name) | ast.SizeOf(name):
                names.add(name)
            case ast.Bound(name) | ast.LetClause(name) | ast.RangeClause(name) | ast.Declare(name) | ast.For(name):
                names.add(name)
            case ast.TensorType(dimensions=dimensions):
                names.update(map(str, dimensions))
            case ast.CallAssign(targets):
                names.update(targets)
            case _:
                continue
    prefix = "b"
    while any(re.fullmatch(rf"{prefix}\d+", name) for name in names):
        prefix = "batch" if prefix == "b" else f"{prefix}_"
    return prefix
