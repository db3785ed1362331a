"""Which upper bounds SaC infers: the smallest shape among the selections at a bare index."""

from collections.abc import Iterable, Iterator, Mapping

from ...symbolic import Size, minimum
from ...syntax.sac import tree

Shapes = Mapping[str, tuple[Size | None, ...]]


def finds_bounds(body: tree.Expr, bounds: Mapping[str, Size], shapes: Shapes) -> bool:
    """Whether the body alone gives each of its indices exactly this upper bound; `shapes` are those of the arrays."""
    found: dict[str, list[Size | None]] = {name: [] for name in bounds}
    for array, index, hidden in _selections(body, frozenset()):
        for position, element in enumerate(index):
            if isinstance(element, tree.Name) and element.id in found and element.id not in hidden:
                shape = shapes.get(array) if array not in hidden else None
                found[element.id].append(None if shape is None or position >= len(shape) else shape[position])
    for name, bound in bounds.items():
        sizes = [size for size in found[name] if size is not None]
        if not sizes or len(sizes) < len(found[name]) or minimum(*sizes) != bound:
            return False
    return True


def free_names(exprs: Iterable[tree.Expr]) -> list[str]:
    """The names of arrays and indices that nothing in the expressions binds, in order of first appearance."""
    found: dict[str, None] = {}
    for expr in exprs:
        for node, hidden in _nodes(expr, frozenset()):
            if isinstance(node, tree.Name) and node.id not in hidden:
                found[node.id] = None
    return list(found)


def _selections(
    body: tree.Expr, hidden: frozenset[str]
) -> Iterator[tuple[str, tuple[tree.Expr | tree.Dot, ...], frozenset[str]]]:
    for node, inner in _nodes(body, hidden):
        if isinstance(node, tree.Select) and isinstance(node.array, tree.Name):
            yield node.array.id, node.index, inner


def _nodes(expr: tree.Expr, hidden: frozenset[str]) -> Iterator[tuple[tree.Expr, frozenset[str]]]:
    """The expression and all its subexpressions in text order, with the names bound by inner indices."""
    yield expr, hidden
    for child, names in _children(expr):
        yield from _nodes(child, hidden | names)


def _children(expr: tree.Expr) -> Iterator[tuple[tree.Expr, frozenset[str]]]:
    nothing: frozenset[str] = frozenset()
    match expr:
        case tree.Number() | tree.Name():
            return
        case tree.Unary(_, operand):
            yield operand, nothing
        case tree.Binary(_, left, right):
            yield left, nothing
            yield right, nothing
        case tree.Conditional(condition, then, otherwise):
            yield from ((part, nothing) for part in (condition, then, otherwise))
        case tree.Call(_, arguments) | tree.Vector(arguments):
            yield from ((argument, nothing) for argument in arguments)
        case tree.Select(array, index):
            yield array, nothing
            yield from ((element, nothing) for element in index if not isinstance(element, tree.Dot))
        case tree.Comprehension(partitions):
            for partition in partitions:
                index, generator = partition.index, partition.generator
                bound = frozenset((index.name,) if isinstance(index, tree.IndexVector) else index.names)
                yield partition.body, bound
                if generator is not None:
                    for side in (generator.lower, generator.upper):
                        if side is not None and not isinstance(side.value, tree.Dot):
                            yield side.value, nothing
                    yield from ((part, nothing) for part in (generator.step, generator.width) if part is not None)
