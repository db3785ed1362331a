"""Nests made of nests: for every element of a new axis, and with operands that are only numbered."""

from collections.abc import Sequence
from dataclasses import replace

from .. import ir
from ..symbolic import Affine, IndexVar, Size
from .nests import Nest


def batched(nest: Nest, varying: Sequence[bool], size: int, index: IndexVar | None = None) -> Nest:
    """The nest with one more axis in front, which the operands that are `varying` have in front too."""
    index = index or _fresh(nest)
    operands = tuple(
        replace(o, shape=(size, *o.shape), origin=(0, *o.origin)) if varies else o
        for o, varies in zip(nest.operands, varying, strict=True)
    )
    names = {o.name for o, varies in zip(nest.operands, varying, strict=True) if varies}

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        if not isinstance(expr, ir.Access) or expr.tensor.name not in names:
            return expr
        tensor = replace(expr.tensor, shape=(Size.of(size), *expr.tensor.shape))
        return replace(expr, tensor=tensor, indices=(Affine.of(index), *expr.indices))

    reduce = visit(nest.reduce)
    assert isinstance(reduce, ir.Reduce)
    return Nest(reduce, (index, *nest.axes), ((index, 0, size), *nest.box), operands)


def anonymous(nest: Nest) -> Nest:
    """The nest with its operands numbered: derivatives give names to what they add."""
    tensors = {o.name: f"a.{number}" for number, o in enumerate(nest.operands)}

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        if not isinstance(expr, ir.Access):
            return expr
        return replace(expr, tensor=replace(expr.tensor, name=tensors[expr.tensor.name]))

    reduce = visit(nest.reduce)
    assert isinstance(reduce, ir.Reduce)
    return replace(nest, reduce=reduce, operands=tuple(replace(o, name=tensors[o.name]) for o in nest.operands))


def _fresh(nest: Nest) -> IndexVar:
    taken = {index.name for index in nest.ranges}
    number = 0
    while f"b.{number}" in taken:
        number += 1
    return IndexVar(f"b.{number}")
