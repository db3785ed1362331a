"""Nests derived from nests: batched over a new axis, and with numbered operands."""

from collections.abc import Sequence
from dataclasses import replace

from ... import ir
from ...symbolic import Affine, IndexVar, Size
from ..data.nests import Nest, Operand


def batched(nest: Nest, varying: Sequence[bool], size: int, index: IndexVar | None = None) -> Nest:
    """The nest with one more leading axis, which the `varying` operands have too."""
    index = index or _fresh([nest])
    operands = tuple(_wide(o, size) if varies else o for o, varies in zip(nest.operands, varying, strict=True))
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


def batched_together(
    operands: Sequence[Operand], nests: Sequence[Nest], results: Sequence[str], varying: Sequence[bool], size: int
) -> tuple[tuple[Operand, ...], tuple[Nest, ...], tuple[bool, ...]]:
    """Nests with common names batched over a new axis, their operands, and which results have the axis.

    The `varying` operands have it as their first axis, too; a nest that depends on none of them is unchanged. `results`
    are the names by which the nests read the results of the first of them.
    """
    index = _fresh(nests)
    names = {o.name for o, varies in zip(operands, varying, strict=True) if varies}
    found: list[Nest] = []
    moved: list[bool] = []
    for number, nest in enumerate(nests):
        own = [operand.name in names for operand in nest.operands]
        if any(own) and number < len(results):
            names.add(results[number])
        found.append(batched(nest, own, size, index) if any(own) else nest)
        moved.append(any(own))
    return tuple(_wide(o, size) if o.name in names else o for o in operands), tuple(found), tuple(moved)


def _wide(operand: Operand, size: int) -> Operand:
    return replace(operand, shape=(size, *operand.shape), origin=(0, *operand.origin))


def anonymous(nest: Nest) -> Nest:
    """The nest with numbered operands, so that derivatives can add names."""
    tensors = {o.name: f"a.{number}" for number, o in enumerate(nest.operands)}

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        if not isinstance(expr, ir.Access):
            return expr
        return replace(expr, tensor=replace(expr.tensor, name=tensors[expr.tensor.name]))

    reduce = visit(nest.reduce)
    assert isinstance(reduce, ir.Reduce)
    return replace(nest, reduce=reduce, operands=tuple(replace(o, name=tensors[o.name]) for o in nest.operands))


def _fresh(nests: Sequence[Nest]) -> IndexVar:
    taken = {index.name for nest in nests for index in nest.ranges}
    return next(IndexVar(name) for n in range(len(taken) + 1) if (name := f"b.{n}") not in taken)
