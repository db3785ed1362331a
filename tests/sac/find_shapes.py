"""How far an index runs, from the selections in the body: section 2.3 of the specification."""

import itertools

from tcjax.syntax.sac import tree

from .scope import Scope, abstract_index
from .values import NeedsIndex, SacError


def find_shapes(partition: tree.Partition, scope: Scope) -> tuple[int, ...] | None:
    """How far selections of the body let the index run; None where they do not say it for every component."""
    index = partition.index
    names = (index.name,) if isinstance(index, tree.IndexVector) else index.names
    limits: dict[str, list[tuple[int, ...]]] = {name: [] for name in names}
    inner = scope.binding(**abstract_index(index, known_length(partition, scope)))
    walk(partition.body, inner, frozenset(names), isinstance(index, tree.IndexVector), limits)
    if not all(limits.values()):
        return None
    shortest = [tuple(min(each) for each in zip(*shapes, strict=False)) for shapes in limits.values()]
    return tuple(itertools.chain(*shortest))


def known_length(partition: tree.Partition, scope: Scope) -> int | None:
    """The length of an index vector as far as an explicit bound tells it."""
    generator = partition.generator
    own = partition.index.name if isinstance(partition.index, tree.IndexVector) else None
    if own is None or generator is None:
        return None
    sides = [bound.value for bound in (generator.lower, generator.upper) if bound]
    for expression in [*sides, generator.step, generator.width]:
        if expression is not None and not isinstance(expression, tree.Dot):
            return bound_length(expression, scope.binding(**{own: None}))
    return None


def walk(
    node: object, scope: Scope, names: frozenset[str], vector: bool, limits: dict[str, list[tuple[int, ...]]]
) -> None:
    """Adds what every selection below `node` says about `names`; `vector` where they are one index vector."""
    match node:
        case tree.Comprehension(partitions):
            for partition in partitions:
                index = partition.index
                own = {index.name} if isinstance(index, tree.IndexVector) else set(index.names)
                walk(partition.generator, scope, names - own, vector, limits)
                try:
                    length = len(find_shapes(partition, scope) or ()) or known_length(partition, scope)
                except SacError:
                    length = None
                inner = scope.binding(**abstract_index(index, length))
                walk(partition.body, inner, names - own, vector, limits)
            return
        case tree.Select(array, index):
            select_says(array, index, scope, names, vector, limits)
        case tree.Call("sel", (index, array)):
            select_says(array, (index,), scope, names, vector, limits)
        case _:
            pass
    for child in children(node):
        walk(child, scope, names, vector, limits)


def children(node: object) -> list[object]:
    """The nodes directly below a node, in order."""
    if isinstance(node, tuple):
        return list(node)
    fields = getattr(node, "__dataclass_fields__", {})
    return [getattr(node, name) for name in fields if isinstance(getattr(node, name), tuple | tree.Node)]


def select_says(
    array: tree.Expr,
    index: tuple[tree.Expr | tree.Dot, ...],
    scope: Scope,
    names: frozenset[str],
    vector: bool,
    limits: dict[str, list[tuple[int, ...]]],
) -> None:
    """The table of section 2.3."""
    if scope.strict and names & names_in(array):
        return
    match index:
        case (tree.Vector(elements),):
            index, literal = elements, True
        case _:
            literal = len(index) != 1
    mine = {p: e.id for p, e in enumerate(index) if isinstance(e, tree.Name) and e.id in names}
    if not mine:
        return
    if vector and literal:
        raise SacError("type", "an index vector in a scalar context")
    try:
        shape = scope.operand(array).shaped().shape
    except NeedsIndex:
        return
    for position, name in mine.items():
        if vector:
            limits[name].append(shape)
            continue
        behind = any(element == tree.Dot(many=True) for element in index[:position])
        axis = len(shape) - (len(index) - position) if behind else position
        if 0 <= axis < len(shape):
            limits[name].append((shape[axis],))


def names_in(node: object) -> frozenset[str]:
    """All names that occur."""
    if isinstance(node, tree.Name):
        return frozenset((node.id,))
    return frozenset().union(*(names_in(child) for child in children(node)))


def bound_length(expression: tree.Expr, outside: Scope) -> int:
    """The length of an explicit bound, step or width; an int vector."""
    shaped = outside.operand(expression).shaped()
    if shaped.kind != "int" or shaped.rank != 1:
        raise SacError("type", "a bound must be an int vector")
    return shaped.shape[0]
