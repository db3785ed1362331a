"""``array[index]``: prefixes, axes kept by dots, and what lies outside of the array."""

import numpy as np

from tcjax.syntax.sac import tree

from .scope import Scope
from .values import Operand, SacError, Shaped, Value


def select(array: tree.Expr, index: tuple[tree.Expr | tree.Dot, ...], scope: Scope) -> Operand:
    """``array[index]``: a prefix, or axes kept by dots."""
    source = scope.operand(array)
    if len(index) == 1 and isinstance(index[0], tree.Vector):
        index = index[0].elements
    elif len(index) == 1 and not isinstance(index[0], tree.Dot):
        return select_at_vector(source, scope.operand(index[0]), scope)
    components = [e if isinstance(e, tree.Dot) else scope.operand(e) for e in index]
    for element in components:
        if isinstance(element, Operand):
            check_component(element)

    def per_axis() -> list[Operand | None]:
        """The index of each axis of the array; None where the axis is kept."""
        rank = source.shaped().rank
        singles = sum(element != tree.Dot(many=True) for element in components)
        if singles > rank:
            raise SacError("rank", f"{singles} components for an array of rank {rank}")
        axes: list[Operand | None] = []
        for element in components:
            if isinstance(element, Operand):
                axes.append(element)
            else:
                axes += [None] * (rank - singles if element.many else 1)
        return axes + [None] * (rank - len(axes))

    def shaped() -> Shaped:
        axes, shape = per_axis(), source.shaped().shape
        return source.shaped().over([n for n, at in zip(shape, axes, strict=True) if at is None])

    def run() -> Value:
        found = source.value()
        taint = found.taint
        key: list[slice | int] = []
        for extent, at in zip(found.data.shape, per_axis(), strict=True):
            if at is None:
                key.append(slice(None))
            else:
                position = at.value()
                taint |= position.taint
                key.append(inside(int(position.data), extent, bool(position.arguments) or scope.uncertain))
        return Value(np.asarray(found.data[tuple(key)]), found.type, taint)

    return Operand(shaped, run)


def check_component(element: Operand) -> None:
    if element.shaped().kind != "int" or element.shaped().rank:
        raise SacError("type", "a component of an index must be a scalar int")


def select_at_vector(source: Operand, index: Operand, scope: Scope) -> Operand:
    """``array[iv]``; a scalar is a vector of one."""

    def shaped() -> Shaped:
        at = index.shaped()
        if at.kind != "int" or at.rank > 1:
            raise SacError("type", "an index must be an int vector")
        length = at.shape[0] if at.rank else 1
        if length > source.shaped().rank:
            raise SacError("rank", f"an index of {length} components for an array of rank {source.shaped().rank}")
        return source.shaped().over(source.shaped().shape[length:])

    def run() -> Value:
        shaped()
        found, at = source.value(), index.value()
        clamped = bool(at.arguments) or scope.uncertain
        position = [int(x) for x in at.data.reshape(-1)]
        key = tuple(inside(x, n, clamped) for x, n in zip(position, found.data.shape, strict=False))
        return Value(np.asarray(found.data[key]), found.type, found.taint | at.taint)

    return Operand(shaped, run)


def inside(position: int, extent: int, clamped: bool) -> int:
    """The position, if it lies in the array; the nearest that does where data decide it."""
    if 0 <= position < extent:
        return position
    if clamped and extent:
        return min(max(position, 0), extent - 1)
    raise SacError("index", f"position {position} of {extent}")
