"""Which `for` of the Python notation is a loop, and which only gives the range of an index."""

from collections.abc import Collection, Iterator, Sequence

from .. import ast


def recurs(loop: ast.For, defined: Collection[str], around: Collection[str], numbers: Collection[str]) -> bool:
    """Whether the order of a loop's steps matters; `defined` are the tensors that exist before it.

    The order matters if a statement reads a tensor that the loop writes at another value of the index, or if every step
    writes the same elements: with ``=`` in several statements, or in one that depends on the old value or keeps it
    where a condition fails; or with a reduction that continues from the old value, if something reads it or all steps
    do the same. No reduction runs over `numbers` (sizes and constants) or over the indices of the loops `around`.
    """
    leaves = [leaf for leaf in ast.flattened(loop.body)[0] if isinstance(leaf, ast.Assign)]
    for leaf in leaves:
        if _mentions(leaf.indices or (), {loop.index}):
            continue
        value = tuple(_parts(leaf))
        if leaf.reducer is not None:
            again = not _mentions(value, {loop.index})
            if leaf.target in defined and not leaf.restart and (again or _reads_sums(leaf, leaves, around)):
                return True
            continue
        is_guarded = any(isinstance(clause, ast.GuardClause) for clause in leaf.where)
        own = leaf.target in defined and (is_guarded or _mentions(value, {leaf.target}))
        if own or len(leaves) > 1:
            return True
    written = [(leaf.target, leaf.indices or ()) for leaf in leaves]
    for leaf in leaves:
        nodes = [node for part in _parts(leaf) for node in ast.walk(part)]
        moving = {loop.index, *_summed(leaf, nodes, {*around, *numbers})}
        for node in nodes:
            if isinstance(node, ast.Apply) and any(
                name == node.function and _differ(own, node.arguments, loop.index, moving) for name, own in written
            ):
                return True
    return False


def compounds(leaf: ast.Assign, index: str) -> bool:
    """Whether a statement over an index reads the very element that it writes: steps would see it change."""
    own = leaf.indices or ()
    if (leaf.reducer is not None and leaf.restart) or _mentions(own, {index}):
        return False
    return any(read == own for read in _reads(leaf, leaf.target))


def _reads_sums(leaf: ast.Assign, leaves: Sequence[ast.Assign], around: Collection[str]) -> bool:
    """Whether a loop reads the elements that its steps accumulate in `leaf`, in another statement or in the same one.

    If indices of outer loops select the one element that is written, a read of another element is fine.
    """
    own = leaf.indices or ()
    for other in leaves:
        for read in _reads(other, leaf.target):
            apart = [mine for mine, its in zip(own, read, strict=False) if mine != its]
            if other is not leaf or all(_names(mine) - set(around) for mine in apart):
                return True
    return False


def _reads(leaf: ast.Assign, tensor: str) -> Iterator[tuple[ast.Expr, ...]]:
    """The subscripts at which a statement reads a tensor."""
    for node in (node for part in _parts(leaf) for node in ast.walk(part)):
        if isinstance(node, ast.Apply) and node.function == tensor:
            yield node.arguments
        elif isinstance(node, ast.Name) and node.id == tensor:
            yield ()


def _summed(leaf: ast.Assign, nodes: Sequence[ast.Expr], fixed: Collection[str]) -> Iterator[str]:
    """The indices that a statement's reductions run over: those in brackets and its own."""
    kept = _names(*(leaf.indices or ())).union(fixed)
    for node in nodes:
        if isinstance(node, ast.Reduction):
            yield from (bound.index for bound in node.bounds)
        elif isinstance(node, ast.Name) and leaf.reducer is not None and node.id not in kept:
            yield node.id


def _differ(written: tuple[ast.Expr, ...], read: tuple[ast.Expr, ...], index: str, moving: set[str]) -> bool:
    """Whether a read's subscript moves with the loop index and differs from the one that is written."""
    if len(written) != len(read):
        return False
    pairs = zip(written, read, strict=True)
    return any(own != other for own, other in pairs if _mentions((own,), {index}) and _mentions((other,), moving))


def _mentions(parts: tuple[ast.Expr, ...], names: set[str]) -> bool:
    """Whether any of the expressions mentions an index or a tensor of these names."""
    return not names.isdisjoint(_names(*parts))


def _names(*parts: ast.Expr) -> set[str]:
    nodes = [node for part in parts for node in ast.walk(part)]
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    return found | {node.function for node in nodes if isinstance(node, ast.Apply)}


def _parts(statement: ast.Assign) -> Iterator[ast.Expr]:
    yield statement.value
    yield from statement.indices or ()
    for clause in statement.where:
        match clause:
            case ast.RangeClause(_, lo, hi):
                yield from (lo, hi)
            case ast.LetClause(_, value) | ast.ExistsClause(value) | ast.GuardClause(value):
                yield value
