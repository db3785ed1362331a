"""Folds: reduce all elements of an array, also of comprehensions whose extent depends on an outer index."""

from dataclasses import replace
from typing import Final

from ... import ir
from ...diagnostics import Code, CompileError, Span
from ...ir import Monoid, Reducer
from ...symbolic import Affine, IndexVar
from .. import operators
from ..literals import Value, dtype_of, literal, settled
from ..typed_expressions import accumulation_type, reduced_value, reduction
from .arrays import Array, Kind, Piece, Ragged, conformed, kind_of, show_kind
from .boxes import uncovered
from .draft import Draft
from .reading import element, pieces_of, stored, whole, zero
from .storing import along, axis_name, given_ranges

# SaC names the extrema differently, and has nothing that takes a rank.
FOLDS: Final = {
    f"{reducer.value}val" if reducer.is_extremum else reducer.value: reducer
    for reducer in Reducer
    if not reducer.is_ranked
}

_MOST_PARTS: Final = 4


def skips_zero(reducer: Reducer | Monoid) -> bool:
    """Whether zeros, the values of cells that no partition covers, change nothing."""
    return isinstance(reducer, Reducer) and reducer.continues and reducer.nothing == 0


def fold(reducer: Reducer | Monoid, array: Array | Ragged, span: Span, draft: Draft) -> Array:
    """The fold over all elements, a scalar."""
    kind = _result_kind(reducer, array.kind, span, draft)
    if isinstance(array, Ragged):
        return Array(kind, (), lambda _: _ragged(reducer, array, span, draft), array.free)
    return Array(kind, (), lambda _: _fold(reducer, array, span, draft), array.free)


def fold_leading(count: int, array: Array, span: Span, draft: Draft) -> Array:
    """The sum over the first `count` axes."""
    shape = array.shape
    kind = _result_kind(Reducer.SUM, array.kind, span, draft)

    def read(place: tuple[Affine, ...]) -> Value:
        lead = Array(array.kind, shape[:count], lambda inner: element(array, (*inner, *place), draft), array.free)
        return _fold(Reducer.SUM, replace(lead, names=array.names[:count]), span, draft)

    return Array(kind, shape[count:], read, array.free, names=array.names[count:])


def _result_kind(reducer: Reducer | Monoid, kind: Kind, span: Span, draft: Draft) -> Kind:
    if isinstance(reducer, Monoid):
        own = dtype_of(reduced_value(reducer, zero(kind)))
        return reducer.result(own, accumulation_type(reducer, own, draft.accumulate))
    wants_bool = reducer.takes_bool
    if wants_bool != (kind == "bool"):
        name = next(name for name, found in FOLDS.items() if found is reducer)
        raise CompileError(
            Code.WRONG_TYPE,
            f"`{name}` folds {'bools' if wants_bool else 'numbers'}, but got {show_kind(kind)}",
            span,
            help="compare first: `any(a > 0)`" if wants_bool else "count with `sum({ iv -> p[iv] ? 1 : 0 })`",
        )
    if reducer.gives_position:
        return "int32"
    return kind_of(reduced_value(reducer, zero(kind)))


def _fold(reducer: Reducer | Monoid, array: Array, span: Span, draft: Draft) -> Value:
    if not array.rank and isinstance(reducer, Monoid):
        raise CompileError(
            Code.NEEDS_AXES,
            f"`{reducer.name}` folds the elements of an array, this is a scalar",
            span,
            help=f"make it an array of one element: `{reducer.name}([x])`",
        )
    if not array.rank:
        value = element(array, (), draft, span)
        if reducer.gives_position:
            return literal(0, span)
        return reduced_value(reducer, value)
    join = reducer.operator
    if array.cells is not None and array.rank == 1 and join is not None and array.cells:
        total = element(array.cells[0], (), draft)
        for cell in array.cells[1:]:
            total = operators.binary(join, total, element(cell, (), draft), span)
        return total
    pieces = (Piece(whole(array.shape), lambda place: element(array, place, draft)),)
    if array.pieces is not None and array.keep is None and array.tensor is None:
        cased = pieces_of(array, draft)
        if len(cased) > _MOST_PARTS and array.closed:
            return _fold(reducer, stored(array, draft), span, draft)
        if join is not None and cased:
            pieces = cased
    elif array.cells is not None and array.closed:
        return _fold(reducer, stored(array, draft), span, draft)
    parts: list[Value] = [_reduce(reducer, piece, array, span, draft) for piece in pieces]
    if not skips_zero(reducer) and array.pieces is not None and join is not None:
        rest = uncovered(whole(array.shape), [piece.box for piece in pieces], draft)
        if rest is None or rest:
            parts.append(zero(array.kind))
    total = parts[0]
    for other in parts[1:]:
        assert join is not None
        total = operators.binary(join, total, other, span)
    return total


def _reduce(reducer: Reducer | Monoid, piece: Piece, array: Array, span: Span, draft: Draft) -> Value:
    found = [along(run, axis_name(array.names, axis), draft) for axis, run in enumerate(piece.box)]
    runs, place = [given for given, _ in found], tuple(position for _, position in found)
    indices = tuple(index for index, _, _ in runs)
    if any(draft.number(lo) >= draft.number(hi) for _, lo, hi in runs):
        # Nothing is read: an empty array may have elements that cannot be computed.
        value: Value = zero(array.kind)
    else:
        value = conformed(piece.read(place), array.kind)
    body = reduced_value(reducer, value)
    ranges = given_ranges(runs, [settled(body)], draft)
    return _reduction(reducer, indices, ranges, None, body, span, draft)


def _reduction(
    reducer: Reducer | Monoid,
    indices: tuple[IndexVar, ...],
    ranges: tuple[ir.Range, ...],
    guard: ir.Expr | None,
    body: Value,
    span: Span,
    draft: Draft,
) -> Value:
    def build(running: str, given: ir.Expr, dtype: str) -> ir.Expr:
        return ir.Reduce(reducer, indices, ranges, guard, given, None, running, dtype, span=span)

    return reduction(reducer, body, draft.accumulate, build)


def _ragged(reducer: Reducer | Monoid, array: Ragged, span: Span, draft: Draft) -> Value:
    points = array.points(not skips_zero(reducer))
    body = reduced_value(reducer, conformed(points.body, array.kind))
    return _reduction(reducer, points.indices, points.ranges, points.guard, body, span, draft)
