"""Splits an extremum that cancels in two: over the elements of a tensor that others read too, and over those beyond."""

from collections.abc import Mapping
from dataclasses import replace

from .. import ir
from ..ir import Reducer
from .definitions import as_define
from .inlining import Named, Renaming, Step
from .peaks import Span


def beyond_others(step: Step, read: Mapping[str, tuple[Span, ...]], values: Mapping[str, Named]) -> Step:
    """The step, with the elements of a tensor outside `read`, which only it reads, computed where they are read.

    These elements are then not stored, and no derivative passes through them. `values` are the definitions of tensors.
    """
    statement = step.statement
    if not step.fixed or (isinstance(statement, ir.Accumulate) and not statement.restart):
        return step
    match as_define(statement, is_new=True).value:
        case ir.Reduce(Reducer(is_extremum=True), (index,), guard=None, body=ir.Access(tensor, subscripts)) as whole:
            known, others = values.get(tensor.name), read.get(tensor.name)
            places = [place for place, subscript in enumerate(subscripts) if index in subscript.variables]
        case _:
            return step
    if known is None or others is None or len(places) != 1 or subscripts[places[0]].bare != index:
        return step
    (first, last), (lo, hi) = others[places[0]], step.box[index]
    near = max(lo, first), min(hi, last)
    if near[0] >= near[1] or near == (lo, hi):
        return step
    box = {**step.box, index: near}
    value: ir.Expr = whole
    for span in ((lo, near[0]), (near[1], hi)):
        if span[0] < span[1]:
            rest = Renaming(box, {**box, index: span}).renamed(whole)
            assert isinstance(rest, ir.Reduce) and isinstance(rest.body, ir.Access)
            rest = replace(rest, body=known.at(rest.body.indices, box))
            value = ir.Binary(whole.reducer.value, value, rest, whole.dtype)
    define = ir.Define(statement.target, statement.indices, value, span=statement.span)
    return replace(step, statement=define, box=box)
