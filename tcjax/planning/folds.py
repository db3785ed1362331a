"""Reductions over values that are already planned, and over those that keep more than one number."""

from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import IndexVar
from ..transforms.factors import masked
from ..transforms.widening import widened
from .access.reads import as_stored
from .data.nodes import Apply, Fill, Fold, Iota, Node, Read, Strip, Unroll, below, holds_data
from .rules import plan_value
from .scope import Scope, fill

# Operands of a derivative with this many bytes are recomputed: storing them takes longer.
STORED: Final = 1 << 20


def fold(reducer: Reducer, indices: tuple[IndexVar, ...], operand: Node, scope: Scope) -> Node:
    present = tuple(index for index in indices if index in operand.axes)
    if not present:
        return operand
    if scope.nests is not None:
        operand = as_stored(operand)
    size = scope.points(operand.axes) * ir.types.width(operand.dtype)
    anew = scope.nests is not None and size >= STORED and _is_curved(operand)
    return Fold(reducer, operand, present, anew, dtype=operand.dtype, axes=remaining(operand, present))


def _is_curved(node: Node) -> bool:
    """Whether a value is computed from slices by arithmetic whose derivative needs intermediate values."""
    match node:
        case Apply(operator=operator, arguments=arguments):
            data = sum(map(holds_data, arguments))
            curved = operator in ("/", "**", "min", "max") or (operator == "*" and data > 1)
            return all(map(_is_arithmetic, arguments)) and (curved or any(map(_is_curved, arguments)))
        case _:
            return False


def _is_arithmetic(node: Node) -> bool:
    for part in below(node):
        if isinstance(part, Read):
            if not all(isinstance(dimension, Strip) for dimension in part.dimensions):
                return False
        elif not isinstance(part, (Apply, Fill, Iota)):
            return False
    return True


def unroll(reducer: Reducer | ir.Monoid, steps: tuple[IndexVar, ...], body: Node, scope: Scope, why: str) -> Unroll:
    box = tuple((index, *scope.box[index]) for index in steps)
    rolled = scope.nests is not None and scope.nests.backend.rare and reducer is Reducer.SUM
    return Unroll(reducer, box, body, rolled=rolled, dtype=body.dtype, axes=body.axes, why=why)


def as_number(value: int, dtype: str) -> int | float:
    if ir.types.is_integral(dtype):
        bits = ir.types.BITS[dtype]
        value %= 2**bits
        return value - 2**bits if dtype in ir.types.SIGNED and value >= 2 ** (bits - 1) else value
    return float(value)


def remaining(operand: Node, indices: tuple[IndexVar, ...]) -> tuple[IndexVar, ...]:
    return tuple(axis for axis in operand.axes if axis not in indices)


def plan_elements(reduce: ir.Reduce, scope: Scope) -> tuple[Node, Node | None]:
    """The elements at every point, and the mask of active ones; together they have an axis for every index."""
    body = widened(reduce.body, reduce.accumulate)
    operand = scope.cast(plan_value(masked(reduce.guard, body, number_beside(body.dtype)), scope), reduce.accumulate)
    mask = None if reduce.guard is None else plan_value(reduce.guard, scope)
    known = {*operand.axes, *(() if mask is None else mask.axes)}
    for index in reduce.indices:
        if index not in known:
            # Every point counts, even if nothing depends on it.
            always = scope.apply(">=", (plan_value(ir.Index(index), scope), fill(scope.box[index][0], "int32")), "bool")
            mask = always if mask is None else scope.apply("&&", (mask, always), "bool")
    return operand, mask


def number_beside(dtype: str) -> bool | int | float:
    """The substitute for a masked element: most functions and derivatives are finite there."""
    return True if dtype == "bool" else 1 if ir.types.is_integral(dtype) else 1.0
