"""Parameters that a body accumulates into: arrays are immutable, so the body writes to a copy."""

import ast as python
from collections.abc import Iterator, Mapping, Sequence

from .. import ast


def accumulators(body: Sequence[python.stmt], parameters: Sequence[ast.Parameter]) -> dict[str, ast.Assign]:
    """For every parameter ``C`` with a statement ``C[i, j] += e``, the statement ``C_out[i0, i1] = C[i0, i1]``.

    The rank is the declared one, or that of the first such statement, which may have ``...`` first.
    """
    declared = {parameter.name: parameter for parameter in parameters}
    taken = {node.id for statement in body for node in python.walk(statement) if isinstance(node, python.Name)}
    taken |= declared.keys()
    copies: dict[str, ast.Assign] = {}
    for name, subscripts, has_batch in _accumulated(body):
        if name in declared and name not in copies:
            type = declared[name].type
            batch = type.batch if type else has_batch
            rank = len(type.dimensions) if type else subscripts
            copies[name] = _copy(declared[name], rank, batch, taken)
    return copies


def renamed(copies: Mapping[str, ast.Assign]) -> dict[str, str]:
    """The names of those parameters in the body, mapped to their copies."""
    return {name: copy.target for name, copy in copies.items()}


def _accumulated(body: Sequence[python.stmt]) -> Iterator[tuple[str, int, bool]]:
    """The names on the left of augmented assignments, the number of their subscripts, and whether ``...`` is first."""
    for statement in body:
        for node in python.walk(statement):
            match node:
                case python.AugAssign(target=python.Name(id=name)):
                    yield name, 0, False
                case python.AugAssign(
                    target=python.Subscript(value=python.Name(id=name), slice=python.Tuple(elts=parts))
                ):
                    has_batch = _is_batch(parts[0]) if parts else False
                    yield name, len(parts) - has_batch, has_batch
                case python.AugAssign(target=python.Subscript(value=python.Name(id=name), slice=slice)):
                    yield name, 1 - _is_batch(slice), _is_batch(slice)


def _is_batch(node: python.expr) -> bool:
    return isinstance(node, python.Constant) and node.value is ...


def _copy(parameter: ast.Parameter, rank: int, batch: bool, taken: set[str]) -> ast.Assign:
    span = parameter.span
    first = (ast.Batch(span=span),) if batch else ()
    indices = first + tuple(ast.Name(_free(f"i{dimension}", taken), span=span) for dimension in range(rank))
    value = ast.Apply(parameter.name, indices, subscript=True, span=span)
    return ast.Assign(_free(f"{parameter.name}_out", taken), indices, None, False, value, span=span)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
