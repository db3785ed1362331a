"""Walks over the tree: subexpressions and their free names."""

from collections.abc import Iterator
from typing import Final

from ...syntax.sac import tree

# A cache of the free names of nodes; each node is kept, so that its `id` is not reused.
_FREE: Final[dict[int, tuple[tree.Expr, dict[str, None]]]] = {}
_MOST_REMEMBERED: Final = 10_000


def children(node: tree.Expr) -> Iterator[tree.Expr]:
    """The direct subexpressions, including those of partitions."""
    match node:
        case tree.Number() | tree.Name():
            return
        case tree.Unary(_, operand):
            yield operand
        case tree.Binary(_, left, right):
            yield left
            yield right
        case tree.Conditional(condition, then, otherwise):
            yield condition
            yield then
            yield otherwise
        case tree.Call(_, arguments):
            yield from arguments
        case tree.Vector(elements):
            yield from elements
        case tree.Select(array, index):
            yield array
            for part in index:
                if not isinstance(part, tree.Dot):
                    yield part
        case tree.Comprehension(partitions):
            for partition in partitions:
                yield from generator_parts(partition)
                yield partition.body


def generator_parts(partition: tree.Partition) -> Iterator[tree.Expr]:
    """The expressions of a generator."""
    generator = partition.generator
    if generator is None:
        return
    for bound in (generator.lower, generator.upper):
        if bound is not None and not isinstance(bound.value, tree.Dot):
            yield bound.value
    for part in (generator.step, generator.width):
        if part is not None:
            yield part


def mentions(node: tree.Expr, names: frozenset[str]) -> bool:
    """Whether a name of the set occurs free in the expression."""
    return not names.isdisjoint(free_names(node))


def free_names(node: tree.Expr) -> dict[str, None]:
    """The free names of the expression, in order of appearance."""
    known = _FREE.get(id(node))
    if known is None or known[0] is not node:
        found: dict[str, None] = {}
        match node:
            case tree.Name(name):
                found[name] = None
            case tree.Comprehension(partitions):
                for partition in partitions:
                    own = own_names(partition.index)
                    # In text order: the body comes before the generator.
                    found.update((name, None) for name in free_names(partition.body) if name not in own)
                    for part in generator_parts(partition):
                        found.update(free_names(part))
            case _:
                for child in children(node):
                    found.update(free_names(child))
        if len(_FREE) > _MOST_REMEMBERED:
            _FREE.clear()
        known = _FREE[id(node)] = (node, found)
    return known[1]


def own_names(index: tree.IndexVector | tree.IndexPattern) -> tuple[str, ...]:
    """The names that an index binds."""
    return (index.name,) if isinstance(index, tree.IndexVector) else index.names


def pattern_names(pattern: tree.TypePattern) -> Iterator[str]:
    """The names that a type pattern binds."""
    for axes in pattern.axes:
        match axes:
            case tree.Axis(str() as name):
                yield name
            case tree.Axes(count, _, name):
                if isinstance(count, str):
                    yield count
                if name is not None:
                    yield name
            case _:
                continue


def parts(function: tree.Function) -> Iterator[tree.Expr]:
    """The expressions of a function."""
    yield from function.guards
    for let in function.lets:
        yield let.value
    yield from function.returns


def calls(node: tree.Expr) -> Iterator[str]:
    """The functions that an expression calls, directly or in its subexpressions."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, tree.Call):
            yield current.function
        pending.extend(children(current))
