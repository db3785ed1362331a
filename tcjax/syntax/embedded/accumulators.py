"""Parameters that a body accumulates into: arrays are values, so the body writes to a copy."""

import ast as python
from collections.abc import Iterator, Mapping, Sequence

from .. import ast


def accumulators(body: Sequence[python.stmt], parameters: Sequence[ast.Parameter]) -> dict[str, ast.Assign]:
    """For every parameter ``C`` with a statement ``C[i, j] += e``, the statement ``C_out[i0, i1] = C[i0, i1]``.

    The rank is the declared one, or that of the first such statement.
    """
    declared = {parameter.name: parameter for parameter in parameters}
    taken = {node.id for statement in body for node in python.walk(statement) if isinstance(node, python.Name)}
    taken |= declared.keys()
    copies: dict[str, ast.Assign] = {}
    for name, subscripts in _accumulated(body):
        if name in declared and name not in copies:
            type = declared[name].type
            rank = len(type.dimensions) if type else subscripts
            copies[name] = _copy(declared[name], rank, taken)
    return copies


def renamed(copies: Mapping[str, ast.Assign]) -> dict[str, str]:
    """What the body's names for those parameters mean: their copies."""
    return {name: copy.target for name, copy in copies.items()}


def _accumulated(body: Sequence[python.stmt]) -> Iterator[tuple[str, int]]:
    """The names on the left of augmented assignments, with the number of their subscripts."""
    for statement in body:
        for node in python.walk(statement):
            match node:
                case python.AugAssign(target=python.Name(id=name)):
                    yield name, 0
                case python.AugAssign(
                    target=python.Subscript(value=python.Name(id=name), slice=python.Tuple(elts=parts))
                ):
                    yield name, len(parts)
                case python.AugAssign(target=python.Subscript(value=python.Name(id=name))):
                    yield name, 1


def _copy(parameter: ast.Parameter, rank: int, taken: set[str]) -> ast.Assign:
    span = parameter.span
    indices = tuple(ast.Name(_free(f"i{dimension}", taken), span=span) for dimension in range(rank))
    value = ast.Apply(parameter.name, indices, subscript=True, span=span)
    return ast.Assign(_free(f"{parameter.name}_out", taken), indices, None, False, value, span=span)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
