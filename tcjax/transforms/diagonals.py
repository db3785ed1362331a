"""A diagonal as a condition on every element: ``D(i,i) = d(i)`` becomes ``D(i,j) = d(i) where j == i``."""

from dataclasses import replace

from .. import ir
from ..symbolic import Affine, Box, IndexVar


def everywhere(
    statement: ir.Define, box: Box, shape: tuple[int, ...], origin: tuple[int, ...]
) -> tuple[ir.Define, Box] | None:
    """The statement over all elements of its target, under a guard, and the ranges of its indices.

    None if no two subscripts share an index: then the elements form a box, which is written directly. Also None if an
    index has no dimension of its own.
    """
    alone = {subscript.bare for subscript in statement.indices}
    if statement.domain.ranges or any(s.is_data or not s.variables <= alone for s in statement.indices):
        return None
    ranges, found = dict(box), dict[IndexVar, tuple[int, int]]()
    indices: list[Affine] = []
    equalities: list[ir.Expr] = []
    for number, (subscript, extent, first) in enumerate(zip(statement.indices, shape, origin, strict=True)):
        own, name = subscript.bare, IndexVar("place", number)
        if own is not None and own not in found:
            name = own
        else:
            while name in ranges:
                name = replace(name, tag=name.tag + len(shape))
            equalities.append(ir.Binary("==", ir.Index(name), ir.integer(subscript), "bool"))
        found[name] = ranges[name] = first, first + extent
        indices.append(Affine.of(name))
    if not any(ir.free_indices(equality) & box.keys() for equality in equalities):
        return None
    within = dict(found)
    for name, subscript in zip(found, statement.indices, strict=True):
        for index in subscript.variables:
            base = (subscript - index).constant
            if base is not None:
                # Where the other subscript is in bounds, this index has one of these values.
                (low, high), (first, end) = within[index], found[name]
                within[index] = max(low, first - base), min(high, end - base)
    limits = [part for index, ends in within.items() if index in box for part in _inside(index, box[index], ends)]
    guard = ir.conjunction((*ir.conjuncts(statement.domain.guard), *limits, *equalities))
    return replace(statement, indices=tuple(indices), domain=replace(statement.domain, guard=guard)), ranges


def _inside(index: IndexVar, own: tuple[int, int], places: tuple[int, int]) -> list[ir.Expr]:
    """The remaining conditions on an index that gets the range `places` in place of its own."""
    low, high = own
    below, above = ir.within(ir.Index(index), ir.Const(low, "int32"), ir.Const(high, "int32"))
    return [*([below] if places[0] < low else []), *([above] if high < places[1] else [])]
