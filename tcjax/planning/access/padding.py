"""Recognises masks that only express that a read is in bounds."""

from collections.abc import Iterable

from ... import ir
from ...transforms.definitions import guarded
from ...transforms.factors import non_negative
from ..data.nodes import Strip
from ..scope import Scope
from .reads import plan_read


def is_padding(mask: ir.Expr, reads: Iterable[ir.Access], scope: Scope, *, slides: bool = False) -> bool:
    """Whether the mask only says "inside the arrays", so that zero padding can replace it.

    Only a slice can read a padded array, not a lookup; with `slides` the sliding dimensions become slices later.
    """
    inside = set()
    for read in reads:
        origins, shape = scope.origins[read.tensor.name], scope.shapes[read.tensor.name]
        dimensions = plan_read(read, scope).dimensions
        sliced = slides or all(isinstance(dimension, Strip) for dimension in dimensions)
        for number, (subscript, origin, extent) in enumerate(zip(read.indices, origins, shape, strict=True)):
            if sliced or isinstance(dimensions[number], Strip):
                inside.add(subscript - origin)
                inside.add(origin + extent - 1 - subscript)
    return all(non_negative(condition) in inside for condition in ir.conjuncts(mask))


def within_zeros(factor: ir.Expr, scope: Scope, *, slides: bool = False) -> ir.Expr:
    """A read that is zero outside its array, without the condition: the array is padded instead."""
    match guarded(ir.Reducer.SUM, factor):
        case condition, ir.Access() as read if is_padding(condition, (read,), scope, slides=slides):
            return read
        case _:
            return factor
