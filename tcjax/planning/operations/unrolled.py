"""Reductions unrolled term by term, in one fused loop over the results: shifted slices, data-selected rows."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from ... import ir
from ...ir import Reducer
from ...symbolic import IndexVar
from ...transforms.factors import depends
from ..access.reads import as_strip, is_window
from ..data.machine import CPU
from ..data.nodes import Contract, Node, Unroll
from ..folds import unroll
from ..rules import plan_value
from ..scope import Scope
from .reduction import Reduction

Steps = tuple[IndexVar, ...]
# Comparisons of an order statistic: XLA compiles this many in a second.
MOST_COMPARISONS: Final = 200


def propose(reduction: Reduction, scope: Scope) -> Iterator[Node]:
    """Unrolls the terms of its windows, or of the rows that it looks up; with windows, also all terms."""
    expr = reduction.expr
    windows, rows = window_indices(reduction.indices, expr, scope), gathered_indices(reduction.indices, expr)
    for steps in dict.fromkeys((windows, rows, reduction.indices if windows else ())):
        if steps:
            yield from _written_out(reduction, steps, scope)
            if steps == windows and steps != reduction.indices and not set(steps) & set(rows):
                yield from _window_first(reduction, steps, scope)


def propose_terms(reduction: Reduction, scope: Scope) -> Iterator[Node]:
    """Unrolls all of its terms, if it has no windows."""
    expr, indices = reduction.expr, reduction.indices
    if indices != gathered_indices(indices, expr) and not window_indices(indices, expr, scope):
        yield from _written_out(reduction, indices, scope)


def propose_order(reduce: ir.Reduce, body: ir.Expr, scope: Scope) -> Iterator[Unroll]:
    """The value with a rank among unrolled values of the body, or its position: no array holds all of them.

    The extremum has rank 0. Every value is compared with the first few in order.
    """
    indices, reducer = reduce.indices, reduce.reducer
    if (
        isinstance(reducer, ir.Monoid)
        or reduce.guard is not None
        or any(isinstance(node, ir.Reduce) for node in ir.walk(body))
    ):
        return
    windows, rows = window_indices(indices, reduce, scope), gathered_indices(indices, reduce)
    terms, number = scope.points(indices), 0 if reduce.rank is None else ir.number_of(reduce.rank)
    if number is None or not 0 <= number < terms or terms > _most_terms(reduce, indices, windows, rows):
        return
    if terms * (number + 1) > MOST_COMPARISONS:
        return
    value = plan_value(body, scope.unrolling(indices))
    dtype = "int32" if reducer.gives_position else value.dtype
    written = unroll(reducer, indices, value, scope, _why(indices, windows, rows, scope))
    yield replace(written, rank=int(number), dtype=dtype)


def _written_out(reduction: Reduction, steps: Steps, scope: Scope) -> Iterator[Node]:
    expr, indices = reduction.expr, reduction.indices
    if reduction.is_term:
        return
    if scope.is_term and ir.looks_up(expr):
        # Gathers unrolled inside other steps become so numerous that XLA compiles for minutes.
        return
    windows, rows = window_indices(indices, expr, scope), gathered_indices(indices, expr)
    if scope.points(steps) > _most_terms(expr, steps, windows, rows):
        return
    rest = tuple(index for index in indices if index not in steps)
    inside = scope.unrolling(steps)
    body = replace(reduction, indices=rest, is_term=True).cheapest(inside)
    why = _why(steps, windows, rows, scope)
    yield unroll(reduction.reducer, steps, scope.cast(body, reduction.accumulate), scope, why)


def _most_terms(expr: ir.Expr, steps: Steps, windows: Steps, rows: Steps) -> int:
    """The maximum number of terms of these steps in one fused loop."""
    if set(rows) & set(steps):
        return CPU.unrolled_lookups
    if windows:
        return CPU.unrolled
    # What the steps say is a number in each term: there a power is products, in a loop logarithms and exponentials.
    return CPU.unrolled if any(map(set(steps).intersection, _exponents(expr))) else CPU.streams


def _exponents(expr: ir.Expr) -> Iterator[frozenset[IndexVar]]:
    """The indices of each exponent that is a whole number."""
    for node in ir.walk(expr):
        match node:
            case ir.Binary("**", _, exponent) | ir.Call("pow", (_, exponent)) if not any(ir.accesses(exponent)):
                yield ir.free_indices(exponent)


def _why(steps: Steps, windows: Steps, rows: Steps, scope: Scope) -> str:
    count = scope.points(steps)
    if steps == windows:
        return f"{count} shifted reads in one fused loop: no array of windows is stored"
    if steps == rows:
        return f"{count} row gathers in one fused loop: the gathered rows are not stored"
    return f"{count} terms each: one fused loop over the elements"


def _window_first(reduction: Reduction, steps: Steps, scope: Scope) -> Iterator[Node]:
    """``sum[h](d(h) * sum[j](x(h + j) * w(j)))``: the window is one fused loop, the rest a product of two vectors."""
    factors, accumulate, rest = reduction.factors, reduction.accumulate, set(reduction.indices) - set(steps)
    moving = [factor for factor in factors if depends(factor, frozenset(steps))]
    fixed = [factor for factor in factors if not depends(factor, frozenset(steps))]
    if reduction.mask is not None or reduction.around is not None or not moving or not fixed:
        return
    whole = frozenset[IndexVar]().union(*map(ir.free_indices, factors)) - scope.unrolled - frozenset(steps)
    inside = scope.unrolling(steps)
    body = inside.cast(plan_value(ir.multiply(moving), inside), accumulate)
    window = unroll(Reducer.SUM, steps, body, scope, f"{scope.points(steps)} shifted reads in one fused loop")
    vector = scope.cast(plan_value(ir.multiply(fixed), scope), accumulate)
    if {*window.axes, *vector.axes} == whole and rest <= set(window.axes) and rest <= set(vector.axes):
        why = f"a window of {scope.points(steps)} terms in one fused loop, and its product with another tensor"
        yield Contract((vector, window), dtype=accumulate, axes=scope.sorted(whole - rest), why=why)


def window_indices(indices: Iterable[IndexVar], expr: ir.Expr, scope: Scope) -> Steps:
    """The reduction indices that slide along another index in some read, or split a dimension (``2*i + k``)."""
    reduced = frozenset(indices)
    found: set[IndexVar] = set()
    for access in ir.accesses(expr):
        for subscript, extent in zip(access.indices, scope.shapes[access.tensor.name], strict=True):
            variables = {v for v in subscript.variables - scope.unrolled if scope.extent(v) > 1}
            sliding = variables & reduced
            if not sliding or len(variables) < 2 or not subscript.is_linear:
                continue
            if not is_window(subscript, scope) and not as_strip(subscript, extent, scope):
                continue
            if sliding == variables:
                sliding = sliding - {max(sorted(sliding, key=str), key=scope.extent)}
            found |= sliding
    return tuple(index for index in indices if index in found)


def gathered_indices(indices: Iterable[IndexVar], expr: ir.Expr) -> Steps:
    """The reduction indices inside of data-dependent subscripts."""
    inside = [s.variables for access in ir.accesses(expr) for s in access.indices if s.is_data]
    found = frozenset[IndexVar]().union(*inside)
    return tuple(index for index in indices if index in found)
