"""Statements as nests: a single one, or a root stage of a schedule with everything computed inside its tiles."""

from dataclasses import dataclass, field, replace
from typing import Final

from .. import ir, ranges, transforms
from ..ir import Reducer
from ..symbolic import Affine, Box, IndexVar, Size
from .data.nests import Nest, Operand

# Inner statements are inlined at each of their reads: larger ones are computed elsewhere.
_LARGEST: Final = 2000

Formula = ir.Define | ir.Accumulate
_Ranges = dict[IndexVar, tuple[int, int]]


class Unfused(Exception):
    """These statements are not a nest; the message says why."""


def nest_of(statement: Formula, box: Box, bound: ranges.Bound) -> Nest:
    """One statement of a program as a nest; an elementwise one reduces over a single point.

    Raises `Unfused` if its left side is more than index variables, or if it continues from the target's old value.
    """
    statement = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
    return _nest(_reduction(statement, _free(box)), _axes(statement), dict(box), bound)


def fused_nest(target: str, inside: tuple[str, ...], bound: ranges.Bound) -> Nest:
    """The statement of a target, with those of the targets in `inside` inlined where they are read.

    Raises `Unfused` if one of them is not the result of a single statement that writes all of it.
    """
    formulas: dict[str, tuple[Formula, _Ranges]] = {}
    for statement, box in zip(bound.function.statements, bound.boxes, strict=True):
        if not isinstance(statement, (ir.Define, ir.Accumulate)):
            continue
        if statement.target.name in formulas:
            raise Unfused(f"{statement.target.name} is the result of more than one statement")
        formula = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
        formulas[statement.target.name] = formula, dict(box)
    unknown = [name for name in inside if name not in formulas]
    if unknown:
        raise Unfused(f"{', '.join(unknown)} is not a separate stage")
    root, box = formulas[target]
    fusion = _Fusion({name: formulas[name] for name in inside}, bound, dict(box))
    reduce = fusion.visit(_reduction(root, _free(box)))
    assert isinstance(reduce, ir.Reduce)
    return _nest(reduce, _axes(root), fusion.box, bound)


def _nest(reduce: ir.Reduce, axes: tuple[IndexVar, ...], box: _Ranges, bound: ranges.Bound) -> Nest:
    operands: dict[str, Operand] = {}
    for access in ir.accesses(reduce):
        name = access.tensor.name
        operand = Operand(name, access.dtype, bound.shapes[name], tuple(bound.origins[name]))
        operands.setdefault(name, operand)
    for index in reduce.indices:
        box.setdefault(index, (0, 1))
    return Nest(
        _plain(reduce, bound), axes, tuple((index, lo, hi) for index, (lo, hi) in box.items()), (*operands.values(),)
    )


def _plain(reduce: ir.Reduce, bound: ranges.Bound) -> ir.Reduce:
    """The reduction with the extents of its tensors as numbers."""

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        if not isinstance(expr, ir.Access):
            return expr
        shape = tuple(map(Size.of, bound.shapes[expr.tensor.name]))
        return replace(expr, tensor=replace(expr.tensor, shape=shape))

    found = visit(reduce)
    assert isinstance(found, ir.Reduce)
    return found


def _axes(statement: Formula) -> tuple[IndexVar, ...]:
    axes = tuple(index.bare for index in statement.indices)
    if None in axes or len(set(axes)) < len(axes):
        raise Unfused(f"{statement.target.name} is written at subscripts other than index variables")
    return tuple(axis for axis in axes if axis is not None)


def _free(box: Box) -> IndexVar:
    """An index that no statement uses."""
    number = 0
    while IndexVar("point", number) in box:
        number += 1
    return IndexVar("point", number)


def _reduction(statement: Formula, point: IndexVar) -> ir.Reduce:
    """The right side as a reduction, over a single point if it is not one."""
    if isinstance(statement, ir.Define):
        if statement.domain.guard is not None:
            raise Unfused(f"{statement.target.name} keeps its old value where a guard fails")
        value = statement.value
        if isinstance(value, ir.Reduce):
            return value
        # The maximum of one point is the point, for every type.
        return ir.Reduce(Reducer.MAX, (point,), (), None, value, None, value.dtype, value.dtype)
    if not statement.restart:
        raise Unfused(f"{statement.target.name} continues from its old value")
    reducer, accumulate = statement.reducer, statement.accumulate
    if not isinstance(reducer, Reducer) or reducer.is_ranked:
        raise Unfused(f"{reducer.value} runs in XLA operations")
    dtype = reducer.result(accumulate, accumulate)
    indices = statement.reduction or (point,)
    return ir.Reduce(reducer, indices, (), statement.domain.guard, statement.value, None, accumulate, dtype)


@dataclass(eq=False)
class _Fusion:
    """Inlines stages into their reads. `box` gains the indices of their reductions."""

    stages: dict[str, tuple[Formula, _Ranges]]
    bound: ranges.Bound
    box: _Ranges
    copies: int = 0
    size: int = 0
    _point: IndexVar = field(init=False)

    def __post_init__(self) -> None:
        self._point = _free(self.box)

    def visit(self, expr: ir.Expr) -> ir.Expr:
        self.size += 1
        if self.size > _LARGEST:
            raise Unfused("what is computed inside is read too often to be written out")
        if isinstance(expr, ir.Access) and expr.tensor.name in self.stages:
            return self._computed(expr)
        return ir.rebuild(expr, self.visit)

    def _computed(self, access: ir.Access) -> ir.Expr:
        name = access.tensor.name
        formula, box = self.stages[name]
        if any(index.is_data for index in access.indices):
            raise Unfused(f"data decides where {name} is read")
        axes = _axes(formula)
        shape, origin = self.bound.shapes[name], self.bound.origins[name]
        whole = zip(axes, origin, shape, strict=True)
        if any(box[axis] != (start, start + extent) for axis, start, extent in whole):
            raise Unfused(f"{name} has elements that its statement does not write")
        self.copies += 1
        value = formula.value
        if isinstance(formula, ir.Accumulate):
            value = _reduction(formula, self._point)
        elif formula.domain.guard is not None:
            raise Unfused(f"{name} keeps its old value where a guard fails")
        value = self._renamed(value, box)
        values = dict(zip(axes, access.indices, strict=True))
        value = transforms.substitute_expr(value, values)
        return self.visit(value if value.dtype == formula.target.dtype else ir.Cast(value, formula.target.dtype))

    def _renamed(self, expr: ir.Expr, box: Box) -> ir.Expr:
        """The expression with fresh names for the indices of its reductions, and their ranges in the box."""
        fresh: dict[IndexVar, IndexVar] = {}
        for node in ir.walk(expr):
            if isinstance(node, ir.Reduce):
                for index in node.indices:
                    fresh[index] = IndexVar(f"{index.name}@{self.copies}", index.tag)
                    self.box[fresh[index]] = box.get(index, (0, 1))

        def visit(expr: ir.Expr) -> ir.Expr:
            expr = ir.rebuild(expr, visit)
            if isinstance(expr, ir.Reduce):
                return replace(expr, indices=tuple(fresh[index] for index in expr.indices))
            return expr

        return visit(transforms.substitute_expr(expr, {old: Affine.of(new) for old, new in fresh.items()}))
