"""Which `for` of the Python notation is a loop, and which only says how far an index runs."""

from collections.abc import Collection, Iterator

from .. import ast


def recurs(loop: ast.For, defined: Collection[str]) -> bool:
    """Whether the order of a loop's steps matters; `defined` are the tensors that are there before it.

    It does where a statement reads a tensor that the loop writes at another value of the index, and where ``=`` writes
    the same elements in every step: of several statements, or of one that goes on from what is there.
    """
    leaves = [leaf for leaf in ast.flattened(loop.body)[0] if isinstance(leaf, ast.Assign)]
    names = {loop.index, *(leaf.target for leaf in leaves)}
    for leaf in leaves:
        if leaf.reducer is None and not _mentions(leaf.indices or (), {loop.index}):
            value = tuple(_parts(leaf))
            own = leaf.target in defined and _mentions(value, {leaf.target}) and _mentions(value, {loop.index})
            if own or (len(leaves) > 1 and _mentions(value, names)):
                return True
    written = [(leaf.target, leaf.indices or ()) for leaf in leaves]
    for leaf in leaves:
        nodes = [node for part in _parts(leaf) for node in ast.walk(part)]
        moving = {loop.index} | {b.index for node in nodes if isinstance(node, ast.Reduction) for b in node.bounds}
        for node in nodes:
            if isinstance(node, ast.Apply) and any(
                name == node.function and _differ(own, node.arguments, loop.index, moving) for name, own in written
            ):
                return True
    return False


def _differ(written: tuple[ast.Expr, ...], read: tuple[ast.Expr, ...], index: str, moving: set[str]) -> bool:
    """Whether a read names a place that moves, and another than is written, where that moves with the index."""
    if len(written) != len(read):
        return False
    pairs = zip(written, read, strict=True)
    return any(own != other for own, other in pairs if _mentions((own,), {index}) and _mentions((other,), moving))


def _mentions(parts: tuple[ast.Expr, ...], names: set[str]) -> bool:
    """Whether an index or a tensor of these names is in some expressions."""
    nodes = [node for part in parts for node in ast.walk(part)]
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    return not names.isdisjoint(found | {node.function for node in nodes if isinstance(node, ast.Apply)})


def _parts(statement: ast.Assign) -> Iterator[ast.Expr]:
    yield statement.value
    yield from statement.indices or ()
    for clause in statement.where:
        match clause:
            case ast.RangeClause(_, lo, hi):
                yield from (lo, hi)
            case ast.LetClause(_, value) | ast.ExistsClause(value) | ast.GuardClause(value):
                yield value
